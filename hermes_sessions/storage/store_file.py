"""The file of a store, looked at without opening it: whether SQLite can be told its name, what is there, which one."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from hermes_sessions.errors import StoreDamaged, StoreMissing, StoreUnreadable, UsageError

NO_MORE_THAN_EMPTY = 1
"""Bytes. SQLite takes a file of one byte for an empty one (unixFileSize in os_unix.c)."""

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


def check_name(path: Path) -> None:
    """Raise UsageError for a path that SQLite cannot be told."""
    name = str(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{name!r} is no name in UTF-8.", "SQLite opens no other: give the file another name."
        ) from None
    if "\0" in name:
        raise UsageError(f"{name!r} is no path.", "Check what it was made from.")


def check_there(path: Path) -> None:
    """Say plainly what SQLite would call "unable to open database file". `stat` takes no lock and drops none."""
    check_name(path)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise StoreMissing(
            f"There is no session store at {path}.", "Name one with --db or --home, or look at a sample with --demo."
        ) from None
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be opened: {error.strerror}.", "Check the permissions.") from None
    if stat.S_ISDIR(status.st_mode):
        raise StoreUnreadable(f"{path} is a directory, not a session store.", "Name the file state.db in it.")
    wal = Path(f"{path}-wal")
    # SQLite deletes the write-ahead log of an empty file, also when it may only read.
    if status.st_size <= NO_MORE_THAN_EMPTY and wal.exists() and wal.stat().st_size:
        raise StoreDamaged(
            f"{path} is empty, but {wal.name} beside it is not: opening the file would delete what is in there.",
            "Nothing was changed. Keep a copy of both files, then put a backup of the first in its place.",
        )
    check_readable(path, sides=("",))


def check_readable(path: Path, sides: Sequence[str] = ("", "-wal", "-shm", "-journal")) -> None:
    """Raise StoreUnreadable, with its name, for a store or a file beside it that this user may not read.

    SQLite says of each of them that the database file cannot be opened.
    """
    for file in (Path(f"{path}{side}") for side in sides):
        if file.is_dir():
            raise StoreUnreadable(f"{file} is a directory, where SQLite has a file.", "Move it away and try again.")
        if file.exists() and not os.access(file, os.R_OK):
            raise StoreUnreadable(f"{file} may not be read by this user.", "Check who owns the file.")


def identity_of(path: Path) -> Identity | None:
    """Which file a path leads to; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino

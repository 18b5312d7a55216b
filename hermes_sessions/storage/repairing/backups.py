"""Copies of a store to the byte, and which of them are kept.

A store is read through SQLite's own file layer: to open and close it in any other way would drop the locks that this
process holds on it (fcntl(2)). What the bytes mean is for others.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from hermes_sessions.errors import FileExists, StoreUnreadable
from hermes_sessions.storage.repairing.watch import Watch
from hermes_sessions.storage.store_file import NO_MORE_THAN_EMPTY

SIDES = ("", "-wal", "-journal")
"""What belongs to a store besides its name. A `-shm` is made again from the `-wal`."""

KEPT = 3
CHUNK = 1 << 20
FLUSHED = 64 << 20
"""Bytes after which a copy is brought to the disk, so that the end of it is no long wait that nothing can stop."""


def copy_store(source: Path, target: Path, watch: Watch) -> str:
    """Copy a store and its logs, to the byte, to where nothing is; return the digest of all of it.

    The copy is on the disk and has been read again when this returns. Raises StoreUnreadable.
    """
    watch.begin("Copying the store")
    of, done = size(source), 0
    copied = {}
    for side in SIDES:
        if _there(file := Path(f"{source}{side}")):
            digest = hashlib.sha256()
            for chunk in _copy(file, Path(f"{target}{side}")):
                digest.update(chunk)
                done += len(chunk)
                watch.at(done, of)
            copied[side] = digest.hexdigest()
    watch.begin("Reading the copy again")
    if copied != _digests(target, watch):
        raise StoreUnreadable(
            f"What was copied from {source} is not what was read.", "Nothing was changed. Check the disk."
        )
    return _digest_of(copied)


def copy_again(copy: Path, to: Path, watch: Watch, sides: Sequence[str] = SIDES) -> None:
    """Another copy of a copy of `copy_store`, for what writes to it: nobody has the first one open.

    `sides` are copied, and written over what is at `to`.
    """
    watch.begin("Copying the copy")
    of, done = size(copy), 0
    for side in (*SIDES, "-shm"):
        Path(f"{to}{side}").unlink(missing_ok=True)
    for side in sides:
        if (file := Path(f"{copy}{side}")).exists():
            with file.open("rb") as source, open(f"{to}{side}", "xb", opener=_for_oneself) as target:
                while chunk := source.read(CHUNK):
                    target.write(chunk)
                    done += len(chunk)
                    watch.at(done, of)


def keep(copy: Path, path: Path, digest: str, now: float, watch: Watch) -> Path:
    """Put a copy of `copy_store` beside the store at `path`, unless this damage was kept before; return where it is.

    Raises FileExists when something that is no such copy is in its place.
    """
    short = digest[:12]
    for kept in backups(path):
        if kept.name.endswith(f"-{short}") and _digest_of(_digests(kept, watch)) == digest:
            return kept
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    backup = path.with_name(f"{path.name}.repair-backup-{stamp}-{short}")
    _forget_halves(path)
    # The store comes last: where it is, its logs are.
    for side in reversed(SIDES):
        if Path(f"{copy}{side}").exists():
            _move(Path(f"{copy}{side}"), Path(f"{backup}{side}"))
    return backup


def backups(path: Path) -> list[Path]:
    """The copies that were kept of the store at `path`, the oldest first. Links are none."""
    return _named(path, "")


def forget_old(path: Path, newest: Path) -> None:
    """Delete all but the newest copies of the store at `path`; `newest` stays in any case."""
    others = [backup for backup in backups(path) if backup != newest]
    for backup in others[: max(0, len(others) - KEPT + 1)]:
        for side in SIDES:
            Path(f"{backup}{side}").unlink(missing_ok=True)


def size(path: Path) -> int:
    """Bytes of a store and its logs."""
    return sum(file.stat().st_size for side in SIDES if (file := Path(f"{path}{side}")).exists())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder outlive a power cut, where the system can: some disks of the network refuse."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _named(path: Path, side: str) -> list[Path]:
    name = re.compile(rf"{re.escape(path.name)}\.repair-backup-\d{{8}}_\d{{6}}-[0-9a-f]{{12}}{side}")
    there = (file for file in path.parent.iterdir() if name.fullmatch(file.name))
    return sorted(file for file in there if file.is_file() and not file.is_symlink())


def _forget_halves(path: Path) -> None:
    """Delete the logs of copies that never came: a repair was killed between the two."""
    for side in SIDES[1:]:
        for log in _named(path, side):
            if not os.path.lexists(str(log).removesuffix(side)):
                log.unlink()


def _there(file: Path) -> bool:
    """Whether SQLite finds anything in a file. It leaves an empty log where it only looked."""
    try:
        return file.stat().st_size > NO_MORE_THAN_EMPTY
    except FileNotFoundError:
        return False


def _copy(source: Path, target: Path) -> Iterator[bytes]:
    """Copy a file, and yield what is in it while it is copied."""
    kind = apsw.SQLITE_OPEN_WAL if str(source).endswith("-wal") else apsw.SQLITE_OPEN_MAIN_DB
    try:
        file = apsw.VFSFile("", str(source.absolute()), [apsw.SQLITE_OPEN_READONLY | kind, 0])
    except apsw.Error as error:
        raise StoreUnreadable(f"{source} cannot be opened: {error}.", "Check who owns the file.") from error
    try:
        with open(target, "xb", opener=_for_oneself) as written:
            length = file.xFileSize()
            for offset in range(0, length, CHUNK):
                chunk = file.xRead(min(CHUNK, length - offset), offset)
                written.write(chunk)
                if offset % FLUSHED == 0:
                    written.flush()
                    os.fsync(written.fileno())
                yield chunk
            written.flush()
            os.fsync(written.fileno())
    except apsw.Error as error:
        raise StoreUnreadable(
            f"{source} cannot be read from end to end: {error}.", "Nothing was changed. Check the disk."
        ) from error
    finally:
        file.xClose()


def _for_oneself(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _digests(copy: Path, watch: Watch) -> dict[str, str]:
    """The digest of each file of a copy, by its side, as the disk has it; for copies alone, as SQLite has none open."""
    found = {}
    of, done = size(copy), 0
    for side in SIDES:
        if _there(file := Path(f"{copy}{side}")):
            digest = hashlib.sha256()
            with file.open("rb") as opened:
                if hasattr(os, "posix_fadvise"):
                    # Else what was just written would be compared with itself, in the memory of the system.
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while chunk := opened.read(CHUNK):
                    digest.update(chunk)
                    done += len(chunk)
                    watch.at(done, of)
            found[side] = digest.hexdigest()
    return found


def _digest_of(digests: dict[str, str]) -> str:
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


def _move(file: Path, to: Path) -> None:
    """Give a file another name, which must be free: unlike `rename`, a link writes over nothing."""
    try:
        try:
            os.link(file, to)
        except FileExistsError:
            raise
        except OSError:
            # A disk without links.
            if os.path.lexists(to):
                raise FileExistsError(to) from None
            file.rename(to)
    except FileExistsError:
        raise FileExists(f"{to} exists already.", "Nothing was changed. Move it away and try again.") from None
    file.unlink(missing_ok=True)

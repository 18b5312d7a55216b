"""What SQLite makes good again whenever it opens a store, without a word, and a repair makes good once and for all.

A change that was left half done is the worst of it: whoever opens the file to write takes the change back, in the only
original, and a journal that belongs to some other file ruins it. So it is looked for before SQLite opens the file. The
files are read through SQLite's own file layer, which keeps the locks that this process holds on them.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.store_file import NO_MORE_THAN_EMPTY

HEADER = 100
MAGIC = b"SQLite format 3\0"
"""How a database begins (https://sqlite.org/fileformat2.html#the_database_header)."""


class Blemish(NamedTuple):
    """What is not as it should be, what a repair has done about it, a sentence each, and whether that may cost text."""

    words: str
    step: str
    costs: bool = False


HALF_A_CHANGE = Blemish(
    "A program stopped while it wrote: the -journal holds what it had overwritten.",
    "Took the half-finished change back.",
)
FOREIGN_JOURNAL = Blemish(
    "There is a -journal which does not fit the file: more of it would be damaged with it than without.",
    "Left the -journal aside.",
)
NO_BEGINNING = Blemish(
    "The file does not begin as a database; the first page is in its log alone.", "Merged the log into the file."
)
CUT_PAGE = Blemish(
    "The end of the last page was cut off.",
    "Filled the last page up; a text that ended there may have lost its end.",
    costs=True,
)
CUT_LOG = Blemish(
    "Changes that were saved are in the log after a damaged page of it, where nobody can reach them.",
    "Merged the log as far as it can be read; the rest of it is in the copy.",
    costs=True,
)

LOG_HEADER = 32
FRAME_HEADER = 24
LOG_MAGIC = (0x377F_0682, 0x377F_0683)
"""Of a write-ahead log, and of each page in it (https://sqlite.org/fileformat2.html#walformat)."""


def has_journal(path: Path) -> bool:
    """Whether a rollback journal lies beside a store. One that a program has put aside begins with a zero."""
    return _read(f"{path}-journal", apsw.SQLITE_OPEN_MAIN_JOURNAL, 1) not in (b"", b"\0")


def blemish(path: Path) -> Blemish | None:
    """What is not as it should be with the file itself, though SQLite reads all of it; None when nothing is."""
    begin = _read(str(path), apsw.SQLITE_OPEN_MAIN_DB, HEADER)
    page = 65_536 if begin[16:18] == b"\0\1" else int.from_bytes(begin[16:18])
    if not begin.startswith(MAGIC) or page < 512 or page & (page - 1):
        return NO_BEGINNING
    missing = int.from_bytes(begin[28:32]) * page - path.stat().st_size
    # The count is right only when it was written by who changed the file last; a log may hold the last page.
    if begin[24:28] == begin[92:96] and 0 < missing < page and not _has_content(Path(f"{path}-wal")):
        return CUT_PAGE
    return CUT_LOG if unreachable(path) else None


def unreachable(path: Path) -> int:
    """How many pages of the log were committed, and come after one that is damaged, so that SQLite passes over them.

    Those that were committed before the log was begun anew have other salts, and those of a change that was rolled
    back have no commit after them.
    """
    begin = _read(f"{path}-wal", apsw.SQLITE_OPEN_WAL, LOG_HEADER)
    if len(begin) < LOG_HEADER or int.from_bytes(begin[:4]) not in LOG_MAGIC:
        return 0
    valid = _frames(path)
    last = 0 if valid is None else _last_commit(path, begin, valid)
    if not last or _read(f"{path}-wal", apsw.SQLITE_OPEN_WAL, LOG_HEADER) != begin:
        return 0
    # Others may have committed them since they were counted.
    valid = _frames(path)
    return 0 if valid is None else max(0, last - valid)


def _frames(path: Path) -> int | None:
    """How many pages of the log SQLite reads; None when it cannot. It is only asked (SQLITE_CHECKPOINT_NOOP)."""
    with suppress(SessionsError, apsw.Error), closing(Database(path)) as database:
        database.row("SELECT 1 FROM sqlite_schema")
        return database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
    return None


def _last_commit(path: Path, begin: bytes, after: int) -> int:
    """The number of the last page of the log, past so many, that ends a change and was written since it was begun."""
    step = FRAME_HEADER + int.from_bytes(begin[8:12])
    last = 0
    with suppress(apsw.Error):
        file = apsw.VFSFile(
            "", str(Path(f"{path}-wal").absolute()), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_WAL, 0]
        )
        try:
            for number in range(after, (file.xFileSize() - LOG_HEADER) // step):
                frame = file.xRead(FRAME_HEADER, LOG_HEADER + number * step)
                if frame[8:16] == begin[16:24] and any(frame[4:8]):
                    last = number + 1
        finally:
            file.xClose()
    return last


def fill_up(copy: Path) -> None:
    """Have a copy whose last page was cut off end where a page ends."""
    with copy.open("rb") as file:
        begin = file.read(HEADER)
    page = 65_536 if begin[16:18] == b"\0\1" else int.from_bytes(begin[16:18])
    os.truncate(copy, int.from_bytes(begin[28:32]) * page)


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > NO_MORE_THAN_EMPTY


def _read(file: str, kind: int, length: int) -> bytes:
    try:
        opened = apsw.VFSFile("", str(Path(file).absolute()), [apsw.SQLITE_OPEN_READONLY | kind, 0])
    except apsw.Error:
        return b""
    try:
        return opened.xRead(min(length, opened.xFileSize()), 0)
    except apsw.Error:
        return b""
    finally:
        opened.xClose()

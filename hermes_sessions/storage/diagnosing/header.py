"""How the file begins: whether it is a SQLite database at all, and as long as it says.

The first bytes are read through SQLite's own file layer, which keeps the locks that this process holds on the file.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_sessions.model import Check
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import repair_command
from hermes_sessions.storage.repairing.first_page import page_size

LENGTH = 100
MAGIC = b"SQLite format 3\0"
"""The header of a database (https://sqlite.org/fileformat2.html#the_database_header)."""

FIND = "A repair finds what is where by the other pages, and keeps the file."

BACKUP = "Nothing in it looks like a page of a database. Keep the file, and put a backup in its place if there is one."

LOOKED_AT = 1 << 20
"""How much of the beginning and of the end is looked at for pages of a database; a whole number of any of them."""

SHOWN = 40


def header_check(visit: Visit) -> Check | None:
    """Whether the file begins as a database and has all its pages; None when it cannot be read, or is empty.

    A repair is named only where there is something for it to find.
    """
    size = visit.size()
    begin = _read(visit.path, 0, LENGTH)
    if not begin:
        return None
    said = int.from_bytes(begin[16:18])
    page = 65_536 if said == 1 else said
    repair = repair_command(visit.path)
    if not begin.startswith(MAGIC) or page < 512 or page & (page - 1):
        parts = sorted({0, (size - 1) // LOOKED_AT * LOOKED_AT})
        found = page_size(b"".join(_read(visit.path, part, LOOKED_AT) for part in parts))
        return _no_header(begin, page, repair if found else "")
    said = int.from_bytes(begin[28:32])
    # The count is right only when it was written by who changed the file last; a log may hold pages yet to come.
    counts = begin[24:28] == begin[92:96]
    there = size // page
    if counts and said > there and not visit.size("-wal"):
        means = "The end was cut off, as by a full disk or a copy that was stopped. A repair saves what is before it."
        return Check("header", "fail", f"It ends after {there:,} of {said:,} pages.", repair, means)
    return Check("header", "ok", f"a SQLite database with pages of {page:,} bytes")


def _no_header(begin: bytes, page: int, repair: str) -> Check:
    means = FIND if repair else BACKUP
    if begin.startswith(MAGIC):
        return Check("header", "fail", f"It says that a page has {page} bytes, which cannot be.", repair, means)
    if not any(begin):
        detail = "It begins with zeros, not as a SQLite database."
        return Check("header", "fail", detail, repair, f"The first page was overwritten. {means}")
    if _is_text(begin):
        detail = f"It begins as a text, not as a SQLite database: {_shown(begin)}"
        if not repair:
            means = "It is some other file. Name the one that Hermes writes with --db, usually state.db."
        return Check("header", "fail", detail, repair, means)
    means = means if repair else f"It is encrypted, some other file, or it was overwritten. {means}"
    return Check("header", "fail", "It does not begin as a SQLite database.", repair, means)


def _read(path: Path, at: int, length: int) -> bytes:
    try:
        file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except apsw.Error:
        return b""
    try:
        return file.xRead(min(length, file.xFileSize() - at), at)
    except apsw.Error:
        return b""
    finally:
        file.xClose()


def _is_text(begin: bytes) -> bool:
    try:
        words = begin.decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\r\n\t" for character in words)


def _shown(begin: bytes) -> str:
    words = " ".join(begin.decode().split())
    return repr(words if len(words) <= SHOWN else f"{words[:SHOWN]}…")

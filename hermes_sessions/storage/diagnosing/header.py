"""How the file begins: whether it is a SQLite database at all, and as long as it says.

The first bytes are read through SQLite's own file layer, which keeps the locks that this process holds on the file.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_sessions.model import Check
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import repair_command

LENGTH = 100
MAGIC = b"SQLite format 3\0"
"""The header of a database (https://sqlite.org/fileformat2.html#the_database_header)."""

TRY = "A repair tries what can be had, and keeps the file; where it finds nothing, only a backup helps."

BACKUP = "No repair of ours finds the other pages without it yet. Keep the file, and put a backup in its place."

SHOWN = 40


def header_check(visit: Visit) -> Check | None:
    """Whether the file begins as a database and has all its pages; None when it cannot be read, or is empty."""
    begin = _beginning(visit.path)
    if not begin:
        return None
    repair = repair_command(visit.path)
    if not begin.startswith(MAGIC):
        if not any(begin):
            means = f"The first page was overwritten, and with it what is where. {BACKUP}"
            return Check("header", "fail", "It begins with zeros, not as a SQLite database.", "", means)
        if _is_text(begin):
            means = "It is some other file. Name the one that Hermes writes with --db, usually state.db."
            return Check("header", "fail", f"It is a text, no SQLite database: {_shown(begin)}", "", means)
        means = f"It is encrypted, some other file, or its beginning was overwritten. {TRY}"
        return Check("header", "fail", "It does not begin as a SQLite database.", repair, means)
    size = int.from_bytes(begin[16:18])
    page = 65_536 if size == 1 else size
    if page < 512 or page & (page - 1):
        means = f"Nothing can be found in it that way. {BACKUP}"
        return Check("header", "fail", f"It says that a page has {page} bytes, which cannot be.", "", means)
    said = int.from_bytes(begin[28:32])
    # The count is right only when it was written by who changed the file last; a log may hold pages yet to come.
    counts = begin[24:28] == begin[92:96]
    there = visit.size() // page
    if counts and said > there and not visit.size("-wal"):
        means = "The end was cut off, as by a full disk or a copy that was stopped. A repair saves what is before it."
        return Check("header", "fail", f"It ends after {there:,} of {said:,} pages.", repair, means)
    return Check("header", "ok", f"a SQLite database with pages of {page:,} bytes")


def _beginning(path: Path) -> bytes:
    try:
        file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except apsw.Error:
        return b""
    try:
        return file.xRead(min(LENGTH, file.xFileSize()), 0)
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

"""The journal of the store: which kind, how large the write-ahead log is, who uses it, and who keeps it from shrinking.

What is said of other processes is what Linux tells; elsewhere nobody is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import amount, some
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import repair_command
from hermes_sessions.storage.lock_holder import described, log_readers
from hermes_sessions.storage.repairing.guard import openers
from hermes_sessions.storage.repairing.unfinished import LOG_MAGIC, unreachable
from hermes_sessions.storage.values import as_text

LARGE_LOG = 64 << 20
"""Bytes. Hermes has its log written back after every 50 changes, and SQLite after 1,000 pages."""


class Log(NamedTuple):
    """Pages in the log, and how many of them have been written back."""

    pages: int
    merged: int


def journal_check(visit: Visit, database: Database) -> Check:
    """How SQLite keeps changes apart from what was there."""
    mode = as_text(database.value("PRAGMA journal_mode"))
    if mode == "wal":
        return Check("journal", "ok", "a write-ahead log: nobody waits for a reader")
    means = "A search here may keep Hermes waiting, and the other way round. On a disk of the network it must be so."
    return Check("journal", "warn", f"The file is in {mode} mode, without a write-ahead log.", "", means)


def log_check(visit: Visit) -> Check:
    """How large the log is, whether it is one, and who keeps it from being emptied."""
    size = visit.size("-wal")
    if size and not _is_log(visit.path):
        means = "SQLite passes over it, and Hermes writes over it when it starts. Messages in it cannot be read."
        return Check("wal", "warn", f"{visit.path.name}-wal ({amount(size)}) is no write-ahead log.", "", means)
    if pages := unreachable(visit.path):
        means = (
            "What was saved in them cannot be read, and is lost once the log is merged: copy the -wal away before "
            "Hermes starts. A repair does so, and merges the rest."
        )
        detail = f"{pages:,} pages of the log come after a damaged one, where nobody can reach them."
        return Check("wal", "warn", detail, repair_command(visit.path), means)
    if size <= LARGE_LOG:
        return Check("wal", "ok", f"the log has {amount(size)}" if size else "the log is empty")
    log = _log(visit)
    state = f", {log.pages - log.merged:,} of its pages not yet written back" if log else ""
    readers = visit.readers & log_readers(visit.path)
    detail = f"The log has grown to {amount(size)}{state}."
    if readers:
        named = some([described(pid, visit.now) for pid in sorted(readers)])
        means = f"Every reading gets slower. {named} reads all the time, so that it cannot be emptied: close it."
    else:
        means = "Every reading gets slower. Close every Hermes: the last one empties it. Never delete it."
    return Check("wal", "warn", detail, "hermes sessions stats", means)


def _log(visit: Visit) -> Log | None:
    """What a checkpoint would find to do. It is only asked (SQLITE_CHECKPOINT_NOOP, SQLite 3.51), and does nothing."""
    with suppress(SessionsError, apsw.Error), closing(Database(visit.path)) as database:
        database.row("SELECT 1 FROM sqlite_schema")
        return Log(*database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP))
    return None


def _is_log(path: Path) -> bool:
    """Whether the log begins as one. It is read through SQLite's own files, which drop no lock of this process."""
    flags = [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_WAL, 0]
    try:
        file = apsw.VFSFile("", f"{path}-wal", flags)
    except apsw.Error:
        return True  # It may not be read, which is said elsewhere.
    try:
        return int.from_bytes(file.xRead(4, 0)) in LOG_MAGIC
    except apsw.Error:
        return True
    finally:
        file.xClose()


def holder_check(visit: Visit) -> Iterator[Check]:
    """Who has the store open, and who still writes to a file that is no longer there."""
    if not Path("/proc/self/fd").is_dir():
        yield Check("open in", "ok", "which programs have it open is known on Linux only")
        return
    if lost := _of_deleted(visit.path):
        named = some([described(pid, visit.now) for pid in lost])
        means = "What it writes is lost when it ends. Have it say what must be kept, then close it."
        yield Check("open in", "fail", f"{named} uses a file of the store that was deleted.", "", means)
        return
    others = openers(visit.path)
    named = some([described(pid, visit.now) for pid in others])
    yield Check("open in", "ok", named or "no other program of yours")


def _of_deleted(path: Path) -> list[int]:
    """Processes that have the store, or a log of it, open after it was deleted (proc_pid_fd(5))."""
    names = {f"{path}{side} (deleted)" for side in ("", "-wal")}
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with suppress(OSError):
                if any(_target(descriptor) in names for descriptor in (process / "fd").iterdir()):
                    found.append(int(process.name))
    return sorted(found)


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""

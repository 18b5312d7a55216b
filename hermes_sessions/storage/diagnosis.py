"""What the doctor finds: whether a file is a session store, whole, and free to go on.

Looks only. The file is opened by nothing but SQLite: closing any other descriptor would drop the locks that this
process holds on it. The search indexes are looked at in `index_health`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from shlex import quote

import apsw

from hermes_sessions.errors import SessionsError, StoreBusy, StoreDamaged
from hermes_sessions.model import Check, Diagnosis
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import REPAIR, index_checks, search_tables, source_of
from hermes_sessions.storage.liveness import Liveness
from hermes_sessions.storage.values import as_float, as_int, as_text

MIB = 1 << 20

LARGEST_WHOLE = 64 * MIB
"""Bytes up to which a file is read from end to end."""

LARGE_WAL = 64 * MIB
LITTLE_SPACE = 256 * MIB

FEATURES = (
    ("messages", "display_order", "after 0.19"),
    ("session_model_usage", "session_id", "0.19"),
    ("messages", "compacted", "0.18"),
    ("messages", "active", "0.16 or 0.17"),
    ("messages", "platform_message_id", "0.15"),
    ("sessions", "handoff_state", "0.13 or 0.14"),
    ("sessions", "started_at", "before 0.13"),
)
"""Tables and columns that a release of Hermes brought, newest first."""


_INDEX = re.compile(r"\bmessages_fts\w*")


def diagnose(path: str | os.PathLike[str], *, clock: Callable[[], float]) -> Diagnosis:
    """Look at a store, changing nothing, also beside live writers.

    What cannot be looked at is a failed check, not an error. Raises only StoreBusy: a store that stays locked can be
    called neither whole nor damaged.
    """
    path = Path(path)
    found = Diagnosis(str(path), apsw.sqlite_lib_version(), None, None, "unknown", tuple(_file_checks(path)))
    if found.checks[0].status != "ok":
        return found
    try:
        with closing(Database(path)) as database:
            found = _described(database, found)
    except StoreBusy:
        raise
    except SessionsError as error:
        return found._replace(checks=(*found.checks, _failed("opens", error)))
    later = (_store_checks(path, clock()), _page_checks(path), _disk_checks(path))
    return found._replace(checks=(*found.checks, *chain.from_iterable(later)))


def _failed(name: str, error: SessionsError) -> Check:
    return Check(name, "fail", error.message, REPAIR if isinstance(error, StoreDamaged) else error.hint)


def _file_checks(path: Path) -> Iterator[Check]:
    """What `stat` tells."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        yield Check("file", "fail", "There is no such file.", "Name the right one with --db or --home.")
        return
    except OSError as error:
        yield Check("file", "fail", f"It cannot be looked at: {error.strerror}.", "Check who owns the directory.")
        return
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
        yield Check("file", "fail", f"It is {what}.", "Name the file itself, usually state.db, with --db.")
        return
    if status.st_size == 0 and _size(path, "-wal") == 0:
        detail = "It is empty: nothing was written to it yet."
        yield Check("file", "warn", detail, "If Hermes has used it before, put a backup in its place.")
        return
    yield Check("file", "ok", f"{status.st_size:,} bytes.")
    if os.name != "posix":
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        yield Check(
            "permissions", "warn", f"Other users may use it (mode {mode:03o}).", f"chmod go= {quote(str(path))}"
        )
    else:
        yield Check("permissions", "ok", f"No other user may use it (mode {mode:03o}).")
    yield from _owner_checks(path, status.st_uid)


def _owner_checks(path: Path, owner: int) -> Iterator[Check]:
    """The side files, which a process of another user may have left: then the owner cannot write any more."""
    foreign = []
    for suffix in ("-wal", "-shm"):
        try:
            if Path(f"{path}{suffix}").stat().st_uid != owner:
                foreign.append(f"{path.name}{suffix}")
        except OSError:
            continue
    if foreign:
        detail = f"{' and '.join(foreign)} belong to another user than {path.name}."
        fix = f"Close every Hermes, then let its owner have them: sudo chown --reference={quote(str(path))} …"
        yield Check("owner", "warn", detail, fix)


def _described(database: Database, found: Diagnosis) -> Diagnosis:
    version = None
    if database.has("schema_version", "version"):
        version = as_float(database.value("SELECT max(version) FROM schema_version"))
    return found._replace(
        journal_mode=as_text(database.value("PRAGMA journal_mode")),
        stored_version=None if version is None else int(version),
        layout=_layout(database),
    )


def _layout(database: Database) -> str:
    """What release wrote it, by what is there, and how its search tables hold their text."""
    if not {"sessions", "messages"} <= database.tables.keys():
        return "no session store"
    release = next((label for table, column, label in FEATURES if database.has(table, column)), "unknown")
    tables = search_tables(database)
    if "messages_fts" not in tables:
        return f"Hermes {release}, no search index"
    source = source_of(tables["messages_fts"])
    text = "inline" if source is None else "external content" if source == "messages" else "external content by views"
    trigram = ", with trigrams" if "messages_fts_trigram" in tables else ""
    return f"Hermes {release}, search index {text}{trigram}"


def _store_checks(path: Path, now: float) -> Iterator[Check]:
    """What SQLite and the tables say."""
    with closing(Database(path)) as database:
        yield Check("opens", "ok", f"SQLite {apsw.sqlite_lib_version()} reads it.")
        # A reader skips broken entries of the catalogue under this flag only (see `database`).
        skips = database.value("PRAGMA writable_schema") == 1
        for notice in database.notices:
            yield Check("opened", "fail" if skips else "warn", notice, REPAIR if skips else "")
        mode = as_text(database.value("PRAGMA journal_mode"))
        if mode == "wal":
            yield Check("journal", "ok", "Write-ahead log: readers and the writer do not wait for each other.")
        else:
            detail = f"The file is in {mode} mode: readers and the writer wait for each other."
            yield Check(
                "journal", "warn", detail, "On a local disk, Hermes uses a write-ahead log (WAL) for a new file."
            )
        missing = {"sessions", "messages"} - database.tables.keys()
        if missing:
            yield Check(
                "tables", "fail", f"Missing: {', '.join(sorted(missing))}.", "Name the file that Hermes writes."
            )
            return
        try:
            sessions, messages = (
                as_int(database.value(f"SELECT count(*) FROM {table}")) for table in ("sessions", "messages")
            )
            yield Check("tables", "ok", f"{sessions:,} sessions, {messages:,} messages.")
            if live := len(Liveness(database).live_sessions(now)):
                yield Check("in use", "ok", f"Sessions in use right now: {live}.")
        except StoreDamaged as error:
            yield _failed("tables", error)


def _page_checks(path: Path) -> Iterator[Check]:
    """What reading the file shows: all of a small one, samples of a large one."""
    whole = _size(path) <= LARGEST_WHOLE
    disputed: set[str] = set()
    if not whole:
        yield Check("pages", "ok", f"Not read from end to end: it is larger than {LARGEST_WHOLE // MIB} MiB.")
    try:
        if whole:
            with closing(Database(path)) as database:
                complaints = [as_text(line) or "" for (line,) in database.rows("PRAGMA main.quick_check(100)")]
            disputed = {name for line in complaints for name in _INDEX.findall(line)}
            faults = [line for line in complaints if line != "ok" and not _INDEX.search(line)]
            if faults:
                yield Check("pages", "fail", f"Damaged: {faults[0]} ({len(faults)} such).", REPAIR)
            else:
                yield Check("pages", "ok", "Read from end to end.")
        yield from index_checks(path, disputed, whole=whole)
    except StoreDamaged as error:
        yield _failed("pages", error)


def _disk_checks(path: Path) -> Iterator[Check]:
    wal = _size(path, "-wal")
    if wal > LARGE_WAL:
        detail = f"The write-ahead log has grown to {wal:,} bytes, which slows every reading down."
        yield Check(
            "wal", "warn", detail, "Close every Hermes: the last one merges it. Never delete it: it holds messages."
        )
    else:
        yield Check("wal", "ok", f"The write-ahead log has {wal:,} bytes.")
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return
    if free < LITTLE_SPACE:
        yield Check(
            "disk", "warn", f"Only {free:,} bytes are free.", "Make room: a full disk stops Hermes from saving."
        )
    else:
        yield Check("disk", "ok", f"{free:,} bytes are free.")


def _size(path: Path, suffix: str = "") -> int:
    try:
        return Path(f"{path}{suffix}").stat().st_size
    except OSError:
        return 0

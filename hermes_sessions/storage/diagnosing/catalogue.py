"""The catalogue of the file (`sqlite_schema`), and whether its tables are those of one release of Hermes.

Reads it under `writable_schema`, where SQLite skips what it cannot make sense of. What the triggers in it do is for
`triggers`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted, some
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import repair_command, search_tables, source_of
from hermes_sessions.storage.values import as_int, as_text

SHADOWS = ("data", "idx", "docsize", "config")
"""What each FTS5 table keeps beside itself (https://sqlite.org/fts5.html#fts5_data_structures)."""

HERMES = re.compile(rf"messages_fts\w*_(?:{'|'.join(SHADOWS)}|content)", re.ASCII)
"""What search indexes of Hermes keep beside themselves, by its name."""

INDEXES = {
    "idx_sessions_source": ("sessions", "source"),
    "idx_sessions_parent": ("sessions", "parent_session_id"),
    "idx_sessions_started": ("sessions", "started_at"),
    "idx_messages_session": ("messages", "timestamp"),
    "idx_sessions_title_unique": ("sessions", "title"),
    "idx_messages_session_active": ("messages", "active"),
    "idx_compression_locks_expires": ("compression_locks", "expires_at"),
}
"""Indexes that every release of Hermes makes whose stores have the column."""

ARRIVALS = (
    (8, "sessions", "api_call_count"),
    (11, "sessions", "handoff_state"),
    (13, "messages", "platform_message_id"),
    (14, "messages", "active"),
    (14, "compression_locks", "expires_at"),
    (17, "messages", "compacted"),
    (17, "sessions", "session_key"),
    (19, "gateway_routing", "session_key"),
    (22, "session_model_usage", "task"),
    (22, "messages", "api_content"),
    (25, "system_prompts", "hash"),
    (31, "sessions", "auto_archived"),
    (31, "messages", "message_uid"),
)
"""Columns by the schema version that brought them."""

START_HERMES = "hermes sessions stats"
"""A command of Hermes that opens the store as its owner and does no more."""


class Entry(NamedTuple):
    """A row of the catalogue."""

    kind: str
    name: str
    root: int
    sql: str | None


def catalogue_check(visit: Visit, database: Database) -> Check:
    """Whether each object is there once, in words that can be read, on a page of the file. Sets `visit.disordered`."""
    entries, unreadable = _entries(database)
    pages = as_int(database.value("PRAGMA page_count"))
    faults = list(_faults(entries, pages, search_tables(database)))
    if database.value("PRAGMA writable_schema") == 1:
        faults += [notice for notice in database.notices if not faults]
    visit.disordered = visit.broken = bool(faults)
    if faults:
        means = "Hermes cannot open the store, or loses what it writes. Messages that were stored are still there."
        return Check("catalogue", "fail", " ".join(faults), repair_command(visit.path), means)
    if unreadable:
        means = "Here it is read all the same. Hermes stumbles over it when it is the name of a column."
        detail = f"The definition of {some(unreadable)} is no UTF-8 text."
        return Check("catalogue", "fail", detail, repair_command(visit.path), means)
    return Check("catalogue", "ok", f"{len(entries):,} objects, each once")


def _entries(database: Database) -> tuple[list[Entry], list[str]]:
    rows = database.rows("SELECT type, name, rootpage, CAST(sql AS BLOB) FROM sqlite_schema ORDER BY rowid")
    entries, unreadable = [], []
    for kind, name, root, sql in rows:
        entry = Entry(as_text(kind) or "", as_text(name) or "", as_int(root), as_text(sql))
        entries.append(entry)
        if isinstance(sql, bytes) and entry.sql is not None and entry.sql.encode() != sql:
            unreadable.append(entry.name)
    return entries, unreadable


def _faults(entries: list[Entry], pages: int, indexes: dict[str, str]) -> Iterator[str]:
    twice = [name for (_, name), count in Counter((entry.kind, entry.name) for entry in entries).items() if count > 1]
    if twice:
        yield f"More than one entry for {some(twice)}."
    nameless = sum(not entry.name or entry.kind not in ("table", "index", "view", "trigger") for entry in entries)
    if nameless:
        yield f"{counted(nameless, 'entry', 'entries')} of no kind or name."
    if astray := [entry.name for entry in entries if entry.root > pages]:
        yield f"The pages of {some(astray)} are not in the file."
    roots = Counter(entry.root for entry in entries if entry.root > 0 and entry.name not in twice)
    if shared := [entry.name for entry in entries if roots[entry.root] > 1]:
        yield f"On the same page: {some(shared)}."
    tables = {entry.name for entry in entries if entry.kind == "table"}
    for name, sql in indexes.items():
        shadows = SHADOWS if source_of(sql) else (*SHADOWS, "content")
        if missing := [shadow for shadow in shadows if f"{name}_{shadow}" not in tables]:
            yield f"The search index {name} has lost its {some(missing)}."
    derived = {name for name in tables if HERMES.fullmatch(name)}
    if lost := sorted(name for name in derived if not any(name.startswith(f"{index}_") for index in indexes)):
        yield f"{some(lost)} belong to a search index that is gone."


def layout_check(visit: Visit, database: Database) -> Iterator[Check]:
    """Whether an update of the layout by Hermes was cut off, and whether indexes of tables are missing."""
    if database.has("schema_version", "version"):
        versions = [as_int(version) for (version,) in database.rows("SELECT version FROM schema_version")]
    else:
        versions = []
    has = {(table, column): database.has(table, column) for _, table, column in ARRIVALS}
    version = max(versions, default=0)
    late = [f"{table}.{column}" for number, table, column in ARRIVALS if number > version and has[table, column]]
    missing = [
        f"{table}.{column}" for number, table, column in ARRIVALS if number <= version and not has[table, column]
    ]
    again = "The next start of Hermes sets it right."
    if len(versions) != 1:
        detail = f"It holds {counted(len(versions), 'schema version')} instead of one."
        yield Check("layout", "warn", detail, START_HERMES, f"An update of Hermes was cut off. {again}")
    elif missing or late:
        what = f"lacks {some(missing)}" if missing else f"has {some(late)} already"
        detail = f"It says version {version}, but {what}."
        yield Check("layout", "warn", detail, START_HERMES, f"An update of Hermes was cut off half-way. {again}")
    else:
        yield Check("layout", "ok", f"version {version}, with all that belongs to it")
    there = {as_text(name) for (name,) in database.rows("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    if lost := [name for name, column in INDEXES.items() if database.has(*column) and name not in there]:
        means = f"Lists take longer{', and titles may be given twice' if 'idx_sessions_title_unique' in lost else ''}."
        yield Check("table indexes", "warn", f"Missing: {some(lost)}.", START_HERMES, f"{means} {again}")

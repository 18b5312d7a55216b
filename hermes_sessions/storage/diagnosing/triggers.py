"""Whether a message that Hermes writes gets into the search indexes: tried out on an empty copy of the layout.

The copy is in memory and has the tables, views and triggers of the store, but none of its rows. A store can lose all
its search to one trigger, and all its messages to one that writes to what is not there any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing

import apsw

from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.catalogue import START_HERMES
from hermes_sessions.storage.diagnosing.figures import some
from hermes_sessions.storage.diagnosing.trigger_texts import KNOWN
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import can_be_read, repair_command, search_tables, stale_tables
from hermes_sessions.storage.values import as_text

WORDS = ("doctorsfirstword", "doctorssecondword")

_BLANK = re.compile(r"\s+|\"|\bif\s+not\s+exists\b", re.IGNORECASE)
_EVENT = re.compile(r"\b(INSERT|DELETE|UPDATE)\b.*?\bON\b", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"messages_fts\w*", re.ASCII)


def fingerprint(sql: str) -> str:
    """What tells a trigger's text from another one, however it is spaced."""
    return hashlib.sha256(_BLANK.sub("", sql).lower().encode("utf-8", "replace")).hexdigest()[:12]


def trigger_check(visit: Visit, database: Database) -> Iterator[Check]:
    """Whether the triggers are there, and do their work."""
    if not {"sessions", "messages"} <= database.tables.keys():
        return
    tables = [name for name in search_tables(database) if name not in stale_tables(database)]
    rows = database.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    triggers = {as_text(name) or "": as_text(sql) or "" for name, sql in rows}
    if not tables and not any(_TABLE.search(sql) for sql in triggers.values()):
        return
    missing = [f"{event} for {table}" for table in tables for event in _missing(table, triggers)]
    faults = _trial(visit, database, tables)
    if "stored" in faults:
        means = "Hermes loses whatever is said to it from now on. Close it until the store is repaired."
        detail = f"A message cannot be stored: {faults['stored']}."
        yield Check("triggers", "fail", detail, repair_command(visit.path), means)
    elif missing:
        means = "New messages are not found, or deleted ones are. The next start of Hermes makes triggers again."
        yield Check("triggers", "warn", f"Missing: {some(missing, 6)}.", START_HERMES, means)
    elif faults:
        means = "They are not as Hermes wrote them, and a search gives wrong answers for what is written from now on."
        yield Check("triggers", "warn", f"{' '.join(faults.values())}", "", means)
    else:
        unknown = sorted(name for name, sql in triggers.items() if fingerprint(sql) not in KNOWN.get(name, ()))
        told = f"{some(unknown)} of no known release" if unknown else "as Hermes wrote them"
        yield Check("triggers", "ok", f"{len(triggers)}, {told}; a trial message is found")


def _missing(table: str, triggers: dict[str, str]) -> Iterator[str]:
    there = {
        event[1].upper() for sql in triggers.values() if table in _TABLE.findall(sql) and (event := _EVENT.search(sql))
    }
    return (event for event in ("INSERT", "DELETE", "UPDATE") if event not in there)


def _trial(visit: Visit, database: Database, tables: list[str]) -> dict[str, str]:
    """Write, change and delete a message in an empty store of this layout; return what went wrong, in words."""
    readable = [name for name in tables if can_be_read(database.tables[name])]
    with closing(apsw.Connection(":memory:")) as trial, visit.limited(1.0):
        visit.watch(trial)
        trial.pragma("trusted_schema", False)
        trial.pragma("foreign_keys", False)
        _lay_out(trial, database)
        faults: dict[str, str] = {}

        def look(word: str, there: bool, words: str) -> None:
            for name in readable:
                found = trial.execute(f"SELECT count(*) FROM {name} WHERE {name} MATCH ?", (f'"{word}"',)).fetchall()
                if (found[0][0] == 1) is not there:
                    faults.setdefault(name, f"In {name}, {words}.")

        first, second = WORDS
        try:
            _insert(trial, "sessions", {"id": "trial", "source": "cli"})
            _insert(trial, "messages", {"id": 1, "session_id": "trial", "role": "user", "content": first})
        except apsw.Error as error:
            return {"stored": str(error)}
        try:
            look(first, True, "a new message is not found")
            trial.execute("UPDATE messages SET content = ? WHERE id = 1", (second,)).fetchall()
            look(first, False, "a changed message is found by its old words")
            look(second, True, "a changed message is not found")
            trial.execute("DELETE FROM messages WHERE id = 1").fetchall()
            look(second, False, "a deleted message is found")
        except apsw.Error as error:
            faults[""] = f"A message cannot be changed or deleted: {error}."
        return faults


def _lay_out(trial: apsw.Connection, database: Database) -> None:
    """Make what the catalogue names, tables first; what cannot be made is missed in the trial."""
    unreadable = [name for name, sql in search_tables(database).items() if not can_be_read(sql)]
    rows = database.rows(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'index' AND name NOT GLOB 'sqlite_*'"
        " ORDER BY type = 'trigger', type = 'view', rowid"
    )
    for name, sql in rows:
        text = as_text(sql) or ""
        derived = re.fullmatch(r"messages_fts\w*_(?:data|idx|docsize|config|content)", as_text(name) or "")
        if derived or any(table in _TABLE.findall(text) for table in unreadable):
            continue
        try:
            trial.execute(text).fetchall()
        except (apsw.Error, UnicodeError):
            continue


def _insert(trial: apsw.Connection, table: str, values: dict[str, object]) -> None:
    """Insert a row with these values, and something in every other column that must have a value."""
    columns = trial.execute("SELECT name, type, [notnull], dflt_value FROM pragma_table_info(?)", (table,)).fetchall()
    row: dict[str, object] = {
        str(name): 1 if kind in ("REAL", "INTEGER") else "trial"
        for name, kind, required, default in columns
        if required and default is None
    }
    row |= values
    names = ", ".join(f'"{name}"' for name in row)
    places = ", ".join("?" * len(row))
    trial.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values())).fetchall()

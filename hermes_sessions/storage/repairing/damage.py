"""What is wrong with a copy of a store, sorted by what can be done about it. Writes to the copy, and takes it back.

A search index is judged as by `index_health`: the strict command of FTS5 only says which of them to look at, since
releases of SQLite differ about an index of text with a NUL in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.complaints import complaints, strictly_refused
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.entries import compared
from hermes_sessions.storage.index_health import index_checks
from hermes_sessions.storage.values import as_text

READS = 3.5
"""How often `integrity_check` reads each page of a large store with two search indexes, about."""

SHADOWS = ("data", "idx", "content", "docsize", "config", "segments", "segdir", "stat", "node", "rowid", "parent")
"""What virtual tables of FTS5, FTS4 and R*Tree keep their content in, after their own name and a `_`."""

_OWN = {
    "sessions": "WHERE typeof(id) = 'text'",
    "messages": "WHERE role NOT GLOB '*[^a-z_]*' AND typeof(timestamp) IN ('real', 'integer')",
}
"""Not rows of another table, where pages or roots of the file have changed places: where a role is, others have ids."""

_FED = re.compile(r"(messages_fts\w*)_(?:insert|delete|update)", re.ASCII)


class Damage(NamedTuple):
    """Names of what is damaged, and SQLite's words for what has no name."""

    unreadable: str = ""
    """Why the file cannot be opened, or is no session store."""
    doubled: tuple[str, ...] = ()
    """What the catalogue has more than once; nothing else can be known then."""
    garbled: tuple[str, ...] = ()
    """What the catalogue defines in words that are no text."""
    indexes: tuple[str, ...] = ()
    """Search indexes."""
    behind: tuple[str, ...] = ()
    """Search indexes that are sound in themselves, and do not have each message with the words that it has."""
    keys: tuple[str, ...] = ()
    """Ordinary indexes that do not fit their tables."""
    pages: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """A sentence for each."""
        return (
            *([f"The file cannot be opened: {self.unreadable}."] if self.unreadable else []),
            *(f"The catalogue has more than one {name}." for name in self.doubled),
            *([f"Damaged pages: {self.pages[0]} ({len(self.pages)} such)."] if self.pages else []),
            *(f"The search index {name} is damaged." for name in self.indexes),
            *(f"The definition of {name} is no text in UTF-8." for name in self.garbled),
            *(f"The search index {name} does not have what the messages say." for name in self.behind),
            *(f"The index {name} does not fit its table." for name in self.keys),
        )


class Entry(NamedTuple):
    """An object in the catalogue, and the text that made it."""

    kind: str
    name: str
    sql: str


def examine(copy: Path, told: Callable[[str, float], None] = lambda what, reads: None) -> Damage:
    """What is wrong with a copy that nobody else uses; an empty Damage when nothing is. Reads it from end to end.

    `told` is called with what is being looked at, whenever that changes, and how often each page of the file is read
    for that, about; 0 where nobody knows.
    """
    try:
        told("Looking at the catalogue", 0)
        if doubled := _doubled(copy):
            return Damage(doubled=doubled)
        with closing(Database(copy, "owner")) as database:
            if missing := {"sessions", "messages"} - database.tables.keys():
                return Damage(unreadable=f"it has no {' and no '.join(sorted(missing))}")
            garbled = tuple(name for name, sql in definitions(database.connection) if not is_text(sql))
            told("Looking at every page", READS)
            found = complaints(database.connection, database)
            if pages := found.pages or found.unused:
                return Damage(pages=pages)
            told("Looking at the search indexes", 0)
            disputed = found.disputed | strictly_refused(database.connection, database)
            lost = _fed_but_missing(database)
        told("Counting what is in the search indexes", 0)
        checks = index_checks(copy, disputed, whole=True, unreadable=found.unreadable)
        broken = {check.name for check in checks if check.status == "fail"}
        told("Comparing the search indexes with the messages", 0)
        with closing(Database(copy, "owner")) as database:
            behind = [index.name for index in compared(database, lambda: repeat(None), without=broken) if index.differs]
        indexes = tuple(sorted(broken | lost))
        return Damage(garbled=garbled, indexes=indexes, behind=tuple(behind), keys=tuple(sorted(found.keys)))
    except SessionsError as error:
        return Damage(unreadable=str(error.__cause__ or error.message))


def definitions(connection: apsw.Connection) -> list[tuple[str, bytes]]:
    """What the catalogue has an SQL text for, and the bytes of that."""
    sql = "SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema WHERE typeof(sql) = 'text' ORDER BY rowid"
    return [(bytes(name).decode("utf-8", "replace"), bytes(text)) for name, text in connection.execute(sql)]


def is_text(value: bytes) -> bool:
    """Whether these are characters in UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def read_everything(connection: apsw.Connection) -> None:
    """Let a connection read past broken entries of the catalogue, and past the end of a file that was cut."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.pragma("writable_schema", True)


def counted(copy: Path) -> dict[str, int | None]:
    """How many rows each ordinary table has, read from the table itself; None where it cannot be read."""
    rows: dict[str, int | None] = {}
    with closing(apsw.Connection(str(copy))) as connection:
        read_everything(connection)
        with suppress(apsw.Error):
            for name in ordinary_tables(connection):
                rows[name] = None
                with suppress(apsw.Error):
                    sql = f"SELECT count(*) FROM {quoted(name)} NOT INDEXED {_OWN.get(name, '')}"
                    rows[name] = next(connection.execute(sql))[0]
    return rows


def dangling(copy: Path) -> int | None:
    """How many rows refer to sessions that are not there; None when it cannot be found out.

    That a session does so is usual: its parent was deleted.
    """
    with closing(apsw.Connection(str(copy))) as connection:
        read_everything(connection)
        try:
            sql = "SELECT count(*) FROM pragma_foreign_key_check WHERE [table] <> 'sessions'"
            return int(next(connection.execute(sql))[0])
        except apsw.Error:
            return None


def catalogue(connection: apsw.Connection, schema: str = "main") -> list[Entry]:
    """What the catalogue has an SQL text for, in its order, as far as it can be read from its two ends."""
    entries: dict[int, Entry] = {}
    for order in ("ASC", "DESC"):
        sql = (
            f"SELECT rowid, type, CAST(name AS BLOB), CAST(sql AS BLOB) FROM {schema}.sqlite_schema"
            " WHERE typeof(name) = 'text'"
            f" AND typeof(sql) = 'text' AND type IN ('table', 'index', 'view', 'trigger') ORDER BY rowid {order}"
        )
        with suppress(apsw.CorruptError, UnicodeDecodeError):
            for rowid, kind, name, text in connection.execute(sql):
                entries[int(str(rowid))] = Entry(str(kind), as_text(name) or "", as_text(text) or "")
    return [entry for _, entry in sorted(entries.items())]


def ordinary_tables(connection: apsw.Connection, schema: str = "main") -> dict[str, str]:
    """CREATE text of the tables that hold what nothing else holds: not those of search indexes, nor SQLite's own."""
    tables = [entry for entry in catalogue(connection, schema) if entry.kind == "table"]
    virtual = virtual_tables(tables)
    found: dict[str, str] = {}
    for _, name, sql in tables:
        if not derived(name, virtual) and re.match(r"\s*CREATE\s+TABLE\b", sql, re.IGNORECASE):
            found.setdefault(name, sql)
    return found


def virtual_tables(entries: Sequence[Entry]) -> set[str]:
    """Names of those that are virtual."""
    return {entry.name for entry in entries if re.match(r"\s*CREATE\s+VIRTUAL\b", entry.sql, re.IGNORECASE)}


def derived(name: str, virtual: Collection[str]) -> bool:
    """Whether a table is SQLite's own, a virtual one, or what a virtual one keeps its content in.

    The search indexes of Hermes may be gone from the catalogue while what they keep is still in it.
    """
    stem, _, last = name.rpartition("_")
    kept = last in SHADOWS and (stem in virtual or stem.startswith("messages_fts"))
    return kept or name.startswith("sqlite_") or name in virtual


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _doubled(copy: Path) -> tuple[str, ...]:
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        try:
            rows = connection.execute(
                "SELECT name FROM sqlite_schema WHERE typeof(name) = 'text' GROUP BY type, name HAVING count(*) > 1"
            ).fetchall()
        except (apsw.Error, UnicodeDecodeError):
            return ()
    return tuple(str(name) for (name,) in rows)


def _fed_but_missing(database: Database) -> set[str]:
    """Search indexes that triggers would write to and that are not there: no message can be stored then."""
    rows = database.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    fed = (_FED.fullmatch(as_text(name) or "") for (name,) in rows)
    return {match[1] for match in fed if match} - database.tables.keys()

"""What is wrong with a copy of a store, sorted by what can be done about it. Writes to the copy, and takes it back.

A search index is judged as by `index_health`: the strict command of FTS5 only says which of them to look at, since
releases of SQLite differ about an index of text with a NUL in it.
"""

from __future__ import annotations

import re
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import (
    BUILT_IN_TOKENIZERS,
    index_checks,
    search_tables,
    source_of,
)
from hermes_sessions.storage.values import as_int, as_text

MOST_LINES = 1_000

_VALUE = re.compile(r"(?:NULL|NUMERIC|TEXT) value in |CHECK constraint failed in ")
_KEYS = re.compile(r"(?:missing from index |wrong # of entries in index |non-unique entry in index )(\S+)")
_ROOT = re.compile(r"Tree (\d+) ")
_TOKENIZER = re.compile(r"\btokenize\s*=\s*['\"]*\s*(\w+)", re.IGNORECASE)
_FED = re.compile(r"(messages_fts\w*)_(?:insert|delete|update)", re.ASCII)


class Damage(NamedTuple):
    """Names of what is damaged, and SQLite's words for what has no name."""

    unreadable: str = ""
    """Why the file cannot be opened, or is no session store."""
    doubled: tuple[str, ...] = ()
    """What the catalogue has more than once; nothing else can be known then."""
    indexes: tuple[str, ...] = ()
    """Search indexes."""
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
            *(f"The index {name} does not fit its table." for name in self.keys),
        )


class Entry(NamedTuple):
    """An object in the catalogue, and the text that made it."""

    kind: str
    name: str
    sql: str


def examine(copy: Path) -> Damage:
    """What is wrong with a copy that nobody else uses; an empty Damage when nothing is. Reads it from end to end."""
    try:
        if doubled := _doubled(copy):
            return Damage(doubled=doubled)
        with closing(Database(copy, "owner")) as database:
            if missing := {"sessions", "messages"} - database.tables.keys():
                return Damage(unreadable=f"it has no {' and no '.join(sorted(missing))}")
            found = _integrity(database)
            if found.pages:
                return found
            disputed = set(found.indexes) | _strictly_refused(database)
            lost = _fed_but_missing(database)
        checks = index_checks(copy, disputed, whole=True)
        broken = {check.name for check in checks if check.status == "fail"}
        return found._replace(indexes=tuple(sorted(broken | lost)))
    except SessionsError as error:
        return Damage(unreadable=str(error.__cause__ or error.message))


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
                    rows[name] = next(connection.execute(f"SELECT count(*) FROM {quoted(name)} NOT INDEXED"))[0]
    return rows


def dangling(copy: Path) -> int | None:
    """How many rows refer to rows that are not there; None when it cannot be found out."""
    with closing(apsw.Connection(str(copy))) as connection:
        read_everything(connection)
        try:
            return next(connection.execute("SELECT count(*) FROM pragma_foreign_key_check"))[0]  # type: ignore[no-any-return]
        except apsw.Error:
            return None


def catalogue(connection: apsw.Connection, schema: str = "main") -> list[Entry]:
    """What the catalogue has an SQL text for, in its order, as far as it can be read from its two ends."""
    entries: dict[int, Entry] = {}
    for order in ("ASC", "DESC"):
        sql = (
            f"SELECT rowid, type, name, sql FROM {schema}.sqlite_schema WHERE typeof(name) = 'text'"
            f" AND typeof(sql) = 'text' AND type IN ('table', 'index', 'view', 'trigger') ORDER BY rowid {order}"
        )
        with suppress(apsw.CorruptError, UnicodeDecodeError):
            for rowid, kind, name, text in connection.execute(sql):
                entries[int(str(rowid))] = Entry(str(kind), str(name), str(text))
    return [entry for _, entry in sorted(entries.items())]


def ordinary_tables(connection: apsw.Connection, schema: str = "main") -> dict[str, str]:
    """CREATE text of the tables that hold what nothing else holds: not those of search indexes, nor SQLite's own."""
    tables = [entry for entry in catalogue(connection, schema) if entry.kind == "table"]
    virtual = [entry.name for entry in tables if re.match(r"\s*CREATE\s+VIRTUAL\b", entry.sql, re.IGNORECASE)]
    found: dict[str, str] = {}
    for _, name, sql in tables:
        derived = name.startswith(("sqlite_", "messages_fts", *(f"{table}_" for table in virtual)))
        if not derived and re.match(r"\s*CREATE\s+TABLE\b", sql, re.IGNORECASE):
            found.setdefault(name, sql)
    return found


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


def _integrity(database: Database) -> Damage:
    """The words of `PRAGMA integrity_check`, sorted by whom they are about."""
    roots = {
        as_int(root): (as_text(kind) or "", as_text(name) or "")
        for root, kind, name in database.rows("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0")
    }
    longest_first = sorted(search_tables(database), key=len, reverse=True)
    indexes, keys, pages = set(), set(), []
    for words in _complaints(database):
        tree = _ROOT.search(words)
        kind, about = roots.get(int(tree[1]), ("", "")) if tree else ("", words)
        index = next((name for name in longest_first if name in about), None)
        named = _KEYS.search(words)
        if _VALUE.match(words):
            continue
        if "2nd reference" in words:
            pages.append(words)
        elif index:
            indexes.add(index)
        elif named or kind == "index":
            keys.add(named[1] if named else about)
        else:
            pages.append(words)
    return Damage(indexes=tuple(sorted(indexes)), keys=tuple(sorted(keys)), pages=tuple(pages))


def _complaints(database: Database) -> list[str]:
    """The lines of `PRAGMA integrity_check`, up to where it fails itself; none for a whole file."""
    lines: list[str] = []
    try:
        for (text,) in database.connection.execute(f"PRAGMA main.integrity_check({MOST_LINES})"):
            lines += str(text).splitlines()
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        lines = lines or [str(error)]
    return [line for line in lines if line != "ok" and not line.startswith("***")]


def _strictly_refused(database: Database) -> set[str]:
    """The search indexes that FTS5 itself takes for damaged (its 'integrity-check', taken back afterwards)."""
    refused = set()
    waiting = database.has("state_meta", "value") and database.row(
        "SELECT 1 FROM state_meta WHERE key LIKE 'fts_rebuild_%'"
    )
    for name, sql in search_tables(database).items():
        tokenizer = _TOKENIZER.search(sql)
        # While Hermes fills an index in steps, it does not hold all of its source yet.
        if (tokenizer and tokenizer[1] not in BUILT_IN_TOKENIZERS) or (waiting and source_of(sql)):
            continue
        database.execute("BEGIN")
        try:
            database.execute(f"INSERT INTO {quoted(name)}({quoted(name)}, rank) VALUES ('integrity-check', 1)")
        except SessionsError:
            refused.add(name)
        finally:
            if database.connection.in_transaction:
                database.execute("ROLLBACK")
    return refused


def _fed_but_missing(database: Database) -> set[str]:
    """Search indexes that triggers would write to and that are not there: no message can be stored then."""
    rows = database.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    fed = (_FED.fullmatch(as_text(name) or "") for (name,) in rows)
    return {match[1] for match in fed if match} - database.tables.keys()

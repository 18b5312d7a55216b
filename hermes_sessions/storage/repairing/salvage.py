"""What can be read of a damaged store, row by row, in a new file with the same tables.

How a single table is copied is for `copying`. The copy that is read is not written to, but for its first page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError, StoreDamaged, UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted
from hermes_sessions.storage.index_health import search_tables
from hermes_sessions.storage.repairing import layouts
from hermes_sessions.storage.repairing.copying import Salvaged, TableCopy
from hermes_sessions.storage.repairing.damage import (
    Damage,
    Entry,
    catalogue,
    is_text,
    ordinary_tables,
    quoted,
    read_everything,
)
from hermes_sessions.storage.repairing.first_page import mend_catalogue, mend_header
from hermes_sessions.storage.repairing.remedies import can_be_made, fill, lost_indexes, rename, respell
from hermes_sessions.storage.repairing.shapes import shape_of
from hermes_sessions.storage.repairing.strays import Strays
from hermes_sessions.storage.repairing.undefined import copy_undefined
from hermes_sessions.storage.values import as_int
from hermes_sessions.storage.writing import schema

RECOVERED = "recovered"
"""`source` of a session that is made because messages name it and it could not be read."""

VERSIONS = frozenset(range(1, 1_000))
"""Numbers that a schema version may be, where only the shape of a row says that it is one."""

MOST_UNUSED = 1_000_000_000
"""How far past the last row the number may be that was given last. After the highest of all no row can be added."""

_CREATE = re.compile(r"\s*CREATE\s+(?:UNIQUE\s+)?(TABLE|INDEX|VIEW|TRIGGER|VIRTUAL\s+TABLE)\b", re.IGNORECASE)
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
_TITLES = re.compile(r"\s*CREATE\s+UNIQUE\s+INDEX\s.*\bsessions\s*\(\s*title\s*\)", re.IGNORECASE | re.DOTALL)
_FED = re.compile(r"(messages_fts\w*)_(?:insert|delete|update)", re.ASCII)


class Findings(NamedTuple):
    """What a salvage brought: tables in the order of the catalogue, and what a person should know besides."""

    tables: tuple[Salvaged, ...]
    notes: tuple[str, ...]


def salvage(damaged: Path, new: Path, told: Callable[[str], None] = lambda what: None) -> Findings:
    """Copy whatever can be read of the file at `damaged` into a file that is not there yet.

    `told` is called with what is being done, whenever that changes.
    Raises StoreDamaged when its tables cannot be found out, StoreUnreadable when there is no room.
    """
    notes: list[str] = []
    told("Looking for what the first page has lost")
    mend_header(damaged)
    _merge_log(damaged)
    mend_catalogue(damaged)
    with suppress(apsw.Error):
        respell(damaged, Damage())
        rename(damaged)
    new.touch(mode=0o600)
    with closing(Database(new, "owner")) as database:
        connection = database.connection
        try:
            made = _begin(connection, damaged)
            tables = tuple(made.values())
            lost = [table for table in layouts.TABLES if table not in tables]
            strays = Strays(damaged, _roots(connection, made, lost))
            nameless = _lay_out(connection, strays, lost)
            strays.shapes = {name: shape_of(connection, name) for name in (*tables, *nameless)}
            found = tuple(_copied(connection, name, strays, told) for name in (*tables, *nameless))
            undefined = copy_undefined(connection, damaged, {*made, *nameless})
            mended = _mend_sessions(connection)
            journal = _settings(connection)
        except apsw.FullError:
            raise
        except apsw.Error as error:
            raise StoreDamaged(f"its tables cannot be found out: {error}.") from error
        if mended:
            notes.append(f"{counted(mended, 'garbled value')} of sessions replaced by what indexes say.")
        if twins := sum(table.twins for table in found):
            notes.append(f"{counted(twins, 'session')} had the id of another: each has one of its own now.")
        if nameless:
            notes.append(f"Found by what is in them, since the catalogue does not name them: {', '.join(nameless)}.")
            _complete(database)
        notes += [f"The definition of a table is damaged: {_where(kept)}." for kept in undefined]
        notes += _make_sessions(database, found)
        notes += _make_the_rest(database, nameless, told)
        with suppress(apsw.Error):
            connection.execute("DETACH damaged")
        database.execute(f"PRAGMA journal_mode = {journal}")
    return Findings((*found, *undefined), tuple(notes))


def _where(kept: Salvaged) -> str:
    """What became of a table without a definition."""
    if kept.rows:
        return f"{counted(kept.rows, 'row')} of it {'is' if kept.rows == 1 else 'are'} in {kept.table} now"
    return f"{kept.table} was left out"


def _copied(connection: apsw.Connection, name: str, strays: Strays, told: Callable[[str], None]) -> Salvaged:
    told(f"Copying the table {name}")
    return TableCopy(connection, name, strays).copy()


def _merge_log(copy: Path) -> None:
    """Have all of a store in its file, if its log can be read."""
    with suppress(apsw.Error), closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        with suppress(apsw.Error):
            # Who has read nothing has nothing written back.
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        length = int(str(connection.pragma("page_count"))) * int(str(connection.pragma("page_size")))
        if length > copy.stat().st_size:
            # SQLite takes a log for damaged that makes a file longer than both together are.
            os.truncate(copy, length)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _begin(connection: apsw.Connection, damaged: Path) -> dict[str, str]:
    """Attach the damaged file, make its tables in the new one, and return their names by those in the catalogue.

    SQLite calls a table what its CREATE text says; the name beside that may be damaged.
    """
    connection.pragma("foreign_keys", False)
    # A row that a table would not take today is a row all the same.
    connection.pragma("ignore_check_constraints", True)
    connection.pragma("synchronous", "off")
    connection.pragma("journal_mode", "memory")
    read_everything(connection)
    # Else a column that is not there would be a text of that name.
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.execute("ATTACH ? AS damaged", (str(damaged),))
    for pragma in ("page_size", "auto_vacuum", "encoding"):
        value = connection.pragma(pragma, schema="damaged")
        connection.pragma(pragma, value, schema="main")
    # From here on the text of the catalogue is run, whoever wrote it.
    connection.authorizer = _only_here
    made = {}
    there: set[str] = set()
    for name, sql in ordinary_tables(connection, "damaged").items():
        with suppress(apsw.SQLError, apsw.CorruptError):
            connection.execute(sql)
        tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
        for (new,) in connection.execute(tables).fetchall():
            if new not in there:
                made[name] = str(new)
                there.add(str(new))
    return made


def _roots(connection: apsw.Connection, made: Mapping[str, str], lost: Sequence[str]) -> dict[str, int]:
    """Where each table of the damaged file begins that is not lost, and the catalogue itself."""
    roots = {"sqlite_schema": 1}
    with suppress(apsw.CorruptError, UnicodeDecodeError):
        sql = "SELECT name, rootpage FROM damaged.sqlite_schema WHERE type = 'table' AND rootpage > 1"
        listed = connection.execute(sql)
        found = [(made.get(str(name), str(name)), root) for name, root in listed if isinstance(root, int)]
        roots |= {name: root for name, root in found if name not in lost}
    return roots


def _lay_out(connection: apsw.Connection, strays: Strays, lost: Sequence[str]) -> list[str]:
    """Make the tables of Hermes that the catalogue has lost, if there are rows of them; return their names."""
    rows = strays.samples() if lost else ()
    made = []
    for table in lost:
        if sql := layouts.likely(table, rows):
            connection.execute(sql)
            made.append(table)
    return made


def _only_here(action: int, *_about: str | None) -> int:
    return apsw.SQLITE_DENY if action == apsw.SQLITE_ATTACH else apsw.SQLITE_OK


def _settings(connection: apsw.Connection) -> str:
    """Give the new file the numbers of the old one; return the journal it is kept with."""
    for pragma in ("user_version", "application_id"):
        connection.pragma(pragma, connection.pragma(pragma, schema="damaged"), schema="main")
    with suppress(apsw.Error):
        connection.execute(
            "UPDATE main.sqlite_sequence SET seq = max(seq, coalesce("
            "(SELECT max(seq) FROM damaged.sqlite_sequence d WHERE d.name = sqlite_sequence.name"
            " AND typeof(d.seq) = 'integer' AND d.seq < sqlite_sequence.seq + ?), 0))",
            (MOST_UNUSED,),
        )
    return "wal" if connection.pragma("journal_mode", schema="damaged") == "wal" else "delete"


def _complete(database: Database) -> None:
    """Have the file hold what every store holds, and say one version: the one it said, or that of its newest column."""
    for declared in schema.objects():
        if declared.kind == "table" and declared.index is None and declared.name not in database.tables:
            database.execute(declared.sql)
    database.forget_layout()
    versions = {as_int(version) for (version,) in database.rows("SELECT version FROM schema_version")}
    if len(versions) == 1 and versions <= VERSIONS:
        return
    columns = {(table, column) for table in layouts.TABLES for column in database.columns(table)}
    database.execute("DELETE FROM schema_version")
    database.execute("INSERT INTO schema_version VALUES (?)", (layouts.version(columns),))


def _mend_sessions(connection: apsw.Connection) -> int:
    """Replace what is no text any more in rows of sessions by what an index has in its place; return how much."""
    mended = 0
    columns = "SELECT index_list.name, info.name FROM pragma_index_list('sessions', 'damaged') AS index_list,"
    with suppress(apsw.Error):
        for index, column in connection.execute(f"{columns} pragma_index_info(index_list.name, 'damaged') AS info"):
            quoted_column = quoted(str(column))
            garbled = {
                rowid
                for rowid, text in connection.execute(
                    f"SELECT rowid, CAST({quoted_column} AS BLOB) FROM main.sessions"
                    f" WHERE typeof({quoted_column}) = 'text'"
                )
                if not is_text(text)
            }
            if not garbled:
                continue
            said = f"SELECT rowid, {quoted_column} FROM damaged.sessions INDEXED BY {quoted(str(index))}"
            with suppress(apsw.Error, UnicodeDecodeError):
                for rowid, text in connection.execute(f"{said} WHERE {quoted_column} IS NOT NULL").fetchall():
                    if rowid in garbled:
                        update = f"UPDATE OR IGNORE main.sessions SET {quoted_column} = ? WHERE rowid = ?"
                        connection.execute(update, (text, rowid))
                        mended += connection.changes()
    return mended


def _make_sessions(database: Database, found: Sequence[Salvaged]) -> list[str]:
    """Make sessions that are gone and that others refer to, so that these are found."""
    notes = []
    if partly := sum(table.partly for table in found):
        kept = "what indexes say is kept: title, start, parent"
        notes.append(f"{counted(partly, 'session')} could not be read: {kept}.")
    make = "INSERT INTO sessions (id, source, started_at)"
    try:
        made = database.rows(
            f"{make} SELECT session_id, ?, coalesce(min(timestamp), 0) FROM messages"
            " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id RETURNING id",
            (RECOVERED,),
        )
        with suppress(SessionsError):
            # A parent that was deleted stays so.
            made += database.rows(
                f"{make} SELECT parent_session_id, ?, min(started_at) FROM sessions"
                " WHERE parent_session_id NOT IN (SELECT id FROM sessions)"
                " AND parent_session_id IN (SELECT id FROM damaged.sessions) GROUP BY parent_session_id RETURNING id",
                (RECOVERED,),
            )
        if partly or made:
            database.execute(
                "UPDATE sessions SET message_count = kept.number"
                " FROM (SELECT session_id, count(*) AS number FROM messages GROUP BY session_id) AS kept"
                " WHERE kept.session_id = sessions.id AND message_count = 0"
            )
    except SessionsError:
        return [*notes, "Messages of sessions that could not be read have none now."]
    if made:
        notes.append(f"{counted(len(made), 'session')} could not be read, with only messages now.")
    return notes


def _make_the_rest(database: Database, nameless: Collection[str], told: Callable[[str], None]) -> list[str]:
    """Make the indexes, views and triggers of the old file, and fill its search indexes anew."""
    order = ("index", "view", "table", "trigger")
    stored = sorted(_derived(database, nameless), key=lambda entry: order.index(entry.kind))
    triggers = {entry.name: entry.sql for entry in stored if entry.kind == "trigger"}
    notes = []
    made = set()
    for kind, name, sql in stored:
        virtual = kind == "table"
        fed = _FED.fullmatch(name) if kind == "trigger" else None
        if not _CREATE.match(sql) or (fed and fed[1] not in made):
            continue
        if database.row("SELECT 1 FROM main.sqlite_schema WHERE type = ? AND name = ?", (kind, name)):
            continue
        told(f"Making the {'search index' if virtual else kind} {name}")
        try:
            if virtual and not can_be_made(sql):
                raise StoreDamaged("only Hermes has its tokenizer")
            if kind == "index" and (alike := _tell_apart(database, sql)):
                notes.append(f"{counted(alike, 'session')} had the title of another: the id is added to it.")
            database.execute(sql)
            if virtual:
                database.forget_layout()
                fill(database, name, sql, triggers.get(f"{name}_insert", ""))
                made.add(name)
        except (StoreDamaged, UsageError) as error:
            notes.append(f"The {kind} {name} was left out: {error.__cause__ or error.message}.")
    if not made:
        notes.append("There is no search index now: a search reads every message, and the owner makes one again.")
    if search_tables(database) and database.has("state_meta", "key"):
        # Hermes need not go on filling in steps what is full.
        database.execute("DELETE FROM state_meta WHERE key LIKE 'fts_rebuild_%'")
    return notes


def _tell_apart(database: Database, sql: str) -> int:
    """Change titles that an index would not take since others have them; return how many."""
    if not _TITLES.match(sql):
        return 0
    before = database.connection.total_changes()
    database.execute(
        "UPDATE sessions SET title = title || ' (' || id || ')' WHERE title IS NOT NULL"
        " AND rowid NOT IN (SELECT min(rowid) FROM sessions GROUP BY title)"
    )
    return database.connection.total_changes() - before


def _derived(database: Database, nameless: Collection[str]) -> list[Entry]:
    """What stands on the tables: what the old catalogue says, and what it must have said before it was damaged."""
    entries = [
        entry
        for entry in catalogue(database.connection, "damaged")
        if entry.kind != "table" or _VIRTUAL.match(entry.sql)
    ]
    if {"sessions", "messages"} & {*nameless}:
        # The catalogue has lost more than these tables: what stands on them is made as in a store of our own.
        there = {(entry.kind, entry.name) for entry in entries}
        ours = [Entry(declared.kind, declared.name, declared.sql) for declared in schema.objects()]
        entries += [
            entry
            for entry in ours
            if (entry.kind, entry.name) not in there and (entry.kind != "table" or _VIRTUAL.match(entry.sql))
        ]
    return entries + lost_indexes(entries)

"""What can be read of a damaged store, row by row, in a new file with the same tables.

A page that cannot be read takes away the rows on it and no others: a range of rows that fails is halved until what is
left of it is single rows. The copy that is read is not written to, but for the first bytes of its header.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import SessionsError, StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import search_tables
from hermes_sessions.storage.repairing.backups import size
from hermes_sessions.storage.repairing.damage import catalogue, ordinary_tables, quoted, read_everything
from hermes_sessions.storage.repairing.leaves import Text, Value, stored_rows
from hermes_sessions.storage.repairing.remedies import can_be_made, fill

MAGIC = b"SQLite format 3\0"
MOST_FAILURES = 100_000
"""How many single rows of a table are asked for in vain before the rest of it is given up."""

BEYOND = 10_000
"""How far past the last row that was read others are looked for, where nothing tells the last one."""

RECOVERED = "recovered"
"""`source` of a session that is made because messages name it and it could not be read."""

_CREATE = re.compile(r"\s*CREATE\s+(?:UNIQUE\s+)?(TABLE|INDEX|VIEW|TRIGGER|VIRTUAL\s+TABLE)\b", re.IGNORECASE)
_FED = re.compile(r"(messages_fts\w*)_(?:insert|delete|update)", re.ASCII)


class Salvaged(NamedTuple):
    """How many rows of a table are in the new file, and how many are missing from it."""

    table: str
    rows: int
    lost: int | None
    """None when no index can be read that would tell."""


class Findings(NamedTuple):
    """What a salvage brought: tables in the order of the catalogue, and what a person should know besides."""

    tables: tuple[Salvaged, ...]
    notes: tuple[str, ...]


def salvage(damaged: Path, new: Path) -> Findings:
    """Copy whatever can be read of the file at `damaged` into a file that is not there yet.

    Raises StoreDamaged when its tables cannot be found out, StoreUnreadable when there is no room.
    """
    notes: list[str] = []
    mend_header(damaged)
    _merge_log(damaged)
    new.touch(mode=0o600)
    with closing(Database(new, "owner")) as database:
        connection = database.connection
        try:
            tables = _begin(connection, damaged)
            found = tuple(_Table(connection, name, damaged).copy() for name in tables)
            journal = _settings(connection)
        except apsw.FullError:
            raise
        except apsw.Error as error:
            raise StoreDamaged(f"The tables of {damaged.name} cannot be found out: {error}.") from error
        if any(table.table == "sessions" and table.lost != 0 for table in found):
            notes += _make_sessions(database)
        notes += _make_the_rest(database)
        with suppress(apsw.Error):
            connection.execute("DETACH damaged")
        database.execute(f"PRAGMA journal_mode = {journal}")
    return Findings(found, tuple(notes))


def mend_header(copy: Path) -> None:
    """Give a copy that is laid out like a database the first words of one.

    Raises StoreDamaged for what is no database at all (https://sqlite.org/fileformat2.html#the_database_header).
    """
    with copy.open("r+b") as file:
        header = file.read(100)
        sizes = int.from_bytes(header[16:18])
        # What never changes: the versions, and the three fractions.
        alike = header[18:19] in (b"\1", b"\2") and header[21:24] == b"\x40\x20\x20"
        if len(header) < 100 or not alike or sizes & (sizes - 1):
            raise StoreDamaged(f"{copy.name} does not begin like a SQLite database.")
        if not header.startswith(MAGIC):
            file.seek(0)
            file.write(MAGIC)


def _merge_log(copy: Path) -> None:
    """Have all of a store in its file, if its log can be read."""
    with suppress(apsw.Error), closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _begin(connection: apsw.Connection, damaged: Path) -> list[str]:
    """Attach the damaged file, make its tables in the new one, and return their names."""
    connection.pragma("foreign_keys", False)
    connection.pragma("synchronous", "off")
    connection.pragma("journal_mode", "memory")
    read_everything(connection)
    connection.execute("ATTACH ? AS damaged", (str(damaged),))
    for pragma in ("page_size", "auto_vacuum", "encoding"):
        value = connection.pragma(pragma, schema="damaged")
        connection.pragma(pragma, value, schema="main")
    # From here on the text of the catalogue is run, whoever wrote it.
    connection.authorizer = _only_here
    made = []
    for name, sql in ordinary_tables(connection, "damaged").items():
        with suppress(apsw.SQLError, apsw.CorruptError):
            connection.execute(sql)
            made.append(name)
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
            " AND typeof(d.seq) = 'integer'), 0))"
        )
    return "wal" if connection.pragma("journal_mode", schema="damaged") == "wal" else "delete"


class _Table:
    """The copying of one table."""

    def __init__(self, connection: apsw.Connection, name: str, damaged: Path) -> None:
        self._connection = connection
        self._damaged = damaged
        self._name = name
        self._quoted = quoted(name)
        columns = "SELECT name, type, pk FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0"
        info = [(str(column), str(kind), pk) for column, kind, pk in connection.execute(columns, (name,))]
        self._names = [column for column, _, _ in info]
        self._columns = ", ".join(map(quoted, self._names))
        keys = [(column, kind) for column, kind, pk in info if pk]
        listed = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?"
        self._has_rowid = not next(connection.execute(listed, (name,)))[0]
        self._id = keys[0][0] if len(keys) == 1 and keys[0][1].upper() == "INTEGER" else "rowid"
        if self._has_rowid and self._id == "rowid":
            self._columns = f"rowid, {self._columns}"
        self._order = ", ".join(quoted(column) for column, _ in keys)

    def copy(self) -> Salvaged:
        whole = self._take("")
        if whole:
            return Salvaged(self._name, self._count(), 0)
        if not self._has_rowid:
            # Read from both ends up to where each stops.
            for order in ("ASC", "DESC"):
                self._take_each(f"ORDER BY {', '.join(f'{key} {order}' for key in self._order.split(', '))}")
            return Salvaged(self._name, self._count(), None)
        known = self._known_ids()
        self._take_by_halves(*self._bounds(known), known)
        if not known:
            return Salvaged(self._name, self._count(), None)
        missing = set(known) - self._ids_here()
        if missing:
            self._take_from_leaves(missing)
            missing -= self._ids_here()
        return Salvaged(self._name, self._count(), len(missing))

    def _take_from_leaves(self, missing: set[int]) -> None:
        """Copy rows that the tree does not lead to from wherever they lie, if every index says the same of them."""
        if size(Path(f"{self._damaged}-wal")):
            return
        keys = self._keys_of(missing)
        for row in stored_rows(self._damaged):
            if row.rowid not in missing or len(row.values) > len(self._names):
                continue
            stored = dict(zip(self._names, row.values, strict=False))
            # The id is not stored with the row; nor is what was added to the table after it.
            stored.pop(self._id, None)
            said = [
                (_plain(stored[name]), key)
                for rows in keys
                for name, key in rows.get(row.rowid, {}).items()
                if name in stored
            ]
            if all(value == key for value, key in said) and any(key is not None for _, key in said):
                self._insert(row.rowid, stored)

    def _keys_of(self, missing: set[int]) -> list[dict[int, dict[str, object]]]:
        """What each index says of these rows: the values of its columns by their names."""
        keys = []
        for index in self._indexes():
            with suppress(apsw.Error, UnicodeDecodeError):
                columns = "SELECT name FROM pragma_index_info(?, 'damaged')"
                names = [str(name) for (name,) in self._connection.execute(columns, (index,)) if name is not None]
                listed = ", ".join(["rowid", *map(quoted, names)])
                sql = f"SELECT {listed} FROM damaged.{self._quoted} INDEXED BY {quoted(index)}"
                rows = self._connection.execute(sql)
                keys.append({id: dict(zip(names, key, strict=True)) for id, *key in rows if names and id in missing})
        return keys

    def _insert(self, id: int, stored: dict[str, Value]) -> None:
        stored = stored | {self._id: id}
        places = ", ".join("CAST(? AS TEXT)" if isinstance(value, Text) else "?" for value in stored.values())
        names = ", ".join("rowid" if name == "rowid" else quoted(name) for name in stored)
        values = [bytes(value) if isinstance(value, Text) else value for value in stored.values()]
        with suppress(apsw.ConstraintError):
            self._connection.execute(f"INSERT OR IGNORE INTO main.{self._quoted} ({names}) VALUES ({places})", values)

    def _ids_here(self) -> set[int]:
        return {id for (id,) in self._connection.execute(f"SELECT rowid FROM main.{self._quoted}")}

    def _indexes(self) -> list[str]:
        """Names of the indexes that have every row of the table."""
        listed = "SELECT name FROM pragma_index_list(?, 'damaged') WHERE partial = 0"
        with suppress(apsw.Error):
            return [str(name) for (name,) in self._connection.execute(listed, (self._name,))]
        return []

    def _take(self, where: str, values: tuple[int, ...] = ()) -> bool:
        """Copy rows in one statement; False when a page of them, or one beside, could not be read."""
        sql = (
            f"INSERT OR IGNORE INTO main.{self._quoted} ({self._columns})"
            f" SELECT {self._columns} FROM damaged.{self._quoted} NOT INDEXED {where}"
        )
        try:
            self._connection.execute(sql, values)
        except (apsw.FullError, apsw.InterruptError, apsw.NoMemError):
            raise
        except apsw.Error:
            return False
        return True

    def _take_each(self, order: str) -> None:
        limit = 1
        with suppress(apsw.Error):
            while self._take(f"{order} LIMIT {limit}"):
                if self._count() < limit:
                    return
                limit *= 2

    def _take_by_halves(self, low: int, high: int, known: array[int]) -> None:
        """Copy what can be read from `low` to `high`."""
        failed = 0
        ranges = [(low, high)]
        while ranges and failed < MOST_FAILURES:
            low, high = ranges.pop()
            if low == high:
                failed += not self._take("WHERE rowid = ?", (low,))
            elif not self._take("WHERE rowid BETWEEN ? AND ?", (low, high)) and _within(known, low, high):
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]

    def _known_ids(self) -> array[int]:
        """The ids of the table by its own indexes, as far as one can be read; empty when none can."""
        known: set[int] = set()
        for index in self._indexes():
            with suppress(apsw.Error):
                sql = f"SELECT rowid FROM damaged.{self._quoted} INDEXED BY {quoted(index)}"
                known.update(id for (id,) in self._connection.execute(sql))
        return array("q", sorted(known))

    def _bounds(self, known: array[int]) -> tuple[int, int]:
        """The ids between which rows may be."""
        low, high = (known[0], known[-1]) if known else (1, 0)
        read = 0
        with suppress(apsw.Error):
            for (id,) in self._connection.execute(f"SELECT rowid FROM damaged.{self._quoted} NOT INDEXED"):
                low, read = min(low, id), id
        high = max(high, read)
        with suppress(apsw.Error):
            ends = f"SELECT rowid FROM damaged.{self._quoted} NOT INDEXED ORDER BY rowid DESC LIMIT 1"
            return low, max(high, *(id for (id,) in self._connection.execute(ends)))
        with suppress(apsw.Error, TypeError):
            sequence = "SELECT seq FROM damaged.sqlite_sequence WHERE name = ? AND typeof(seq) = 'integer'"
            high = max(high, *(seq for (seq,) in self._connection.execute(sequence, (self._name,))))
        return low, high if known else max(high, read + BEYOND)

    def _count(self) -> int:
        return int(next(self._connection.execute(f"SELECT count(*) FROM main.{self._quoted}"))[0])


def _plain(value: Value) -> object:
    """A stored value as SQLite would give it to Python."""
    return value.decode("utf-8", "replace") if isinstance(value, Text) else value


def _within(known: array[int], low: int, high: int) -> bool:
    """Whether an id from `low` to `high` is known; nobody can say so when none is."""
    place = bisect_left(known, low)
    return not known or (place < len(known) and known[place] <= high)


def _make_sessions(database: Database) -> list[str]:
    """Make a session for messages whose own could not be read, so that they are found."""
    try:
        rows = database.rows(
            "INSERT INTO sessions (id, source, started_at)"
            " SELECT session_id, ?, coalesce(min(timestamp), 0) FROM messages"
            " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id RETURNING id",
            (RECOVERED,),
        )
    except SessionsError:
        return ["Messages of sessions that could not be read have none now."]
    return [f"{len(rows):,} sessions could not be read and have only their messages now."] if rows else []


def _make_the_rest(database: Database) -> list[str]:
    """Make the indexes, views and triggers of the old file, and fill its search indexes anew."""
    order = ("index", "view", "table", "trigger")
    stored = sorted(catalogue(database.connection, "damaged"), key=lambda entry: order.index(entry.kind))
    triggers = {entry.name: entry.sql for entry in stored if entry.kind == "trigger"}
    notes = []
    made = set()
    for kind, name, sql in stored:
        virtual = sql.lstrip()[:14].upper() == "CREATE VIRTUAL"
        fed = _FED.fullmatch(name) if kind == "trigger" else None
        if not _CREATE.match(sql) or (kind == "table" and not virtual) or (fed and fed[1] not in made):
            continue
        if database.row("SELECT 1 FROM main.sqlite_schema WHERE type = ? AND name = ?", (kind, name)):
            continue
        try:
            if virtual and not can_be_made(sql):
                raise StoreDamaged("only Hermes has its tokenizer")
            database.execute(sql)
            if virtual:
                database.forget_layout()
                fill(database, name, sql, triggers.get(f"{name}_insert", ""))
                made.add(name)
        except StoreDamaged as error:
            notes.append(f"The {kind} {name} was left out: {error.__cause__ or error.message}.")
    if not made:
        notes.append("There is no search index now: a search reads every message, and the owner makes one again.")
    if search_tables(database) and database.has("state_meta", "key"):
        # Hermes need not go on filling in steps what is full.
        database.execute("DELETE FROM state_meta WHERE key LIKE 'fts_rebuild_%'")
    return notes

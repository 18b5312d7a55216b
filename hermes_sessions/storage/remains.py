"""What can still be read of the tables of a damaged file, in the places of these tables.

A statement that meets a page which cannot be read gives nothing at all, not even the rows of all other pages. So when
one fails, a table that it asks is read once, as far as that is possible, and what was read goes by the table's name on
this connection: names in the schema `temp` come before those of the file (https://sqlite.org/lang_naming.html). Every
statement stays as it is written, its indexes are not asked any more, and a file that is whole costs nothing. Tables are
copied into the connection's own memory; of `messages`, which may be gigabytes, only the ids, sessions and times are.

Which statements may be answered in part is the caller's choice (`Database`); repairing is another matter.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import apsw

from hermes_sessions.storage.database import UNREADABLE
from hermes_sessions.storage.values import SQLValue

SESSIONS, MESSAGES = "sessions", "messages"
KEYS, LOST = "readable_messages", "lost_messages"
MAKE_LOST = f"CREATE TEMP TABLE IF NOT EXISTS {LOST} (id INTEGER PRIMARY KEY, session_id TEXT, timestamp REAL)"

WINDOW, MOST_WINDOWS = 50_000, 1_000
"""Rows that are read at once, and in how many such steps; where one fails, each half by itself, and so on."""

MOST_FAILURES = 20_000
"""Ranges of a table that are asked for in vain. The largest come first, so that what is left then is small."""

BEYOND = 10_000
"""How far past the last row that was read others are looked for, where nothing tells the last one."""

MOST_MENDED = 1_000
"""Sessions that are read column by column."""

REST_FACTOR = 20.0
"""What was read is good for this many times as long as it took, also when others write to the file."""

LEFT_OUT = frozenset({"system_prompt"})
"""Long, and never shown."""

LOOKED_UP = ("id", "session_id", "parent_session_id", "key")

_SEARCH_INDEX = re.compile(r"\bmessages_fts|\btrigram_vocabulary\b")


class Remains:
    """The readable rows of damaged tables, for one connection that only reads. Any statement may raise apsw.Error.

    `say` is told what is missing of a table, in words that are empty when nothing is.
    """

    def __init__(self, connection: apsw.Connection, say: Callable[[str, str], None]) -> None:
        self._connection = connection
        self._say = say
        self._replaced: set[str] = set()
        self._version: SQLValue = None
        self._rest_until = 0.0

    def has(self, table: str) -> bool:
        """Whether what could be read of a table stands in its place."""
        return table in self._replaced

    def stand_in(self, sql: str) -> bool:
        """Put what can be read in the place of a table that a failed statement asks; return whether to try it again.

        A search index is no such table: one that fails is done without.
        """
        if _SEARCH_INDEX.search(sql):
            return False
        tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT wr"
        names = [str(name) for (name,) in self._connection.execute(f"{tables} AND name NOT GLOB 'sqlite_*'")]
        # `messages` last: it is the largest by far, and most often whole.
        for table in sorted(names, key=lambda name: (name == MESSAGES, name)):
            if table not in self._replaced and re.search(rf"\b{re.escape(table)}\b", sql):
                started = time.monotonic()
                if not self._replaced:
                    self._version = self._connection.pragma("data_version")
                with self._writing():
                    self._replace(table)
                now = time.monotonic()
                self._rest_until = max(self._rest_until, now + REST_FACTOR * (now - started))
                return True
        return False

    def make_up(self, table: str) -> None:
        """Make `sessions` of what `messages` tell when the catalogue has lost it, or have no messages at all."""
        with self._writing():
            if table == SESSIONS:
                columns = "id TEXT PRIMARY KEY, source TEXT, parent_session_id TEXT, started_at REAL"
                self._connection.execute(f"CREATE TEMP TABLE {SESSIONS} ({columns})")
                self._make_sessions()
            else:
                columns = ", ".join(f"NULL AS {name}" for name in ("id", "session_id", "role", "content", "timestamp"))
                self._connection.execute(f"CREATE TEMP VIEW {MESSAGES} AS SELECT {columns} WHERE 0")
        self._say(table, f"The {table} cannot be read: the catalogue of the file is damaged.")

    def follow(self) -> None:
        """Let go of what was read if another program has changed the file since; to be called before a statement."""
        if self._replaced and time.monotonic() >= self._rest_until:
            version = self._connection.pragma("data_version")
            if version != self._version:
                with self._writing():
                    for table in self._replaced:
                        self._drop(table)
                self._replaced.clear()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Allow to write in the schema `temp`."""
        self._connection.pragma("query_only", False)
        try:
            yield
        finally:
            self._connection.pragma("query_only", True)

    def _replace(self, table: str) -> None:
        # Not in a transaction: in one, SQLite writes nothing more to a temporary table after a statement that failed.
        try:
            lost, whole, told = self._replace_messages() if table == MESSAGES else self._replace_small(table)
        except BaseException:
            self._drop(table)
            raise
        self._replaced.add(table)
        damaged = lost or not whole or not told
        self._say(table, _words(table, lost, whole=whole, told=told) if damaged else "")

    def _drop(self, table: str) -> None:
        if table != MESSAGES:
            self._connection.execute(f"DROP TABLE IF EXISTS temp.{_quoted(table)}")
            return
        # The lost ones stay, of whom a statement that was written before may ask.
        self._connection.execute(f"DROP VIEW IF EXISTS temp.{MESSAGES}; DROP TABLE IF EXISTS temp.{KEYS}")
        self._connection.execute(f"{MAKE_LOST}; DELETE FROM temp.{LOST}")

    def _replace_messages(self) -> tuple[int, bool, bool]:
        """How many rows are lost, whether no range failed, and whether the indexes could be read."""
        run = self._connection.execute
        columns = self._columns(MESSAGES)
        run(f"CREATE TEMP TABLE {KEYS} (id INTEGER PRIMARY KEY, session_id TEXT, timestamp REAL)")
        # To add up the lengths of all values is to read all pages of a row, also those behind a long text.
        readable = " + ".join(f"ifnull(octet_length(CAST({_quoted(name)} AS BLOB)), 0)" for name in columns)
        read = (
            f"INSERT OR IGNORE INTO temp.{KEYS} SELECT id, session_id, timestamp FROM main.{MESSAGES} NOT INDEXED"
            f" WHERE {{}} AND {readable} >= 0"
        )
        whole = self._read(MESSAGES, read)
        run(f"CREATE INDEX temp.{KEYS}_by_session ON {KEYS} (session_id, timestamp)")
        run(MAKE_LOST)

        broken: list[str] = []
        told = self._told_by_indexes(MESSAGES, (KEYS, LOST), broken)
        self._connection.executemany(
            f"INSERT OR IGNORE INTO temp.{LOST} VALUES (?, ?, ?)",
            ((id, known.get("session_id"), known.get("timestamp")) for id, known in told),
        )
        # Where the ids on a page are in disorder, a row may be found by its own and not in a range.
        for id in self._numbers(f"SELECT id FROM temp.{LOST} LIMIT {MOST_FAILURES}"):
            with suppress(*UNREADABLE):
                run(read.format("id = ?"), (id,))
        run(f"DELETE FROM temp.{LOST} WHERE id IN (SELECT id FROM temp.{KEYS})")
        run(f"CREATE INDEX IF NOT EXISTS temp.{LOST}_by_session ON {LOST} (session_id)")
        ours = ("id", "session_id", "timestamp")
        # Of a table of which nothing can be read not even the first page may be asked.
        others, source = (
            ("m.{}", f"CROSS JOIN main.{MESSAGES} m NOT INDEXED ON m.id = k.id") if self._count(KEYS) else ("NULL", "")
        )
        listed = [
            f"{f'k.{name}' if name in ours else others.format(_quoted(name))} AS {_quoted(name)}" for name in columns
        ]
        run(f"CREATE TEMP VIEW {MESSAGES} AS SELECT {', '.join(listed)} FROM temp.{KEYS} k {source}")
        return self._count(LOST), whole, not broken

    def _replace_small(self, table: str) -> tuple[int, bool, bool]:
        name, columns = _quoted(table), self._columns(table)
        listed = ", ".join(_quoted(column) for column in columns if column not in LEFT_OUT)
        # Made so, the columns have the affinities of the table's own.
        self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM main.{name} NOT INDEXED WHERE 0")
        whole = self._read(
            table,
            f"INSERT OR IGNORE INTO temp.{name} (rowid, {listed}) SELECT rowid, {listed} FROM main.{name} NOT INDEXED"
            " WHERE {}",
        )
        broken: list[str] = []
        lost: dict[int, dict[str, SQLValue]] = {}
        for id, known in self._told_by_indexes(table, (name,), broken):
            lost.setdefault(id, {}).update(known)
        for column in set(LOOKED_UP).intersection(columns):
            self._connection.execute(f"CREATE INDEX temp.{_quoted(f'{table}_by_{column}')} ON {name} ({column})")
        if table == SESSIONS:
            self._mend_sessions(lost, columns)
            if broken:
                return max(len(lost), self._make_sessions()), whole, False
        return len(lost), whole, not broken

    def _read(self, table: str, sql: str) -> bool:
        """Run a statement over ranges of rows, each half of those that fail by itself; return whether none failed."""
        low, high = self._bounds(table)
        # A damaged page may name rows far below or above all others.
        dense = range(max(low, 1), min(high, MOST_WINDOWS * WINDOW) + 1)
        ranges = deque((start, min(dense[-1], start + WINDOW - 1)) for start in dense[::WINDOW])
        ranges += [
            (start, end)
            for start, end in ((low, min(high, 0)), (max(low, MOST_WINDOWS * WINDOW + 1), high))
            if start <= end
        ]
        failed = 0
        while ranges and failed < MOST_FAILURES:
            low, high = ranges.popleft()
            try:
                # What looks for a range reads on to the next page; what looks for one row does not.
                which = "rowid = ?" if low == high else "rowid BETWEEN ? AND ?"
                self._connection.execute(sql.format(which), (low, high)[: which.count("?")])
            except UNREADABLE:
                failed += 1
                if low < high:
                    middle = (low + high) // 2
                    ranges += [(low, middle), (middle + 1, high)]
        return not failed

    def _bounds(self, table: str) -> tuple[int, int]:
        """The rowids between which rows may be."""
        name = f"main.{_quoted(table)}"
        found: list[int] = []
        ends = 0
        for order in ("ASC", "DESC"):
            with suppress(*UNREADABLE):
                found += self._numbers(f"SELECT rowid FROM {name} NOT INDEXED ORDER BY rowid {order} LIMIT 1")
                ends += 1
        if ends == 2:
            return (min(found), max(found)) if found else (1, 0)
        for index, _, partial in self._indexes(table):
            if partial:
                continue
            with suppress(*UNREADABLE):
                return self._ends(f"SELECT min(rowid), max(rowid) FROM {name} INDEXED BY {_quoted(index)}", found)
        found.append(1)
        with suppress(*UNREADABLE):
            for (id,) in self._connection.execute(f"SELECT rowid FROM {name} NOT INDEXED"):
                found[-1] = id
        last = found[-1] + BEYOND
        with suppress(*UNREADABLE, apsw.SQLError):
            last = max([last, *self._numbers("SELECT seq FROM main.sqlite_sequence WHERE name = ?", (table,))])
        return min(1, *found), max(last, *found)

    def _ends(self, sql: str, found: Sequence[int]) -> tuple[int, int]:
        ((low, high),) = self._connection.execute(sql)
        known = [*found, *(id for id in (low, high) if id is not None)]
        return (min(known), max(known)) if known else (1, 0)

    def _told_by_indexes(
        self, table: str, known: Sequence[str], broken: list[str]
    ) -> Iterator[tuple[int, dict[str, SQLValue]]]:
        """What the indexes tell of rows that are in none of the tables that are `known`; the names of those that cannot
        be read go to `broken`."""
        others = " AND ".join(f"rowid NOT IN (SELECT rowid FROM temp.{name})" for name in known)
        for index, columns, partial in self._indexes(table):
            quoted = [_quoted(column) for column in columns]
            asked = (
                f"SELECT {', '.join(['rowid', *quoted])} FROM main.{_quoted(table)} INDEXED BY {_quoted(index)}"
                f" WHERE {others}"
            )
            if partial:
                asked += f" AND {quoted[0]} NOT NULL"
            for order in ("", f" ORDER BY {', '.join(f'{column} DESC' for column in quoted)}"):
                try:
                    for id, *values in self._connection.execute(asked + order):
                        yield id, dict(zip(columns, values, strict=True))
                    break
                except (*UNREADABLE, UnicodeDecodeError):
                    broken.append(index)
                except apsw.SQLError:
                    break  # one that is about other rows than those with a value

    def _indexes(self, table: str) -> list[tuple[str, list[str], bool]]:
        """The indexes of a table, their columns, and whether they lack some of the rows; those with times first."""
        found = []
        names = "SELECT name, partial FROM pragma_index_list(?, 'main')"
        for name, partial in self._connection.execute(names, (table,)).fetchall():
            info = self._connection.execute("SELECT name FROM pragma_index_info(?, 'main') ORDER BY seqno", (name,))
            columns = [column for (column,) in info]
            if all(columns):
                found.append((str(name), [str(column) for column in columns], bool(partial)))
        return sorted(found, key=lambda index: "timestamp" not in index[1])

    def _mend_sessions(self, lost: dict[int, dict[str, SQLValue]], columns: Sequence[str]) -> None:
        """Put together what indexes and single columns tell of sessions that cannot be read as a whole."""
        for number, (rowid, known) in enumerate(lost.items()):
            for column in columns if number < MOST_MENDED else ():
                if column not in known and column not in LEFT_OUT:
                    with suppress(*UNREADABLE, UnicodeDecodeError):
                        sql = f"SELECT {_quoted(column)} FROM main.{SESSIONS} NOT INDEXED WHERE rowid = ?"
                        for (value,) in self._connection.execute(sql, (rowid,)):
                            known[column] = value
            if known.get("id"):
                listed, places = ", ".join(map(_quoted, known)), ", ".join("?" * len(known))
                self._connection.execute(
                    f"INSERT OR IGNORE INTO temp.{SESSIONS} (rowid, {listed}) VALUES (?, {places})",
                    (rowid, *known.values()),
                )

    def _make_sessions(self) -> int:
        """Make those sessions of which nothing but messages is left; return how many."""
        made = (
            f"INSERT INTO temp.{SESSIONS} (id, started_at) SELECT session_id, min(timestamp) FROM {{}}"
            f" WHERE session_id NOT IN (SELECT id FROM temp.{SESSIONS} WHERE id NOT NULL) GROUP BY session_id"
        )
        try:
            self._connection.execute(made.format(f"main.{MESSAGES}"))
        except UNREADABLE:
            if MESSAGES not in self._replaced:
                self._replace(MESSAGES)
            self._connection.execute(made.format(f"temp.{KEYS}"))
        return self._connection.changes()

    def _columns(self, table: str) -> list[str]:
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
        return [str(name) for (name,) in rows]

    def _count(self, table: str) -> int:
        return self._numbers(f"SELECT count(*) FROM temp.{table}")[0]

    def _numbers(self, sql: str, values: Sequence[SQLValue] = ()) -> list[int]:
        return [number for (number,) in self._connection.execute(sql, values) if isinstance(number, int)]


def _words(table: str, lost: int, *, whole: bool, told: bool) -> str:
    """What is missing of a table, as a sentence."""
    why = "pages of the file are damaged."
    if whole and not lost:
        return f"An index of {table} cannot be read: {why}"
    named = {SESSIONS: ("session", "sessions"), MESSAGES: ("message", "messages")}
    one, several = named.get(table, (f"row of {table}", f"rows of {table}"))
    many = f"{lost:,} {one if lost == 1 else several}" if lost else several.capitalize()
    if not told:
        many = f"At least {many}" if lost else f"Some {several}"
    return f"{many} cannot be read{' in full' if table == SESSIONS else ''}: {why}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""The copying of one table into a new file: as a whole, else row by row around what cannot be read.

A page that cannot be read takes away the rows on it and no others: a range of rows that fails is halved until what is
left of it is single rows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from contextlib import suppress
from typing import NamedTuple

import apsw

from hermes_sessions.storage.repairing.damage import quoted
from hermes_sessions.storage.repairing.leaves import Text, Value
from hermes_sessions.storage.repairing.strays import Strays

MOST_FAILURES = 100_000
"""How many single rows of a table are asked for in vain before the rest of it is given up."""

BEYOND = 10_000
"""How far past the last row that was read others are looked for, where nothing tells the last one."""

TWIN = "-twin-"
"""What the new id of a session has between the one that another session has, too, and the number of its row."""


class Salvaged(NamedTuple):
    """How many rows of a table are in the new file, and how many are missing from it."""

    table: str
    rows: int
    lost: int | None
    """None when no index can be read that would tell."""
    partly: int = 0
    """How many of these are there all the same, with no more than what indexes say of them."""
    twins: int = 0
    """How many rows had the id of another, and have one of their own now."""


class TableCopy:
    """One table, which is in the main file already, and is filled from the one attached as `damaged`."""

    def __init__(self, connection: apsw.Connection, name: str, strays: Strays) -> None:
        self._connection = connection
        self._strays = strays
        self._name = name
        self._quoted = quoted(name)
        columns = (
            "SELECT name, type, pk, [notnull] AND dflt_value IS NULL FROM pragma_table_xinfo(?, 'main')"
            " WHERE hidden = 0"
        )
        info = [tuple(row) for row in connection.execute(columns, (name,))]
        self._names = [str(column) for column, *_ in info]
        self._columns = ", ".join(map(quoted, self._names))
        keys = [(str(column), str(kind)) for column, kind, pk, _ in info if pk]
        listed = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?"
        self._has_rowid = not next(connection.execute(listed, (name,)), (0,))[0]
        self._id = keys[0][0] if len(keys) == 1 and keys[0][1].upper() == "INTEGER" else "rowid"
        self._required = {str(column) for column, _, pk, required in info if pk or required} - {self._id}
        if self._has_rowid and self._id == "rowid":
            self._columns = f"rowid, {self._columns}"
        self._keys = [column for column, _ in keys]
        self._twins = 0

    def copy(self) -> Salvaged:
        """Copy what can be had."""
        found = self._copied()
        if self._name != "sessions" or "id" not in self._names:
            return found
        # Nobody can ask for such a session, and rows of other tables look like it.
        self._connection.execute("DELETE FROM main.sessions WHERE id IS NULL")
        return found._replace(rows=found.rows - self._connection.changes(), twins=self._twins)

    def _copied(self) -> Salvaged:
        mixed = self._strays.mixed(self._name)
        if not mixed and self._take(""):
            self._take_twins()
            if self._count() == self._counted():
                return Salvaged(self._name, self._count(), 0)
        if not self._has_rowid:
            # Read from both ends up to where each stops.
            for order in ("ASC", "DESC"):
                self._take_each(f"ORDER BY {', '.join(f'{quoted(key)} {order}' for key in self._keys)}")
            return Salvaged(self._name, self._count(), None)
        known, all_known = self._known_ids()
        if not mixed and self._strays.rooted(self._name):
            self._take_by_halves(*self._bounds(known), known if all_known else array("q"))
            self._take_twins()
        if not all_known:
            self._take_strays()
            return Salvaged(self._name, self._count(), None)
        missing = set(known) - self._ids_here()
        if not missing:
            return Salvaged(self._name, self._count(), 0)
        keys = self._keys_of(missing)
        self._take_strays_of(missing, keys)
        if mixed and not self._count():
            # The indexes are of the rows of the other table, too.
            self._take_strays()
            return Salvaged(self._name, self._count(), None)
        missing -= self._ids_here()
        rows = self._count()
        # Of a message its words count, and of other rows their numbers.
        partly = sum(self._insert_known(id, keys) for id in sorted(missing)) if self._name == "sessions" else 0
        return Salvaged(self._name, rows, len(missing), partly)

    def _take_strays(self) -> None:
        """Copy rows that the tree does not lead to from wherever they lie."""
        for row in self._strays.rows(self._name):
            self._insert(row.rowid, dict(zip(self._names, row.values, strict=False)))

    def _take_strays_of(self, missing: set[int], keys: list[dict[int, dict[str, object]]]) -> None:
        """Copy some rows from wherever they lie, if every index says the same of them."""
        named = {
            tuple(key[name] for name in self._keys): id
            for rows in keys
            for id, key in rows.items()
            if self._id == "rowid" and {*self._keys} <= key.keys()
        }
        for row in self._strays.rows(self._name):
            stored = dict(zip(self._names, row.values, strict=False))
            # Where the number of a row says nothing, its key tells it.
            id = named.get(tuple(_plain(stored[name]) for name in self._keys if name in stored), row.rowid)
            if id not in missing:
                continue
            # The id is not stored with the row; nor is what was added to the table after it.
            said = [
                (_plain(stored[name]), key)
                for rows in keys
                for name, key in rows.get(id, {}).items()
                if name in stored and name != self._id
            ]
            if all(value == key for value, key in said) and any(key is not None for _, key in said):
                self._insert(id, stored)

    def _keys_of(self, missing: set[int]) -> list[dict[int, dict[str, object]]]:
        """What each index says of these rows: the values of its columns by their names."""
        keys = []
        for index, partial in self._indexes():
            with suppress(apsw.Error, UnicodeDecodeError):
                columns = "SELECT name FROM pragma_index_info(?, 'damaged')"
                names = [str(name) for (name,) in self._connection.execute(columns, (index,)) if name is not None]
                listed = ", ".join(["rowid", *map(quoted, names)])
                where = f"WHERE {' AND '.join(f'{quoted(name)} IS NOT NULL' for name in names)}" if partial else ""
                sql = f"SELECT {listed} FROM damaged.{self._quoted} INDEXED BY {quoted(index)} {where}"
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

    def _insert_known(self, id: int, keys: list[dict[int, dict[str, object]]]) -> bool:
        """Make a row of what indexes say of it, if that is all it must have."""
        said = {name: key for rows in keys for name, key in rows.get(id, {}).items()}
        if not self._required <= {name for name, key in said.items() if key is not None}:
            return False
        self._insert(id, {name: key for name, key in said.items() if name != self._id})  # type: ignore[misc]
        return True

    def _ids_here(self) -> set[int]:
        return {id for (id,) in self._connection.execute(f"SELECT rowid FROM main.{self._quoted}")}

    def _indexes(self) -> list[tuple[str, bool]]:
        """Names of the indexes, and whether they leave rows out."""
        listed = "SELECT name, partial FROM pragma_index_list(?, 'damaged')"
        with suppress(apsw.Error):
            return [(str(name), bool(partial)) for name, partial in self._connection.execute(listed, (self._name,))]
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

    def _take_twins(self) -> None:
        """Copy sessions whose id another one has, each under an id of its own: messages stay with the first."""
        if self._name != "sessions" or "id" not in self._names:
            return
        twins = (
            f"SELECT rowid, id FROM damaged.{self._quoted} NOT INDEXED WHERE typeof(id) = 'text'"
            " AND rowid NOT IN (SELECT rowid FROM main.sessions) AND +id IN (SELECT id FROM main.sessions)"
        )
        with suppress(apsw.Error, UnicodeDecodeError):
            for rowid, id in self._connection.execute(twins).fetchall():
                columns = self._columns.replace(quoted("id"), "?", 1)
                self._connection.execute(
                    f"INSERT OR IGNORE INTO main.{self._quoted} ({self._columns})"
                    f" SELECT {columns} FROM damaged.{self._quoted} NOT INDEXED WHERE rowid = ?",
                    (f"{id}{TWIN}{rowid}", rowid),
                )
                self._twins += self._connection.changes()

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

    def _known_ids(self) -> tuple[array[int], bool]:
        """The ids of the table by its own indexes, and whether one of them could be read to its end."""
        known: set[int] = set()
        whole = False
        for index, partial in self._indexes():
            if partial:
                continue
            with suppress(apsw.Error):
                sql = f"SELECT rowid FROM damaged.{self._quoted} INDEXED BY {quoted(index)}"
                known.update(id for (id,) in self._connection.execute(sql))
                whole = True
        return array("q", sorted(known)), whole

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

    def _counted(self) -> int:
        """How many rows the damaged table says it has, where it can be read."""
        return int(next(self._connection.execute(f"SELECT count(*) FROM damaged.{self._quoted} NOT INDEXED"))[0])

    def _count(self) -> int:
        return int(next(self._connection.execute(f"SELECT count(*) FROM main.{self._quoted}"))[0])


def _plain(value: Value) -> object:
    """A stored value as SQLite would give it to Python."""
    return value.decode("utf-8", "replace") if isinstance(value, Text) else value


def _within(known: array[int], low: int, high: int) -> bool:
    """Whether an id from `low` to `high` is known; nobody can say so when none is."""
    place = bisect_left(known, low)
    return not known or (place < len(known) and known[place] <= high)

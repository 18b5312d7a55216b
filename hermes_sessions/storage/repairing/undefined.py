"""Tables whose definition SQLite refuses: their rows, in tables whose columns have no names.

Where a table begins is for the catalogue of the damaged file to say, and which tables could be made for `salvage`.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import apsw

from hermes_sessions.storage.repairing.copying import Salvaged
from hermes_sessions.storage.repairing.damage import catalogue, derived, quoted, virtual_tables
from hermes_sessions.storage.repairing.leaves import LEAF, StoredRow, Text, opened
from hermes_sessions.storage.values import as_text

PREFIX = "recovered_"
"""What the name of a table begins with that holds the rows of one without a definition."""

MOST_COLUMNS = 2_000
"""What SQLite takes (https://sqlite.org/limits.html#max_column)."""


def copy_undefined(connection: apsw.Connection, damaged: Path, made: Collection[str]) -> list[Salvaged]:
    """Copy the rows of every table of the attached file that is not in `made`, by its name in the catalogue.

    What has no rows that can be read is told, too: it is left out. The type of an entry may be what is damaged, so a
    tree with rows counts as a table, whatever the catalogue says.
    """
    found = []
    for name, root, is_table in _without(connection, made):
        rows = _rows(damaged, root)
        if rows:
            found.append(_kept(connection, name, rows))
        elif is_table:
            found.append(Salvaged(name, 0, None))
    return found


def _without(connection: apsw.Connection, made: Collection[str]) -> list[tuple[str, int, bool]]:
    """The name of each such table, its root, and whether it is said to be a table."""
    entries: dict[int, tuple[str, int, bool]] = {}
    for order in ("ASC", "DESC"):
        sql = (
            "SELECT rowid, CAST(name AS BLOB), rootpage, type = 'table' FROM damaged.sqlite_schema"
            f" WHERE typeof(rootpage) = 'integer' AND rootpage > 1 AND type IS NOT 'index' ORDER BY rowid {order}"
        )
        with suppress(apsw.Error):
            for rowid, name, root, is_table in connection.execute(sql):
                entries[int(str(rowid))] = (as_text(name) or "nameless", int(str(root)), bool(is_table))
    virtual = virtual_tables(catalogue(connection, "damaged"))
    return [
        (name, root, is_table)
        for _, (name, root, is_table) in sorted(entries.items())
        if name not in made and not derived(name, virtual)
    ]


def _rows(damaged: Path, root: int) -> list[StoredRow]:
    with opened(damaged) as pages:
        leaves = sorted(number for number in pages.tree(root) if pages.kind(number) == LEAF)
        return [row for number in leaves for row in pages.rows(number) if len(row.values) <= MOST_COLUMNS]


def _kept(connection: apsw.Connection, name: str, rows: list[StoredRow]) -> Salvaged:
    """Nothing tells how many rows there were: pages of the tree may be missing."""
    table = PREFIX + name
    while list(connection.execute("SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE", (table,))):
        table += "_"
    width = max(1, *(len(row.values) for row in rows))
    connection.execute(f"CREATE TABLE main.{quoted(table)} ({', '.join(f'column{n}' for n in range(1, width + 1))})")
    kept = 0
    for rowid, values in rows:
        names = ", ".join(["rowid", *(f"column{n}" for n in range(1, len(values) + 1))])
        places = ", ".join(["?", *("CAST(? AS TEXT)" if isinstance(value, Text) else "?" for value in values)])
        stored = [bytes(value) if isinstance(value, Text) else value for value in values]
        connection.execute(f"INSERT OR IGNORE INTO main.{quoted(table)} ({names}) VALUES ({places})", (rowid, *stored))
        kept += connection.changes()
    return Salvaged(table, kept, None)

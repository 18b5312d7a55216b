"""Which table a stored row belongs to, told by how many values it has and of which kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import apsw

from hermes_sessions.storage.repairing.leaves import Text, Value

MISFIT = 3
"""How many values of the right kind outweigh one of a kind that the column takes but does not ask for."""


HASH = "hash"
_HASH = re.compile(rb"[0-9a-f]{16,128}")


class Column(NamedTuple):
    """A column as far as a row can tell."""

    name: str
    kind: str
    required: bool
    """Whether a row must have it: NULL may not be in it, and it was there from the beginning."""
    is_rowid: bool


class Shape(NamedTuple):
    """The columns of a table, in the order of its rows."""

    columns: tuple[Column, ...]

    def fit(self, values: tuple[Value, ...]) -> int:
        """How well a row fits; 0 or less when it is of another table.

        Rows are shorter than the table when columns were added after them.
        """
        if len(values) > len(self.columns) or any(column.required for column in self.columns[len(values) :]):
            return 0
        score = 0
        for column, value in zip(self.columns, values, strict=False):
            if value is None:
                if column.required and not column.is_rowid:
                    return 0
            elif column.is_rowid or (column.kind in ("TEXT", HASH) and isinstance(value, int | float)):
                # The one is not stored with the row, the other would have been turned into a text.
                return 0
            elif column.kind == HASH:
                if not (isinstance(value, Text) and _HASH.fullmatch(value)):
                    return 0
                score += 1 + MISFIT
            elif column.kind == "TEXT":
                score += 1 if isinstance(value, Text) else -MISFIT
            elif column.kind == "INTEGER":
                score += 1 if isinstance(value, int) else -MISFIT
            elif column.kind == "REAL":
                score += 1 if isinstance(value, int | float) else -MISFIT
        return score


def shape_of(connection: apsw.Connection, table: str) -> Shape:
    """The shape of a table of this connection's own file."""
    columns = (
        "SELECT name, upper(type), pk OR ([notnull] AND dflt_value IS NULL), pk FROM pragma_table_xinfo(?, 'main')"
        " WHERE hidden = 0"
    )
    rows = [(str(name), str(kind), bool(must), pk) for name, kind, must, pk in connection.execute(columns, (table,))]
    single = sum(pk != 0 for *_, pk in rows) == 1
    return Shape(
        tuple(
            Column(name, kind_of(name, kind), must, bool(pk and single and kind == "INTEGER"))
            for name, kind, must, pk in rows
        )
    )


def kind_of(name: str, declared: str) -> str:
    """What is in a column: its declared type, but for hashes, which are like no other text."""
    return HASH if name == "hash" else declared


def best(shapes: Mapping[str, Shape], values: tuple[Value, ...]) -> str | None:
    """The table that a row fits best; None when it fits none, or two alike."""
    scores: Iterable[tuple[int, str]] = ((shape.fit(values), name) for name, shape in shapes.items())
    ranked = sorted((score, name) for score, name in scores if score > 0)
    if not ranked or (len(ranked) > 1 and ranked[-2][0] == ranked[-1][0]):
        return None
    return ranked[-1][1]

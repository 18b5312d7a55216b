"""Rows that lie on pages which the tree of their table does not lead to any more, found by what they look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes_sessions.storage.repairing import shapes
from hermes_sessions.storage.repairing.layouts import Rows
from hermes_sessions.storage.repairing.leaves import INNER, LEAF, StoredRow, opened
from hermes_sessions.storage.repairing.shapes import Shape

MOST_SAMPLES = 200
"""Rows of each length that are looked at to find out which table they are of."""

MIXABLE = ("sessions", "messages")
"""Tables whose rows are told from each other for sure, and are looked for in each other's trees."""


class Strays:
    """The rows of a copy whose log is merged. `roots` says where each table begins, by the catalogue of the copy."""

    def __init__(self, damaged: Path, roots: Mapping[str, int]) -> None:
        self._damaged = damaged
        self._roots = roots
        self._mixed: dict[str, bool] = {}
        self.shapes: dict[str, Shape] = {}
        """Of the tables that rows may belong to."""

    def rooted(self, table: str) -> bool:
        """Whether there is a tree of the table at all."""
        with opened(self._damaged) as pages:
            root = self._roots.get(table, 0)
            return 0 < root <= pages.count and pages.kind(root) in (LEAF, INNER)

    def mixed(self, table: str) -> bool:
        """Whether the tree of a table leads to rows of another one: pages or roots have changed places."""
        if table not in MIXABLE or table not in self.shapes:
            return False
        if table not in self._mixed:
            with opened(self._damaged) as pages:
                leaves = (number for number in pages.tree(self._roots.get(table, 0)) if pages.kind(number) == LEAF)
                first = (next(pages.rows(number), None) for number in leaves)
                self._mixed[table] = any(row is not None and self._is_of_another(row, table) for row in first)
        return self._mixed[table]

    def _is_of_another(self, row: StoredRow, table: str) -> bool:
        fits = {name: shape.fit(row.values) for name, shape in self.shapes.items() if name in MIXABLE}
        return fits[table] <= 0 < max(fits.values())

    def rows(self, table: str) -> Iterator[StoredRow]:
        """The rows that may be of a table: on its own pages, and on those that belong to nothing."""
        shape = self.shapes[table]
        with opened(self._damaged) as pages:
            own = set() if self.mixed(table) else pages.tree(self._roots.get(table, 0))
            others = pages.free()
            for name, root in self._roots.items():
                if name != table and not self.mixed(name):
                    others |= pages.tree(root)
            for number in pages.leaves():
                if number in others:
                    continue
                for row in pages.rows(number):
                    if shape.fit(row.values) > 0 and (number in own or shapes.best(self.shapes, row.values) == table):
                        yield row

    def samples(self) -> Rows:
        """Some of the rows that are on the pages of no table."""
        found: Counter[tuple[int, bool]] = Counter()
        rows = []
        with opened(self._damaged) as pages:
            others = pages.free()
            for root in self._roots.values():
                others |= pages.tree(root)
            for number in pages.leaves():
                for row in pages.rows(number) if number not in others else ():
                    kind = (len(row.values), row.values[:1] == (None,))
                    if found[kind] < MOST_SAMPLES:
                        found[kind] += 1
                        rows.append(row.values)
        return rows

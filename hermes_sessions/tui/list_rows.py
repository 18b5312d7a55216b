"""The rows of the list and where they stand: headings, conversations, and below these the subagents that are unfolded.

Pure. What is listed in which order is `tui.listing`'s business, what a row looks like `tui.session_rows`'.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.tui.picked import Picked

FOLDED, UNFOLDED = "▸", "▾"
DEEPEST = 5
"""Levels of subagents that are still indented further."""


class Heading(NamedTuple):
    """A quiet line over conversations that belong together."""

    words: str
    conversations: Sequence[Conversation]


class Child(NamedTuple):
    """A subagent below the conversation that started it."""

    conversation: Conversation
    parent: Conversation
    depth: int
    """1 directly below a row of the list."""


Row: TypeAlias = tuple[object, ...]
"""A heading, a conversation or a child. Other lists have rows of their own."""


class Rows:
    """Rows from top to bottom. Headings are one line high, all others `height`."""

    def __init__(self, rows: Sequence[Row] = (), height: int = 1) -> None:
        self.height = height
        self._rows = rows
        self._headings = _headings(rows)
        self._heading_tops = [self._top(index, count) for count, index in enumerate(self._headings)]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Row:
        return self._rows[index]

    @property
    def lines(self) -> int:
        """How many lines all rows fill."""
        return self.top(len(self._rows))

    @property
    def first(self) -> int:
        """The first row a cursor can stand on."""
        return 1 if self._headings else 0

    def conversation(self, index: int) -> Conversation | None:
        """The conversation of a row, if there is such a row and it is no heading."""
        if not 0 <= index < len(self._rows):
            return None
        row = self._rows[index]
        if type(row) is Child:
            return row.conversation
        return row if type(row) is Conversation else None

    def conversations(self, start: int, stop: int) -> list[Conversation]:
        """The conversations of the rows from `start` to before `stop`."""
        found = map(self.conversation, range(max(0, start), min(stop, len(self._rows))))
        return [item for item in found if item is not None]

    def find(self, item: Conversation, catalog: Catalog) -> int | None:
        """The row of a conversation. One that was continued has a new id, but its sessions remain."""
        item = catalog.by_session.get(item.id, item)
        id = item.id
        for index, row in enumerate(self._rows):  # up to 20,000
            other = row.conversation if isinstance(row, Child) else row
            if isinstance(other, Conversation) and (other is item or other.sessions[-1].id == id):
                return index
        return None

    def near(self, index: int, step: int = 1) -> int:
        """The row to stand on at `index` or next to it: a heading is passed in the direction of `step`."""
        index = max(0, min(index, len(self._rows) - 1))
        if self._headings and type(self._rows[index]) is Heading:
            # No heading stands last, and none right below another.
            return index - 1 if step < 0 and index > 0 else index + 1
        return index

    def top(self, index: int) -> int:
        """The first line of a row."""
        return self._top(index, bisect_left(self._headings, index))

    def locate(self, line: int) -> tuple[int, int]:
        """The row that a line belongs to, which may be one behind the last, and the number of the line in it."""
        passed = bisect_right(self._heading_tops, line)
        if passed == 0:
            return divmod(line, self.height)
        heading, beyond = self._headings[passed - 1], line - self._heading_tops[passed - 1]
        if beyond == 0:
            return heading, 0
        rows, part = divmod(beyond - 1, self.height)
        return heading + 1 + rows, part

    def _top(self, index: int, headings_before: int) -> int:
        return index * self.height - headings_before * (self.height - 1)


def _headings(rows: Sequence[Row]) -> list[int]:
    """Where the headings are: where there are any, one stands first."""
    if not rows or type(rows[0]) is not Heading:
        return []
    return [index for index, row in enumerate(rows) if type(row) is Heading]


def children_of(item: Conversation, catalog: Catalog) -> list[Conversation]:
    """The subagents that were started on behalf of a conversation, the first one first."""
    if not item.delegates:
        return []
    known = catalog.by_session
    found = {known[id].id: known[id] for id in item.delegates if id in known}
    found.pop(item.id, None)
    return sorted(found.values(), key=lambda child: (child.started_at or 0.0, child.id))


class Folds(Picked):
    """The conversations whose subagents are shown below them."""

    def sign(self, item: Conversation, catalog: Catalog) -> str:
        """The number of subagents of a conversation, and whether they are shown; nothing if there are none."""
        number = len(children_of(item, catalog))
        return f"{UNFOLDED if item in self else FOLDED}{number}" if number else ""

    def open_above(self, item: Conversation, catalog: Catalog) -> Conversation:
        """Unfold whatever hides a subagent, and return the row that it stands below then: itself if there is none."""
        above: list[Conversation] = []
        while True:
            ids = item.segments
            starter = next((other for other in catalog if other.delegates and _share(ids, other.delegates)), None)
            if starter is None or starter in above:
                return item
            above.append(starter)
            self.add([starter])
            item = starter

    def rows(self, in_order: Sequence[Conversation | Heading], catalog: Catalog) -> Sequence[Row]:
        """All rows that are to be shown, with subagents below the unfolded ones. None stands there twice."""
        if not self:
            return in_order
        parents = [row for row in in_order if type(row) is Conversation and row.delegates and row in self]
        if not parents:
            return in_order
        inner = {child.id for parent in parents for child in children_of(parent, catalog)}
        # Conversations that started each other are all inner ones: the first of them has the others below it.
        parents.sort(key=lambda parent: parent.id in inner)
        below: dict[str, list[Child]] = {}
        placed: set[str] = set()
        for parent in parents:
            if parent.id not in placed:
                placed.add(parent.id)
                below[parent.id] = _below(parent, catalog, self, placed)
        placed.difference_update(below)
        shown: list[Row] = []
        for row in in_order:
            if type(row) is Heading:
                _drop_heading(shown)
                shown.append(row)
            elif type(row) is Conversation and row.id not in placed:
                shown.append(row)
                shown += below.get(row.id, ())
        _drop_heading(shown)
        return shown


def _drop_heading(shown: list[Row]) -> None:
    """Leave out a last heading: all that stood below it stands elsewhere."""
    if shown and type(shown[-1]) is Heading:
        shown.pop()


def _share(ids: Sequence[str], others: Sequence[str]) -> bool:
    return any(id in others for id in ids)


def _below(parent: Conversation, catalog: Catalog, opened: Picked, placed: set[str]) -> list[Child]:
    """All rows below an opened conversation but for those `placed` already, to which they are added."""
    found: list[Child] = []
    ahead = [Child(child, parent, 1) for child in reversed(children_of(parent, catalog))]
    while ahead:
        row = ahead.pop()
        item = row.conversation
        if item.id not in placed:
            placed.add(item.id)
            found.append(row)
            if item in opened:
                ahead += [Child(child, item, row.depth + 1) for child in reversed(children_of(item, catalog))]
    return found

"""The lines of a long text, of which only those near the screen are made; how many the others are is estimated. Pure.

A text is divided between its lines into stretches, whose lines are made on their own. A line without an end is divided
between its words, where one of its pieces may be short. So the lines are the same in whatever order they are needed.
Each has a number that stays its own while those above it are still being counted.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias, overload

from hermes_sessions.text import cell_width, is_simple, wrap
from hermes_sessions.tui.heights import Heights
from hermes_sessions.tui.line_styles import LONGEST_STYLED_TEXT, SourceText
from hermes_sessions.tui.message_tables import TableLine, may_have_tables, table_lines, tables
from hermes_sessions.tui.prose_lines import LedLine, prose_lines
from hermes_sessions.tui.steps import Steps

Span: TypeAlias = tuple[int, int] | LedLine | TableLine
Spans: TypeAlias = Sequence[Span]

STRETCH = 64 * 1024
"""Characters of a stretch of plain text, and of any line that cannot be divided earlier."""
WIDE = 32 * 1024
"""Characters of a stretch of other text that is wrapped by arithmetic."""
MARKED = 8 * 1024
"""Characters of a stretch of what somebody wrote, with code, tables and what else there is in it."""
SLOW = 4 * 1024
"""Characters of a stretch whose characters have to be looked at one by one."""

_REACH = 256
"""Characters in which a blank is looked for to divide a line at."""
_SAMPLES, _SAMPLE = 16, 64

_NO_ROW_AFTER = re.compile(r"\n(?=[^\n|]*+\n)")
_NEXT_ITEM = re.compile(r"[}\]],( ?)(?=[{\[])")


class PackedSpans(Sequence[tuple[int, int]]):
    """Pairs of offsets as plain numbers: a tenth of what tuples take, and nothing for a cycle collector to look at."""

    def __init__(self, spans: Iterable[tuple[int, int]], offset: int = 0) -> None:
        self._edges = array("q", (offset + edge for span in spans for edge in span))

    def __len__(self) -> int:
        return len(self._edges) // 2

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        return self._edges[2 * index], self._edges[2 * index + 1]


class Cuts:
    """Where a text is divided, whatever the width."""

    def __init__(self) -> None:
        self.starts, self.stops = array("q"), array("q")
        self._breaks = array("q")
        self._cells = 1.0

    @classmethod
    def steps(cls, source: SourceText) -> Steps[Cuts]:
        """Divide a text, in steps."""
        cuts, text = cls(), source.text
        for start, stop in _cuts(source):
            cuts.starts.append(start)
            cuts.stops.append(stop)
            cuts._breaks.append(text.count("\n", start, stop) + 1)
            yield
        apart = max(1, len(text) // _SAMPLES)
        sample = "".join(text[place : place + _SAMPLE] for place in range(0, len(text), apart))
        cuts._cells = cell_width(sample) / max(1, len(sample))
        return cuts

    def estimates(self, width: int) -> Iterator[int]:
        """Yield how many lines each stretch may fill: as if its lines were all of one length."""
        for start, stop, lines in zip(self.starts, self.stops, self._breaks, strict=True):
            cells = int((stop - start) * self._cells)
            yield lines * max(1, -(-cells // (lines * max(1, width))))


class Stretches:
    """The lines of a long text at one width. A line's number grows from each to the next, but not by one."""

    def __init__(self, source: SourceText, width: int, cuts: Cuts) -> None:
        self._source, self._width = source, width
        self._starts, self._stops = cuts.starts, cuts.stops
        self._made: list[Spans | None] = [None] * len(cuts.starts)
        self._heights = Heights(cuts.estimates(width))
        self._counted = bytearray(len(self._made))

    @property
    def height(self) -> int:
        """How many lines there are, as far as that is known."""
        return self._heights.total

    @property
    def room(self) -> int:
        """The first number that no line has."""
        return len(self._source.text) + 1

    @property
    def heights(self) -> list[int]:
        """How many lines each stretch fills."""
        return [self._heights[place] for place in range(len(self._heights))]

    @heights.setter
    def heights(self, heights: Sequence[int]) -> None:
        for place, height in enumerate(heights):
            self._heights[place], self._counted[place] = height, True

    @property
    def exact(self) -> bool:
        """Whether all lines have been counted."""
        return all(self._counted)

    def line(self, row: int) -> Span:
        """Return the line with a number."""
        place = self._place(row)
        lines = self._lines(place)
        return lines[min(row - self._starts[place], len(lines) - 1)]

    def above(self, row: int) -> int:
        """Return how many lines stand above the one with a number."""
        place = self._place(row)
        return self._heights.top(place) + min(row - self._starts[place], self._heights[place] - 1)

    def row(self, above: int) -> int:
        """Return the number of the line with so many lines above it, or of the nearest."""
        place, line = self._heights.locate(above)
        return self._starts[place] + line

    def rows(self, start: int) -> Iterator[int]:
        """Yield the numbers of all lines from one on."""
        for place in range(self._place(start), len(self._made)):
            first = self._starts[place]
            yield from range(max(start, first), first + len(self._lines(place)))

    def row_at(self, offset: int) -> int:
        """Return the number of the line on which a place in the text is drawn, or of the one before it."""
        place = self._place(offset)
        return self._starts[place] + row_at(self._lines(place), offset)

    def settle(self, row: int, above: int, below: int) -> None:
        """Count the lines around one for so many lines, and in any case where it is."""
        here = self._place(row)
        self._settle(here)
        line = min(row - self._starts[here], self._heights[here] - 1)
        rest, place = self._heights[here] - line, here
        while rest <= below and (place := place + 1) < len(self._made):
            self._settle(place)
            rest += self._heights[place]
        rest, place = line, here
        while rest < above and (place := place - 1) >= 0:
            self._settle(place)
            rest += self._heights[place]

    def settle_steps(self) -> Steps[None]:
        """Count all lines. What is on the screen is to be placed again before it is drawn."""
        counts = self.heights
        for place, counted in enumerate(self._counted):
            if not counted:
                counts[place] = len(self._made[place] or self._make(place))
                yield
        self.heights = counts

    def _place(self, row: int) -> int:
        return max(0, bisect_right(self._starts, row) - 1)

    def _settle(self, place: int) -> None:
        if not self._counted[place]:
            self._heights[place], self._counted[place] = len(self._lines(place)), True

    def _lines(self, place: int) -> Spans:
        if (lines := self._made[place]) is None:
            lines = self._made[place] = self._make(place)
        return lines

    def _make(self, place: int) -> Spans:
        return lines_of(self._source, self._width, self._starts[place], self._stops[place])


def lines_of(source: SourceText, width: int, start: int = 0, stop: int | None = None) -> Spans:
    """Return the lines of a text in `width` cells, or of a piece of it that is divided from the rest by line ends."""
    text = source.text
    stop = len(text) if stop is None else stop
    if source.kind == "stored":
        return PackedSpans(span for a, b in _items(text, start, stop) for span in _wrapped(text, a, b, width))
    if not source.is_prose or len(text) > LONGEST_STYLED_TEXT:
        return PackedSpans(_wrapped(text, start, stop, width))
    lines: list[Span] = []
    for table in tables(source, start, stop) if may_have_tables(source) else ():
        if drawn := table_lines(source, table, width):
            if table.start > start:
                lines += prose_lines(source, start, table.start - 1, width)
            lines += drawn
            start = table.stop + 1
    if start <= stop:
        lines += prose_lines(source, start, stop, width)
    return lines


def row_at(lines: Spans, offset: int) -> int:
    """Return the line on which a place in the text is drawn, or the one before it."""
    row = max(0, bisect_right(lines, offset, key=itemgetter(0)) - 1)
    for near in range(row, -1, -1):
        line = lines[near]
        if not isinstance(line, TableLine) or line.stop != lines[row][1]:
            break
        if any(field.start <= offset < field.stop for field in line.fields):
            return near
    return row


def _wrapped(text: str, start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    return ((start + a, start + b) for a, b in wrap(text[start:stop], width))


def _items(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """JSON that is shown as it is stored: every list or object in a list begins a line."""
    for match in _NEXT_ITEM.finditer(text, start, stop):
        yield start, match.start(1)
        start = match.end()
    yield start, stop


def _cuts(source: SourceText) -> Iterator[tuple[int, int]]:
    """The stretches of a text, each up to where the next one begins, without the newline between them."""
    text, start = source.text, 0
    is_marked = source.is_prose and len(text) <= LONGEST_STYLED_TEXT
    while True:
        size = MARKED if is_marked else _plain_size(text[start : start + STRETCH])
        if len(text) - start <= size:
            yield start, len(text)
            return
        stop = _line_end(text, start, start + size, is_marked)
        if stop is None:
            reach = start + (STRETCH if is_marked else size)
            stop = _word_end(text, start, reach) if reach < len(text) else len(text)
        yield start, stop
        if stop == len(text):
            return
        start = stop + text.startswith("\n", stop)


def _plain_size(ahead: str) -> int:
    return STRETCH if ahead.isascii() else WIDE if is_simple(ahead[:WIDE]) else SLOW


def _line_end(text: str, start: int, limit: int, is_marked: bool) -> int | None:
    """The last line end before a limit, or the first one not far behind it; None without. No table is divided."""
    if is_marked and "|" in text[start:limit]:
        before = [match.start() for match in _NO_ROW_AFTER.finditer(text, start + 1, limit)]
        behind = None if before else _NO_ROW_AFTER.search(text, limit, start + STRETCH)
        if before or behind:
            return behind.start() if behind else before[-1]
    place = text.rfind("\n", start + 1, limit)
    place = text.find("\n", limit, start + STRETCH) if place < 0 else place
    return None if place < 0 else place


def _word_end(text: str, start: int, limit: int) -> int:
    """A place in a line that divides no word, else no character that is made of several."""
    if found := [match.end() for match in _NEXT_ITEM.finditer(text, max(start, limit - STRETCH // 8), limit)]:
        return found[-1]
    if (blank := text.rfind(" ", limit - _REACH, limit)) > start:
        return blank + 1
    place = limit
    while place > limit - _REACH and (cell_width(text[place]) == 0 or text[place - 1] == "\u200d"):
        place -= 1
    return place

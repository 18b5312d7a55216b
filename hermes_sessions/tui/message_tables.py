"""Markdown tables in a text: where they are, and their rows as lines of straight columns.

Nothing of the text is changed: a line is a list of fields, pieces of the text that stand side by side. A table that is
wider than the pane gets narrower columns, whose cells are wrapped; one that is too large or has too many columns stays
as it was written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from hermes_sessions.text import cell_width, steady, wrap
from hermes_sessions.tui.line_styles import HIDDEN, LONGEST_STYLED_LINE, LONGEST_STYLED_TEXT, Run, SourceText

Alignment = Literal["left", "right", "centre"]

MOST_ROWS, MOST_CHARACTERS = 500, 16 * 1024
"""Tables beyond this are data, not prose, and stay as they were written."""

NARROWEST_COLUMN = 4
"""Cells below which no column is made narrower."""

_BETWEEN, _CROSSING, _RULE = " │ ", "─┼─", "─"

# Possessive throughout: no line may take more than linear time.
_DELIMITER = re.compile(r"^ *+\|?(?: *+:?-++:? *+\|)*+(?: *+:?-++:? *+)?$", re.MULTILINE)
_SIGN = re.compile(r"[*\\]")
_BAR = re.compile(r"\\.|\|")


class Field(NamedTuple):
    """A piece of a cell: offsets into the text, and what keeps it apart from what stands before it."""

    before: str
    start: int
    stop: int


class TableLine(NamedTuple):
    """A drawn line of a table. `start` tells the lines of a text apart and grows from each to the next.

    All lines of one row have the same `stop`, the row's end in the text.
    """

    start: int
    stop: int
    fields: tuple[Field, ...]
    look: str = ""


class Table(NamedTuple):
    """Where a table stands in a text: the offsets of its rows, the header first, without the row of dashes."""

    rows: tuple[tuple[int, int], ...]
    dashes: tuple[int, int]
    alignments: tuple[Alignment, ...]

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.rows[0][0]

    @property
    def stop(self) -> int:
        """Where its last row ends."""
        return max(self.rows[-1][1], self.dashes[1])


def may_have_tables(source: SourceText) -> bool:
    """Say at once whether a text is worth a look."""
    return source.is_prose and len(source.text) <= LONGEST_STYLED_TEXT and "|" in source.text


def tables(source: SourceText, begin: int, end: int) -> Iterator[Table]:
    """Yield the tables in a piece of a text that are not too large, as GitHub's Markdown has them, in their order."""
    text, reached = source.text, begin
    for dashes in _DELIMITER.finditer(text, begin, end):
        start, stop = dashes.span()
        if start <= reached or "|" not in dashes[0] or source.is_code(start):
            continue
        head = max(reached, text.rfind("\n", reached, start - 1) + 1)
        columns, header = _cells(text, start, stop), _cells(text, head, start - 1)
        if "|" not in text[head:start] or len(columns) != len(header):
            continue
        rows = [(head, start - 1)]
        reached = stop + 1
        while reached <= end and "|" in text[reached : (row_end := _line_end(text, reached, end))]:
            rows.append((reached, row_end))
            reached = row_end + 1
        longest = max(b - a for a, b in rows)
        if len(rows) <= MOST_ROWS and rows[-1][1] - head <= MOST_CHARACTERS and longest <= LONGEST_STYLED_LINE:
            yield Table(tuple(rows), (start, stop), tuple(_alignment(text[a:b]) for a, b in columns))


def table_lines(source: SourceText, table: Table, width: int) -> list[TableLine]:
    """Return the lines of a table in `width` cells; none if its columns do not fit in."""
    count = len(table.alignments)
    widths, rows = [1] * count, []
    for span in table.rows:
        rows.append(_Row(source, span, count))
        widths = list(map(max, widths, rows[-1].widths))
    room = width - len(_BETWEEN) * (count - 1)
    if sum(widths) > room:
        if room < NARROWEST_COLUMN * count:
            return []
        words = [max(1, *(row.longest_word(column) for row in rows)) for column in range(count)]
        widths = _shrunk(widths, words, room)
    rule = Field(_CROSSING.join(_RULE * cells for cells in widths), table.dashes[1], table.dashes[1])
    lines: list[TableLine] = []
    for number, row in enumerate(rows):
        lines.extend(_row_lines(row, widths, table.alignments, "" if number else "strong"))
        if number == 0:
            lines.append(TableLine(*table.dashes, (rule,)))
    return lines


def field_runs(source: SourceText, line: TableLine) -> Iterator[Run]:
    """Yield the pieces of a line of a table, without the signs that have no steady width."""
    for field in line.fields:
        if field.before:
            yield Run(field.before, "rule")
        for run in _visible(source.runs(field.start, field.stop)) if field.stop > field.start else ():
            yield run._replace(look=f"{run.look} {line.look}".strip())


def _line_end(text: str, start: int, stop: int) -> int:
    end = text.find("\n", start, stop)
    return end if end >= 0 else stop


def _cells(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The offsets of the cells of a row, without the blanks around them. A bar behind a backslash divides nothing."""
    start += len(text[start:stop]) - len(text[start:stop].lstrip(" "))
    stop = start + len(text[start:stop].rstrip(" "))
    bars = [match.start() for match in _BAR.finditer(text, start, stop) if match[0] == "|"]
    if bars and bars[0] == start:
        start = bars.pop(0) + 1
    if bars and bars[-1] == stop - 1:
        stop = bars.pop()
    edges = [start - 1, *bars, max(start, stop)]
    cells = []
    for left, right in pairwise(edges):
        cell = text[left + 1 : right]
        begin = left + 1 + len(cell) - len(cell.lstrip(" "))
        cells.append((begin, begin + len(cell.strip(" "))))
    return cells


def _filled(cells: list[tuple[int, int]], count: int, stop: int) -> list[tuple[int, int]]:
    """`cells` as so many: what is too many belongs to the last one, what is missing is empty."""
    if len(cells) > count:
        return [*cells[: count - 1], (cells[count - 1][0], cells[-1][1])]
    return cells + [(stop, stop)] * (count - len(cells))


def _alignment(dashes: str) -> Alignment:
    if dashes.endswith(":"):
        return "centre" if dashes.startswith(":") else "right"
    return "left"


def _shrunk(widths: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """`widths` with the widest made equal so that they fill `room` cells, and no word broken if there is room."""
    least = words if sum(words) <= room else [min(width, NARROWEST_COLUMN) for width in widths]

    def fitted(most: int) -> list[int]:
        return [max(low, min(width, most)) for low, width in zip(least, widths, strict=True)]

    return fitted(bisect_right(range(room + 1), room, key=lambda most: sum(fitted(most))) - 1)


def _row_lines(row: _Row, widths: Sequence[int], alignments: Sequence[Alignment], look: str) -> Iterator[TableLine]:
    pieces = [row.wrapped(column, width) for column, width in enumerate(widths)]
    for number in range(max(map(len, pieces))):
        fields, before, start = [], "", row.stop
        for column, (width, alignment) in enumerate(zip(widths, alignments, strict=True)):
            before += _BETWEEN if column else ""
            if number < len(pieces[column]):
                a, b = pieces[column][number]
                blanks = max(0, width - row.width(a, b))
                left = {"left": 0, "right": blanks, "centre": blanks // 2}[alignment]
                fields.append(Field(before + " " * left, a, b))
                before, start = " " * (blanks - left), min(start, a)
            else:
                before += " " * width
        if before.strip():
            fields.append(Field(before.rstrip(), row.stop, row.stop))
        yield TableLine(start if number else row.start, row.stop, tuple(fields), look)


class _Row:
    """The cells of a row, and how wide they are as they are drawn."""

    def __init__(self, source: SourceText, span: tuple[int, int], count: int) -> None:
        self.start, self.stop = span
        self._text = source.text
        row = source.text[self.start : self.stop]
        is_simple = row.isascii() and not _SIGN.search(row)
        self._runs = None if is_simple else list(_visible(source.runs(self.start, self.stop)))
        self._cells = _filled(_cells(source.text, self.start, self.stop), count, self.stop)
        self.widths = [self.width(*cell) for cell in self._cells]

    def width(self, start: int, stop: int) -> int:
        """Return the cells between two offsets."""
        if self._runs is None:
            return stop - start
        pieces = (run.text[max(0, start - run.at) : max(0, stop - run.at)] for run in self._runs)
        return sum(cell_width(piece) for piece in pieces if piece)

    def longest_word(self, column: int) -> int:
        """Return the cells of the longest word of a narrow script; a wide one may be broken anywhere."""
        start, stop = self._cells[column]
        words = self._text[start:stop].split(" ")
        return max((len(word) for word in words if cell_width(word) <= len(word)), default=0)

    def wrapped(self, column: int, width: int) -> list[tuple[int, int]]:
        """Return the offsets of the lines of a cell; there is at least one."""
        start, stop = self._cells[column]
        if self.widths[column] <= width:
            return [(start, stop)]
        return [(start + a, start + b) for a, b in wrap(self._text[start:stop], width)]


def _visible(runs: Iterable[Run]) -> Iterator[Run]:
    return (piece for run in runs for piece in _steady_runs(run) if piece.look != HIDDEN)


def _steady_runs(run: Run) -> Iterator[Run]:
    """A run, with the characters hidden whose width terminals disagree about, and the backslash before a bar."""
    if steady(run.text) == run.text and "\\|" not in run.text:
        yield run
        return
    start = 0
    for place, char in enumerate(run.text):
        if not steady(char) or run.text.startswith("\\|", place):
            yield Run(run.text[start:place], run.look, run.at + start)
            yield Run(char, HIDDEN, run.at + place)
            start = place + 1
    yield Run(run.text[start:], run.look, run.at + start)

"""What is copied of the lines that are selected: what is seen, without the breaks that only the width made. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_sessions.tui.lines import Line
from hermes_sessions.tui.transcript import Transcript


def text_between(transcript: Transcript, start: tuple[int, int, int], end: tuple[int, int, int]) -> str:
    """Return the text between two `(index, row, column)`; lines that only the width has broken are one line.

    Columns are characters, and may lie outside of the line. Of a table it is the rows as they were written, each
    whole, unless what is selected lies in one cell of one line.
    """
    pieces: list[str] = []
    before: Line | None = None
    for index in range(start[0], min(end[0] + 1, len(transcript.stubs))):
        for row in _rows(transcript, index, start[1] if index == start[0] else 0):
            if (index, row) > end[:2]:
                break
            line = transcript.line(index, row)
            first = start[2] - line.indent if (index, row) == start[:2] else 0
            last = end[2] - line.indent if (index, row) == end[:2] else len(line.source.text)
            if line.table and (start[:2] != end[:2] or _crosses_cells(line, first, last)):
                if last <= 0 or (before is not None and _is_same_row(before, line)):
                    continue
                line = line._replace(start=line.source.text.rfind("\n", 0, line.start) + 1)
                seen = line.source.text[line.start : line.stop]
            else:
                seen = "".join(line.written[max(0, first) : max(0, last)])
            if before is not None:
                goes_on = before.source is line.source and before.stop <= line.start
                pieces.append(line.source.text[before.stop : line.start] if goes_on else "\n")
            pieces.append(seen)
            before = line
    return "".join(pieces)


def _rows(transcript: Transcript, index: int, start: int) -> Iterator[int]:
    layout, opening = transcript.layouts.get(index), len(transcript.openings[index])
    if layout is None:
        yield from range(start, transcript.heights[index])
        return
    yield from range(start, opening)
    for row in layout.rows(transcript.fold(index), max(0, start - opening)):
        yield opening + row


def _crosses_cells(line: Line, first: int, last: int) -> bool:
    column = 0
    for run in line.runs():
        if run.at < 0 and run.text[max(0, first - column) : max(0, last - column)].strip():
            return True
        column += len(run.text)
    return False


def _is_same_row(before: Line, line: Line) -> bool:
    return before.source is line.source and before.stop == line.stop

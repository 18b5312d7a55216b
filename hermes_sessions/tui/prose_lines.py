"""The lines of what somebody wrote, at one width: wrapped as it is seen, items under their items, code in blocks. Pure.

Every line is a pair of offsets into the text, some with what stands before them that is not in it. Tables are
`message_tables`' business.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from hermes_sessions.text import cell_width, wrap
from hermes_sessions.tui.code_blocks import CodeBlock
from hermes_sessions.tui.line_styles import (
    GOES_ON,
    HIDDEN,
    LONGEST_STYLED_LINE,
    Lead,
    Run,
    SourceText,
    may_be_marked,
)
from hermes_sessions.tui.markdown_lines import GAP


class LedLine(NamedTuple):
    """A line with something before it."""

    start: int
    stop: int
    lead: Lead


Lines = list[tuple[int, int] | LedLine]


def prose_lines(source: SourceText, start: int, stop: int, width: int) -> Lines:
    """Return the lines of a piece of a text, whole lines of it, in `width` cells."""
    lines: Lines = []
    blocks = source.blocks
    first = bisect_right(blocks, start, key=lambda block: block.stop - 1)
    for block in blocks[first:]:
        if block.start >= stop:
            break
        if block.start > start:
            _words(source, start, block.start - 1, width, lines)
        _code(source, block, max(start, block.start), min(stop, block.stop), width, lines)
        start = block.stop + 1
    if start <= stop:
        _words(source, start, stop, width, lines)
    return lines


def _words(source: SourceText, start: int, stop: int, width: int, lines: Lines) -> None:
    piece = source.text[start:stop]
    if may_be_marked(piece):
        for a, b in _source_lines(source.text, start, stop):
            _wrap_line(source, a, b, width, lines)
    else:
        lines.extend((start + a, start + b) for a, b in wrap(piece, width))


def _code(source: SourceText, block: CodeBlock, start: int, stop: int, width: int, lines: Lines) -> None:
    for a, b in _source_lines(source.text, start, stop):
        lead = source.code_lead(block, a)
        room = width - cell_width(lead.text)
        if room < 1 or block.is_fence(a):
            lines.append(LedLine(a, b, lead) if room > 0 else (a, b))
            continue
        for place, (c, d) in enumerate(wrap(source.text[a:b], room)):
            goes_on = Lead(GOES_ON[: len(lead.text)], f"{lead.look} muted")
            lines.append(LedLine(a + c, a + d, goes_on if place else lead))


def _wrap_line(source: SourceText, start: int, stop: int, width: int, lines: Lines) -> None:
    line = source.text[start:stop]
    if len(line) <= width and (line.isascii() or cell_width(line) <= width):
        lines.append((start, stop))
        return
    if len(line) > LONGEST_STYLED_LINE:
        lines.extend((start + a, start + b) for a, b in wrap(line, width))
        return
    runs = [run for run in source.runs(start, stop) if run.look != HIDDEN]
    seen = "".join(run.text for run in runs)
    pieces = wrap(seen, width)
    lead = source.lead(start, stop)
    if len(pieces) > 1 and 0 < (indent := cell_width(lead.text)) <= width // 2:
        rest = pieces[1][0]
        pieces[1:] = ((rest + a, rest + b) for a, b in wrap(seen[rest:], width - indent))
    else:
        lead = Lead("", "")
    for number, (a, b) in enumerate(_places(runs, pieces, start, stop)):
        lines.append(LedLine(a, b, lead) if number and lead.text else (a, b))


def _places(runs: Sequence[Run], pieces: Sequence[tuple[int, int]], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The lines of what is seen as offsets into the text. What is hidden belongs to the line before it."""
    columns, place = [], 0
    for run in runs:
        columns.append(place)
        place += len(run.text)
    for (_, end), (resume, _) in pairwise(pieces):
        number = bisect_right(columns, end) - 1
        run = runs[number]
        cut = run.at + end - columns[number]
        if run.look.endswith(GAP):  # drawn in place of a sign that must not be copied as if the break had stood for it
            cut += 1
            yield start, cut
            start = cut
            continue
        yield start, cut
        start = cut + resume - end
    if (end := pieces[-1][1]) < place:  # a blank beyond the edge
        number = bisect_right(columns, end) - 1
        stop = runs[number].at + end - columns[number]
    yield start, stop


def _source_lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while start <= stop:
        end = text.find("\n", start, stop)
        end = stop if end < 0 else end
        yield start, end
        start = end + 1

"""Text that the mouse has selected in a line as it is drawn: how it looks and what is copied of it. Pure."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_sessions.text import cell_width


def with_selection(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """The line with the characters from `start` to before `end` in `style`; an `end` below 0 is that of the line."""
    start, end = (cell_width(strip.text[: max(0, place)]) for place in _places(strip, span))
    if start >= end:
        return strip
    before, inside, after = strip.divide([start, end, strip.cell_length])
    return Strip.join([before, Strip(Segment.apply_style(inside, post_style=style), inside.cell_length), after])


def text_of(strip: Strip, span: tuple[int, int] | None) -> str:
    """What is copied of the line: without the blanks that only fill it up."""
    start, end = _places(strip, (0, -1) if span is None else span)
    return strip.text[max(0, start) : max(0, end)].rstrip()


def _places(strip: Strip, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    return start, len(strip.text) if end < 0 else end

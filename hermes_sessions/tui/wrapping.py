"""`text.wrap` in steps, for texts of megabytes, whose lines are kept in little memory. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from hermes_sessions.text import wrap
from hermes_sessions.tui.steps import Steps

LIGHT, LIGHT_ASCII = 4 * 1024, 64 * 1024
"""Texts of up to this many characters are wrapped at once; longer ones in steps of half as many."""


class PackedSpans(Sequence[tuple[int, int]]):
    """Pairs of offsets as plain numbers: a tenth of what tuples take, and nothing for a cycle collector to look at."""

    def __init__(self) -> None:
        self._edges = array("q")

    def extend(self, spans: Iterable[tuple[int, int]], offset: int = 0) -> None:
        """Append pairs, each moved by `offset`."""
        self._edges.extend(offset + edge for span in spans for edge in span)

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


def wrap_steps(text: str, width: int, step: int = 0) -> Steps[PackedSpans]:
    """`text.wrap` in steps of about `step` characters; the result is the same."""
    step = step or (LIGHT_ASCII if text.isascii() else LIGHT) // 2
    spans = PackedSpans()
    start, reach = 0, step
    while len(text) - start > reach:
        stop = text.rfind("\n", start, start + reach)
        if stop >= 0:
            spans.extend(wrap(text[start:stop], width), start)
            start, reach = stop + 1, step
        else:
            # One long line: its last piece may go on, so that is wrapped again with what follows.
            found = wrap(text[start : start + reach], width)
            spans.extend(found[:-1], start)
            reach = step if len(found) > 1 else 2 * reach
            start += found[-1][0]
        yield
    spans.extend(wrap(text[start:], width), start)
    return spans

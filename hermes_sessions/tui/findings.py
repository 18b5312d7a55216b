"""Where words stand in a transcript: how often in each message, and which place comes next. Pure.

Places are counted, not kept, so that a letter that stands in ten megabytes half a million times costs no memory; the
place itself is found again when a person goes there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block
from hermes_sessions.tui.steps import Steps

_WINDOW = 16 * 1024


class Hit(NamedTuple):
    """A place where the words stand: the message, the block, and offsets into the block's whole text."""

    message: int
    block: int
    start: int
    stop: int


class Place(NamedTuple):
    """Somewhere in a conversation: a message, a block of it and an offset into the block's text."""

    message: int
    block: int = 0
    offset: int = 0


class Findings:
    """The places of some words, counted message by message, in any order."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.total = 0
        self._counts: dict[int, int] = {}
        self._sorted: list[int] | None = []

    def count_steps(self, index: int, blocks: Sequence[Block]) -> Steps[None]:
        """Count the places in a message."""
        count = 0
        for block in blocks:
            for start in _windows(block.body.text):
                count += sum(1 for _ in self.matcher.spans(block.body.text, start, start + _WINDOW))
                yield
        self.total += count - self._counts.pop(index, 0)
        if count:
            self._counts[index] = count
        self._sorted = None

    def hit_steps(self, index: int, ordinal: int, blocks: Sequence[Block]) -> Steps[Hit | None]:
        """Return place number `ordinal` (from 0) of a message, or the last one there is."""
        last = None
        for number, block in enumerate(blocks):
            for start in _windows(block.body.text):
                for a, b in self.matcher.spans(block.body.text, start, start + _WINDOW):
                    last = Hit(index, number, a, b)
                    if ordinal == 0:
                        return last
                    ordinal -= 1
                yield
        return last

    def before_steps(self, place: Place, blocks: Sequence[Block]) -> Steps[int]:
        """Return how many of a message's places stand before a place in it."""
        count = 0
        for number, block in enumerate(blocks[: max(0, place.block) + 1]):
            stop = place.offset if number == place.block else len(block.body.text)
            for start in range(0, stop, _WINDOW):
                count += sum(1 for _ in self.matcher.spans(block.body.text, start, min(start + _WINDOW, stop)))
                yield
        return count

    def between(self, first: int, stop: int) -> int:
        """Return how many places are known in the messages from `first` to before `stop`."""
        messages = self.messages
        found = messages[bisect_left(messages, first) : bisect_left(messages, stop)]
        return sum(self._counts[index] for index in found)

    def after(self, index: int, ordinal: int, step: int) -> tuple[int, int, bool]:
        """Return the place a step from another one, and whether that went past an end. There must be a place.

        A message without places stands for the gap in which it is.
        """
        count = self._counts.get(index, 0)
        if count and 0 <= ordinal + step < count:
            return index, ordinal + step, False
        messages = self.messages
        place = bisect_right(messages, index) if step > 0 else bisect_left(messages, index) - 1
        wrapped = not 0 <= place < len(messages)
        found = messages[place % len(messages)]
        return found, 0 if step > 0 else self._counts[found] - 1, wrapped

    def position(self, index: int, ordinal: int) -> int:
        """Return the number of a place among all that are counted, from 1."""
        messages = self.messages
        return sum(self._counts[found] for found in messages[: bisect_left(messages, index)]) + ordinal + 1

    @property
    def messages(self) -> Sequence[int]:
        """The messages that have places, in order."""
        if self._sorted is None:
            self._sorted = sorted(self._counts)
        return self._sorted


def _windows(text: str) -> Iterator[int]:
    return iter(range(0, len(text), _WINDOW))

"""Where words stand in a transcript: how often in each message, and which place comes next. Pure.

Places are counted, not kept, so that a letter that stands in ten megabytes half a million times costs no memory; the
place itself is found again when a person goes there.
"""

from __future__ import annotations

from array import array
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
        self._windows: dict[int, array[int]] = {}
        self._sorted: list[int] | None = []

    def scan(self, index: int, blocks: Sequence[Block]) -> Scan:
        """Begin to count the places in a message."""
        self.total -= self._counts.pop(index, 0)
        scan = Scan(self, index, blocks)
        if sum(len(block.body.text) for block in blocks) > _WINDOW:
            self._windows[index] = scan.windows
        return scan

    def add(self, index: int, count: int) -> None:
        """Count more places in a message."""
        self._counts[index] = self._counts.get(index, 0) + count
        self.total += count
        self._sorted = None

    def hit_steps(self, index: int, ordinal: int, blocks: Sequence[Block]) -> Steps[Hit | None]:
        """Return place number `ordinal` (from 0) of a message, or the last one there is."""
        last = None
        counts = self._windows.get(index, ())
        for window, (number, start) in enumerate(_windows(blocks)):
            if window < len(counts) and (count := counts[window]) <= ordinal:
                ordinal -= count
                continue
            for a, b in self.matcher.spans(blocks[number].body.text, start, start + _WINDOW):
                last = Hit(index, number, a, b)
                if ordinal == 0:
                    return last
                ordinal -= 1
            yield
        return last

    def before_steps(self, place: Place, blocks: Sequence[Block]) -> Steps[int]:
        """Return how many of a message's places stand before a place in it."""
        count = 0
        counts = self._windows.get(place.message, ())
        for window, (number, start) in enumerate(_windows(blocks)):
            if (number, start) >= place[1:]:
                break
            if window < len(counts) and (number, start + _WINDOW) <= place[1:]:
                count += counts[window]
                continue
            stop = min(start + _WINDOW, place.offset) if number == place.block else start + _WINDOW
            count += sum(1 for _ in self.matcher.spans(blocks[number].body.text, start, stop))
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


class Scan:
    """The way through one message: its places are counted as it goes."""

    def __init__(self, findings: Findings, index: int, blocks: Sequence[Block]) -> None:
        self.count = 0
        """How many places have been found in the message."""
        self.done = False
        """Whether all of it has been looked through."""
        self.windows = array("L")
        """How many places there are in each piece of its texts."""
        self._findings, self._index, self._blocks = findings, index, blocks
        self._ahead = _windows(blocks)

    def first_steps(self, begin: tuple[int, int], skip: int) -> Steps[int]:
        """Go on until the first place from `begin` on (a block, an offset in it), or the one `skip` further, is found.

        Returns its number in the message, from 0; one that is not below `count` was not found.
        """
        before = 0
        for number, start in self._ahead:
            found = self._look(number, start)
            if found and (number, start) < begin:
                before += sum((number, a) < begin for a, _ in found)
            if before + skip < self.count:
                return before + skip
            yield
        self.done = True
        return before + skip

    def rest_steps(self) -> Steps[None]:
        """Go on to the end of the message."""
        for number, start in self._ahead:
            self._look(number, start)
            yield
        self.done = True

    def _look(self, number: int, start: int) -> list[tuple[int, int]]:
        found = list(self._findings.matcher.spans(self._blocks[number].body.text, start, start + _WINDOW))
        self.windows.append(len(found))
        if found:
            self.count += len(found)
            self._findings.add(self._index, len(found))
        return found


def _windows(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """The numbers of the blocks, and the offsets in them, from which on a text is looked through at once."""
    return ((number, start) for number, block in enumerate(blocks) for start in range(0, len(block.body.text), _WINDOW))

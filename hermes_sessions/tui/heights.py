"""How many lines each message has, and where each begins, while heights are still being corrected. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """How many lines each message has, and at which line of the whole each begins."""

    def __init__(self, heights: Iterable[int]) -> None:
        self._heights = list(heights)
        self._tops = [0]
        self._valid = 0

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._valid = min(self._valid, index)

    @property
    def total(self) -> int:
        """The number of all lines."""
        return self.top(len(self._heights))

    def extend(self, heights: Iterable[int]) -> None:
        """Append messages."""
        self._valid = min(self._valid, len(self._heights))
        self._heights.extend(heights)

    def top(self, index: int) -> int:
        """Return the line at which a message begins; for the one after the last, the number of all lines."""
        if self._valid < len(self._heights):
            self._tops[self._valid :] = accumulate(self._heights[self._valid :], initial=self._tops[self._valid])
            self._valid = len(self._heights)
        return self._tops[index]

    def locate(self, y: int) -> tuple[int, int]:
        """Return the message at line `y`, or the nearest, and the line within it. There must be a message."""
        y = max(0, min(y, self.total - 1))
        index = bisect_right(self._tops, y) - 1
        return index, y - self._tops[index]

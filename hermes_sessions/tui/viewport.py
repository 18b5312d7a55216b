"""The part of a transcript that is on the screen, and the message cursor in it. Pure arithmetic, in lines.

What is on the screen is remembered as a place, not as a number: when heights around it are corrected, the same line
stays at the top, or the end stays the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hermes_sessions.tui.findings import Place
from hermes_sessions.tui.transcript import LAST_ROW, Spot, Transcript, nearest


class Here(NamedTuple):
    """Where the person is, to come back to: the message and the line at the top, and the message cursor."""

    top: int
    spot: Spot
    cursor: int
    at_end: bool

    @property
    def place(self) -> Place:
        """What stands at the start of that line."""
        return Place(self.top, self.spot.block, self.spot.offset) if self.spot.block >= 0 else Place(self.top)


class Viewport:
    """A window of `page` lines on a transcript."""

    def __init__(self, transcript: Transcript, page: int) -> None:
        self.transcript = transcript
        self.page = page
        self.y = 0
        """The line of the transcript that is at the top."""
        self.cursor = 0
        """The message that keys act on; always one of those on the screen."""
        self.at_end = True
        self._top = (0, 0)
        self._is_guess = False
        self._top_spot: Spot | None = None
        self._aim: tuple[int, Spot] | None = None

    @property
    def around(self) -> range:
        """The messages on the screen and near it."""
        return self.transcript.around(*self._top, self.page) if len(self.transcript) else range(0)

    @property
    def first(self) -> int:
        """The message at the top."""
        return self._top[0]

    def here(self) -> Here | None:
        """Where the person is; None without messages."""
        if not len(self.transcript):
            return None
        index, row = self._top
        return Here(index, self._top_spot or Spot.of(self.transcript, index, row), self.cursor, self.at_end)

    def go_back(self, here: Here) -> None:
        """Be again where the person was, in the same outline, whatever was folded or resized meanwhile."""
        if here.top >= len(self.transcript):
            return
        self._let_go()
        self.cursor, self.at_end = here.cursor, here.at_end
        self._top, self._top_spot = (here.top, here.spot.row), here.spot
        self.place_again()

    def renew(self, transcript: Transcript) -> None:
        """Show another outline of the same conversation; the top and the cursor stay with their messages."""
        old, (index, row), self.transcript = self.transcript, self._top, transcript
        if self.at_end or not len(transcript):
            self.go_to_end()
            return
        self._let_go()
        self.cursor = nearest(transcript.stubs, old.stubs[self.cursor].id)
        self._place(nearest(transcript.stubs, old.stubs[index].id), row)

    def scroll_to(self, y: int) -> None:
        """Put line `y` at the top."""
        if len(self.transcript):
            self._let_go()
            self._place(*self.transcript.locate(y))

    def go_to_start(self) -> None:
        """Show the first lines, with the cursor on the first message."""
        self._let_go()
        self.cursor = 0
        self._place(0, 0)

    def go_to_end(self) -> None:
        """Show the last lines, with the cursor on the last message."""
        self._let_go()
        self.cursor = max(0, len(self.transcript) - 1)
        self._place(self.cursor, LAST_ROW)

    def go_to(self, index: int, row: int) -> None:
        """Put the cursor on a message and a line of it on the screen, without scrolling if it is there already.

        The line stays on the screen when the size changes, until the person goes elsewhere.
        """
        self._let_go()
        self.place_again()
        self.cursor = index
        seen = self.transcript.top(index, row) - self.y
        self._place(index, row, above=seen if 0 <= seen < self.page else self.page // 3)
        self._aim = index, Spot.of(self.transcript, index, row)

    def put_cursor(self, index: int) -> None:
        """Go to another message; it is put at the top unless all of it is on the screen."""
        if not 0 <= index < len(self.transcript):
            return
        self._let_go()
        heights, row = self.transcript.heights, self.transcript.first_row(index)
        self.cursor = index
        if not self.y <= heights.top(index) + row <= heights.top(index + 1) <= self.y + self.page:
            self._place(index, row)

    def place_again(self) -> None:
        """Heights have changed: stay at the end, or keep the line at the top."""
        index, row = self._top
        if self.at_end:
            self._place(max(0, len(self.transcript) - 1), LAST_ROW)
        elif self._top_spot is not None and not self.transcript.missing([index]):
            row, self._top_spot = self.transcript.row_at(index, self._top_spot), None
            self._place(index, row)
        elif self._is_guess:  # its text was not here: what was taken for a row is only a number of lines
            self._place(*self.transcript.locate(self.transcript.heights.top(index) + row))
        else:
            self._place(index, row)

    def resize(self, page: int, change: Callable[[], bool]) -> bool:
        """Take another size and do the `change` of the lines that goes with it; returns what `change` returns."""
        if len(self.transcript) and self._top_spot is None and not self._is_guess:
            self._top_spot = Spot.of(self.transcript, *self._top)
        self.page = page
        changed = change()
        if not changed:
            self._top_spot = None
        self.place_again()
        if self._aim is not None:
            index, spot = self._aim
            row = self.transcript.row_at(index, spot)
            if not self.y <= self.transcript.top(index, row) < self.y + page:
                self._place(index, row, above=page // 3)
        return changed

    def fold(self, change: Callable[[], object]) -> None:
        """Do something that changes many heights; the message under the cursor keeps its place on the screen."""
        if not len(self.transcript):
            return
        self._let_go()
        above = self.transcript.heights.top(self.cursor) - self.y
        spot = Spot.of(self.transcript, *self._top)
        change()
        if above >= 0:
            self._place(self.cursor, 0, above=above)
        else:
            self._place(self.cursor, self.transcript.row_at(self.cursor, spot))
            self._top_spot = spot if self.transcript.missing([self.cursor]) else None

    def _let_go(self) -> None:
        self._top_spot = self._aim = None

    def _place(self, index: int, row: int, above: int = 0) -> None:
        """Put a line of a message `above` lines below the upper edge, as far as there is text around it."""
        transcript, page = self.transcript, self.page
        if not len(transcript):
            self.y, self._top, self.cursor, self.at_end = 0, (0, 0), 0, True
            return
        for _ in range(2):  # what comes into view by the first placing is settled by the second
            transcript.settle(index, row, page)
            self.y = max(0, min(transcript.top(index, row) - above, transcript.heights.total - page))
            (index, row), above = transcript.locate(self.y), 0
        self._top, self._is_guess = (index, row), not transcript.layout(index)
        self.at_end = self.y >= transcript.heights.total - page
        last, _ = transcript.heights.locate(self.y + page - 1)
        self.cursor = max(index, min(self.cursor, last))

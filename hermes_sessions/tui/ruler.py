"""The right edge of the messages: how far down the screen is, and where in the whole there are hits and prompts.

A click goes there. What stands on a row is worked out when it is drawn: a few comparisons, however long the
conversation is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Literal

from rich.segment import Segment
from textual import events, work
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from hermes_sessions.model import MessageStub
from hermes_sessions.tui.looks import Looks
from hermes_sessions.tui.message_view import MessageView

Sign = Literal["current", "find", "hit", "prompt", "track"]

SIGNS: dict[Sign, str] = {"current": "◂", "find": "╸", "hit": "╸", "prompt": "╴", "track": " "}
SEEN: dict[Sign, str] = {**SIGNS, "find": "┫", "hit": "┫", "prompt": "┨", "track": "┃"}
"""The same on the rows that stand for what is on the screen."""

_LOOKS = {
    "": "",
    "current": "$link bold",
    "find": "$link",
    "hit": "$warning",
    "prompt": "$role-user",
    "thumb": "$muted",
    "track": "",
}

PROMPTS_A_ROW = 2
"""With more prompts to a row than this, on the whole, nearly every row would have one: then none are shown."""


class Ruler(Widget):
    """Where things are in what `view` shows."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Ruler { dock: right; width: 1; height: 100%; background: $background; }"

    hits: var[Sequence[int]] = var[Sequence[int]](())
    """The messages that the search of the whole store found, in order."""

    def __init__(self, view: MessageView) -> None:
        super().__init__()
        self._view = view
        self._looks = Looks(self, _LOOKS)
        self._strips: dict[tuple[Sign, bool], Strip] = {}
        self._hit_line: int | None = None
        self._dragging = False
        self._stubs: Sequence[MessageStub] = ()
        self._prompts: Sequence[int] = ()

    def on_mount(self) -> None:
        for name in ("scroll_y", "virtual_size", "found"):
            self.watch(self._view, name, self._again, init=False)

    def watch_hits(self) -> None:
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.forget()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        view, total = self._view, self._view.viewport.transcript.heights.total
        first, stop = self._lines(y)
        seen = total > view.page and first < view.viewport.y + view.page and stop > view.viewport.y
        key = self.sign(first, stop), seen
        if (strip := self._strips.get(key)) is None:
            sign = (SEEN if seen else SIGNS)[key[0]]
            strip = self._strips[key] = Strip(
                [Segment(sign, self._looks["thumb" if key == ("track", True) else key[0]])], 1
            )
        return strip

    def sign(self, first: int, stop: int) -> Sign:
        """What is to be seen on the lines from `first` to before `stop`: the most telling thing there."""
        view = self._view
        if view.viewport.transcript.heights.total <= view.page:  # everything is on the screen itself
            return "track"
        if self._hit_line is not None and first <= self._hit_line < stop:
            return "current"
        if self._first(self._found, first, stop) is not None:
            return "find" if view.hits.finder.round_about and view.hits.finder.matcher else "hit"
        if self._first(self._shown_prompts, first, stop) is not None:
            return "prompt"
        return "track"

    def on_mouse_down(self, event: events.MouseDown) -> None:
        first, stop = self._lines(event.y)
        for places in (self._found, self._shown_prompts):
            if (at := self._first(places, first, stop)) is not None:
                self._go_to(at)
                return
        self._dragging = True
        self.capture_mouse()
        self._drag(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._drag(event.y)

    def on_mouse_up(self) -> None:
        self._dragging = False
        self.release_mouse()

    def on_mouse_scroll_down(self) -> None:
        self._view.scroll_lines(3)

    def on_mouse_scroll_up(self) -> None:
        self._view.scroll_lines(-3)

    def _lines(self, row: int) -> tuple[int, int]:
        """The lines of the conversation that a row stands for: from the first to before the second."""
        height = max(1, self.size.height)
        # A conversation that is shorter than the screen stands beside its own lines.
        total = max(height, self._view.viewport.transcript.heights.total)
        return row * total // height, (row + 1) * total // height

    @property
    def _found(self) -> Sequence[int]:
        finder = self._view.hits.finder
        return finder.findings.messages if finder.matcher else self.hits

    @property
    def _shown_prompts(self) -> Sequence[int]:
        stubs = self._view.viewport.transcript.stubs
        if stubs is not self._stubs:
            self._stubs = stubs
            self._prompts = [index for index, stub in enumerate(stubs) if stub.role == "user"]
        return self._prompts if len(self._prompts) <= PROMPTS_A_ROW * self.size.height else ()

    def _first(self, places: Sequence[int], first: int, stop: int) -> int | None:
        """The first of these messages that begins on the lines from `first` to before `stop`."""
        top: Callable[[int], int] = self._view.viewport.transcript.heights.top
        at = bisect_left(places, first, key=top)
        return places[at] if at < len(places) and top(places[at]) < stop else None

    def _drag(self, row: int) -> None:
        """Bring what the row stands for to the middle of the screen."""
        view = self._view
        middle = row * view.viewport.transcript.heights.total // max(1, self.size.height - 1)
        view.scroll_to(y=middle - view.page // 2, animate=False, force=True)

    @work(exclusive=True)
    async def _go_to(self, index: int) -> None:
        await self._view.go_to(index)

    def _again(self) -> None:
        self._hit_line = self._view.hits.line
        self.refresh()

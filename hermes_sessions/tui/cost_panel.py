"""The pane of what the listed sessions cost: a summary of five lines, or one table at a time when it is large.

It asks for sums as the list stands still, and scrolls. What the lines say is `tui.cost_lines`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from rich.segment import Segment
from textual import work
from textual.geometry import Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import CostSummary
from hermes_sessions.services.history import History
from hermes_sessions.tui.cost_lines import COMPACT, TABLES, Line, compact_lines, table_lines
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.looks import Looks

ASK_AFTER_SECONDS = 0.15
"""How long the list must stand still before its cost is asked for."""

_LOOKS = {
    "text": "$foreground",
    "strong": "$foreground bold",
    "muted": "$muted",
    "actual": "$money-actual",
    "estimated": "$money-estimated",
    "included": "$money-included",
    "unpriced": "$money-unpriced",
    "bar": "$bar",
    "tab": "$rule-focus bold reverse",
}


class CostPanel(ScrollView, can_focus=True):
    """Money and tokens of the listed sessions."""

    ALLOW_SELECT = False
    BINDINGS = bindings("costs")

    large: var[bool] = var(False)
    table: var[str] = var(TABLES[0])

    def __init__(self, history: History, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._history = history
        self._clock = clock
        self._asked: tuple[str, ...] | None = None
        self._summaries: dict[str, CostSummary] = {}
        self._fresh: set[str] = set()
        self._timer: Timer | None = None
        self._lines: list[Line] = []
        self._looks = Looks(self, _LOOKS)
        self.waiting = False
        """Whether the sums of what is listed are still on their way."""

    def ask(self, session_ids: Collection[str] | None) -> None:
        """Show the cost of these sessions, or of all, once nothing else was asked for a moment."""
        self._asked = None if session_ids is None else tuple(session_ids)
        self._fresh.clear()
        self.waiting = True
        self.workers.cancel_group(self, "costs")  # what is on its way is the cost of something else
        self._ask_soon()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.large

    def on_resize(self) -> None:
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.forget()

    def watch_large(self) -> None:
        self.scroll_to(y=0, animate=False, force=True)
        self._ask_soon()
        self._draw()

    def watch_table(self) -> None:
        self.scroll_to(y=0, animate=False, force=True)
        self._ask_soon()
        self._draw()

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        width = self.scrollable_content_region.width
        line = self._lines[y] if y < len(self._lines) else []
        segments = [Segment(text, self._looks[kind]) for text, kind in line]
        return Strip(segments).crop_extend(0, width, self._looks["text"])

    def action_turn(self, step: int) -> None:
        self.table = TABLES[(TABLES.index(self.table) + step) % len(TABLES)]

    def action_up(self) -> None:
        self._scroll(-1)

    def action_down(self) -> None:
        self._scroll(1)

    def action_page_up(self) -> None:
        self._scroll(1 - self.size.height)

    def action_page_down(self) -> None:
        self._scroll(self.size.height - 1)

    def _scroll(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    @property
    def _needed(self) -> tuple[str, ...]:
        return (self.table,) if self.large else COMPACT

    def _ask_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self.is_mounted and not self._fresh.issuperset(self._needed):
            self._timer = self.set_timer(ASK_AFTER_SECONDS, self._ask_now)

    def _ask_now(self) -> None:
        self._fetch(self._asked)

    @work(group="costs", exclusive=True)
    async def _fetch(self, session_ids: tuple[str, ...] | None) -> None:
        try:
            for by in self._needed:
                if by not in self._fresh:
                    self._summaries[by] = await self._history.costs(by, session_ids)
                    self._fresh.add(by)
        except SessionsError as error:
            self.post_message(Failed(error))
        self.waiting = False
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width < 1:
            return
        self._lines = self._made_lines(width)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def _made_lines(self, width: int) -> list[Line]:
        if self.large:
            return table_lines(self.table, self._summaries.get(self.table), width)
        known = {by: self._summaries[by] for by in COMPACT if by in self._summaries}
        return compact_lines(known, self._clock(), width)

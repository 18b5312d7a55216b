"""The line that finds words in the conversation: what is typed goes to the view, what it finds is counted here.

While a person types they are taken to the first place from where they were; Enter keeps it, Escape takes them back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on, work
from textual.widgets import Input

from hermes_sessions.services import wording
from hermes_sessions.tui.ask_line import AskLine

if TYPE_CHECKING:
    from hermes_sessions.tui.message_view import MessageView
    from hermes_sessions.tui.viewport import Here

ROOMY = 56
"""Columns from which on a whole sentence fits beside what is typed."""


class FindLine(AskLine):
    """Finds words in what `view` shows."""

    def __init__(self, view: Callable[[], MessageView]) -> None:
        super().__init__("find", "in this conversation", id="find")
        self._view = view
        self._origin: Here | None = None
        """Where the person was when they began, for as long as they type."""

    def start(self) -> None:
        self._origin = self._view().viewport.here()
        super().start()

    def stop(self) -> None:
        """Forget what was found. Who still types is taken back to where they were; who has kept it stays."""
        view, origin = self._view(), self._origin if self.input.has_focus else None
        self.close()
        view.focus()
        view.go_back(origin)

    def close(self) -> None:
        """Forget what is typed and what was found, and close the line."""
        self.workers.cancel_group(self, "find")
        self.asking, self._origin = False, None
        self.input.value = ""
        self.say("")
        self._view().hits.forget()

    def tell(self, hit: MessageView.HitReached, step: int) -> None:
        """Say which place was reached by a step in that direction, and how many there are."""
        words = hit_words(hit)
        if hit.wrapped:
            end = "top" if step > 0 else "end"
            words += f" · search went on from the {end}" if self.size.width >= ROOMY else f" · from the {end}"
        self.say(words, wrong=hit.complete and not hit.total)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.asking:
            self.say("")
            self._look_for(event.value)

    @work(group="find", exclusive=True)
    async def _look_for(self, words: str) -> None:
        view = self._view()
        await view.hits.find(words, self._origin)
        if not view.hits.finder.total and self._origin is not None:
            view.go_back(self._origin)

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self._origin = None
            self._view().focus()
        else:
            self.stop()


def hit_words(hit: MessageView.HitReached) -> str:
    """Which place of how many; its number is known once all before it are counted."""
    total = wording.count(hit.total) + ("" if hit.complete else "+")
    if hit.position:
        return f"{wording.count(hit.position)} of {total}"
    if not hit.complete:
        return f"{total} found"
    if not hit.total:
        return "not found"
    return f"{total} hit" if hit.total == 1 else f"{total} hits"

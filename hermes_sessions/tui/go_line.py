"""The line that takes the number of a message, a part of the whole or a time, and says where that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on, work
from textual.widgets import Input

from hermes_sessions.errors import UsageError
from hermes_sessions.services import wording
from hermes_sessions.services.places import index_of
from hermes_sessions.tui.ask_line import AskLine

if TYPE_CHECKING:
    from hermes_sessions.tui.message_view import MessageView

EXAMPLES = "120 · -10 · 50% · 14:30 · yesterday 9:00 · 2026-05-03"


class GoLine(AskLine):
    """Goes to a message of what `view` shows. `clock` gives the time that today and yesterday are told from."""

    def __init__(self, view: Callable[[], MessageView], clock: Callable[[], float]) -> None:
        super().__init__("go to", EXAMPLES, id="go")
        self._view = view
        self._clock = clock

    def start(self) -> None:
        self.input.value = ""
        self.say("")
        super().start()

    def stop(self) -> None:
        """Close the line."""
        self.asking = False
        self._view().focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            index = self._index_of(event.value)
        except UsageError as error:
            self.say(error.message if event.value.strip() else "")
        else:
            stub = self._view().viewport.transcript.stubs[index]
            self.say(f"message {wording.count(index + 1)} · {wording.moment(stub.timestamp)}")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            index = self._index_of(event.value)
        except UsageError as error:
            self.say(error.message, wrong=True)
        else:
            self.stop()
            self._go(index)

    def _index_of(self, words: str) -> int:
        viewport = self._view().viewport
        return index_of(words, viewport.transcript.stubs, viewport.cursor, self._clock())

    @work(exclusive=True)
    async def _go(self, index: int) -> None:
        await self._view().go_to(index)

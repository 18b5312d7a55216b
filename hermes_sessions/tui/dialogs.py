"""What stands over the screen for a moment and must be read: a notice. Imported when first asked for."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from hermes_sessions.text import clean, one_line
from hermes_sessions.tui.dialog import Dialog
from hermes_sessions.tui.key_line import KeyLine


class NoticeScreen(Dialog[bool]):
    """Says something that must be read. Its answer is True when the person wants the advice copied."""

    BINDINGS: ClassVar = [Binding("escape,q,enter", "dismiss(False)", "close"), Binding("y", "dismiss(True)", "copy")]

    def __init__(self, title: str, message: str, advice: str = "") -> None:
        super().__init__()
        self._title = title
        self._message = message
        self._advice = advice

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="notice") as dialog:
            dialog.border_title = Content(one_line(self._title))
            with VerticalScroll(id="message"):
                yield Static(Content(clean(self._message)))
            if self._advice:
                yield Static(Content(clean(self._advice)), classes="advice")
        yield KeyLine()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._advice) or parameters != (True,)

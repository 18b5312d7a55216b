"""The list of themes: each is shown as the cursor comes to it, and Escape brings back the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from hermes_sessions.tui.dialog import Choices, Dialog
from hermes_sessions.tui.key_line import KeyLine

SHOW_AFTER_SECONDS = 0.08
"""How long the cursor must stand still: colours take a moment to change."""


class ThemeScreen(Dialog[str | None]):
    """Asks for a theme; the answer is its name, or None for the one there was."""

    BINDINGS: ClassVar = [
        Binding("enter", "keep", "keep", priority=True),
        Binding("escape,q", "dismiss(None)", "close"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, choices: Sequence[tuple[str, str]], current: str, show: Callable[[str], None]) -> None:
        """`choices` are the name of each theme and words for it; `show` puts one on the screen."""
        super().__init__()
        self._choices = choices
        self._current = current
        self._show = show
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        names = [name for name, _ in self._choices]
        with Vertical(id="dialog", classes="themes") as dialog:
            dialog.border_title = Content("Theme")
            themes = Choices(*(Option(Content(words), id=name) for name, words in self._choices), compact=True)
            themes.highlighted = names.index(self._current) if self._current in names else 0
            yield themes
        yield KeyLine()

    def action_keep(self) -> None:
        for themes in self.query(OptionList):
            themes.action_select()

    def action_cursor(self, way: str) -> None:
        for themes in self.query(OptionList):
            themes.action_cursor_down() if way == "down" else themes.action_cursor_up()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._timer is not None:
            self._timer.stop()
        name = event.option_id or self._current
        self._timer = self.set_timer(SHOW_AFTER_SECONDS, lambda: self._show(name))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

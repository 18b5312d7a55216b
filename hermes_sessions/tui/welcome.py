"""The one line of advice for whoever is here for the first time. It goes with the first use of what it advises."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static

from hermes_sessions.text import cell_width
from hermes_sessions.tui.key_line import KEY_STYLE
from hermes_sessions.tui.keys import first_labels
from hermes_sessions.tui.setting import Setting

NAME = "welcome"
"""What the state calls it."""

ADVICE = (
    ("search", "searches all that was said", "search"),
    ("list.open", "reads a session", "read"),
    ("help", "shows every key", "all keys"),
)
"""Commands, and what to say of them with room and without."""


class Welcome(Static):
    """Shown until `end` is called, in this run or in an earlier one."""

    ALLOW_SELECT = False

    def __init__(self, setting: Setting, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state = setting.state
        labels = first_labels(setting.keys)
        self._advice = [(labels[name], words, short) for name, words, short in ADVICE if name in labels]

    def on_mount(self) -> None:
        self.display = self._state is not None and not self._state.seen(NAME)

    def on_resize(self) -> None:
        text = Content.assemble("New here?  ", _line((label, words) for label, words, _ in self._advice))
        if cell_width(text.plain) > self.content_size.width:
            text = _line((label, short) for label, _, short in self._advice)
        self.update(text, layout=False)

    def end(self) -> None:
        """Never show it again."""
        if self._state is not None and self.display:
            self._state.see(NAME)
            self.display = False


def _line(advice: Iterable[tuple[str, str]]) -> Content:
    parts = [Content.assemble((label, KEY_STYLE), f" {words}") for label, words in advice]
    return Content("  ").join(parts)

"""The help over the screen: what is typed chooses among its lines, arrows scroll them. Imported when first asked for.

What the lines say is `tui.help_lines`' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from hermes_sessions.text import one_line
from hermes_sessions.tui.dialog import Dialog
from hermes_sessions.tui.help_lines import Entry, HelpLine, lay_out
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.search_bar import LineInput

CLOSING = ("q", "?")
"""These close the help while nothing is typed; after `/` they are text."""


class HelpInput(LineInput):
    """What is typed is looked for, but for the keys that close."""

    async def _on_key(self, event: events.Key) -> None:
        command = None if self.value else event.character
        if command == "/":
            self.add_class("-asked")
        elif command in CLOSING and not self.has_class("-asked"):
            self.screen.dismiss()
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()


class HelpScreen(Dialog[None]):
    """Every key, the query language and every mark, what matters in this pane first."""

    AUTO_FOCUS = "#help_text"
    BINDINGS: ClassVar = [
        Binding("escape", "back", "back"),
        Binding("f1", "dismiss", "close", show=False),
        # Before the line, which would scroll itself, and not at all.
        Binding("up", "scroll('up')", "up", priority=True),
        Binding("down", "scroll('down')", "down", priority=True),
        Binding("pagedown", "scroll('page_down')", "page", priority=True),
        Binding("pageup", "scroll('page_up')", "page up", show=False, priority=True),
        Binding("ctrl+home", "scroll('home')", "top", show=False),
        Binding("ctrl+end", "scroll('end')", "end", show=False),
    ]

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self._entries = entries

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="help") as dialog:
            dialog.border_title = Content("Help")
            yield HelpInput("Type to find a key or a command", id="help_text")
            with VerticalScroll(id="help_lines", can_focus=False):
                yield Static(id="help_words")
        yield KeyLine()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def action_back(self) -> None:
        """Forget what is typed, else close."""
        line = next(iter(self.query(HelpInput)), None)  # the key may be faster than the line
        if line is not None and line.value:
            line.value = ""
            line.remove_class("-asked")
        else:
            self.dismiss()

    def action_scroll(self, way: str) -> None:
        for lines in self.query(VerticalScroll):
            getattr(lines, f"scroll_{way}")(animate=False)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._draw()
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self._say_keys()

    @on(Input.Submitted)
    def _answered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss()

    def _say_keys(self) -> None:
        typed = self.query_one(HelpInput).value
        self.query_one("#dialog").border_subtitle = Content(
            "Esc shows all again" if typed else "↑↓ scroll · Esc closes"
        )

    def _draw(self) -> None:
        body = self.query_one("#help_words", Static)
        asked = one_line(self.query_one(HelpInput).value).casefold().split()
        found = [entry for entry in self._entries if entry.fits(asked)]
        lines = lay_out(found, max(10, body.size.width)) or [HelpLine("", "", "Nothing here is called that.")]
        body.update(Content("\n").join(map(_draw_line, lines)))


def _draw_line(line: HelpLine) -> Content:
    if line.heading:
        return Content.styled(line.heading, "$heading bold")
    return Content.assemble((line.name, "$rule-focus bold"), line.words)

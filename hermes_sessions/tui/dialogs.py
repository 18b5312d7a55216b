"""What stands over the screen for a moment: the keys, the copy menu, a notice. Imported when first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from hermes_sessions.text import cell_width, clean, one_line, pad
from hermes_sessions.tui.keys import KEYS, PANES
from hermes_sessions.tui.session_rows import ARCHIVED_SIGN, BRANCH_SIGN, LIVE_MARK, MARKS, SUBAGENT_SIGN

MARK_WORDS = {"complete": "done", "interrupted": "interrupted", "error": "ended in an error", "empty": "empty"}


class HelpScreen(ModalScreen[None]):
    """Every key and every mark."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS: ClassVar = [Binding("escape,q,question_mark,f1,enter", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="dialog", classes="help") as dialog:
            dialog.border_title = Content("Keys")
            dialog.border_subtitle = Content("Esc closes")
            yield Static(_help_text())


class CopyScreen(ModalScreen[str | None]):
    """Asks what to copy; the answer is the text, or None."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS: ClassVar = [Binding("escape,q", "dismiss(None)", "close")]

    def __init__(self, choices: Sequence[tuple[str, str, str]]) -> None:
        """`choices` are the key, the name and the text of each thing that can be copied."""
        super().__init__()
        self._choices = choices
        for key, name, _ in choices:
            self._bindings.bind(key, f"choose('{key}')", name)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="copy") as dialog:
            dialog.border_title = Content("Copy")
            dialog.border_subtitle = Content("Esc closes")
            for key, name, text in self._choices:
                with_key = Content.styled(f" {key} ", "$rule-focus bold")
                yield Static(Content.assemble(with_key, pad(name, 9), (one_line(text)[:200], "$muted")), classes="line")

    def action_choose(self, key: str) -> None:
        self.dismiss(next(text for own, _, text in self._choices if own == key))


class NoticeScreen(ModalScreen[bool]):
    """Says something that must be read. Its answer is True when the person wants the advice copied."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS: ClassVar = [Binding("escape,q,enter", "dismiss(False)", "close"), Binding("y", "dismiss(True)", "copy")]

    def __init__(self, title: str, message: str, advice: str = "") -> None:
        super().__init__()
        self._title = title
        self._message = message
        self._advice = advice

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="notice") as dialog:
            dialog.border_title = Content(one_line(self._title))
            dialog.border_subtitle = Content("y copies · Esc closes" if self._advice else "Esc closes")
            yield Static(Content(clean(self._message)))
            if self._advice:
                yield Static(Content(clean(self._advice)), classes="advice")


def _help_text() -> Content:
    key_style, head_style = Style.parse("$rule-focus bold"), "$heading bold"
    parts: list[Content | str] = []
    width = max(cell_width(" ".join(key.labels)) for key in KEYS) + 2
    for pane, title in PANES:
        parts.append(Content.styled(f"{title}\n", head_style))
        for key in KEYS:
            if key.pane == pane:
                parts += [Content.styled(pad(" ".join(key.labels), width), key_style), f"{key.help}\n"]
        parts.append("\n")
    parts.append(Content.styled("Marks\n", head_style))
    signs = [(LIVE_MARK, "being written now"), *((mark, MARK_WORDS[name]) for name, mark in MARKS.items())]
    signs += [(ARCHIVED_SIGN, "archived"), (BRANCH_SIGN, "a branch"), (SUBAGENT_SIGN, "started by an agent")]
    for sign, words in signs:
        parts += [Content.styled(pad(sign.strip(), width), key_style), f"{words}\n"]
    return Content.assemble(*parts)

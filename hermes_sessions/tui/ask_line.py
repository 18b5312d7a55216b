"""A line at the foot of the messages to type into, and on its right what comes of it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from hermes_sessions.tui.search_bar import LineInput


class AskLine(Horizontal):
    """Shown while it is `asking`. Its input is called as the line, with `_text` behind it."""

    DEFAULT_CSS = """
    AskLine { display: none; height: 1; padding: 0 1; }
    AskLine.-asking { display: block; }
    AskLine .prompt { width: auto; padding-right: 1; color: $rule-focus; text-style: bold; }
    AskLine .answer { width: auto; max-width: 75%; padding-left: 1; color: $muted; }
    AskLine .answer.-wrong { color: $status-error; }
    """

    asking: var[bool] = var(False, toggle_class="-asking")

    def __init__(self, prompt: str, placeholder: str, *, id: str) -> None:
        super().__init__(id=id)
        self._prompt = Static(Content(prompt), classes="prompt")
        self._answer = Static(classes="answer")
        self.input = LineInput(placeholder, id=f"{id}_text")

    def compose(self) -> ComposeResult:
        yield self._prompt
        yield self.input
        yield self._answer

    def start(self) -> None:
        """Show the line and type into it; what is in it is selected, so that typing replaces it."""
        self.asking = True
        self.screen.set_focus(self.input)  # at once, for the letters that may follow in the same breath
        self.input.action_select_all()

    def say(self, words: str, *, wrong: bool = False) -> None:
        """Say what comes of what is typed."""
        self._answer.set_class(wrong, "-wrong")
        self._answer.update(Content(words))

"""What every dialog over the screen has in common: its looks, that it answers once, and the list to choose from."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen
from textual.widgets import OptionList

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A dialog. Its keys are its own and, below a dialog, those of the app."""

    CSS_PATH = "dialogs.tcss"

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Answer and go. Of two keys that come in one breath the second finds it gone and does nothing, where Textual
        would close whatever is there by then, or fail."""
        return super().dismiss(result) if self.is_active else AwaitComplete()


class Choices(OptionList):
    """A list of options. Keys may be faster than its first layout, or have a screen without any room for it: it has no
    pages then, and Textual would fail to find one, or to wrap words in no width."""

    DEFAULT_CSS = "Choices { min-width: 10; }"

    def action_page_up(self) -> None:
        with suppress(LookupError):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        with suppress(LookupError):
            super().action_page_down()  # type: ignore[no-untyped-call]

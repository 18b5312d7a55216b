"""The menu of orders: every order of the list with its key. Imported when it is asked for."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from hermes_sessions.services.sorting import SORTS
from hermes_sessions.text import pad
from hermes_sessions.tui.dialog import Choices, Dialog
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.list_frame import SORT_WORDS, arrow
from hermes_sessions.tui.listing import Listing

SORT_KEYS = {
    "active": "a",
    "started": "s",
    "messages": "m",
    "cost": "c",
    "tokens": "t",
    "title": "n",
    "source": "o",
}
HINTS = {"title": "name", "source": "origin"}
"""What the key stands for, where that is not the word itself."""


class SortMenu(Dialog[str | None]):
    """Asks for an order; the answer is one of `services.sorting.SORTS`, or None."""

    CSS = """
    SortMenu { align: left top; background: $background 0%; &:ansi { background: transparent; } }
    SortMenu OptionList {
        width: 34; height: auto; max-height: 100%; margin: 2 2; padding: 0 1;
        border: $frame $rule-focus; border-title-color: $rule-focus; border-title-style: bold;
        border-subtitle-color: $muted; background: $background; background-tint: $background 0%;
        & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
            background: $cursor; color: $foreground; text-style: none;
            &:ansi { text-style: reverse; }
        }
    }
    """
    BINDINGS: ClassVar = [
        Binding("enter", "choose", "sort", priority=True),
        Binding("escape,q", "dismiss(None)", "close"),
        Binding("j", "move('cursor_down')", "down", show=False),
        Binding("k", "move('cursor_up')", "up", show=False),
        *(Binding(key, f"dismiss('{sort}')", SORT_WORDS[sort], show=False) for sort, key in SORT_KEYS.items()),
    ]

    def __init__(self, listing: Listing) -> None:
        super().__init__()
        self._listing = listing

    def compose(self) -> ComposeResult:
        menu = Choices(*(Option(self._line(sort), id=sort) for sort in SORTS))
        menu.border_title = Content("Sort by")
        menu.border_subtitle = Content("again: reversed")
        menu.highlighted = SORTS.index(self._listing.sort)
        yield menu
        yield KeyLine()

    def action_choose(self) -> None:
        for menu in self.query(OptionList):
            menu.action_select()

    def action_move(self, name: str) -> None:
        for menu in self.query(OptionList):
            getattr(menu, f"action_{name}")()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def _line(self, sort: str) -> Content:
        current = sort == self._listing.sort
        way = arrow(self._listing._replace(sort=sort, reverse=current and self._listing.reverse))
        hint = f" ({HINTS[sort]})" if sort in HINTS else ""
        return Content.assemble(
            (f"{SORT_KEYS[sort]} ", "$rule-focus bold"),
            (pad(f"{SORT_WORDS[sort]}{hint}", 18), "bold" if current else ""),
            (way + ("  now" if current else ""), "bold" if current else "$muted"),
        )

"""The table of keys: what it names exists, nothing is named twice, and everything made from it agrees."""

from __future__ import annotations

from collections import Counter

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.cost_panel import CostPanel
from hermes_sessions.tui.keys import KEYS, PANES, Key, Pane, bindings, is_typed, label
from hermes_sessions.tui.message_view import MessageView
from hermes_sessions.tui.search_bar import QueryInput
from hermes_sessions.tui.session_list import SessionList

WIDGETS: dict[Pane, type[DOMNode]] = {
    "everywhere": BrowserScreen,
    "search": QueryInput,
    "list": SessionList,
    "messages": MessageView,
    "costs": CostPanel,
}


def owner(key: Key) -> type[DOMNode]:
    if key.action.startswith("app."):
        return BrowserApp
    return BrowserScreen if key.action.startswith("screen.") else WIDGETS[key.pane]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_every_key_has_an_action_that_exists(key: Key) -> None:
    name = key.action.removeprefix("app.").removeprefix("screen.").partition("(")[0]
    assert hasattr(owner(key), f"action_{name}")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_every_key_is_explained_in_a_sentence(key: Key) -> None:
    assert key.help.endswith(".")
    assert key.help[0].isupper()
    assert key.words


def test_ids_are_unique() -> None:
    assert [id for id, times in Counter(key.id for key in KEYS).items() if times > 1] == []


def test_a_key_means_one_thing_in_a_pane() -> None:
    for pane, _ in PANES:
        keys = Counter(name for key in KEYS if key.pane == pane for name in key.keys.split(","))
        assert [name for name, times in keys.items() if times > 1] == []


def test_bindings_carry_ids_and_every_key_is_in_one_of_them() -> None:
    made = [binding for pane, _ in PANES for binding in bindings(pane)] + bindings("everywhere", of_app=True)
    assert Counter(binding.id for binding in made if isinstance(binding, Binding)) == Counter(key.id for key in KEYS)


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("ctrl+d", "Ctrl+D"),
        ("/", "/"),
        ("down", "↓"),
        ("pageup", "PgUp"),
        ("f1", "F1"),
        ("shift+tab", "Shift+Tab"),
        ("G", "G"),
    ],
)
def test_keys_are_named_as_they_are_printed(key: str, printed: str) -> None:
    assert label(key) == printed


def test_only_printable_characters_are_typed() -> None:
    assert is_typed("q")
    assert not is_typed("↑")
    assert not is_typed("Esc")

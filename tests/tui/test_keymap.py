"""Keys as a person binds them: what makes no sense is named and changes nothing."""

from __future__ import annotations

import pytest
from textual.keys import Keys

from hermes_sessions.services.settings import Config
from hermes_sessions.tui.keymap import OFF, bindings_of, bound, keymap
from hermes_sessions.tui.keys import KEYS


def config_of(**keys: str) -> Config:
    config = Config()
    config.keys = {id.replace("__", "."): names for id, names in keys.items()}
    return config


def problem(config: Config) -> str:
    [words] = config.problems
    return words.partition(": ")[2]


def test_nothing_bound_is_the_table_itself() -> None:
    assert bound(Config()) == KEYS
    assert keymap(KEYS) == {}


def test_a_command_has_the_keys_it_was_given() -> None:
    config = config_of(list__sort="S,f2", list__reverse="s", quit="")
    keys = {key.id: key for key in bound(config)}
    assert config.problems == []
    assert keys["list.sort"].labels == ("S", "F2")
    assert keys["list.reverse"].labels == ("s",)
    assert keys["quit"].labels == ()
    assert keymap(tuple(keys.values())) == {"list.sort": "S,f2", "list.reverse": "s", "quit": OFF}


def test_long_names_of_characters_are_these_characters() -> None:
    keys = {key.id: key for key in bound(config_of(zoom="plus,minus,full_stop,comma"))}
    assert keys["zoom"].keys == "+,-,.,comma"


def test_every_usual_key_could_be_bound() -> None:
    config = Config()
    config.keys = {key.id: key.keys for key in KEYS}
    assert bound(config) == KEYS
    assert config.problems == []


@pytest.mark.parametrize("name", [key.value for key in Keys if key.value.startswith(("ctrl+", "shift+", "alt+"))])
def test_the_keys_that_textual_knows_can_be_bound(name: str) -> None:
    config = config_of(costs__next=name)
    bound(config)
    assert config.problems == []


@pytest.mark.parametrize(
    ("id", "names", "words"),
    [
        ("list__srot", "x", 'keys.list.srot: there is no such command. Did you mean "list.sort"?'),
        ("zoom", "Ctrl+T", 'keys.zoom: there is no key "Ctrl+T". Did you mean "ctrl+t"?'),
        ("zoom", "ctrl+T", 'keys.zoom: there is no key "ctrl+T". Did you mean "ctrl+shift+t"?'),
        ("zoom", "C-t", 'keys.zoom: there is no key "C-t". Did you mean "ctrl+t"?'),
        ("zoom", "^t", 'keys.zoom: there is no key "^t". Did you mean "ctrl+t"?'),
        ("zoom", "esc", 'keys.zoom: there is no key "esc". Did you mean "escape"?'),
        ("zoom", "x,pgdn", 'keys.zoom: there is no key "pgdn". Did you mean "pagedown"?'),
        ("zoom", "entre", 'keys.zoom: there is no key "entre". Did you mean "enter"?'),
        (
            "search__open",
            "x",
            'keys.search.open: "x" is text in the search line; take a key that writes nothing, such as f2 or ctrl+t.',
        ),
        (
            "interrupt",
            "full_stop",
            'keys.interrupt: "." is text in the search line; take a key that writes nothing, such as f2 or ctrl+t.',
        ),
        (
            "list__sort",
            "A",
            'keys.list.sort: "A" is the key of "list.archived" in the same pane; bind that to another key, too.',
        ),
    ],
)
def test_what_makes_no_sense_is_named_and_leaves_the_usual_key(id: str, names: str, words: str) -> None:
    config = config_of(**{id: names})
    assert bound(config) == KEYS
    assert problem(config) == words


def test_of_two_that_want_the_same_key_the_first_has_it() -> None:
    config = config_of(list__sort="f6", list__reverse="f6")
    keys = {key.id: key.keys for key in bound(config)}
    assert (keys["list.sort"], keys["list.reverse"]) == ("f6", "S")
    assert problem(config).startswith('keys.list.reverse: "f6" is the key of "list.sort"')


def test_panes_do_not_get_in_each_others_way() -> None:
    config = config_of(list__sort="t", messages__tools="s")
    bound(config)
    assert config.problems == []


def test_a_configuration_to_print_has_every_command() -> None:
    assert [binding.id for binding in bindings_of(bound(config_of(quit="x")))] == [key.id for key in KEYS]
    quit = next(binding for binding in bindings_of(bound(config_of(quit="x"))) if binding.id == "quit")
    assert (quit.keys, quit.default) == ("x", "q")

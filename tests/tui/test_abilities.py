"""What the environment tells of a terminal, and which theme is shown because of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hermes_sessions.services.settings import Settings
from hermes_sessions.services.state import State
from hermes_sessions.tui.abilities import ascii_only, colours, frame, is_light
from hermes_sessions.tui.theme_choice import LIGHT_BEFORE, ThemeChoice
from hermes_sessions.tui.themes import DARK, LIGHT, PLAIN, PLAIN_LIGHT

MANY = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("environ", "many"),
    [
        ({"TERM": "xterm-256color"}, "many"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "many"),
        ({"TERM": "xterm-kitty"}, "many"),
        ({"TERM": "xterm"}, "few"),
        ({"TERM": "linux"}, "few"),
        ({"TERM": "screen"}, "few"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "many"),
    ],
)
def test_how_many_colours_there_are(environ: Mapping[str, str], many: str) -> None:
    assert colours(environ) == many


@pytest.mark.parametrize(
    ("environ", "told", "light"),
    [
        ({}, None, False),
        ({}, True, True),
        ({}, "yes", False),
        ({"COLORFGBG": "0;15"}, False, True),
        ({"COLORFGBG": "15;0"}, True, False),
        ({"COLORFGBG": "0;default;15"}, None, True),
    ],
)
def test_whether_the_background_is_light(environ: Mapping[str, str], told: object, light: bool) -> None:
    assert is_light(environ, told) is light


@pytest.mark.parametrize(
    ("environ", "ascii"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "C.utf8"}, False),
        ({"LANG": "C", "LC_ALL": "en_GB.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_GB.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_whether_the_terminal_may_show_nothing_but_ascii(environ: Mapping[str, str], ascii: bool) -> None:
    assert ascii_only(environ) is ascii


def test_borders_are_what_was_asked_for_and_by_default_what_can_be_shown() -> None:
    assert frame("auto", {}) == "round"
    assert frame("auto", {"TERM": "linux"}) == "ascii"
    assert frame("round", {"TERM": "linux"}) == "round"
    assert frame("square", {}) == "solid"


@pytest.mark.parametrize(
    ("settings", "environ", "theme"),
    [
        (Settings(), MANY, DARK),
        (Settings(), {**MANY, "COLORFGBG": "0;15"}, LIGHT),
        (Settings(theme_light="flexoki"), {**MANY, "COLORFGBG": "0;15"}, "flexoki"),
        (Settings(theme_dark="nord"), MANY, "nord"),
        (Settings(theme="dracula"), {**MANY, "COLORFGBG": "0;15"}, "dracula"),
        (Settings(theme="dracula"), {"TERM": "xterm"}, PLAIN),
        (Settings(theme="dracula"), {**MANY, "NO_COLOR": "1"}, PLAIN),
        (Settings(), {**MANY, "NO_COLOR": "1", "COLORFGBG": "0;15"}, PLAIN_LIGHT),
    ],
)
def test_settings_and_terminal_decide_which_theme_is_the_first(
    settings: Settings, environ: Mapping[str, str], theme: str
) -> None:
    assert ThemeChoice(settings, environ, State()).theme == theme


def test_what_the_terminal_says_is_followed_and_known_at_the_next_start() -> None:
    state = State()
    choice = ThemeChoice(Settings(), MANY, state)
    assert choice.follows
    choice.tell(True)
    assert choice.theme == LIGHT
    assert ThemeChoice(Settings(), MANY, state).theme == LIGHT
    assert state.values() == {LIGHT_BEFORE: True}


def test_a_theme_that_was_chosen_follows_nothing_and_is_remembered() -> None:
    state = State()
    choice = ThemeChoice(Settings(), MANY, state)
    choice.choose("nord")
    choice.tell(True)
    assert not choice.follows
    assert choice.theme == "nord"
    assert state.values()["theme"] == "nord"

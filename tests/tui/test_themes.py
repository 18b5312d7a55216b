"""Colours: every role has one under every theme, and text of ours can be read on its ground."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from hermes_sessions.tui.app import default_theme
from hermes_sessions.tui.themes import DARK, LIGHT, PLAIN, ROLES, THEMES, role_colours

READABLE = 4.5
"""WCAG 2 AA for text."""

TEXTS = [
    name for name in ROLES if name.startswith(("role-", "status-", "money-", "diff-")) or name in ("muted", "link")
]
GROUNDS = [("hit-text", "hit"), ("hit-current-text", "hit-current")]


def luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_our_themes_name_every_role(theme: Theme) -> None:
    assert ROLES.keys() <= theme.variables.keys()


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("role", TEXTS)
def test_text_can_be_read_on_the_ground_and_under_the_cursor(theme: Theme, role: str) -> None:
    assert theme.background is not None
    assert contrast(theme.variables[role], theme.background) >= READABLE
    assert contrast(theme.variables[role], theme.variables["cursor"]) >= 3.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize(("text", "ground"), GROUNDS)
def test_marked_text_can_be_read(theme: Theme, text: str, ground: str) -> None:
    assert contrast(theme.variables[text], theme.variables[ground]) >= READABLE


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=lambda theme: theme.name)
def test_every_other_theme_has_a_stand_in_for_every_role(theme: Theme) -> None:
    assert role_colours(theme).keys() == ROLES.keys()


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({}, DARK),
        ({"NO_COLOR": "1"}, PLAIN),
        ({"NO_COLOR": ""}, DARK),
        ({"COLORFGBG": "0;15"}, LIGHT),
        ({"COLORFGBG": "15;0"}, DARK),
        ({"COLORFGBG": "0;default;15"}, LIGHT),
        ({"NO_COLOR": "1", "COLORFGBG": "0;15"}, PLAIN),
    ],
)
def test_the_terminal_decides_which_theme_is_the_first(environ: Mapping[str, str], theme: str) -> None:
    assert default_theme(environ) == theme

"""Colours: every role has one under every theme, and text can be read on whatever ground it stands."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from hermes_sessions.tui.contrast import FAIR, READABLE, contrast, readable
from hermes_sessions.tui.themes import GROUNDS, ROLES, TEXT_ON, TEXTS, THEMES, role_colours

COLOURED = [theme for theme in BUILTIN_THEMES.values() if not theme.ansi]


def colours(theme: Theme) -> dict[str, Color]:
    """The colours on the screen under a theme, by variable."""
    values = {**role_colours(theme), **theme.to_color_system().generate(), **theme.variables}
    return {name: Color.parse(value) for name, value in values.items() if value.startswith("#") and " " not in value}


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_our_themes_name_every_role(theme: Theme) -> None:
    assert ROLES.keys() <= theme.variables.keys()


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("text", [*TEXTS, "foreground", "error", "warning"])
@pytest.mark.parametrize("ground", ["background", "panel", *GROUNDS])
def test_our_text_can_be_read_on_every_ground(theme: Theme, text: str, ground: str) -> None:
    if text in ("error", "warning") and ground in GROUNDS:
        ground = "background"  # it stands nowhere else
    found = colours(theme)
    assert contrast(found[text], found[ground]) >= READABLE


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *TEXT_ON.items(),
        ("screen-selection-foreground", "screen-selection-background"),
        ("foreground", "input-selection-background"),
        ("input-cursor-foreground", "input-cursor-background"),
        ("block-cursor-foreground", "block-cursor-background"),
    ],
)
def test_our_marked_text_can_be_read(theme: Theme, text: str, ground: str) -> None:
    found = colours(theme)
    assert contrast(found[text], found[ground]) >= READABLE


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=lambda theme: theme.name)
def test_every_other_theme_has_a_stand_in_for_every_role(theme: Theme) -> None:
    assert role_colours(theme).keys() == ROLES.keys()


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_stand_ins_can_be_read_on_every_ground(theme: Theme) -> None:
    found = colours(theme)
    grounds = [found[name] for name in ("panel", *GROUNDS)]
    assert [text for text in TEXTS if contrast(found[text], found["background"]) < READABLE] == []
    assert [text for text in TEXTS if min(contrast(found[text], ground) for ground in grounds) < FAIR] == []
    assert min(contrast(found["foreground"], ground) for ground in grounds) >= FAIR
    assert min(contrast(found[text], found[ground]) for text, ground in TEXT_ON.items()) >= READABLE


@pytest.mark.parametrize(("dark", "light", "ratio"), [("#000000", "#ffffff", 21.0), ("#777777", "#777777", 1.0)])
def test_the_measure_is_that_of_wcag(dark: str, light: str, ratio: float) -> None:
    assert contrast(Color.parse(dark), Color.parse(light)) == pytest.approx(ratio)
    assert contrast(Color.parse(light), Color.parse(dark)) == pytest.approx(ratio)


def test_a_colour_that_can_be_read_stays() -> None:
    yellow, black, white = Color.parse("#ffff00"), Color.parse("#000000"), Color.parse("#ffffff")
    assert readable(yellow, [black], white) == yellow
    assert readable(yellow, [white], black) != yellow
    assert contrast(readable(yellow, [white], black), white) >= READABLE


def test_where_no_colour_can_be_read_it_is_the_best_there_is() -> None:
    grey, black, white = Color.parse("#777777"), Color.parse("#000000"), Color.parse("#ffffff")
    best = readable(grey, [black, white], grey)
    assert min(contrast(best, black), contrast(best, white)) >= min(contrast(grey, black), contrast(grey, white))

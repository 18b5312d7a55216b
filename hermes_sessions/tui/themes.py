"""The colours: two themes of our own, and what stands in for their roles under any other theme.

A role is a variable of the stylesheet, such as `$role-user` or `$hit`. No colour is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from hermes_sessions.tui.contrast import FAIR, READABLE, contrast, readable

DARK = "hermes-dark"
LIGHT = "hermes-light"
PLAIN, PLAIN_LIGHT = "ansi-dark", "ansi-light"
"""For terminals with few colours or none: text attributes alone carry the meaning."""

ROLES = {
    "cursor": "$primary 30%",
    "cursor-blurred": "$primary 12%",
    "cursor-style": "not reverse",
    "code": "$panel",
    "role-user": "$primary",
    "role-assistant": "$success",
    "role-tool": "$secondary",
    "role-system": "$warning",
    "muted": "$foreground 65%",
    "rule": "$foreground 25%",
    "rule-focus": "$primary",
    "hit": "$warning 35%",
    "hit-text": "$foreground",
    "hit-style": "bold",
    "hit-current": "$warning",
    "hit-current-text": "$background",
    "heading": "$primary",
    "link": "$secondary",
    "diff-added": "$success",
    "diff-removed": "$error",
    "diff-place": "$secondary",
    "diff-added-ground": "$success 10%",
    "diff-removed-ground": "$error 10%",
    "syntax-keyword": "$accent",
    "syntax-string": "$success",
    "syntax-number": "$warning",
    "syntax-name": "$primary",
    "syntax-type": "$secondary",
    "status-done": "$success",
    "status-interrupted": "$warning",
    "status-error": "$error",
    "status-empty": "$foreground 65%",
    "status-live": "$primary",
    "bar": "$primary 60%",
    "money-actual": "$success",
    "money-estimated": "$warning",
    "money-included": "$secondary",
    "money-unpriced": "$foreground 65%",
}
"""Stand-ins for every role, made of what each theme has: a colour, and how much of it there is on the background."""

GROUNDS = ("cursor", "cursor-blurred", "code", "diff-added-ground", "diff-removed-ground")
"""The roles that text stands on, beside the background itself."""

TEXTS = tuple(
    role
    for role in ROLES
    if (role.startswith(("role-", "status-", "money-", "diff-", "syntax-")) and not role.endswith("-ground"))
    or role in ("muted", "rule-focus", "heading", "link")
)
"""The roles that text has on any of these grounds."""

TEXT_ON = {"hit-text": "hit", "hit-current-text": "hit-current"}
"""Text that stands on one ground alone."""

_ANSI_ROLES = {
    "role-user": "ansi_blue",
    "role-assistant": "ansi_green",
    "role-tool": "ansi_cyan",
    "role-system": "ansi_yellow",
    "muted": "ansi_default",
    "rule": "ansi_bright_black",
    "rule-focus": "ansi_blue",
    "cursor": "ansi_default",
    "cursor-blurred": "ansi_default",
    "cursor-style": "reverse",
    "hit": "ansi_default",
    "hit-text": "ansi_yellow",
    "hit-style": "bold underline",
    "hit-current": "ansi_yellow",
    "hit-current-text": "ansi_black",
    "code": "ansi_default",
    "heading": "ansi_blue",
    "link": "ansi_cyan",
    "diff-added": "ansi_green",
    "diff-removed": "ansi_red",
    "diff-place": "ansi_cyan",
    "diff-added-ground": "ansi_default",
    "diff-removed-ground": "ansi_default",
    "syntax-keyword": "ansi_magenta",
    "syntax-string": "ansi_green",
    "syntax-number": "ansi_yellow",
    "syntax-name": "ansi_blue",
    "syntax-type": "ansi_cyan",
    "status-done": "ansi_green",
    "status-interrupted": "ansi_yellow",
    "status-error": "ansi_red",
    "status-empty": "ansi_default",
    "status-live": "ansi_blue",
    "bar": "ansi_blue",
    "money-actual": "ansi_green",
    "money-estimated": "ansi_yellow",
    "money-included": "ansi_cyan",
    "money-unpriced": "ansi_default",
}

THEMES = (
    Theme(
        name=DARK,
        dark=True,
        primary="#e0af5e",
        secondary="#7fb3c8",
        accent="#e0af5e",
        success="#93b87b",
        warning="#d9a05b",
        error="#e38680",
        foreground="#d3d7de",
        background="#14171c",
        surface="#14171c",
        panel="#1c2027",
        variables={
            "role-user": "#7cb2e8",
            "role-assistant": "#e0af5e",
            "role-tool": "#8fa3b5",
            "role-system": "#b79ad6",
            "muted": "#979fab",
            "rule": "#363c46",
            "rule-focus": "#e0af5e",
            "cursor": "#383227",
            "cursor-blurred": "#22262d",
            "cursor-style": "not reverse",
            "hit": "#5a4a1e",
            "hit-text": "#ffe2a3",
            "hit-style": "bold",
            "hit-current": "#e0af5e",
            "hit-current-text": "#14171c",
            "code": "#1c2027",
            "heading": "#e0af5e",
            "link": "#7fb3c8",
            "diff-added": "#93b87b",
            "diff-removed": "#e38680",
            "diff-place": "#7fb3c8",
            "diff-added-ground": "#1b261f",
            "diff-removed-ground": "#2a1d20",
            "syntax-keyword": "#c39ad9",
            "syntax-string": "#9dc184",
            "syntax-number": "#d9a05b",
            "syntax-name": "#7cb2e8",
            "syntax-type": "#7fb3c8",
            "status-done": "#93b87b",
            "status-interrupted": "#d9a05b",
            "status-error": "#e38680",
            "status-empty": "#979fab",
            "status-live": "#7cb2e8",
            "bar": "#9a7b48",
            "money-actual": "#93b87b",
            "money-estimated": "#d9b36b",
            "money-included": "#7fb3c8",
            "money-unpriced": "#979fab",
            "block-cursor-foreground": "#14171c",
            "block-cursor-background": "#e0af5e",
            "input-cursor-background": "#e0af5e",
            "input-cursor-foreground": "#14171c",
            "input-selection-background": "#3f5870",
            "screen-selection-background": "#3f5870",
            "screen-selection-foreground": "#d3d7de",
            "scrollbar": "#363c46",
            "scrollbar-hover": "#4a525e",
            "scrollbar-active": "#e0af5e",
            "scrollbar-background": "#14171c",
            "scrollbar-background-hover": "#14171c",
            "scrollbar-background-active": "#14171c",
            "scrollbar-corner-color": "#14171c",
        },
    ),
    Theme(
        name=LIGHT,
        dark=False,
        primary="#8a5a00",
        secondary="#1f6b87",
        accent="#8a5a00",
        success="#3c6e22",
        warning="#8f5400",
        error="#b3322c",
        foreground="#24292f",
        background="#fbfaf7",
        surface="#fbfaf7",
        panel="#f0ede5",
        variables={
            "role-user": "#1c5fa8",
            "role-assistant": "#8a5a00",
            "role-tool": "#566472",
            "role-system": "#6f4a9e",
            "muted": "#5d656f",
            "rule": "#cfcabd",
            "rule-focus": "#8a5a00",
            "cursor": "#f3e2bd",
            "cursor-blurred": "#efece4",
            "cursor-style": "not reverse",
            "hit": "#ffe08a",
            "hit-text": "#3a2a00",
            "hit-style": "bold",
            "hit-current": "#8a5a00",
            "hit-current-text": "#fbfaf7",
            "code": "#f0ede5",
            "heading": "#8a5a00",
            "link": "#1f6b87",
            "diff-added": "#3c6e22",
            "diff-removed": "#b3322c",
            "diff-place": "#1f6b87",
            "diff-added-ground": "#e6f2dd",
            "diff-removed-ground": "#fbe7e4",
            "syntax-keyword": "#7a3e9d",
            "syntax-string": "#35641d",
            "syntax-number": "#8f5400",
            "syntax-name": "#1c5fa8",
            "syntax-type": "#1f6b87",
            "status-done": "#3c6e22",
            "status-interrupted": "#8f5400",
            "status-error": "#b3322c",
            "status-empty": "#5d656f",
            "status-live": "#1c5fa8",
            "bar": "#b98f45",
            "money-actual": "#3c6e22",
            "money-estimated": "#8a5a00",
            "money-included": "#1f6b87",
            "money-unpriced": "#5d656f",
            "block-cursor-foreground": "#fbfaf7",
            "block-cursor-background": "#8a5a00",
            "input-cursor-background": "#8a5a00",
            "input-cursor-foreground": "#fbfaf7",
            "input-selection-background": "#bcd4ea",
            "screen-selection-background": "#bcd4ea",
            "screen-selection-foreground": "#24292f",
            "scrollbar": "#cfcabd",
            "scrollbar-hover": "#b5ae9d",
            "scrollbar-active": "#8a5a00",
            "scrollbar-background": "#fbfaf7",
            "scrollbar-background-hover": "#fbfaf7",
            "scrollbar-background-active": "#fbfaf7",
            "scrollbar-corner-color": "#fbfaf7",
        },
    ),
)


def role_colours(theme: Theme) -> dict[str, str]:
    """Return values of the roles that `theme` itself does not name. Text in them can be read: with a contrast of 4.5 on
    the background, and of 3 on what else it stands on, where more would turn most colours into the foreground's."""
    if theme.ansi:
        return dict(_ANSI_ROLES)
    if ROLES.keys() <= theme.variables.keys():
        return dict(ROLES)
    values = theme.to_color_system().generate()
    foreground, background = Color.parse(values["foreground"]), Color.parse(values["background"])
    colours = {role: _colour(words, values, background) for role, words in ROLES.items() if words.startswith("$")}
    for ground in GROUNDS:
        colours[ground] = _ground(colours[ground], background, foreground)
    grounds = [Color.parse(values["panel"]), *(colours[ground] for ground in GROUNDS)]
    for role in TEXTS:
        colours[role] = readable(colours[role], [background], foreground)
        colours[role] = readable(colours[role], grounds, foreground, FAIR)
    for role, ground in TEXT_ON.items():
        colours[role] = readable(colours[role], [colours[ground]], foreground)
    return ROLES | {role: colour.hex for role, colour in colours.items()}


def _colour(words: str, values: Mapping[str, str], background: Color) -> Color:
    name, _, share = words.removeprefix("$").partition(" ")
    return background.blend(Color.parse(values[name]), int(share.rstrip("%") or 100) / 100)


def _ground(ground: Color, background: Color, foreground: Color) -> Color:
    """As much of a ground as leaves the theme's own text readable."""
    kept = [background.blend(ground, step / 10) for step in range(10, 0, -1)]
    return next((colour for colour in kept if contrast(foreground, colour) >= READABLE), kept[-1])

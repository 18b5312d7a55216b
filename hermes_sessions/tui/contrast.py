"""Whether a colour can be read on another, and what to do when it cannot. The measure is that of WCAG 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from textual.color import Color

READABLE = 4.5
"""WCAG 2 AA for text."""

FAIR = 3.0
"""WCAG 2 AA for large text, and for signs."""

STEPS = 20


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours, from 1 for none to 21 for black on white."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(text: Color, grounds: Sequence[Color], towards: Color, least: float = READABLE) -> Color:
    """Return the nearest colour to `text` that can be read on all `grounds`: with as much of `towards` in it as that
    takes, and after that with black or white."""
    darkest = min(grounds, key=_luminance)
    extreme = Color(255, 255, 255) if _luminance(towards) > _luminance(darkest) else Color(0, 0, 0)
    tried = chain(_between(text, towards), _between(towards, extreme))
    best, most = text, 0.0
    for colour in tried:
        worst = min(contrast(colour, ground) for ground in grounds)
        if worst >= least:
            return colour
        if worst > most:
            best, most = colour, worst
    return best


def _between(one: Color, other: Color) -> Iterator[Color]:
    return (one.blend(other, step / STEPS) for step in range(STEPS + 1))


def _luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

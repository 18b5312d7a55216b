"""Whether a colour can be read on another, and what to do when it cannot. The measure is that of WCAG 2."""

from __future__ import annotations

from collections.abc import Sequence

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
    tried = [text.blend(towards, step / STEPS) for step in range(STEPS + 1)]
    tried += [towards.blend(extreme, step / STEPS) for step in range(1, STEPS + 1)]
    worst = [min(contrast(colour, ground) for ground in grounds) for colour in tried]
    good = next((colour for colour, value in zip(tried, worst, strict=True) if value >= least), None)
    return good or tried[worst.index(max(worst))]


def _luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

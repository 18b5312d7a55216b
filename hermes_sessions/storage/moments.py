"""Durations, dates and numbers as a person writes them, read. How they are shown is in `services.wording`."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

from hermes_sessions.errors import BadFilter

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}
"""A month is 30 days, a year 365: lengths, not steps of a calendar."""

LONGEST = 1_000 * UNIT_SECONDS["y"]
MOST_DAYS = 36_500
"""The longest duration, and the largest number that means days when it stands alone."""

DAYS = ("today", "yesterday")

LONGEST_SHOWN = 40
"""Characters of what a person wrote that a complaint repeats."""

TIME_HINT = "Write a duration (2d, 5h, 30m, 1w, 3mo, 1y), a number of days, a date (2026-05-01), today or yesterday."
NUMBER_HINT = "Write a number such as 10, 2.50 or 1.5k."

_PART = r"([0-9]+(?:\.[0-9]+)?)\s*(mo|[smhdwy])"
_DURATION = re.compile(rf"(?:{_PART}\s*)+")
_NUMBER = re.compile(r"\$?([0-9]+(?:\.[0-9]+)?|\.[0-9]+)([kmb]?)")
_BEGUN_MOMENT = re.compile(r"[0-9][0-9.:+\-tzsmohdwy ]*")
_BEGUN_NUMBER = re.compile(r"\$?[0-9.,]*")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def parse_duration(words: str) -> float:
    """Seconds of `2d`, `5h`, `30m`, `1w`, `3mo`, `1y`, and of several together: `3h 5m`. Raises BadFilter."""
    text = words.strip().lower()
    if not _DURATION.fullmatch(text):
        raise BadFilter(
            f"{_shown(words)} is no duration.", "Write a number and a unit of s, m, h, d, w, mo or y, such as 2d."
        )
    seconds = math.fsum(float(number) * UNIT_SECONDS[unit] for number, unit in re.findall(_PART, text))
    if seconds > LONGEST:
        raise BadFilter(f"{_shown(words)} is longer than a thousand years.", TIME_HINT)
    return seconds


def parse_moment(words: str, now: float) -> float:
    """Epoch seconds of a duration before `now`, of so many days before it, or of a local date or time of day.

    ISO dates and times may name their zone; `today` and `yesterday` begin at local midnight. Raises BadFilter.
    """
    text = words.strip().lower()
    if _DURATION.fullmatch(text):
        return now - parse_duration(text)
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) and float(text) <= MOST_DAYS:
        return now - float(text) * UNIT_SECONDS["d"]
    try:
        if text in DAYS:
            midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
            return (midnight - timedelta(days=text == "yesterday")).timestamp()
        # `fromisoformat` wants a day; a month alone begins on its first.
        day = f"{text}-01" if re.fullmatch(r"[0-9]{4}-[0-9]{2}", text) else text.upper()
        return datetime.fromisoformat(day).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadFilter(f"{_shown(words)} is no time.", TIME_HINT) from None


def parse_number(words: str) -> float:
    """The value of `10`, `$2.50`, `1,204`, `1.5k`, `2M`. Raises BadFilter."""
    match = _NUMBER.fullmatch(re.sub(r"(?<=[0-9]),(?=[0-9]{3})", "", words.strip().lower()))
    if match is None:
        raise BadFilter(f"{_shown(words)} is no number.", NUMBER_HINT)
    return float(match[1]) * _SCALE[match[2]]


def may_become_moment(words: str) -> bool:
    """Whether a person who typed this may be on the way to a time."""
    text = words.strip().lower()
    return any(day.startswith(text) for day in DAYS) or _BEGUN_MOMENT.fullmatch(text) is not None


def may_become_number(words: str) -> bool:
    """Whether a person who typed this may be on the way to a number."""
    return _BEGUN_NUMBER.fullmatch(words.strip()) is not None


def _shown(words: str) -> str:
    return repr(words if len(words) <= LONGEST_SHOWN else f"{words[: LONGEST_SHOWN - 1]}…")

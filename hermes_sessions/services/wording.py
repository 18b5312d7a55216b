"""Times, amounts and counts as words. Pure: `now` is an argument, the zone is the machine's own.

What is not stored, or is nonsense, is "?": never 0, never an exception. Which text is safe to print is `text`'s
business; these words are ASCII.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from hermes_sessions.model import Money

UNKNOWN = "?"
MINUTE, HOUR, DAY = 60, 3_600, 86_400

LAST_MOMENT = 253_402_214_400
"""The last day of the year 9999, from which on no zone has a date with a four-digit year."""

CLOCK_SKEW = 60
"""Seconds by which another process may be ahead of us and still have written "just now"."""

DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def age(when: float | None, now: float) -> str:
    """How long ago, in Hermes' own steps: just now, 3m, 2h, yesterday, 5d, then the date. The future is "?"."""
    if when is None or not math.isfinite(now) or not when <= now + CLOCK_SKEW:
        return UNKNOWN
    seconds = now - when
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)}m"
    if seconds < DAY:
        return f"{int(seconds // HOUR)}h"
    if seconds < 2 * DAY:
        return "yesterday"
    if seconds < 7 * DAY:
        return f"{int(seconds // DAY)}d"
    return date(when)


def duration(seconds: float | None) -> str:
    """A length of time by its two largest units: 45s, 12m, 3h 5m, 2d 3h. `moments.parse_duration` reads it back."""
    if seconds is None or not 0 <= seconds < LAST_MOMENT:
        return UNKNOWN
    whole = int(seconds)
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m"
    if whole < DAY:
        return _pair(whole // HOUR, "h", whole % HOUR // MINUTE, "m")
    return _pair(whole // DAY, "d", whole % DAY // HOUR, "h")


def count(number: int | None) -> str:
    """A count with its thousands set apart: 1,204."""
    return UNKNOWN if number is None else f"{number:,}"


def tokens(number: int | None) -> str:
    """A token count in at most six characters, below a thousand billion: 950, 1.2K, 3.4M, 5.6B."""
    if number is None or number < 0:
        return UNKNOWN
    return _scaled(number, 1_000, ("", "K", "M", "B"))


def size(number: int | None) -> str:
    """Bytes, 1024 to the KB: 812 B, 3.4 KB, 1.2 MB."""
    if number is None or number < 0:
        return UNKNOWN
    return _scaled(number, 1_024, (" B", " KB", " MB", " GB", " TB"))


def money(amount: Money) -> str:
    """An amount by what it rests on: $0.42 actual, ~$0.42 estimated or mixed, included, "?" unknown.

    Under a cent there are four decimals, since many sessions cost less.
    """
    if amount.basis == "included":
        return "included"
    usd = amount.amount_usd
    if usd is None or not 0 <= usd < math.inf:
        return UNKNOWN
    words = "<$0.0001" if 0 < usd < 0.00005 else f"${usd:,.{4 if 0 < usd < 0.01 else 2}f}"
    return words if amount.basis == "actual" else f"~{words}"


def date(when: float | None) -> str:
    """The local date: 2026-05-01."""
    return _local("%Y-%m-%d", when)


def clock(when: float | None) -> str:
    """The local time of day, 24 hours: 14:03."""
    return _local("%H:%M", when)


def moment(when: float | None) -> str:
    """Local date and time: 2026-05-01 14:03."""
    return _local("%Y-%m-%d %H:%M", when)


def day(when: float | None) -> str:
    """The local date with its day of the week: Fri 2026-05-01."""
    parts = _parts(when)
    return UNKNOWN if parts is None else f"{DAY_NAMES[parts.tm_wday]} {date(when)}"


def zone(now: float) -> str:
    """The zone that days are cut in, for every output that shows days: CEST (UTC+02:00)."""
    parts = _parts(now)
    if parts is None:
        return UNKNOWN
    sign = "-" if parts.tm_gmtoff < 0 else "+"
    hours, minutes = divmod(abs(parts.tm_gmtoff) // 60, 60)
    offset = f"UTC{sign}{hours:02}:{minutes:02}"
    # Zones without a name of their own are called "+03", and Windows has names in words: the offset says it all.
    return f"{parts.tm_zone} ({offset})" if parts.tm_zone.isascii() and parts.tm_zone.isalpha() else offset


def homely(path: str) -> str:
    """A path with the home directory as people write it: ~/src."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home.rstrip("/") + "/") else path


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit} {small}{small_unit}" if small else f"{large}{large_unit}"


def _scaled(number: int, step: int, units: tuple[str, ...]) -> str:
    if number < step:
        return f"{number}{units[0]}"
    power = 1
    # Rounding may fill the unit up: 999,950 is 1.0M, not 1000.0K.
    while power < len(units) - 1 and round(number / step**power, 1) >= step:
        power += 1
    return f"{number / step**power:,.1f}{units[power]}"


def _parts(when: float | None) -> time.struct_time | None:
    """The local calendar of a moment; None for what is before 1970, after 9999 or no number."""
    if when is None or not 0 < when < LAST_MOMENT:
        return None
    try:
        return time.localtime(when)
    except (ValueError, OverflowError, OSError):
        return None


def _local(form: str, when: float | None) -> str:
    parts = _parts(when)
    return UNKNOWN if parts is None else time.strftime(form, parts)

"""Values of any storage class, made the type a column is meant to have.

SQLite columns hold whatever was bound: text in REAL columns, blobs in TEXT ones, absurd times. Nonsense
becomes None here and never raises.
"""

from __future__ import annotations

import math
from datetime import datetime

LATEST_TIME = 253402300800.0
"""The first second of the year 10000: `datetime` ends before it."""

SQLValue = str | int | float | bytes | None


def as_text(value: SQLValue) -> str | None:
    """The value as text; blobs are read as UTF-8 with U+FFFD for what is not. NULL is None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def as_float(value: SQLValue) -> float | None:
    """The value as a finite number, also from text that spells one; else None."""
    if isinstance(value, bytes):
        value = as_text(value)
    if value is None:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_int(value: SQLValue) -> int:
    """The value as a count; nonsense is 0."""
    if type(value) is int:
        return value
    number = as_float(value)
    return 0 if number is None else int(number)


def as_time(value: SQLValue) -> float | None:
    """Epoch seconds from a number, text that spells one, or an ISO date (local unless it names a zone).

    Zero, negative and absurd times are None: no session was written before 1970 or after 9999.
    """
    seconds = value if type(value) is float else as_float(value)
    if seconds is None and isinstance(value, str):
        try:
            seconds = datetime.fromisoformat(value.strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return seconds if seconds is not None and 0 < seconds < LATEST_TIME else None

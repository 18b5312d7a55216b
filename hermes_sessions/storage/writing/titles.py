"""The rules titles follow: clean, short, unique, numbered along a conversation. Pure, after Hermes' own.

Where titles are stored, and what happens when one is taken, is the business of those who write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hermes_sessions.errors import UsageError

MAX_LENGTH = 100

_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc\ud800-\udfff]"
)
_NUMBERED = re.compile(r"(.*?) #(\d+)", re.DOTALL)


def clean_title(title: str | None) -> str | None:
    """The title as it may be stored, or None when nothing is left (`SessionDB.sanitize_title`, release 0.17.0).

    Control characters, zero-width ones and overrides of direction go, blanks are collapsed. Half surrogates go too:
    SQLite cannot store them. Raises UsageError above 100 characters.
    """
    cleaned = " ".join(_CONTROL.sub("", title or "").split())
    if len(cleaned) > MAX_LENGTH:
        raise UsageError(f"The title has {len(cleaned)} characters; {MAX_LENGTH} are allowed.", "Choose a shorter one.")
    return cleaned or None


def base_of(title: str) -> str:
    """The title without the number at its end: "Login loop" for "Login loop #3"."""
    numbered = _NUMBERED.fullmatch(title)
    return numbered[1] if numbered else title


def next_title(title: str, taken: Iterable[str]) -> str:
    """The title the next part of a conversation gets (`SessionDB.get_next_title_in_lineage`).

    `taken` are the stored titles that begin with the same base; others do no harm.
    """
    base = base_of(title)
    numbers = [0]
    for other in taken:
        if other == base:
            numbers.append(1)
        elif (numbered := _NUMBERED.fullmatch(other)) and numbered[1] == base:
            numbers.append(int(numbered[2]))
    highest = max(numbers)
    return base if highest == 0 else f"{base} #{max(highest, 1) + 1}"

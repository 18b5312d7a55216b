"""The rules titles follow: clean, short, unique, numbered along a conversation. Pure, after Hermes' own.

Where titles are stored, and what happens when one is taken, is the business of those who write them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from hermes_sessions.errors import UsageError
from hermes_sessions.storage.writing.entries import storable

MAX_LENGTH = 100

# Whole escape sequences; bounded, so that no input makes the search slower than linear.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}+[ -/]{0,8}+[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,512}+(?:\x07|\x1b\\|\x9c)"  # strings, such as OSC
    r"|\x1b[ -/]{1,4}+[0-~]|\x1b[0-OQ-WYZ\\`-~]"  # with intermediate bytes, and of two bytes
)

# What is left of a sequence when something on the way took the ESC alone. Only forms that nobody writes.
_REMAINS = re.compile(
    r"\[(?:\d{1,3};){0,15}\d{1,3}m(?![^\[\]]*\])"  # [31m, but not [10ms]
    r"|\[\?\d{1,5}[hl]"  # [?25l
    r"|\]1[0-9];rgb:[0-9a-fA-F]{1,4}(?:/[0-9a-fA-F]{1,4}){2}(?:\x07|\x1b?\\|\x9c)?"  # an answer on colours
    r"|\]\d{1,4};[^\x07\x1b\x9c]{0,512}+(?:\x07|\x1b\\|\x9c)"
)

# C0 and C1 but for white space; zero-width characters; overrides of direction; stand-ins for objects.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]"
)
_NUMBERED = re.compile(r"(.*?) #(\d{1,9})", re.DOTALL)
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def clean_title(title: str | None) -> str | None:
    """The title as it may be stored, or None when nothing is left. What is stored is what a terminal may show.

    Escape sequences go as a whole, also those that lost their ESC; then, as in Hermes (`SessionDB.sanitize_title`),
    control characters, zero-width ones and overrides of direction, and blanks are collapsed. Raises UsageError above
    100 characters.
    """
    cleaned = tidy(title)
    if len(cleaned) > MAX_LENGTH:
        raise UsageError(f"The title has {len(cleaned)} characters; {MAX_LENGTH} are allowed.", "Choose a shorter one.")
    return cleaned or None


def tidy(title: str | None) -> str:
    """The title cleaned, however long it is."""
    text = storable(title) or ""
    text = _REMAINS.sub("", _ESCAPE.sub("", text))
    return " ".join(_CONTROL.sub("", text).split())


def shorten(title: str, length: int = MAX_LENGTH) -> str:
    """The first `length` characters; fewer where that would part a letter from its accents, an emoji from its tone."""
    while length and length < len(title) and _joins(title[length]):
        length -= 1
    return title[:length].rstrip()


def base_of(title: str) -> str:
    """The title without the number at its end: "Login loop" for "Login loop #3"."""
    numbered = _NUMBERED.fullmatch(title)
    return numbered[1] if numbered else title


def next_title(title: str, taken: Collection[str]) -> str:
    """The title the next part of a conversation gets (`SessionDB.get_next_title_in_lineage`), 100 characters at most.

    `taken` are the stored titles that begin like it; others do no harm.
    """
    base = base_of(title)
    numbers = [0]
    for other in taken:
        if other == base:
            numbers.append(1)
        elif (numbered := _NUMBERED.fullmatch(other)) and numbered[1] == base:
            numbers.append(int(numbered[2]))
    number = max(numbers)
    if number == 0:
        return shorten(base)
    while True:
        number = max(number, 1) + 1
        suffix = f" #{number}"
        following = shorten(base, MAX_LENGTH - len(suffix)) + suffix
        if following not in taken:
            return following


def _joins(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or character in _SKIN_TONES

"""Words as a person types them, found in text as it was stored: whatever the case, the accents and the line breaks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

_MARKS = "[\u0300-\u036f]*"
_GAP = r"\*{0,2}\s+\*{0,2}"
"""What may stand between two words: blanks, and the signs of bold text, which are not drawn."""

_OVERLAP = 400
"""How far beyond a window a match that begins in it may reach."""


class Matcher:
    """Finds any of several phrases. Without phrases it finds nothing."""

    def __init__(self, phrases: Sequence[str]) -> None:
        words = [word for phrase in phrases if (word := " ".join(unicodedata.normalize("NFC", phrase).split()))]
        words.sort(key=len, reverse=True)
        self._everywhere = re.compile("|".join(map(_tolerant, words)), re.IGNORECASE) if words else None
        plain = [word for word in map(_without_accents, words) if word.isascii()]
        self._in_ascii = re.compile("|".join(map(_literal, plain))) if plain else None

    def __bool__(self) -> bool:
        return self._everywhere is not None

    def spans(self, text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the offsets of the matches that begin between `start` and `stop`, the way they stand.

        A long text can be searched window by window, as long as each window begins where no match is going on.
        """
        stop = len(text) if stop is None else min(stop, len(text))
        piece = text[start : stop + _OVERLAP]
        if piece.isascii():
            found = self._in_ascii.finditer(piece.lower()) if self._in_ascii else iter(())
        else:
            found = self._everywhere.finditer(piece) if self._everywhere else iter(())
        for match in found:
            if start + match.start() >= stop:
                return
            yield start + match.start(), start + match.end()


def _literal(word: str) -> str:
    return _GAP.join(re.escape(part) for part in word.lower().split(" "))


def _tolerant(word: str) -> str:
    return _GAP.join("".join(map(_any_form, part)) for part in word.split(" "))


def _any_form(char: str) -> str:
    """A pattern for a character with or without accents, composed or decomposed."""
    base = _without_accents(char)
    forms = _accented().get(base.lower())
    if forms is not None:
        return f"[{re.escape(base)}{forms}]{_MARKS}"
    decomposed = unicodedata.normalize("NFD", char)
    return f"(?:{re.escape(char)}|{re.escape(decomposed)})" if decomposed != char else re.escape(char)


def _without_accents(text: str) -> str:
    """Latin letters without their accents; every other script as it is."""
    return "".join(_base(char) for char in text)


def _base(char: str) -> str:
    decomposed = unicodedata.normalize("NFD", char)
    return decomposed[0] if decomposed[0].isascii() else char


@cache
def _accented() -> dict[str, str]:
    """The accented Latin letters by their plain small letter, both cases."""
    forms: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        char = chr(code)
        base = _base(char)
        if base != char:
            forms[base.lower()] = forms.get(base.lower(), "") + char
    for letter in "abcdefghijklmnopqrstuvwxyz":
        forms.setdefault(letter, "")
    return forms

"""Finding terms in a text the way a person means it, and cutting the snippet that shows them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from hermes_sessions.model import Snippet

SNIPPET_CHARACTERS = 240
BEFORE_MATCH = 60
CHUNK_CHARACTERS = 4_000
"""How much of a text is folded at once while its first match is looked for."""

_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f]+"
)
_BLANKS = re.compile(r"\s+")


def fold(text: str) -> str:
    """The text without differences of case, accent or composition."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFD", text.casefold()))


def locate(text: str, folded_terms: Sequence[str]) -> list[tuple[int, int]]:
    """Offsets of all matches in the text as it is, in order and without overlaps."""
    folded, origin = _folded_with_origin(text)
    spans: list[tuple[int, int]] = []
    for term in folded_terms:
        start = folded.find(term) if term else -1
        while start >= 0:
            end = start + len(term)
            spans.append((start, end) if origin is None else (origin[start], origin[end - 1] + 1))
            start = folded.find(term, end)
    return _merged(sorted(spans))


def snippet(text: str, folded_terms: Sequence[str]) -> Snippet:
    """A piece of the text around its first match, white space made single blanks, with the matches as spans."""
    start = max(0, _first_match(text, folded_terms) - BEFORE_MATCH)
    if start:
        # Begin with a whole word, where one begins soon.
        start = text.find(" ", start, start + BEFORE_MATCH) + 1 or start
    piece = text[start : start + SNIPPET_CHARACTERS]
    lead = "…" if start else ""
    tail = "…" if start + SNIPPET_CHARACTERS < len(text) else ""
    return _single_line(piece, locate(piece, folded_terms), lead, tail)


def _first_match(text: str, folded_terms: Sequence[str]) -> int:
    """Offset of the first match, 0 when there is none; no more is folded than has to be."""
    longest = max((len(term) for term in folded_terms), default=0)
    for start in range(0, len(text), CHUNK_CHARACTERS):
        # The next chunk's beginning belongs to it, for matches that lie across; marks may make them longer.
        chunk = text[start : start + CHUNK_CHARACTERS + 4 * longest]
        folded = fold(chunk)
        if any(term and term in folded for term in folded_terms):
            return start + locate(chunk, folded_terms)[0][0]
    return 0


def _single_line(piece: str, spans: Sequence[tuple[int, int]], lead: str, tail: str) -> Snippet:
    shifts: list[int] = []
    line: list[str] = [lead]
    length = len(lead)
    position = 0
    for blank in _BLANKS.finditer(piece):
        for _ in range(position, blank.start()):
            shifts.append(length)
            length += 1
        line.append(piece[position : blank.start()])
        shifts.extend([length] * (blank.end() - blank.start()))
        if blank.start() > 0:
            line.append(" ")
            length += 1
        position = blank.end()
    shifts.extend(range(length, length + len(piece) - position + 1))
    line.extend((piece[position:], tail))
    return Snippet("".join(line), tuple((shifts[a], shifts[b]) for a, b in spans if shifts[a] < shifts[b]))


def _folded_with_origin(text: str) -> tuple[str, list[int] | None]:
    """The folded text, and for each of its characters the offset it came from; None when they are the same."""
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    origin: list[int] = []
    for offset, char in enumerate(text):
        for part in char.lower() if char.isascii() else fold(char):
            folded.append(part)
            origin.append(offset)
    return "".join(folded), origin


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged

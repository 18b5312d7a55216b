"""Finding words in a text the way a person means it, and cutting the snippet that shows them. Pure."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from hermes_sessions.model import Snippet
from hermes_sessions.storage.query import SearchQuery, Term

SNIPPET_CHARACTERS = 240
BEFORE_MATCH = 60
CHUNK_CHARACTERS = 4_000
"""How much of a text is folded at once while its first match is looked for."""

_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f]+"
)
# The same as in `text`, which storage does not load: complete sequences only, with bounded bodies.
_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,128}+[ -/]{0,8}+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x00-\x08\x0a-\x1f\x7f-\x9f]{0,4096}+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{1,4}+[0-~]"
    r"|\x1b[0-OQ-WYZ\\`-~]"
)

UNSEEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
"""Characters that are shown as another, of a class in a regular expression. The same as in `text`."""

ESCAPE_SEEN, UNSEEN_SEEN = "\u241b", "\ufffd"
"""What is shown for an escape that begins no code, and for all others."""

_UNSEEN = re.compile(f"[{UNSEEN}]")
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


class _Folding(dict[int, str]):
    """What each character becomes, found out when it is first met.

    One by one and not by normalising a whole text, which puts marks in another order: then what stands between two of
    them would not be in the text any more.
    """

    def __missing__(self, code: int) -> str:
        folded = self[code] = _MARKS.sub("", unicodedata.normalize("NFD", chr(code).casefold()))
        return folded


_FOLDING = _Folding()


def plain(text: str) -> str:
    """The text as it is shown (`text.clean`), but for tabs: without the codes that colour it, and with signs for what
    cannot be seen."""
    if not _UNSEEN.search(text):
        return text
    text = _CODES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda match: ESCAPE_SEEN if match[0] == "\x1b" else UNSEEN_SEEN, text)


def fold(text: str) -> str:
    """The text without differences of case, accent or composition."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


class Needles:
    """What a message must hold and what it must not, folded once."""

    def __init__(self, query: SearchQuery) -> None:
        self.clauses = tuple(tuple(_needle(term.text) for term in clause) for clause in query.clauses)
        self.words = tuple(dict.fromkeys(needle for clause in self.clauses for needle in clause))
        """All of them, for marking what was found."""
        self._query = query
        self._spread = any(" " in text for text in (*self.words, *(_needle(term.text) for term in query.excluded)))

    @cached_property
    def _starts(self) -> tuple[tuple[re.Pattern[str], ...], ...]:
        # Made when they are needed: an index may have answered before.
        clauses = self._query.clauses
        return tuple(tuple(re.compile(_word_start(term, r"[\W_]+")) for term in clause) for clause in clauses)

    @cached_property
    def _excluded(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_excluded(term) for term in self._query.excluded)

    def fit(self, text: str, *, word_starts: bool = False) -> bool:
        """Whether a text holds one needle of every clause and nothing that is excluded.

        With `word_starts` it is what an index of words would find: a word counts only where no other letter stands
        before it, and between those of a phrase may be anything but letters.
        """
        folded = self._folded(text)
        if word_starts:
            if not all(any(start.search(folded) for start in clause) for clause in self._starts):
                return False
        elif not all(any(needle in folded for needle in clause) for clause in self.clauses):
            return False
        return not any(word.search(folded) for word in self._excluded)

    def excluded_from(self, text: str) -> bool:
        """Whether a text holds something that is excluded."""
        folded = self._folded(text) if self._query.excluded else ""
        return any(word.search(folded) for word in self._excluded)

    def _folded(self, text: str) -> str:
        folded = fold(text)
        return " ".join(folded.split()) if self._spread else folded


def without_marks(query: SearchQuery) -> SearchQuery:
    """The query without terms of which nothing can be seen, such as half of an emoji: they ask for nothing."""
    clauses = [clause for clause in query.clauses if all(fold(term.text) for term in clause)]
    return query._replace(clauses=tuple(clauses), excluded=tuple(term for term in query.excluded if fold(term.text)))


def locate(text: str, needles: Sequence[str]) -> list[tuple[int, int]]:
    """Offsets of all matches in the text as it is, in order and without overlaps. A blank is any white space."""
    folded, origin = _folded_with_origin(text)
    spans: list[tuple[int, int]] = []
    for needle in needles:
        if " " in needle:
            found = [match.span() for match in _spread(needle).finditer(folded)]
        else:
            found = _places(folded, needle)
        spans += found if origin is None else [(origin[start], origin[end - 1] + 1) for start, end in found]
    return _merged(sorted(spans))


def snippet(text: str, needles: Sequence[str]) -> Snippet:
    """A piece of the text around its first match, white space made single blanks, with the matches as spans.

    Where none is there as it was written, the words in them are marked: an index finds "import os" in "import: os".
    """
    first = _first_match(text, needles)
    if first < 0:
        needles = [word for needle in needles for word in _WORD.findall(needle)]
        first = _first_match(text, needles)
    start = max(0, first - BEFORE_MATCH)
    if start:
        # Begin with a whole word, where one begins soon.
        start = text.find(" ", start, start + BEFORE_MATCH) + 1 or start
    piece = text[start : start + SNIPPET_CHARACTERS]
    lead = "…" if start else ""
    tail = "…" if start + SNIPPET_CHARACTERS < len(text) else ""
    return _single_line(piece, locate(piece, needles), lead, tail)


def _needle(text: str) -> str:
    """A term as it is looked for in folded text."""
    return " ".join(fold(plain(text)).split())


def _word_start(term: Term, gap: str = " ") -> str:
    """A pattern for a term where it begins a word, if it is one, with this between its words."""
    needle = _needle(term.text)
    if term.route == "literal":
        return re.escape(needle)
    first, *others = map(re.escape, needle.split(" "))
    # What stands before it is looked at when it is there: a plain text is searched for much faster.
    return gap.join((rf"{first}(?<![^\W_]{first})", *others))


def _excluded(term: Term) -> re.Pattern[str]:
    """A word that is excluded goes where it stands alone: `-art` leaves "start". Other text goes wherever it is."""
    end = r"(?![^\W_])" if term.route == "word" and not term.prefix else ""
    return re.compile(_word_start(term) + end)


def _spread(needle: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, needle.split(" "))))


def _places(folded: str, needle: str) -> list[tuple[int, int]]:
    places = []
    start = folded.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        places.append((start, end))
        start = folded.find(needle, end)
    return places


def _first_match(text: str, needles: Sequence[str]) -> int:
    """Offset of the first match, -1 when there is none; no more is folded than has to be."""
    longest = max((len(needle) for needle in needles), default=0)
    for start in range(0, len(text), CHUNK_CHARACTERS):
        # The next chunk's beginning belongs to it, for matches that lie across; marks may make them longer.
        chunk = text[start : start + CHUNK_CHARACTERS + 4 * longest]
        folded = fold(chunk)
        if any(" " in needle or (needle and needle in folded) for needle in needles) and (
            places := locate(chunk, needles)
        ):
            return start + places[0][0]
    return -1


def _single_line(piece: str, spans: Sequence[tuple[int, int]], lead: str, tail: str) -> Snippet:
    """The piece with every run of white space as one blank, none in front, and the spans moved along."""
    pieces, offsets, lengths = [lead], [0], [len(lead)]
    position, length = 0, len(lead)
    for blank in _BLANKS.finditer(piece):
        pieces += (piece[position : blank.start()], " " if blank.start() else "")
        length += blank.start() - position
        # Whatever is within the run is moved to its single blank.
        offsets.append(blank.start())
        lengths.append(length)
        length += 1 if blank.start() else 0
        position = blank.end()
        offsets.append(position)
        lengths.append(length)
    pieces += (piece[position:], tail)

    def moved(offset: int) -> int:
        at = bisect_right(offsets, offset) - 1
        following = lengths[at + 1] if at + 1 < len(lengths) else offset - offsets[at] + lengths[at]
        return min(lengths[at] + offset - offsets[at], following)

    places = ((moved(start), moved(stop)) for start, stop in spans)
    return Snippet("".join(pieces), tuple((start, stop) for start, stop in places if start < stop))


def _folded_with_origin(text: str) -> tuple[str, list[int] | None]:
    """The folded text, and for each of its characters the offset it came from; None when they are the same."""
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    origin: list[int] = []
    for offset, char in enumerate(text):
        for part in _FOLDING[ord(char)]:
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

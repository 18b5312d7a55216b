"""Messages in which the trigram index does not see what a person sees: found once, then remembered.

An index holds texts as they are stored. What is shown is another text where codes that colour it stand within words,
where JSON spells a letter or a stroke otherwise, and behind a NUL, at which some releases of SQLite ended; and a letter
with an accent is found without it. A message that an index lacks is blind, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain

from hermes_sessions.storage.coverage import last_message, message_ids
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.matching import fold
from hermes_sessions.storage.routing import TRIGRAM
from hermes_sessions.storage.values import as_int, as_text

SPAN = 2_048
"""Ids that are looked through at once, in about 3 ms."""

TEXTS_AT_ONCE = 64
"""Messages that SQLite cannot rule out, whose texts are looked through between two checks."""

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_SIGNS = ("\x1b", "\x00", "\\/")


class BlindSpots:
    """The blind spots of one store whose messages have a trigram index that holds a copy of their text.

    Those among older messages are looked for once: Hermes adds messages and deletes them, but never changes the text of
    one (`hermes_state.SessionDB` up to 0.19), nor gives an id twice.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, tuple[int, ...]] = {}

    def newest_first(self, ids: range, check: Callable[[], None]) -> Iterator[tuple[tuple[int, ...], int]]:
        """Blind spots among these messages, newest first, two thousand messages at a time; and from which id on all
        have been looked at, or 0 where that had been done before.

        `check` is called every few milliseconds. Raises Interrupted, StoreBusy, StoreDamaged.
        """
        below = ids.stop
        while (last := last_message(self._database, below)) is not None and last >= ids.start:
            number = last // SPAN
            below = number * SPAN
            known = number in self._known
            spots = self._spots_of(number, ids.stop, check)
            yield spots, 0 if known else max(below, ids.start)

    def among(self, ids: Iterable[int], check: Callable[[], None]) -> set[int]:
        """The blind spots among these messages, of which what is near them is looked at, too.

        Calls and raises as `newest_first`.
        """
        wanted, stop = set(ids), message_ids(self._database).stop
        spots = [self._spots_of(number, stop, check) for number in sorted({id // SPAN for id in wanted})]
        return wanted.intersection(chain.from_iterable(spots))

    def _spots_of(self, number: int, below: int, check: Callable[[], None]) -> tuple[int, ...]:
        """Those of one span. They are remembered where all its messages have ids `below` one that is known."""
        if (spots := self._known.get(number)) is None:
            stop = (number + 1) * SPAN
            spots = tuple(self._between(number * SPAN, stop, check))
            if stop <= below:
                self._known[number] = spots
        return spots

    def _between(self, first: int, stop: int, check: Callable[[], None]) -> Iterator[int]:
        check()
        names = [name for name in ("content", "tool_calls", "tool_name") if self._database.has("messages", name)]
        may_be = " OR ".join(map(_may_be_blind, names))
        rows = self._database.rows(
            f"""
            SELECT * FROM (
                SELECT m.id, NOT EXISTS (SELECT 1 FROM {TRIGRAM}_docsize entry WHERE entry.id = m.id) AS lacks,
                {", ".join(f"m.{name}" for name in names)} FROM messages m WHERE m.id >= ? AND m.id < ?)
            WHERE lacks OR {may_be} ORDER BY id DESC
            """,
            (first, stop),
        )
        for number, (id, lacks, *texts) in enumerate(rows, 1):
            if lacks or any(is_blind(as_text(text)) for text in texts):
                yield as_int(id)
            if number % TEXTS_AT_ONCE == 0:
                check()


def is_blind(text: str | None) -> bool:
    """Whether something may be seen in a stored text that an index of it does not find. Pure."""
    if not text:
        return False
    if any(sign in text for sign in _SIGNS) or not (text.isascii() or _finds_all(frozenset(text))):
        return True
    escaped = {chr(int(code, 16)) for code in _ESCAPED.findall(text)}
    return any(char.isascii() for char in escaped) or not _finds_all(frozenset(escaped))


def _finds_all(chars: frozenset[str]) -> bool:
    return all(map(_finds, chars))


@cache
def _finds(char: str) -> bool:
    """Whether an index holds a character as all that it may be looked for by: it folds capitals, but no accents, and
    knows nothing of codes that begin with a control beyond ASCII, and of letters that are no UTF-8."""
    small = char.lower()
    return not ("\x80" <= char <= "\x9f" or char == "\ufffd") and fold(char) in (
        small,
        unicodedata.normalize("NFD", small),
    )


def _may_be_blind(column: str) -> str:
    """What SQLite can tell. Lists of parts, which begin with a NUL, are read anyway (`finding`)."""
    odd = f"length({column}) <> octet_length({column}) OR {column} GLOB '*\x1b*' OR {column} GLOB '*\\[u/]*'"
    return f"{column} >= char(1) AND ({odd})"

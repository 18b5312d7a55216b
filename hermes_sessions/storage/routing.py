"""Which index answers which term of a query, and what has to be checked by reading. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hermes_sessions.storage.query import Term, has_cjk, is_token_character, quoted

WORDS = "messages_fts"
TRIGRAM = "messages_fts_trigram"

NOTHING = ""

TRIGRAM_CHARACTERS = 3

SHORT_PREFIX = 3
"""Letters of a prefix that so many words begin with that merging them takes a noticeable time."""


class Indexes(NamedTuple):
    """What a store can answer with.

    `trigrams_beginning` gives the trigrams that begin with a text of one or two characters, or None when they
    are too many to try, or cannot be known.
    """

    words: bool
    trigram: bool
    trigrams_beginning: Callable[[str], list[str] | None]


class Plan(NamedTuple):
    """An index and what to ask it, and the terms that it cannot answer. Without `match`, every message is read."""

    terms: tuple[Term, ...]
    table: str = ""
    match: str = ""
    verified: tuple[Term, ...] = ()
    merges: bool = False
    """True when the index does much work before each page: one large page is cheaper than many."""
    nothing: bool = False
    """True when the index proves that no message can fit."""
    notice: str = ""


def is_slow(terms: tuple[Term, ...]) -> bool:
    """True when an index may take longer than a frame: a prefix is merged from all words that begin with it, one or
    two characters from all their trigrams.
    """
    return any(term.prefix if term.route == "word" else len(term.text) < TRIGRAM_CHARACTERS for term in terms)


def plan(terms: tuple[Term, ...], indexes: Indexes) -> Plan:
    """Return how to answer these terms with these indexes."""
    literal = [term for term in terms if term.route == "literal"]
    if not literal and indexes.words:
        short = any(term.prefix and len(term.text) <= SHORT_PREFIX for term in terms)
        return Plan(terms, WORDS, " ".join(term.words_match for term in terms), merges=short)
    if literal and indexes.trigram:
        asked = {term: _trigram_match(term, indexes) for term in terms}
        if NOTHING in asked.values():
            return Plan(terms, nothing=True)
        if any(asked[term] for term in literal):
            match = " AND ".join(expression for expression in asked.values() if expression)
            return Plan(terms, TRIGRAM, match, verified=tuple(term for term in terms if not asked[term]))
    words = [term for term in terms if any(map(is_token_character, term.text)) and not has_cjk(term.text)]
    if words and indexes.words:
        return Plan(terms, WORDS, " ".join(term.words_match for term in words), verified=terms)
    if indexes.words:
        return Plan(terms)
    return Plan(terms, notice="This store has no search index: every message is read instead, which is slower.")


def _trigram_match(term: Term, indexes: Indexes) -> str | None:
    """What to ask the trigram index for a term, NOTHING when no text holds it, None when it cannot tell.

    One or two characters are no trigram, but the beginning of some: Hermes' inline index ends every text with
    blanks, so that the last characters of a text begin one, too.
    """
    asked: list[str] = []
    for form in term.forms:
        if len(form) >= TRIGRAM_CHARACTERS:
            asked.append(quoted(form))
            continue
        beginning = indexes.trigrams_beginning(form.lower())
        if beginning is None:
            return None
        asked.extend(map(quoted, beginning))
    return f"({' OR '.join(asked)})" if asked else NOTHING

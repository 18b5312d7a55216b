"""Which index answers which term of a query, and what has to be checked by reading. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hermes_sessions.storage.query import Term, has_cjk, quoted, words_in

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
    """There is a trigram index, and it holds all that the index of words holds."""
    parts: bool
    """There is a trigram index, of the most at least."""
    tools: bool
    """The index of words holds what tools were asked, too: before version 11 it does not."""
    trigrams_beginning: Callable[[str], list[str] | None]


class Plan(NamedTuple):
    """An index, what to ask it, and the terms to check in what it finds. Without `match`, every message is read."""

    terms: tuple[Term, ...]
    table: str = ""
    match: str = ""
    verified: tuple[Term, ...] = ()
    merges: bool = False
    """True when the index does much work before each page: one large page is cheaper than many."""
    notice: str = ""


def is_slow(terms: tuple[Term, ...]) -> bool:
    """True when an index may take longer than a frame: a prefix is merged from all words that begin with it, one or
    two characters from all their trigrams.
    """
    return any(term.prefix if term.route == "word" else len(term.text) < TRIGRAM_CHARACTERS for term in terms)


def plans(terms: tuple[Term, ...], indexes: Indexes) -> tuple[Plan, ...]:
    """Return how to answer these terms with these indexes: by one plan after the other, for no index sees everything.

    Words come first, then what is inside of words; literal text comes first, then what is stored in another spelling.
    """
    if not indexes.words and not indexes.parts:
        return (Plan(terms, notice="This store has no search index: every message is read instead, which is slower."),)
    literal = [term for term in terms if term.route == "literal"]
    if not literal and indexes.words:
        short = any(term.prefix and len(term.text) <= SHORT_PREFIX for term in terms)
        match = _all_of(terms)
        return (Plan(terms, WORDS, match, merges=short), *_inside_words(terms, indexes))
    words = [term for term in terms if words_in(term.text) and not has_cjk(term.text)]
    if literal and indexes.parts:
        asked = {term: _trigram_match(term, indexes) for term in terms}
        found: tuple[Plan, ...] = ()
        if NOTHING not in asked.values() and any(asked[term] for term in literal):
            match = " AND ".join(expression for expression in asked.values() if expression)
            found = (Plan(terms, TRIGRAM, match, verified=tuple(term for term in terms if not asked[term])),)
        if indexes.trigram and (found or NOTHING in asked.values()):
            return (*found, *_spelt_otherwise(terms, indexes))
    else:
        found = ()
    if words and indexes.words and indexes.tools:
        return (*found, Plan(terms, WORDS, _all_of(words), verified=terms))
    return (*found, Plan(terms))


def _inside_words(terms: tuple[Term, ...], indexes: Indexes) -> tuple[Plan, ...]:
    """How to find what the index of words cannot: parts of words, and Latin words in the midst of Chinese ones."""
    if not indexes.tools:
        return (Plan(terms),)
    if not indexes.parts or any(len(term.text) < TRIGRAM_CHARACTERS or " " in term.text for term in terms):
        return ()
    return (Plan(terms, TRIGRAM, " AND ".join(_trigram_match(term, indexes) or "" for term in terms)),)


def _spelt_otherwise(terms: tuple[Term, ...], indexes: Indexes) -> tuple[Plan, ...]:
    """How to find literal text where the trigram index has it with other accents, as JSON, or not at all.

    SQLite before 3.42 filled a trigram index with nothing of a message with images, which begins with a NUL.
    """
    # Whole words only: to merge all that begin with the letters after a "/" takes longer than such a hit is worth.
    words = [term._replace(prefix=False) for term in terms if words_in(term.text) or not term.text.isascii()]
    if not words or not indexes.words:
        return ()
    match = _all_of(words)
    # A single common word would be found far more often without what stands beside it: "error:", "C++".
    telling = all(term.route == "word" or words_in(term.text) > 1 or not term.text.isascii() for term in words)
    return (Plan(terms, WORDS, match if telling else f'^"json" AND {match}', verified=terms),)


def _all_of(terms: Sequence[Term]) -> str:
    """What to ask the index of words. FTS5 knows no "and" without the word beside parentheses."""
    return " AND ".join(term.words_match for term in terms)


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

"""What to ask which index, and what a statement that reads messages can rule out by itself. Pure.

No index sees everything. The index of words folds accents and knows where words begin; the trigram index sees what is
inside of them. Both hold tool calls and the parts of messages with images as JSON, so that a text is asked for in every
spelling that JSON has for it. An answer of the trigram index holds all that fits and more: it is checked by reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from hermes_sessions.storage.matching import ESCAPE_SEEN, UNSEEN, UNSEEN_SEEN, fold
from hermes_sessions.storage.query import Clause, SearchQuery, Term, has_cjk, quoted, words_in
from hermes_sessions.storage.values import SQLValue

WORDS = "messages_fts"
TRIGRAM = "messages_fts_trigram"

TRIGRAM_CHARACTERS = 3

SHORT_PREFIX = 3
"""Letters of a prefix that so many words begin with that merging their entries takes longer than a frame."""

MOST_CLAUSES, MOST_TERMS = 16, 50
"""So much of a query is put to SQLite, which takes no expression of any size. Checking by reading knows no bounds."""

TELLING_PIECES = 3
"""Pieces of one text that a statement looks for in each message: more rule out little."""

LONGEST = 60
"""Characters of a text that a trigram index is asked for: the rest of a long one rules out nothing more."""

NOTHING = '"\U0010fffe\U0010fffe\U0010fffe"'
"""What no text holds."""

TrigramsBeginning = Callable[[str], list[str] | None]
"""The trigrams that begin with a text of one or two characters; None when they are too many to try or not known."""

_CHANGED = UNSEEN + ESCAPE_SEEN + UNSEEN_SEEN

_JOINTS = re.compile(rf'\s*["\\:,{{}}\[\]{_CHANGED}]+\s*|\s{{2,}}|[^\S ]')
"""Where JSON, unfolded for a person, and white space may be something else in the stored text."""

_RUNS = re.compile(rf'[^\s"\\:,{{}}\[\]{_CHANGED}]+')
"""What is the same wherever it stands, but for the escapes of JSON."""

_TOKENS = re.compile(r"[0-9A-Za-z]+")
_JOKER = re.compile(r"[\\%_]")
_WIDE_BLANK = re.compile(r"\s{2}|[^\S ]")

_STEADY = re.compile(r"""[^\s"\\:,{}\[\]<>&'/\x7f-\U0010ffff]+""")
"""Characters that are spelt the same in every kind of JSON: some escape what means something in HTML, too."""


def is_common(query: SearchQuery) -> bool:
    """Whether what is asked for may be in very many messages, and an index slow to say in which: one to three letters
    that begin a word, or one or two characters.
    """
    return any(
        len(term.text) < TRIGRAM_CHARACTERS or (term.route == "word" and _is_short_prefix(term)) for term in query.words
    )


def is_merged(query: SearchQuery) -> bool:
    """Whether the index of words has to merge very many entries before it can say anything (see `words_match`)."""
    return all(any(map(_is_short_prefix, clause)) for clause in query.clauses)


def without_prefixes(query: SearchQuery) -> SearchQuery:
    """The query with every word as it stands, also those that may be the beginning of one."""
    clauses = (tuple(term._replace(prefix=False) for term in clause) for clause in query.clauses)
    return query._replace(clauses=tuple(clauses))


def words_match(query: SearchQuery) -> tuple[str, bool]:
    """What to ask the index of words, and whether each answer has to be checked by reading. Empty: it cannot tell."""
    asked = {clause: _words_of(clause) for clause in _telling_clauses(query)}
    checked = bool(query.excluded) or not all(asked.values()) or len(asked) < len(query.clauses)
    # The rest alone rules out enough, and a short prefix is merged from very many entries.
    short = [clause for clause in asked if any(map(_is_short_prefix, clause))]
    if any(match for clause, match in asked.items() if clause not in short):
        checked = checked or bool(short)
        asked = {clause: match for clause, match in asked.items() if clause not in short}
    checked = checked or any(term.route == "literal" for term in query.words)
    return " AND ".join(match for match in asked.values() if match), checked


def inner_words_match(query: SearchQuery) -> str:
    """The words in the midst of long phrases, for the index of words: no message fits that does not hold them, whatever
    the first and the last word are a part of. Empty when there are none.

    A trigram index is slow for these: each of their trigrams is common.
    """
    asked = []
    for clause in _telling_clauses(query):
        words = _TOKENS.findall(clause[0].text) if len(clause) == 1 and clause[0].text.isascii() else []
        if len(words) > 2 and not _WIDE_BLANK.search(clause[0].text):
            asked.append(quoted(" ".join(words[1:-1])))
    return " AND ".join(asked)


def trigram_match(query: SearchQuery, trigrams_beginning: TrigramsBeginning) -> str:
    """What to ask the trigram index. Its answers have to be checked by reading. Empty: it cannot tell."""
    asked = [_any_of([_trigrams_of(term, trigrams_beginning) for term in clause]) for clause in _telling_clauses(query)]
    return " AND ".join(match for match in asked if match)


def readable_condition(query: SearchQuery, columns: Sequence[str]) -> tuple[str, list[SQLValue]]:
    """An SQL condition that holds for every message that fits, and for few others, and its values.

    It is for rows that are read one by one; Python has to look at what is left only.
    """
    conditions: list[str] = []
    values: list[SQLValue] = []
    for clause in _telling_clauses(query):
        parts = [_readable(term, column) for term in clause for column in columns]
        conditions.append(f"({' OR '.join(sql for sql, _ in parts)})")
        values += [value for _, bound in parts for value in bound]
    return " AND ".join(conditions) or "1", values


def _telling_clauses(query: SearchQuery) -> list[Clause]:
    """The clauses that rule out most, as many as SQLite takes."""
    clauses = [clause for clause in query.clauses if len(clause) <= MOST_TERMS]
    return sorted(clauses, key=lambda clause: -min(len(term.text) for term in clause))[:MOST_CLAUSES]


def _words_of(clause: Clause) -> str:
    """A clause for the index of words; empty when there is a term in it that this index cannot see at all."""
    if not all(term.route == "word" or _is_telling(term) for term in clause):
        return ""
    return _any_of([term.words_match if term.route == "word" else _words_of_literal(term) for term in clause])


def _words_of_literal(term: Term) -> str:
    """To merge all words that begin with the letters after a "/" takes longer than such a hit is worth."""
    return quoted(term.text) if term.text.isascii() else term._replace(prefix=False).words_match


def _is_telling(term: Term) -> bool:
    """Whether the words in a literal text rule out much. A single common one would not: "error:", "C++"."""
    return words_in(term.text) > 1 or not term.text.isascii()


def _is_short_prefix(term: Term) -> bool:
    return term.prefix and term.route == "word" and len(term.text) <= SHORT_PREFIX


def _any_of(matches: Sequence[str]) -> str:
    """FTS5 knows no "and" without the word beside parentheses."""
    if not all(matches):
        return ""
    return matches[0] if len(matches) == 1 else f"({' OR '.join(matches)})"


def _trigrams_of(term: Term, trigrams_beginning: TrigramsBeginning) -> str:
    """What a text that holds the term holds for certain; empty when the index cannot tell."""
    pieces = [piece for piece in _JOINTS.split(term.text) if piece]
    long = [piece for piece in pieces if len(piece) >= TRIGRAM_CHARACTERS]
    if long:
        return " AND ".join(_any_of([quoted(form) for form in stored_forms(piece[:LONGEST])]) for piece in long)
    if pieces != [term.text]:
        return ""
    asked: list[str] = []
    for form in stored_forms(term.text):
        if len(form) >= TRIGRAM_CHARACTERS:
            asked.append(quoted(form))
        elif (beginning := trigrams_beginning(form.lower())) is None:
            return ""
        else:
            asked.extend(map(quoted, beginning))
    return _any_of(asked or [NOTHING])


def stored_forms(text: str) -> tuple[str, ...]:
    """Every way in which a text may be stored: composed and decomposed, and as JSON, and as JSON within JSON."""
    forms = dict.fromkeys(_written(text))
    if text.count(" ") == 1:  # a tab is shown as blanks, too
        forms.update(dict.fromkeys(form.replace(" ", "\t") for form in list(forms)))
    for form in list(forms):
        for once in (_json(form, ascii=False), _json(form, ascii=True)):
            forms.update(dict.fromkeys((once, _json(once, ascii=False), _json(once, ascii=True))))
    return tuple(forms)


def _written(text: str) -> tuple[str, ...]:
    """A text as it was typed, composed and decomposed. No index knows the capitals of an escape (`\\u00e9`), so that
    the usual ways to write a word beyond ASCII are forms of their own.
    """
    if text.isascii():
        return (text,)
    forms = dict.fromkeys((text, *Term(text, "literal").forms, fold(text)))
    cases = (str.lower, str.capitalize, str.upper)
    return tuple(dict.fromkeys((*forms, *(case(form) for case in cases for form in forms))))


def _json(text: str, *, ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=ascii)[1:-1]


def _readable(term: Term, column: str) -> tuple[str, list[SQLValue]]:
    # SQLite looks at ASCII without its case, and counts characters much faster than Python fetches them. A code that
    # colours a text may stand anywhere in it, and an escape of JSON for any letter with an accent.
    coloured = f"{column} GLOB '*\x1b*' OR {column} GLOB '*\\u"
    beyond_ascii = f"length({column}) <> octet_length({column})"
    pieces = [] if has_cjk(term.text) else _STEADY.findall(fold(term.text))
    if not pieces and term.text.isascii():
        pieces = _RUNS.findall(term.text)
    if pieces:
        longest = sorted(dict.fromkeys(pieces), key=len, reverse=True)[:TELLING_PIECES]
        here = " AND ".join([f"{column} LIKE ? ESCAPE '\\'"] * len(longest))
        patterns = [_JOKER.sub(r"\\\g<0>", piece) for piece in longest]
        return f"({here} OR {beyond_ascii} OR {coloured}*')", [f"%{pattern}%" for pattern in patterns]
    pieces = [piece for piece in _RUNS.findall(term.text) if not piece.isascii()]
    if not pieces:
        return "1", []
    forms = [form for form in _written(max(pieces, key=len)) if form]
    # In JSON within JSON another stroke stands before each escape: only a single one is the same in both.
    first = dict.fromkeys(next((char for char in form if not char.isascii()), "") for form in forms)
    escapes = [f"%{_json(char, ascii=True)[:6]}%" for char in first if char]
    here = " OR ".join([f"instr({column}, ?)"] * len(forms))
    in_json = " OR ".join([f"{column} LIKE ? ESCAPE '!'"] * len(escapes)) or "0"
    # Most functions of SQLite end a text at its first NUL: lists of parts, which begin with one, are left to Python.
    parts = f"{column} < char(1) AND {column} > ''"
    here += f" OR {column} GLOB '*[\x80-\x9f]*'"  # such a control begins a code that colours, too
    return f"({beyond_ascii} AND ({here}) OR {in_json} OR {coloured}001b*' OR {parts})", [*forms, *escapes]

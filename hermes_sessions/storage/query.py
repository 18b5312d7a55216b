"""What a person typed, as terms that an index can answer. Pure and total: every string is a query.

    words            all of them, in any order; the last one may be the beginning of a word
    "a phrase"       these words in this order

Everything else is text: no character a person types is an operator of the index.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Literal, NamedTuple

Route = Literal["word", "literal"]

_DOUBLE_S = re.compile("ss", re.IGNORECASE)
_TERM = re.compile(r'"([^"]*)"?|(\S+)')

CJK_RANGES = (
    (0x1100, 0x11FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3040, 0x30FF),
    (0x3100, 0x318F),
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)
"""Scripts written without blanks between words, so that unicode61 sees a whole run as one token."""


class Term(NamedTuple):
    """One thing that must be found. A `word` is found by its tokens, a `literal` as these very characters."""

    text: str
    route: Route
    prefix: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """The text composed and decomposed: macOS writes paths decomposed, everyone else composed. Capitals of "ß" are
        "SS", so that either may stand for the other."""
        sharp = (self.text, self.text.replace("ß", "ss"), _DOUBLE_S.sub("ß", self.text))
        return tuple(dict.fromkeys(unicodedata.normalize(form, text) for text in sharp for form in ("NFC", "NFD")))

    @property
    def words_match(self) -> str:
        """The FTS5 expression that finds the term's words; the text is only ever inside string literals."""
        star = " *" if self.prefix and is_token_character(self.text[-1]) else ""
        forms = [quoted(form) + star for form in self.forms]
        # Each escape is a word of its own, so that these find what is written without blanks, too.
        star = " *" if self.route == "literal" else star
        forms += [quoted(form) + star for form in self._escaped_forms]
        return forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"

    @property
    def _escaped_forms(self) -> tuple[str, ...]:
        """The text as JSON spells it (`\\u6570\\u636e`), the way Hermes stores tool calls and parts.

        No index knows the capitals of an escape, so that the usual ways to write a word are forms of their own.
        """
        if self.text.isascii():
            return ()
        written = [case for form in self.forms for case in (form, form.lower(), form.capitalize(), form.upper())]
        return tuple(json.dumps(case)[1:-1] for case in dict.fromkeys(written))


def parse(text: str) -> tuple[Term, ...]:
    """The terms of what was typed, in order. Blanks only, or nothing, are no terms; half a character is "?"."""
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    found = [(phrase.strip(), word) for phrase, word in _TERM.findall(text)]
    terms = [Term(phrase or word, _route(phrase or word)) for phrase, word in found if phrase or word]
    if terms and not text.endswith((" ", '"')):
        terms[-1] = Term(terms[-1].text, terms[-1].route, prefix=True)
    return tuple(terms)


def words_in(text: str) -> int:
    """How many words the unicode61 tokenizer sees in the text."""
    return len("".join(char if is_token_character(char) else " " for char in text).split())


def quoted(text: str) -> str:
    """The text as an FTS5 string literal."""
    return '"' + text.replace('"', '""') + '"'


def has_cjk(text: str) -> bool:
    return not text.isascii() and any(first <= ord(char) <= last for char in text for first, last in CJK_RANGES)


def _route(text: str) -> Route:
    if has_cjk(text):
        return "literal"
    return "word" if all(is_token_character(char) or char == " " for char in text) else "literal"


def is_token_character(char: str) -> bool:
    """True for what the unicode61 tokenizer keeps: letters, numbers, private use and the marks upon them."""
    category = unicodedata.category(char)
    return category[0] in "LN" or category in ("Co", "Mn", "Mc")

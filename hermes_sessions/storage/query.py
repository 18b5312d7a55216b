"""What a person typed, as terms that an index can answer. Pure and total: every string is a query.

    words            all of them, in any order; the last one may be the beginning of a word
    "a phrase"       these words in this order

Everything else is text: no character a person types is an operator of the index.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Route = Literal["word", "literal"]

_TERM = re.compile(r'"([^"]*)"?|(\S+)')

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U000323af]"
)
"""Scripts written without blanks between words, so that unicode61 sees a whole run as one token."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that must be found. A `word` is found by its tokens, a `literal` as these very characters."""

    text: str
    route: Route
    prefix: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """The text composed and decomposed: macOS writes paths decomposed, everyone else composed."""
        composed = unicodedata.normalize("NFC", self.text)
        decomposed = unicodedata.normalize("NFD", self.text)
        return (composed,) if composed == decomposed else (composed, decomposed)

    @property
    def words_match(self) -> str:
        """The FTS5 expression that finds the term's words; the text is only ever inside string literals."""
        star = " *" if self.prefix else ""
        forms = [quoted(form) + star for form in self.forms]
        return forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"


def parse(text: str) -> tuple[Term, ...]:
    """The terms of what was typed, in order. Blanks only, or nothing, are no terms."""
    found = [(phrase.strip(), word) for phrase, word in _TERM.findall(text.replace("\x00", " "))]
    terms = [Term(phrase or word, _route(phrase or word)) for phrase, word in found if phrase or word]
    if terms and not text.endswith((" ", '"')):
        terms[-1] = Term(terms[-1].text, terms[-1].route, prefix=True)
    return tuple(terms)


def quoted(text: str) -> str:
    """The text as an FTS5 string literal."""
    return '"' + text.replace('"', '""') + '"'


def has_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def _route(text: str) -> Route:
    if has_cjk(text):
        return "literal"
    return "word" if all(is_token_character(char) or char == " " for char in text) else "literal"


def is_token_character(char: str) -> bool:
    """True for what the unicode61 tokenizer keeps: letters, numbers, private use and the marks upon them."""
    category = unicodedata.category(char)
    return category[0] in "LN" or category in ("Co", "Mn", "Mc")

"""What a person typed, as a query. Pure and total: every string is one, and what makes no sense in it is a value.

    words            all of them, in any order; the last one may be the beginning of a word
    "a phrase"       these words in this order; a quote within is written twice
    pre*             the beginning of a word
    a OR b           any of them
    -word            not in a message that holds it
    key:value        see `conditions`; key:a,b for any of several, key:>n, -key:value for all others

Everything else is text, also what only looks like one of these: an `OR` with nothing to join, `http://x`, `C:\\dir`,
`a::b`, `12:30`, `--flag`, a key that does not exist or has no value. No character a person types is an operator of the
index.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from typing import Literal, NamedTuple

from hermes_sessions.errors import BadFilter
from hermes_sessions.model import Problem
from hermes_sessions.storage.conditions import CHOICES, KEYS, Condition, closest, may_become, read_condition

Route = Literal["word", "literal"]

_DOUBLE_S = re.compile("ss", re.IGNORECASE)

MOST_PROBLEMS = 10
"""Values of which a person is told that they make no sense."""

_VALUE = r'(?:"(?:[^"]|"")*+"?|[^\s,"][^\s,]*+)'
_VALUES = re.compile(_VALUE)
_NEAR_KEY = re.compile(r"([A-Za-z]{2,12}):(?![:/\\])(?=.)")
_TOKEN = re.compile(
    rf"""
    (?P<minus>-(?=[^\s\-=>]))?
    (?: (?P<key>{"|".join(KEYS)}):(?!:|//)(?=\S)(?P<value>{_VALUE}?(?:,{_VALUE}?)*+)
      | "(?P<phrase>(?:[^"]|"")*+)(?P<closed>"\*?)?
      | (?P<word>\S++) )
    """,
    re.VERBOSE,
)

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


def term(text: str, *, prefix: bool = False) -> Term:
    """The term that finds this text; not empty."""
    return Term(text, _route(text), prefix)


Clause = tuple[Term, ...]
"""Terms of which any will do; a single one where no OR was written."""


class SearchQuery(NamedTuple):
    """What is asked for. Without `clauses` it asks for whole conversations, not for places in them."""

    text: str
    """As it was typed."""
    clauses: tuple[Clause, ...] = ()
    """Each must be in the message, or in the title or id."""
    excluded: tuple[Term, ...] = ()
    """None may be in it."""
    conditions: tuple[Condition, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it asks for nothing."""
        return not (self.clauses or self.excluded or self.conditions)

    def asks_for(self, state: str) -> bool:
        """Whether only conversations in this state are wanted (`is:state`): a list that hides them would be empty."""
        wanted = (condition.values for condition in self.conditions if condition.key == "is" and not condition.negated)
        return any(state in values for values in wanted)

    @property
    def words(self) -> tuple[Term, ...]:
        """The terms to mark in a text that fits."""
        return tuple(term for clause in self.clauses for term in clause)

    @property
    def of_messages(self) -> tuple[Condition, ...]:
        """The conditions on the messages that are found."""
        return tuple(condition for condition in self.conditions if condition.of_messages)

    @property
    def of_conversations(self) -> tuple[Condition, ...]:
        """The conditions on the conversations they are found in."""
        return tuple(condition for condition in self.conditions if not condition.of_messages)


def parse(text: str, now: float | None = None, *, typing: bool = False) -> SearchQuery:
    """The query that a text means. `now` is what ages are counted from, by default the clock.

    While a person is `typing`, a last word that is not finished asks for nothing yet and is no problem: `-`, `model:`,
    `is:arch`, `cost:>`, `a OR`. A NUL is read as a blank, and half a character as "?".
    """
    readable = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    return _Reader(readable, time.time() if now is None else now, typing).query()._replace(text=text)


def near_keys(text: str) -> tuple[Problem, ...]:
    """Words of a query that may have been meant as `key:value`, but are text: the key is misspelt, or in capitals.

    The suggestion is what would be a condition. For when nothing was found.
    """
    problems = []
    for token in _TOKEN.finditer(text):
        if token["word"] and (written := _NEAR_KEY.match(token["word"])):
            key = closest(written[1], KEYS)
            if key and abs(len(key) - len(written[1])) <= 1:
                message = f"{written[1]}: is no key, so it was searched as text."
                problems.append(Problem(*token.span("word"), message, f"{key}:{token['word'][written.end() :]}"))
    return tuple(problems[:MOST_PROBLEMS])


class Begun(NamedTuple):
    """What stands before the cursor and can be completed: a key, or one of the values of a `key`."""

    start: int
    """Where it begins in the text, its quote included."""
    text: str
    """As it is meant, without quotes."""
    key: str = ""
    before: tuple[str, ...] = ()
    """The values that the key has already."""


def begun_at(text: str, cursor: int) -> Begun | None:
    """What a person has begun to write before the cursor; None within a phrase."""
    *_, last = [None, *_TOKEN.finditer(text[:cursor])]
    if last is None or last.end() < cursor:
        return Begun(cursor, "")
    if last["phrase"] is not None:
        return None
    if not last["key"]:
        key = last["word"].removesuffix(":")
        if key != last["word"] and key in KEYS:
            return Begun(cursor, "", key)
        return Begun(cursor, "") if last["word"] == "-" else Begun(last.start("word"), last["word"])
    values = list(_VALUES.finditer(last["value"]))
    if values and values[-1].end() == len(last["value"]):
        *before, value = values
        start, word = last.start("value") + value.start(), _unquoted(value[0])
    else:
        before, start, word = values, cursor, ""
    return Begun(start, word, last["key"], tuple(_unquoted(value[0]) for value in before))


class _Part(NamedTuple):
    """A word that is understood, and where it stands."""

    meaning: Term | Condition
    excluded: bool
    start: int
    stop: int


class _Reader:
    """Reads one text, word by word."""

    def __init__(self, text: str, now: float, typing: bool) -> None:
        self._text = text
        self._now = now
        self._typing = typing
        self._clauses: list[Clause] = []
        self._excluded: list[Term] = []
        self._conditions: list[Condition] = []
        self._problems: list[Problem] = []

    def query(self) -> SearchQuery:
        tokens = list(_TOKEN.finditer(self._text))
        joining = self._joining(tokens)
        groups: list[list[_Part]] = []
        for at, token in enumerate(tokens):
            if joining[at]:
                continue
            if not at or not joining[at - 1]:
                groups.append([])
            if (meaning := self._condition(token) if token["key"] else self._term(token)) is not None:
                groups[-1].append(_Part(meaning, token["minus"] is not None, *token.span()))
        for group in groups:
            self._take(group)
        clauses, excluded = dict.fromkeys(self._clauses), dict.fromkeys(self._excluded)
        return SearchQuery(
            self._text, tuple(clauses), tuple(excluded), tuple(self._conditions), tuple(sorted(self._problems))
        )

    def _joining(self, tokens: list[re.Match[str]]) -> list[bool]:
        """Which words are an OR between two others. One at the end is about to be, while a person types."""
        ors = [token[0] == "OR" for token in tokens]
        following = [*ors[1:], not self._typing]
        return [at > 0 and ors[at] and not ors[at - 1] and not following[at] for at in range(len(ors))]

    def _take(self, group: list[_Part]) -> None:
        """Ask for what one word means, or for any of those with an OR between them."""
        if len(group) > 1 and not any(part.excluded for part in group):
            terms = [part.meaning for part in group if isinstance(part.meaning, Term)]
            if len(terms) == len(group):
                self._clauses.append(tuple(dict.fromkeys(terms)))
                return
            conditions = [part.meaning for part in group if isinstance(part.meaning, Condition)]
            if len(conditions) == len(group) and len({(item.key, bool(item.values)) for item in conditions}) == 1:
                first, last = conditions[0], conditions[-1]
                if first.values:
                    values = dict.fromkeys(value for item in conditions for value in item.values)
                    merged = last._replace(values=tuple(values), start=first.start)
                    self._conditions.append(merged)
                    return
        if len(group) > 1:
            self._problems.append(
                Problem(group[0].start, group[-1].stop, "OR stands between words, or between values of one key.")
            )
        for meaning, excluded, _, _ in group:
            if isinstance(meaning, Condition):
                self._conditions.append(meaning)
            elif excluded:
                self._excluded.append(meaning)
            else:
                self._clauses.append((meaning,))

    def _term(self, token: re.Match[str]) -> Term | None:
        """The text to look for; None when there is none, or not yet."""
        if token["phrase"] is not None:
            text = token["phrase"].replace('""', '"')
            begun = not token["closed"] and not text[-1:].isspace()
            prefix = begun or token["closed"] == '"*'
            text = text.strip()
        else:
            text = token["word"]
            if self._is_last(token) and (text == "-" or (text[-1] == ":" and text[:-1] in KEYS)):
                return None
            prefix = len(text) > 1 and text[-1] == "*" and is_token_character(text[-2])
            text = text[:-1] if prefix else text
            prefix = prefix or token.end() == len(self._text)
        if token["minus"] and not token[0].endswith("*"):
            prefix = False  # what a word only begins with should not go before the word is there
        return term(text, prefix=prefix) if text else None

    def _condition(self, token: re.Match[str]) -> Condition | None:
        """What a `key:value` word asks for; None when its value means nothing, or nothing yet."""
        key, start, last = token["key"], token.start("value"), self._is_last(token)
        written = list(_VALUES.finditer(token["value"]))
        if key in CHOICES and written:
            written = [value for value in written if self._is_choice(key, value, start, last)]
            if not written:
                return None
        try:
            condition = read_condition(key, [_unquoted(value[0]) for value in written], self._now)
        except BadFilter as error:
            if not (last and may_become(key, token["value"])):
                self._problems.append(Problem(start, token.end("value"), f"{error.message} {error.hint}"))
            return None
        unfinished = last and written[-1][0][0] != '"'
        return condition._replace(
            negated=token["minus"] is not None, start=token.start(), stop=token.end(), unfinished=unfinished
        )

    def _is_choice(self, key: str, value: re.Match[str], start: int, last: bool) -> bool:
        """Whether a value is one of those that its key takes. If it is not and cannot become one, that is a problem."""
        word = _unquoted(value[0]).strip()
        if word.lower() in CHOICES[key]:
            return True
        begun = last and start + value.end() == len(self._text) and may_become(key, word)
        if not begun and len(self._problems) < MOST_PROBLEMS:
            message = f"{key}: takes one of {', '.join(CHOICES[key])}."
            self._problems.append(
                Problem(start + value.start(), start + value.end(), message, closest(word, CHOICES[key]))
            )
        return False

    def _is_last(self, token: re.Match[str]) -> bool:
        """Whether a person is still typing this word."""
        return self._typing and token.end() == len(self._text)


def _unquoted(value: str) -> str:
    """A value as it was meant: without its quotes, and those within it once."""
    return value[1:].removesuffix('"').replace('""', '"') if value[:1] == '"' else value


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
    if text.isascii():
        return "word" if text.replace(" ", "").isalnum() else "literal"
    return "word" if all(is_token_character(char) or char == " " for char in text) else "literal"


def is_token_character(char: str) -> bool:
    """True for what the unicode61 tokenizer keeps: letters, numbers, private use and the marks upon them."""
    category = unicodedata.category(char)
    return category[0] in "LN" or category in ("Co", "Mn", "Mc")

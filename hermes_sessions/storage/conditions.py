"""The `key:value` words of a query: which keys there are, and what a value of each means. Pure.

Where a word stands in a query is `query`'s business, what a condition is asked of that of `services.filters` and, for
conditions on single messages, of `search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, cast

from hermes_sessions.errors import BadFilter
from hermes_sessions.storage.moments import may_become_moment, may_become_number, parse_moment, parse_number

Operator = Literal["=", ">", ">=", "<", "<=", ".."]

TEXT_KEYS = ("source", "model", "provider", "cwd", "branch", "title", "id", "user", "chat", "end", "tool")
NUMBER_KEYS = ("messages", "tokens", "cost", "tools")
TIME_KEYS = ("before", "after", "older", "newer")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "role": ("user", "assistant", "tool", "system"),
    "is": ("archived", "empty", "branch", "interrupted", "error", "live", "unpriced", "rewound", "subagent"),
    "has": ("tools", "images", "cost", "reasoning"),
}
"""Keys that take one of a few words."""

KEYS = (*TEXT_KEYS, *CHOICES, *NUMBER_KEYS, *TIME_KEYS)

_OF_MESSAGES: Mapping[str, frozenset[str]] = {
    "is": frozenset({"rewound"}),
    "has": frozenset({"tools", "images", "reasoning"}),
}
_OPERATOR = re.compile(r"[<>]=?|=")


class Condition(NamedTuple):
    """One `key:value` word. A text fits when one of the `values` does, a number or a time when it compares to `number`
    by the operator; ".." is a range from `number` to `last`, both included. Times are epoch seconds."""

    key: str
    operator: Operator = "="
    values: tuple[str, ...] = ()
    number: float = 0.0
    last: float = 0.0
    negated: bool = False
    start: int = 0
    stop: int = 0
    """Where the word stands in the text; it ends before `stop`."""
    unfinished: bool = False
    """The last value is still being typed, and may be the beginning of one."""

    @property
    def of_messages(self) -> bool:
        """Whether single messages are asked for; else it is asked of whole conversations. A mixture, such as
        `has:cost,images`, is asked of conversations."""
        return self.key in ("role", "tool") or (
            self.key in _OF_MESSAGES and _OF_MESSAGES[self.key].issuperset(self.values)
        )

    def compares(self, have: float) -> bool:
        """Whether a number or a time fits, regardless of `negated`."""
        match self.operator:
            case ">":
                return have > self.number
            case ">=":
                return have >= self.number
            case "<":
                return have < self.number
            case "<=":
                return have <= self.number
            case "..":
                return self.number <= have <= self.last
            case _:
                return have == self.number


def read_condition(key: str, values: Sequence[str], now: float, operator: Operator | None = None) -> Condition:
    """The condition that a key's values mean. Texts may be several; of a number or a time there is one, and it may
    begin with its operator, unless one is given. `now` is what ages are counted from. Whether a word is one of CHOICES
    is for the caller to know.

    Raises BadFilter, which says what would be right.
    """
    if key in TIME_KEYS:
        return _time(key, ",".join(values), now, operator)
    if key in NUMBER_KEYS:
        return _number(key, ",".join(values), operator)
    texts = tuple(dict.fromkeys(text for value in values if (text := value.strip())))
    if not texts:
        known = f"one of {', '.join(CHOICES[key])}" if key in CHOICES else f"what the {key} should be"
        raise BadFilter("There is nothing to look for.", f"Write {known}.")
    return Condition(key, values=tuple(text.lower() for text in texts) if key in CHOICES else texts)


def may_become(key: str, value: str) -> bool:
    """Whether a value that means nothing yet may be the beginning of one that does."""
    if key in CHOICES:
        return any(choice.startswith(value.strip().lower()) for choice in CHOICES[key])
    if key in TEXT_KEYS:
        return not value.strip('",')
    operator = _OPERATOR.match(value)
    rest = value[operator.end() :] if operator else value
    if key in TIME_KEYS:
        return may_become_moment(rest)
    return all(may_become_number(part) for part in rest.rstrip(".").split(".."))


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that begins like this one, else the one that is most like it; empty when none is."""
    from difflib import get_close_matches

    begun, words = word.lower()[:40], list(known)
    if len(begun) > 1 and (longer := next((each for each in words if each.startswith(begun)), "")):
        return longer
    return next(iter(get_close_matches(begun, words, 1, 0.6)), "")


def _number(key: str, value: str, operator: Operator | None) -> Condition:
    if operator is None:
        operator, value = _operator(value)
    first, dots, last = value.partition("..")
    if dots and operator == "=" and first and last:
        ends = parse_number(first), parse_number(last)
        if ends[0] > ends[1]:
            raise BadFilter("Nothing lies between these ends.", f"Write {last}..{first}.")
        return Condition(key, "..", number=ends[0], last=ends[1])
    return Condition(key, operator, number=parse_number(value))


def _time(key: str, value: str, now: float, operator: Operator | None) -> Condition:
    if operator is None:
        operator, value = _operator(value) if key in ("older", "newer") else ("=", value)
        if operator == "=":
            operator = "<" if key in ("before", "older") else ">="
        else:
            # An age above two days is a time before two days ago.
            operator = ">=" if operator.startswith("<") else "<"
    return Condition(key, operator, number=parse_moment(value, now))


def _operator(value: str) -> tuple[Operator, str]:
    written = _OPERATOR.match(value)
    return (cast(Operator, written[0]), value[written.end() :]) if written else ("=", value)

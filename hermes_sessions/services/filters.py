"""Which conversations: the conditions of a query, or of the flags of a command line, asked of each of them.

How conditions are written is in `storage.conditions`, and what they need to know in `known_facts`. A condition on a
text looks at the whole chain of a conversation: one session that fits is enough. Times are those of the last activity,
so that nothing that was used today is ever old. A number or a time that is not known fits no condition, be it negated
or not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import BadFilter
from hermes_sessions.model import Conversation
from hermes_sessions.storage.conditions import NUMBER_KEYS, TIME_KEYS, Condition, Operator, read_condition

if TYPE_CHECKING:
    from hermes_sessions.services.known_facts import Asked, KnownFacts

Test = Callable[[Conversation], bool]

WHOLE_KEYS = frozenset({"source", "provider", "end"})
"""Names from a short list, compared as wholes; of other texts a part is enough. No text minds the case."""

FLAGS: Mapping[str, tuple[str, Operator | None]] = {
    "source": ("source", None),
    "model": ("model", None),
    "provider": ("provider", None),
    "cwd": ("cwd", None),
    "branch": ("branch", None),
    "title": ("title", None),
    "user": ("user", None),
    "end_reason": ("end", None),
    "before": ("before", None),
    "after": ("after", None),
    "older_than": ("older", "<"),
    "newer_than": ("newer", ">="),
    "min_messages": ("messages", ">="),
    "max_messages": ("messages", "<="),
    "min_tokens": ("tokens", ">="),
    "max_tokens": ("tokens", "<="),
    "min_cost": ("cost", ">="),
    "max_cost": ("cost", "<="),
    "min_tool_calls": ("tools", ">="),
    "max_tool_calls": ("tools", "<="),
}
"""Flags that take a value, as `argparse` spells their names, which are Hermes' own where Hermes has them."""

ONE_VALUE_FLAGS = frozenset({"title", "cwd"})
"""Flags whose texts hold commas of their own; others are several with commas."""

STATE_FLAGS = ("archived", "live")
"""Flags that take none."""


def from_flags(flags: Mapping[str, object], now: float) -> tuple[Condition, ...]:
    """The conditions of a parsed command line, such as `vars(arguments)`; what is missing, None or False asks for
    nothing.

    Raises BadFilter, which names the flag.
    """
    conditions = []
    for name, (key, operator) in FLAGS.items():
        if (value := flags.get(name)) is None:
            continue
        values = [str(value)] if name in ONE_VALUE_FLAGS else str(value).split(",")
        try:
            conditions.append(read_condition(key, values, now, operator))
        except BadFilter as error:
            raise BadFilter(f"--{name.replace('_', '-')} {value}: {error.message}", error.hint) from None
    return (*conditions, *(Condition("is", values=(state,)) for state in STATE_FLAGS if flags.get(state)))


class Filter(NamedTuple):
    """Conditions that must all hold, ready to be asked. Before a conversation is tested, the facts of each kind in
    `needs` must have been read of it."""

    tests: tuple[Test, ...]
    needs: tuple[str | Asked, ...]

    def fits(self, conversation: Conversation) -> bool:
        return all(test(conversation) for test in self.tests)


def prepare(conditions: Sequence[Condition], known: KnownFacts, live: Callable[[], Collection[str]]) -> Filter:
    """The filter of these conditions. `live` gives the ids of the sessions in use, and is called if they are asked for.

    Conditions on messages hold for a conversation with a message that fits all of them; those that only leave out hold
    for one without any message that would not fit.
    """
    needs: dict[str | Asked, None] = {}
    of_messages = [condition for condition in conditions if condition.of_messages]
    tests = [_test(condition, known, live, needs) for condition in conditions if not condition.of_messages]
    if any(not condition.negated for condition in of_messages):
        tests.append(_holds(tuple(map(_placeless, of_messages)), known, needs))
    else:
        for condition in of_messages:
            holds = _holds((_placeless(condition)._replace(negated=False),), known, needs)
            tests.append(_not(holds))
    return Filter(tuple(tests), tuple(needs))


def _test(
    condition: Condition, known: KnownFacts, live: Callable[[], Collection[str]], needs: dict[str | Asked, None]
) -> Test:
    key = condition.key
    if key in TIME_KEYS or key in NUMBER_KEYS:
        return _compared(condition, _number(key, known, needs))
    if key in ("is", "has"):
        test = _any([_state(value, known, live, needs) for value in condition.values])
    elif key == "cwd":
        wanted = [_directory(value) for value in condition.values]
        within = cache(lambda cwd: any(_within(cwd, directory) for directory in wanted))
        test = _any_text(within, lambda item: (session.cwd for session in item.sessions))
    else:
        test = _any_text(cache(_text_test(condition)), _texts(key, known, needs))
    return _not(test) if condition.negated else test


def _compared(condition: Condition, number: Callable[[Conversation], float | None]) -> Test:
    def test(conversation: Conversation) -> bool:
        have = number(conversation)
        return have is not None and condition.compares(have) is not condition.negated

    return test


def _number(key: str, known: KnownFacts, needs: dict[str | Asked, None]) -> Callable[[Conversation], float | None]:
    if key in TIME_KEYS:
        return lambda item: item.last_active_at
    kind = "counts" if key in ("messages", "tools") else "spent"
    needs[kind] = None
    fact = known.of(kind)
    match key:
        case "messages":
            return lambda item: fact(item).messages
        case "tools":
            return lambda item: fact(item).tool_calls
        case "tokens":
            return lambda item: fact(item).tokens
        case _:
            return lambda item: fact(item).money.amount_usd


def _text_test(condition: Condition) -> Callable[[str], bool]:
    wanted = tuple(value.casefold() for value in condition.values)
    if condition.key not in WHOLE_KEYS:
        return lambda text: any(want in text.casefold() for want in wanted)
    # The last one may not be all there yet.
    begun = wanted[-1] if condition.unfinished else None
    return lambda text: text.casefold() in wanted or (begun is not None and text.casefold().startswith(begun))


def _texts(
    key: str, known: KnownFacts, needs: dict[str | Asked, None]
) -> Callable[[Conversation], Iterable[str | None]]:
    match key:
        case "source":
            return lambda item: (session.source for session in item.sessions)
        case "model":
            return lambda item: (session.model for session in item.sessions)
        case "title":
            return lambda item: (session.title for session in item.sessions)
        case "id":
            return lambda item: (session.id for session in item.sessions)
        case "end":
            return lambda item: (item.tip.end_reason,)
    needs["names"] = None
    names = known.of("names")
    return lambda item: (getattr(name, key) for name in names(item))


def _state(state: str, known: KnownFacts, live: Callable[[], Collection[str]], needs: dict[str | Asked, None]) -> Test:
    match state:
        case "archived":
            return lambda item: item.archived
        case "branch":
            return lambda item: item.branched_from is not None
        case "empty":
            return lambda item: item.empty
        case "subagent":
            return lambda item: item.kind == "subagent"
        case "live":
            return _live(live())
        case "error" | "interrupted":
            needs["status"] = None
            status = known.of("status")
            if state == "error":
                return lambda item: status(item) == "error"
            # What is still being written stands in the middle of something, too.
            running = _live(live())
            return lambda item: status(item) == "interrupted" and not running(item)
        case "unpriced" | "cost":
            needs["spent"] = None
            spent = known.of("spent")
            if state == "unpriced":
                return lambda item: spent(item).money.amount_usd is None
            return lambda item: (spent(item).money.amount_usd or 0.0) > 0
    key = "is" if state == "rewound" else "has"
    return _holds((Condition(key, values=(state,)),), known, needs)


def _live(live: Collection[str]) -> Test:
    return lambda item: any(session.id in live for session in item.sessions)


def _holds(asked: Asked, known: KnownFacts, needs: dict[str | Asked, None]) -> Test:
    needs[asked] = None
    return known.of(asked)


def _placeless(condition: Condition) -> Condition:
    return condition._replace(start=0, stop=0, unfinished=False)


def _any(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda item: any(test(item) for test in tests)


def _any_text(fits: Callable[[str], bool], texts: Callable[[Conversation], Iterable[str | None]]) -> Test:
    return lambda item: any(fits(text) for text in texts(item) if text)


def _not(test: Test) -> Test:
    return lambda item: not test(item)


def _directory(words: str) -> str:
    """A directory as an absolute path without links; any other words as they are: they name a part of a path."""
    words = words.strip()
    if not words.startswith((".", "~", "/", "\\")) and not re.match(r"[A-Za-z]:[/\\]", words):
        return words
    return _real(os.path.abspath(os.path.expanduser(words)))  # noqa: PTH100, PTH111 - no path is refused


def _within(cwd: str, wanted: str) -> bool:
    """Whether a session's directory is the wanted one or lies below it, links followed; or holds the words."""
    if not os.path.isabs(wanted):  # noqa: PTH117
        return wanted.casefold() in cwd.casefold()
    return any(path == wanted or path.startswith(wanted.rstrip(os.sep) + os.sep) for path in (cwd, _real(cwd)))


@lru_cache(maxsize=10_000)
def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (ValueError, OSError):  # a NUL in it, or no such thing on this system
        return path

"""Which conversations: a filter from the flags of a command line, or from `key:value` words.

How durations, dates and numbers are written is in `moments`. What a person asks of the words inside messages
(`role:`, `tool:`, `has:`) is the search's business.

A condition on a text looks at the whole chain of a conversation: one session that fits is enough. Times are those
of the last activity, so that nothing that was used today is ever old.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from hermes_sessions.errors import BadFilter
from hermes_sessions.model import Conversation, SessionFacts
from hermes_sessions.services.moments import parse_moment, parse_number

Operator = Literal["=", ">=", "<=", ">", "<"]

TEXT_KEYS = ("source", "provider", "end", "model", "title", "branch", "user", "id", "cwd")
NUMBER_KEYS = ("messages", "tokens", "cost", "tools")
TIME_KEYS = ("before", "after", "older", "newer")
KEYS = (*TEXT_KEYS, *NUMBER_KEYS, *TIME_KEYS, "is")
STATES = ("archived", "branch", "empty", "live", "subagent", "unpriced")

WHOLE_KEYS = frozenset({"source", "provider", "end"})
"""Names from a short list, compared as wholes; of other texts a part is enough. No text minds the case."""

ONE_VALUE_KEYS = frozenset({"title", "cwd"})
"""Texts that hold commas of their own."""

FACT_KEYS = frozenset({"provider", "branch", "user", *NUMBER_KEYS})

FLAGS: Mapping[str, tuple[str, Operator]] = {
    "source": ("source", "="),
    "model": ("model", "="),
    "provider": ("provider", "="),
    "cwd": ("cwd", "="),
    "branch": ("branch", "="),
    "title": ("title", "="),
    "user": ("user", "="),
    "end_reason": ("end", "="),
    "before": ("before", "<"),
    "after": ("after", ">="),
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

STATE_FLAGS = ("archived", "live")
"""Flags that take none."""

COMPARE: Mapping[Operator, Callable[[float, float], bool]] = {
    "=": lambda have, want: have == want,
    ">=": lambda have, want: have >= want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    "<": lambda have, want: have < want,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: of the `texts` one must fit, or the `number` (a time is epoch seconds) by its operator."""

    key: str
    texts: tuple[str, ...] = ()
    operator: Operator = "="
    number: float = 0.0
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Conditions that must all hold; without any, everything fits."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def from_flags(cls, flags: Mapping[str, object], now: float) -> SessionFilter:
        """From a parsed command line, such as `vars(arguments)`; what is missing, None or False asks for nothing.

        Raises BadFilter, which names the flag.
        """
        terms = []
        for name, (key, operator) in FLAGS.items():
            if flags.get(name) is not None:
                label = f"--{name.replace('_', '-')} {flags[name]}"
                terms.append(_term(label, key, str(flags[name]), operator, now))
        terms += [Term("is", (state,)) for state in STATE_FLAGS if flags.get(state)]
        return cls(tuple(terms))

    @classmethod
    def from_words(cls, words: Iterable[str], now: float) -> SessionFilter:
        """From words such as `source:cli,telegram`, `-is:archived`, `cost:>1`, `older:2d`.

        Raises BadFilter, which names the word; also for a word without a key of `KEYS`.
        """
        terms = []
        for word in words:
            key, _, value = word.removeprefix("-").partition(":")
            if key not in KEYS:
                raise BadFilter(f"{word}: there is no key {key!r}.", f"The keys are {', '.join(KEYS)}.")
            operator, value = _operator(key, value)
            terms.append(_term(word, key, value, operator, now, negated=word.startswith("-")))
        return cls(tuple(terms))

    @property
    def needs_facts(self) -> bool:
        """Whether `matches` needs the SessionFacts of a conversation."""
        return any(term.key in FACT_KEYS or (term.key == "is" and "unpriced" in term.texts) for term in self.terms)

    def asks_for(self, state: str) -> bool:
        """Whether only conversations in this one of `STATES` are wanted: a list that hides them would be empty."""
        return any(term.key == "is" and state in term.texts and not term.negated for term in self.terms)

    def matches(
        self, conversation: Conversation, facts: SessionFacts | None = None, live: Collection[str] = frozenset()
    ) -> bool:
        """Whether every condition holds. `live` holds ids of the sessions in use.

        A number or a time that is not known fits no condition, be it negated or not.
        """
        return all(_holds(term, conversation, facts, live) for term in self.terms)


def _operator(key: str, value: str) -> tuple[Operator, str]:
    """The operator that a word's value begins with, or what its key means without one."""
    written = re.match(r"[<>]=?", value)
    if written is None or key not in (*NUMBER_KEYS, "older", "newer"):
        return ("<" if key in ("before", "older") else ">=" if key in TIME_KEYS else "="), value
    operator = cast(Operator, written[0])
    if key in TIME_KEYS:
        # An age above two days is a time before two days ago.
        operator = ">=" if operator.startswith("<") else "<"
    return operator, value[len(written[0]) :]


def _term(label: str, key: str, value: str, operator: Operator, now: float, *, negated: bool = False) -> Term:
    """A condition from the words of its value. Raises BadFilter with the label in front."""
    try:
        if key in TIME_KEYS:
            return Term(key, operator=operator, number=parse_moment(value, now), negated=negated)
        if key in NUMBER_KEYS:
            return Term(key, operator=operator, number=parse_number(value), negated=negated)
    except BadFilter as error:
        raise BadFilter(f"{label}: {error.message}", error.hint) from None
    values = [value] if key in ONE_VALUE_KEYS else value.split(",")
    texts = tuple(text.strip().casefold() for text in values if text.strip())
    if not texts:
        raise BadFilter(f"{label}: there is nothing to look for.", f"Write what the {key} should be.")
    if key == "is" and (unknown := [text for text in texts if text not in STATES]):
        raise BadFilter(f"{label}: there is no state {unknown[0]!r}.", f"The states are {', '.join(STATES)}.")
    if key == "cwd":
        texts = (_directory(value.strip()),)
    return Term(key, texts, negated=negated)


def _holds(term: Term, conversation: Conversation, facts: SessionFacts | None, live: Collection[str]) -> bool:
    if term.key in TIME_KEYS or term.key in NUMBER_KEYS:
        have = _number(term.key, conversation, facts)
        return have is not None and COMPARE[term.operator](have, term.number) is not term.negated
    if term.key == "is":
        fits = any(_is(state, conversation, facts, live) for state in term.texts)
    elif term.key == "cwd":
        fits = any(_within(session.cwd, term.texts[0]) for session in conversation.sessions if session.cwd)
    else:
        have_texts = [text.casefold() for text in _texts(term.key, conversation, facts) if text]
        if term.key in WHOLE_KEYS:
            fits = any(text in term.texts for text in have_texts)
        else:
            fits = any(want in text for want in term.texts for text in have_texts)
    return fits is not term.negated


def _number(key: str, conversation: Conversation, facts: SessionFacts | None) -> float | None:
    if key in TIME_KEYS:
        return conversation.last_active_at
    if facts is None:
        return None
    match key:
        case "messages":
            return facts.message_count
        case "tools":
            return facts.tool_call_count
        case "tokens":
            return facts.tokens.total
        case _:
            return facts.cost.amount_usd


def _texts(key: str, conversation: Conversation, facts: SessionFacts | None) -> list[str | None]:
    sessions = conversation.sessions
    match key:
        case "source":
            return [session.source for session in sessions]
        case "model":
            return [session.model for session in sessions]
        case "title":
            return [session.title for session in sessions]
        case "id":
            return [session.id for session in sessions]
        case "end":
            return [conversation.tip.end_reason]
    if facts is None:
        return []
    return [{"provider": facts.provider, "branch": facts.git_branch, "user": facts.user_id}[key]]


def _is(state: str, conversation: Conversation, facts: SessionFacts | None, live: Collection[str]) -> bool:
    match state:
        case "archived":
            return conversation.archived
        case "branch":
            return conversation.branched_from is not None
        case "empty":
            return conversation.empty
        case "live":
            return any(session.id in live for session in conversation.sessions)
        case "subagent":
            return conversation.kind == "subagent"
        case _:
            return facts is not None and facts.cost.amount_usd is None


def _directory(words: str) -> str:
    """A directory as an absolute path without links; any other words as they are: they name a part of a path."""
    if not words.startswith((".", "~", "/", "\\")) and not re.match(r"[A-Za-z]:[/\\]", words):
        return words
    return os.path.realpath(os.path.expanduser(words))  # noqa: PTH111 - a `~` without a user stays as it is


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

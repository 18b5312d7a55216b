"""Completing a query: keys, and the values they have in a store, with how many conversations have each."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hermes_sessions.model import Catalog, Problem
from hermes_sessions.services.filters import WHOLE_KEYS
from hermes_sessions.storage import Store
from hermes_sessions.storage.conditions import CHOICES, KEYS, NUMBER_KEYS, TEXT_KEYS, TIME_KEYS, closest
from hermes_sessions.storage.query import begun_at, near_keys, parse, quoted

MOST_CANDIDATES = 50

NAMES: Mapping[str, str] = {
    "source": "source",
    "provider": "provider",
    "end": "end reason",
    "model": "model",
    "branch": "branch",
    "user": "user",
    "chat": "chat",
}
"""Keys of which all values are known, as they are called in a sentence."""

TIMES = ("today", "yesterday", "1d", "2d", "1w", "1mo", "3mo")
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "messages": (">100", "<10"),
    "tokens": (">100k", ">1M"),
    "cost": (">1", ">10"),
    "tools": (">10", ">100"),
}
"""Examples, since no list of numbers would help."""

_NEEDS_QUOTES = re.compile(r'[\s,"\x00]')

Vocabulary = Mapping[str, Mapping[str, int]]
"""By key, the values it has and in how many conversations; of tools, in how many of the newest messages."""


class Candidate(NamedTuple):
    """What could be written, in place of what stands from `start` to before `stop`."""

    start: int
    stop: int
    text: str
    """As it has to be written, quotes included; a key with its colon."""
    label: str
    """As it is meant."""
    frequency: int | None = None
    """How many conversations have it; None where that is not known."""


def vocabulary_of(store: Store, catalog: Catalog) -> Vocabulary:
    """The values of a catalogue's conversations, read in one go. Raises Interrupted, StoreBusy, StoreDamaged."""
    names = store.facts.names(session.id for item in catalog for session in item.sessions)
    counts: dict[str, Counter[str]] = {
        key: Counter() for key in ("source", "model", "cwd", "title", "end", "provider", "branch", "user", "chat")
    }

    def count(key: str, values: Iterable[str | None]) -> None:
        counts[key].update({value for value in values if value})

    for item in catalog:
        count("source", [session.source for session in item.sessions])
        count("model", [session.model for session in item.sessions])
        count("cwd", [session.cwd for session in item.sessions])
        count("title", [session.title for session in item.sessions])
        count("end", [item.tip.end_reason])
        known = [names[session.id] for session in item.sessions if session.id in names]
        count("provider", [name.provider for name in known])
        count("branch", [name.branch for name in known])
        count("user", [name.user for name in known])
        # A chat is an id and a name, and either will do.
        count("chat", [part for name in known if name.chat for part in name.chat.split("\n")])
    return {**counts, "tool": store.facts.tools()}


def asks_store(text: str, cursor: int) -> bool:
    """Whether completing the word before the cursor takes a vocabulary: the values of its key are the store's own."""
    begun = begun_at(text, cursor)
    return begun is not None and begun.key in TEXT_KEYS


def complete(text: str, cursor: int, vocabulary: Vocabulary) -> tuple[Candidate, ...]:
    """What the word before the cursor could become, the likeliest first; nothing within a phrase.

    Keys where a word begins, values behind a key. Values that begin with what is there come before those that only hold
    it, and of each the most frequent first. What is written already is none.
    """
    begun = begun_at(text, cursor)
    if begun is None:
        return ()
    if not begun.key:
        keys: dict[str, int | None] = {f"{key}:": None for key in KEYS if key.startswith(begun.text)}
        return _candidates(begun.start, cursor, begun.text, keys)
    values: dict[str, int | None]
    if begun.key in CHOICES:
        values = dict.fromkeys(CHOICES[begun.key], None)
    elif begun.key in TIME_KEYS:
        values = dict.fromkeys(TIMES, None)
    elif begun.key in NUMBER_KEYS:
        values = dict.fromkeys(NUMBERS[begun.key], None)
    else:
        values = dict(vocabulary.get(begun.key, {}))
    written = {value.casefold() for value in begun.before}
    letters = os.path.expanduser(begun.text) if begun.key == "cwd" else begun.text  # noqa: PTH111 - may be no path
    return _candidates(
        begun.start, cursor, letters, {value: n for value, n in values.items() if value.casefold() not in written}
    )


def unknown_values(text: str, vocabulary: Vocabulary, *, typing: bool = False) -> tuple[Problem, ...]:
    """What a query asks for that no conversation has, with what is most like it: no error, but often a misspelling.

    So is a word that looks like a condition, but has no key that there is; without a vocabulary, only that can be told.
    """
    problems = list(near_keys(text))
    for condition in parse(text, typing=typing).conditions if vocabulary else ():
        known = {value.casefold(): value for value in vocabulary.get(condition.key, {})}
        if condition.key not in NAMES or condition.negated or condition.unfinished:
            continue
        for value in condition.values:
            want = value.casefold()
            if want in known or (condition.key not in WHOLE_KEYS and any(want in name for name in known)):
                continue
            meant = known.get(closest(want, known), "")
            message = f"No session has {value!r} as its {NAMES[condition.key]}."
            problems.append(Problem(condition.start, condition.stop, message, meant))
    return tuple(sorted(problems))


def _candidates(start: int, stop: int, begun: str, values: Mapping[str, int | None]) -> tuple[Candidate, ...]:
    letters = begun.casefold()
    found = []
    for place, (value, count) in enumerate(values.items()):
        at = value.casefold().find(letters)
        if at >= 0 and value != begun and value.strip():
            found.append((at > 0, -(count or 0), place, value, count))
    return tuple(
        Candidate(start, stop, quoted(value) if _NEEDS_QUOTES.search(value) else value, value, count)
        for *_, value, count in sorted(found)[:MOST_CANDIDATES]
    )

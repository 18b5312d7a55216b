"""What is known of conversations beyond their `Session` rows, read when a condition first asks for it.

Kept for as long as a conversation is the same value: a catalogue of which only the newest part was read again costs
only that part. Belongs to one thread, as its store does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from hermes_sessions.model import Conversation, Money, Status, Tokens
from hermes_sessions.storage.conditions import Condition
from hermes_sessions.storage.costs import add_money
from hermes_sessions.storage.facts import Counts, FactTable, Names

Asked = tuple[Condition, ...]
"""Conditions on messages, without their places in a text."""


class Spent(NamedTuple):
    """What a conversation used and cost."""

    tokens: int
    money: Money


class KnownFacts:
    """Facts by conversation, each kind read on its own. `read` before asking; what was not read is not known."""

    def __init__(self, table: FactTable) -> None:
        self._table = table
        self._known: dict[object, dict[str, tuple[Conversation, Any]]] = {}

    def read(self, kind: str | Asked, conversations: Iterable[Conversation]) -> None:
        """Read one kind (names, counts, spent, status, or whether they hold a message that is asked for), where it is
        not known yet."""
        known = self._known.setdefault(kind, {})
        new = [item for item in conversations if (entry := known.get(item.id)) is None or entry[0] is not item]
        if new:
            known.update((item.id, (item, fact)) for item, fact in zip(new, self._read(kind, new), strict=True))

    def of(self, kind: str | Asked) -> Callable[[Conversation], Any]:
        """The way from a conversation to its fact of this kind, which is None where it was not read."""
        known = self._known.setdefault(kind, {})

        def fact(conversation: Conversation) -> Any:
            entry = known.get(conversation.id)
            return None if entry is None else entry[1]

        return fact

    def _read(self, kind: str | Asked, items: Sequence[Conversation]) -> list[Any]:
        ids = [session.id for item in items for session in item.sessions]
        match kind:
            case "names":
                names = self._table.names(ids)
                return [tuple(names.get(session.id, Names()) for session in item.sessions) for item in items]
            case "counts":
                counts = self._table.counts(ids)
                return [_sum(counts.get(session.id, Counts()) for session in item.sessions) for item in items]
            case "spent":
                spent = self._table.spent(ids)
                return [
                    _total([spent[session.id] for session in item.sessions if session.id in spent]) for item in items
                ]
            case "status":
                return self._statuses(items)
        holding = self._table.holding(ids, kind if isinstance(kind, tuple) else ())
        return [any(session.id in holding for session in item.sessions) for item in items]

    def _statuses(self, items: Sequence[Conversation]) -> list[Status]:
        newest = [
            next((session.id for session in reversed(item.sessions) if session.has_messages), item.id) for item in items
        ]
        statuses = self._table.statuses(newest)
        return [statuses.get(session_id, "empty") for session_id in newest]


def _sum(counts: Iterable[Counts]) -> Counts:
    every = list(counts)
    return Counts(sum(item.messages for item in every), sum(item.tool_calls for item in every))


def _total(spent: Sequence[tuple[Tokens, Money]]) -> Spent:
    if len(spent) == 1:
        return Spent(spent[0][0].total, spent[0][1])
    return Spent(sum(tokens.total for tokens, _ in spent), add_money(money for _, money in spent))

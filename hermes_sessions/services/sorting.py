"""The orders of a list of conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hermes_sessions.model import Conversation, SessionFacts

SORTS = ("active", "started", "messages", "cost", "tokens", "title", "source")

SORTS_BY_FACTS: Mapping[str, Callable[[SessionFacts], float | None]] = {
    "messages": lambda facts: facts.message_count,
    "cost": lambda facts: facts.cost.amount_usd,
    "tokens": lambda facts: facts.tokens.total,
}
"""The sorts that need SessionFacts."""

SORTS_BY_TIME: Mapping[str, Callable[[Conversation], float | None]] = {
    "active": lambda conversation: conversation.last_active_at,
    "started": lambda conversation: conversation.started_at,
}
"""The sorts in which what belongs to a day stands together."""

_SORTS_BY_CONVERSATION: Mapping[str, Callable[[Conversation], float | str | None]] = {
    **SORTS_BY_TIME,
    "title": lambda conversation: (conversation.title or "").casefold() or None,
    "source": lambda conversation: conversation.tip.source.casefold(),
}
_ASCENDING = frozenset({"title", "source"})


def arrange(
    conversations: Iterable[Conversation],
    by: str,
    facts: Mapping[str, SessionFacts] | None = None,
    reverse: bool = False,
) -> list[Conversation]:
    """The conversations by one of `SORTS`: names from A on, all else the latest or largest first, or in reverse.

    What has no value (an unknown cost, no title) stands last in either direction; equal ones stay as they come.
    `facts` are by conversation id; one that is missing is a value that is not known.
    """
    known: list[tuple[float | str, Conversation]] = []
    unknown = []
    for conversation in conversations:
        value: float | str | None
        if by in SORTS_BY_FACTS:
            fact = (facts or {}).get(conversation.id)
            value = None if fact is None else SORTS_BY_FACTS[by](fact)
        else:
            value = _SORTS_BY_CONVERSATION[by](conversation)
        if value is None:
            unknown.append(conversation)
        else:
            known.append((value, conversation))
    known.sort(key=lambda pair: pair[0], reverse=(by in _ASCENDING) == reverse)
    return [conversation for _, conversation in known] + unknown

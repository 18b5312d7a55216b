"""What is known of the conversations in the list beyond their names, and what is to be asked about them.

What is seen is asked for as it comes into view; what sorting needs is asked for all of them, at most now and then.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from hermes_sessions.model import Catalog, Conversation, Money, Overview, SessionFacts
from hermes_sessions.services.history import History
from hermes_sessions.tui.list_rows import Heading

KEPT = 2_000
FACTS_FACTOR = 10.0
"""Numbers to sort by are good for this many times as long as it took to get them."""


class Overviews:
    """Answers from memory. What asks the store may raise the errors of `errors.SessionsError`."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: dict[str, tuple[float | None, Overview | None]] = {}
        self._stale: set[str] = set()
        self._facts: Mapping[str, SessionFacts] = {}
        self._facts_until = 0.0

    def get(self, item: Conversation) -> Overview | None:
        """What is known of a conversation, if anything is yet."""
        return self._known.get(item.id, (None, None))[1]

    def cost(self, group: Heading) -> Money | None:
        """What a group costs, or None unless it is known of every one of them."""
        from hermes_sessions.services.groups import cost_of

        if len(group.conversations) > KEPT:
            return None
        found = [overview.cost for item in group.conversations if (overview := self.get(item)) is not None]
        return cost_of(found) if len(found) == len(group.conversations) else None

    def expire(self) -> None:
        """The store has changed: whatever is known may be old."""
        self._stale.update(self._known)

    def unknown(self, items: Iterable[Conversation]) -> list[Conversation]:
        """Those of which nothing is known, or nothing new."""
        return [item for item in items if self._is_unknown(item)]

    async def learn(self, items: Sequence[Conversation]) -> None:
        """Ask about these."""
        found = await self._history.overviews(items)
        if len(self._known) > KEPT:
            self._known.clear()
        for item in items:
            self._known[item.id] = (item.last_active_at, found.get(item.id))
            self._stale.discard(item.id)

    async def facts(self, catalog: Catalog) -> Mapping[str, SessionFacts]:
        """The numbers of all conversations of `catalog`, unless the known ones are not old for what they cost."""
        now = time.monotonic()
        if now >= self._facts_until:
            self._facts = await self._history.facts(catalog.conversations)
            self._facts_until = time.monotonic() + FACTS_FACTOR * (time.monotonic() - now)
        return self._facts

    def _is_unknown(self, item: Conversation) -> bool:
        known = self._known.get(item.id)
        return known is None or item.id in self._stale or known[0] != item.last_active_at

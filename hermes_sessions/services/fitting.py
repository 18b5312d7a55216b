"""Which conversations fit the conditions of a query, found out when the search comes to them.

How a condition is asked is in `filters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.services.filters import Filter
from hermes_sessions.services.known_facts import KnownFacts

AHEAD = 64
"""Conversations of which facts are read along with those of one that is asked for: the next ones of the catalogue,
which are the newest, as the first hits are."""

ENOUGH = 500
"""Conversations after which it is known whether few fit."""

FEW = 1 / 20
"""Share of those that fit below which it costs less to find out all that do, and to search in those alone."""


class Fitting:
    """Ids of the conversations that fit: `in` reads the facts that are not known yet."""

    def __init__(self, wanted: Filter, known: KnownFacts, catalog: Catalog) -> None:
        self._wanted = wanted
        self._known = known
        self._by_session = catalog.by_session
        self._ahead = iter(catalog.conversations)
        self._fits: dict[str, bool] = {}
        self._count = 0

    def __contains__(self, id: object) -> bool:
        if id not in self._fits and (conversation := self._by_session.get(str(id))) is not None:
            self._ask([conversation, *islice(self._ahead, AHEAD)])
        return self._fits.get(str(id), False)

    @property
    def few(self) -> bool:
        """Whether few fit of those that were asked for, which were enough to tell."""
        return len(self._fits) >= ENOUGH and self._count < FEW * len(self._fits)

    def _ask(self, conversations: Sequence[Conversation]) -> None:
        new = list({item.id: item for item in conversations if item.id not in self._fits}.values())
        for kind in self._wanted.needs:
            self._known.read(kind, new)
        self._fits.update((item.id, self._wanted.fits(item)) for item in new)
        self._count += sum(self._fits[item.id] for item in new)

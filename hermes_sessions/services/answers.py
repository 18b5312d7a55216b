"""Queries answered by one store: words by its search, conditions on whole conversations by filters, both together.

The one way to an answer for the search line, the command line and the numbered list. Belongs to the thread of its
store; whoever interrupts the store ends the question that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from hermes_sessions.errors import BadQuery, Interrupted
from hermes_sessions.model import Catalog, Conversation, ConversationHits, SearchOrder, SearchResult
from hermes_sessions.services.filters import prepare
from hermes_sessions.services.known_facts import KnownFacts
from hermes_sessions.services.live import live_sessions
from hermes_sessions.storage import Store
from hermes_sessions.storage.conditions import CHOICES, Condition
from hermes_sessions.storage.query import SearchQuery, parse, term

FIRST_STEP = 250
"""Conversations of which facts are read before the first answer: a few screens, and quick to read about."""

STEP_FACTOR = 4
LARGEST_STEP = 4_000
"""Conversations after which a question can be given up, at most."""

MOST_WORDS = 20
"""Words of a pasted text that are looked for where no index says which are rare, the longest first."""

Step = tuple[Sequence[Conversation], bool]
"""The conversations that fit so far, and whether all were asked."""


def understood(text: str, now: float) -> SearchQuery:
    """The query that a text means. Raises BadQuery, which points at the first thing that makes no sense."""
    query = parse(text, now)
    for start, stop, message, suggestion in query.problems:
        meant = f"Did you mean {suggestion!r}?" if suggestion else ""
        raise BadQuery(message, meant, text, start, stop, suggestion)
    return query


class Answers:
    """Answers queries over one store. What it learns of conversations is kept for the next question."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._known = KnownFacts(store.facts)

    def run(
        self, query: SearchQuery, catalog: Catalog, *, limit: int = 20, offset: int = 0, order: SearchOrder = "recent"
    ) -> SearchResult:
        """What a query finds in a catalogue, `limit` conversations from `offset` on; 0 means all.

        Where it names nothing that stands in a message, these are the conversations that fit its conditions, newest
        first, without hits; words to leave out leave out a conversation that holds one of them anywhere. A query that
        asks for nothing leaves all. Raises Interrupted, StoreBusy, StoreDamaged.
        """
        if _asks_search(query):
            result = self._store.search.run(
                query,
                catalog,
                limit=limit,
                offset=offset,
                order=order,
                allowed=self._allowed(query, catalog),
            )
            return result._replace(problems=query.problems, words=_words(query))
        fitting: Sequence[Conversation] = ()
        for fitting, _ in self._listed(query, catalog, bool):
            if limit and len(fitting) > offset + limit:
                break
        page = fitting[offset : offset + limit] if limit else fitting[offset:]
        return _list(query, order, page, catalog.whole and len(page) == len(fitting[offset:]))

    def conversations(self, query: SearchQuery, catalog: Catalog) -> Collection[str]:
        """Ids of all conversations that `run` would find. Raises Interrupted, StoreBusy, StoreDamaged."""
        if _asks_search(query):
            return self._store.search.conversations(query, catalog, allowed=self._allowed(query, catalog))
        *_, (fitting, _) = self._listed(query, catalog, bool)
        return {item.id for item in fitting}

    def run_pasted(self, query: SearchQuery, catalog: Catalog, *, limit: int = 20, offset: int = 0) -> SearchResult:
        """The conversations that a pasted text, the query's, has to do with: by its rare words, the nearest first. The
        query's conditions hold.

        Where there is no index to tell which words are rare, any word will do, and the newest come first. Raises
        Interrupted, StoreBusy, StoreDamaged.
        """
        allowed = self._allowed(query, catalog)
        result = self._store.rare_words.run(query.text, catalog, limit=limit, offset=offset, allowed=allowed)
        if result is not None:
            return result
        words = sorted(set(query.text.split()), key=len, reverse=True)[:MOST_WORDS]
        anything = SearchQuery(query.text.strip(), clauses=(tuple(term(word) for word in words),))
        return self._store.search.run(anything, catalog, limit=limit, offset=offset, allowed=allowed)

    def stream(
        self,
        query: SearchQuery,
        catalog: Catalog,
        *,
        limit: int = 200,
        order: SearchOrder = "recent",
        cancelled: Callable[[], bool] = bool,
    ) -> Iterator[SearchResult]:
        """The same in growing answers, each of which begins with the one before it. The limit is one of what the search
        finds; a list of conversations is always whole in the end. `cancelled` is asked again and again, and ends it.
        """
        if _asks_search(query):
            allowed = self._allowed(query, catalog, cancelled)
            before = result = None
            for found in self._store.search.stream(
                query, catalog, limit=limit, order=order, allowed=allowed, cancelled=cancelled
            ):
                # The same answer again stays the same value.
                if found is not before or result is None:
                    before, result = found, found._replace(problems=query.problems, words=_words(query))
                yield result
            return
        for fitting, all_asked in self._listed(query, catalog, cancelled):
            yield _list(query, order, fitting, complete=all_asked and catalog.whole)

    def fitting(
        self,
        conditions: Sequence[Condition],
        conversations: Sequence[Conversation],
        cancelled: Callable[[], bool] = bool,
    ) -> Sequence[Conversation]:
        """The conversations, in their order, for which all conditions hold."""
        *_, (last, _) = self._fitting(conditions, conversations, cancelled)
        return last

    def _allowed(
        self, query: SearchQuery, catalog: Catalog, cancelled: Callable[[], bool] = bool
    ) -> frozenset[str] | None:
        """Ids of the conversations in which words are looked for; None for all."""
        if not query.of_conversations:
            return None
        fitting = self.fitting(query.of_conversations, catalog.conversations, cancelled)
        return frozenset(item.id for item in fitting)

    def _listed(self, query: SearchQuery, catalog: Catalog, cancelled: Callable[[], bool]) -> Iterator[Step]:
        """The conversations that a query without words lists, ever more of them."""
        conversations: Sequence[Conversation] = catalog.conversations
        if query.excluded:
            without = SearchQuery(query.text, clauses=(query.excluded,))
            ids = self._store.search.conversations(without, catalog, cancelled=cancelled)
            conversations = [item for item in conversations if item.id not in ids]
        yield from self._fitting(query.conditions, conversations, cancelled)

    def _fitting(
        self,
        conditions: Sequence[Condition],
        conversations: Sequence[Conversation],
        cancelled: Callable[[], bool],
    ) -> Iterator[Step]:
        if not conditions:
            yield conversations, True
            return
        wanted = prepare(conditions, self._known, lambda: live_sessions(self._store, self._clock()))
        fitting: list[Conversation] = []
        start, step = 0, FIRST_STEP if wanted.needs else LARGEST_STEP
        while start < len(conversations):
            if cancelled():
                raise Interrupted
            asked = conversations[start : start + step]
            for kind in wanted.needs:
                self._known.read(kind, asked)
            fitting += filter(wanted.fits, asked)
            start, step = start + step, min(step * STEP_FACTOR, LARGEST_STEP)
            if wanted.needs and start < len(conversations):
                yield fitting, False
        yield fitting, True


def _asks_search(query: SearchQuery) -> bool:
    """Whether places in conversations are asked for. Leaving out alone names no place."""
    return bool(query.clauses) or any(not condition.negated for condition in query.of_messages)


def _words(query: SearchQuery) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.text for term in query.words))


def _list(
    query: SearchQuery, order: SearchOrder, conversations: Sequence[Conversation], complete: bool
) -> SearchResult:
    hits = tuple(ConversationHits(item, 0, ()) for item in conversations)
    asked_for = tuple(state for state in CHOICES["is"] if query.asks_for(state))
    return SearchResult(query.text, order, hits, complete, problems=query.problems, asked_for=asked_for)

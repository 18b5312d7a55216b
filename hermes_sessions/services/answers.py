"""Queries answered by one store: words by its search, conditions on whole conversations by filters, both together.

The one way to an answer for the search line, the command line and the numbered list. Belongs to the thread of its
store; whoever interrupts the store ends the question that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hermes_sessions.errors import BadQuery, Interrupted
from hermes_sessions.model import Catalog, Conversation, ConversationHits, SearchOrder, SearchResult
from hermes_sessions.services.filters import Filter, prepare
from hermes_sessions.services.fitting import ENOUGH, FEW, Fitting
from hermes_sessions.services.known_facts import KnownFacts
from hermes_sessions.services.live import live_sessions
from hermes_sessions.storage import Store
from hermes_sessions.storage.conditions import CHOICES, Condition
from hermes_sessions.storage.query import SearchQuery, parse, term

if TYPE_CHECKING:
    from hermes_sessions.storage.exclusion import Exclusion

FIRST_STEP = 64
"""Conversations that are asked before the first answer: a screen or two, and quick to read about."""

STEP_FACTOR = 2
LARGEST_STEP = 2_000
"""Conversations after which there is another answer, at most."""

MOST_WORDS = 20
"""Words of a pasted text that are looked for where no index says which are rare, the longest first."""

PASTED_WORDS = 8
"""Words from which on a text that is nowhere as a whole is taken for a pasted one."""

FEW_FIT = "Few conversations fit: looking which ones do."

Allowed = Container[str] | None
Cancelled = Callable[[], bool]
T = TypeVar("T")


class Step(NamedTuple):
    """A part of an answer that lists conversations."""

    fitting: Sequence[Conversation]
    """Those that fit so far."""
    all_asked: bool
    notice: str = ""


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
        first, without hits; words to leave out leave out a conversation that holds one of them in any message, title or
        id, where beside other words they leave out the message. A query that asks for nothing leaves all.

        Raises Interrupted, StoreBusy, StoreDamaged.
        """
        if _asks_search(query):
            result = self._searched(
                query,
                catalog,
                lambda allowed, given_up: self._store.search.run(
                    query, catalog, limit=limit, offset=offset, order=order, allowed=allowed, cancelled=given_up
                ),
            )
            return result._replace(problems=query.problems, words=_words(query))
        step = Step((), all_asked=False)
        for step in self._listed(query, catalog, bool):
            if limit and len(step.fitting) > offset + limit:
                break
        page = step.fitting[offset : offset + limit] if limit else step.fitting[offset:]
        whole = step.all_asked and len(page) == len(step.fitting[offset:])
        return _list(query, order, Step(page, whole and catalog.whole, step.notice))

    def conversations(self, query: SearchQuery, catalog: Catalog) -> Collection[str]:
        """Ids of all conversations that `run` would find. Raises Interrupted, StoreBusy, StoreDamaged."""
        if _asks_search(query):
            return self._searched(
                query,
                catalog,
                lambda allowed, given_up: self._store.search.conversations(
                    query, catalog, allowed=allowed, cancelled=given_up
                ),
            )
        *_, last = self._listed(query, catalog, bool)
        return {item.id for item in last.fitting}

    def run_pasted(self, query: SearchQuery, catalog: Catalog, *, limit: int = 20, offset: int = 0) -> SearchResult:
        """The conversations that a pasted text, the query's, has to do with: by its rare words, the nearest first. The
        query's conditions hold.

        Where there is no index to tell which words are rare, any word will do, and the newest come first. Raises
        Interrupted, StoreBusy, StoreDamaged.
        """
        pasted = query.text
        allowed = self._fitting(query, catalog)
        result = self._store.rare_words.run(pasted, catalog, limit=limit, offset=offset, allowed=allowed)
        if result is not None:
            return result
        words = sorted(set(pasted.split()), key=len, reverse=True)[:MOST_WORDS]
        anything = SearchQuery(pasted.strip(), clauses=(tuple(term(word) for word in words),))
        return self._searched(
            query,
            catalog,
            lambda allowed, given_up: self._store.search.run(
                anything, catalog, limit=limit, offset=offset, allowed=allowed, cancelled=given_up
            ),
        )

    def stream(
        self,
        query: SearchQuery,
        catalog: Catalog,
        *,
        limit: int = 200,
        order: SearchOrder = "recent",
        cancelled: Cancelled = bool,
    ) -> Iterator[SearchResult]:
        """The same in growing answers, each of which begins with the one before it. The limit is one of what the search
        finds; a list of conversations is always whole in the end. `cancelled` is asked again and again, and ends it.

        Where many words are nowhere together, as those of an error that was pasted, the rare ones of them are looked
        for, as by `run_pasted`.
        """
        if _asks_search(query):
            before = result = None
            for found in self._growing(query, catalog, limit, order, cancelled):
                # The same answer again stays the same value.
                if found is not before or result is None:
                    before, result = found, found._replace(problems=query.problems, words=_words(query))
                yield result
            if result is not None and not result.conversations and len(query.clauses) >= PASTED_WORDS:
                yield self.run_pasted(query, catalog, limit=limit)
            return
        for step in self._listed(query, catalog, cancelled):
            yield _list(query, order, step._replace(all_asked=step.all_asked and catalog.whole))

    def fitting(self, conditions: Sequence[Condition], conversations: Sequence[Conversation]) -> Sequence[Conversation]:
        """The conversations, in their order, for which all conditions hold."""
        *_, last = self._steps(conditions, None, conversations, bool)
        return last.fitting

    # Words, in the conversations that fit.

    def _searched(self, query: SearchQuery, catalog: Catalog, search: Callable[[Allowed, Cancelled], T]) -> T:
        """What a search finds in the conversations that fit. It begins before it is known which do; when it turns out
        that few do, it begins again in those alone."""
        allowed = self._fitting(query, catalog)
        try:
            return search(allowed, lambda: _turned_out_few(allowed))
        except Interrupted:
            if not _turned_out_few(allowed):
                raise
        return search(_ids(self.fitting(query.of_conversations, catalog.conversations)), bool)

    def _growing(
        self, query: SearchQuery, catalog: Catalog, limit: int, order: SearchOrder, cancelled: Cancelled
    ) -> Iterator[SearchResult]:
        """The same in growing answers."""
        search = partial(self._store.search.stream, query, catalog, limit=limit, order=order, cancelled=cancelled)
        allowed = self._fitting(query, catalog)
        found = SearchResult(query.text, order, (), complete=False)
        for found in search(allowed=allowed):
            yield found
            if _turned_out_few(allowed) and not found.complete:
                break
        else:
            return
        step = Step((), all_asked=False)
        for step in self._steps(query.of_conversations, None, catalog.conversations, cancelled):
            if not (found.conversations or step.all_asked):
                yield found._replace(notice=FEW_FIT)
        known, again = _hits(found), found
        for again in search(allowed=_ids(step.fitting)):
            if _hits(again) >= known:
                yield again
        if _hits(again) < known:
            yield again  # something was deleted

    def _fitting(self, query: SearchQuery, catalog: Catalog) -> Allowed:
        """Where words are looked for; None for everywhere.

        Where hardly one of the newest fits, as before some day, the first hits are far away: then it is found out at
        once which do, if no facts have to be read for that.
        """
        if not query.of_conversations:
            return None
        wanted = self._filter(query.of_conversations)
        newest = catalog.conversations[:ENOUGH]
        if not wanted.needs and sum(map(wanted.fits, newest)) < FEW * len(newest):
            return _ids(filter(wanted.fits, catalog.conversations))
        return Fitting(wanted, self._known, catalog)

    # Conversations as wholes.

    def _listed(self, query: SearchQuery, catalog: Catalog, cancelled: Cancelled) -> Iterator[Step]:
        """The conversations that a query without words lists, ever more of them."""
        asks_words = query.excluded and catalog.conversations
        exclusion = self._store.search.exclusion(query) if asks_words else None
        return self._steps(query.conditions, exclusion, catalog.conversations, cancelled)

    def _steps(
        self,
        conditions: Sequence[Condition],
        exclusion: Exclusion | None,
        conversations: Sequence[Conversation],
        cancelled: Cancelled,
    ) -> Iterator[Step]:
        wanted = self._filter(conditions)
        at_once = exclusion is None and not wanted.needs
        fitting: list[Conversation] = []
        start, step = 0, LARGEST_STEP if at_once else FIRST_STEP
        while start < len(conversations):
            if cancelled():
                raise Interrupted
            asked = conversations[start : start + step]
            for kind in wanted.needs:
                self._known.read(kind, asked)
            found = list(filter(wanted.fits, asked))
            fitting += found if exclusion is None else exclusion.without(found, cancelled)
            start, step = start + step, min(step * STEP_FACTOR, LARGEST_STEP)
            if start < len(conversations) and not at_once:
                yield Step(fitting, all_asked=False, notice=exclusion.notice if exclusion else "")
        yield Step(fitting, all_asked=True, notice=exclusion.notice if exclusion else "")

    def _filter(self, conditions: Sequence[Condition]) -> Filter:
        return prepare(conditions, self._known, lambda: live_sessions(self._store, self._clock()))


def _asks_search(query: SearchQuery) -> bool:
    """Whether places in conversations are asked for. Leaving out alone names no place."""
    return bool(query.clauses) or any(not condition.negated for condition in query.of_messages)


def _turned_out_few(allowed: Allowed) -> bool:
    return isinstance(allowed, Fitting) and allowed.few


def _words(query: SearchQuery) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.text for term in query.words))


def _ids(conversations: Iterable[Conversation]) -> frozenset[str]:
    return frozenset(item.id for item in conversations)


def _hits(result: SearchResult) -> int:
    return sum(found.hit_count for found in result.conversations)


def _list(query: SearchQuery, order: SearchOrder, step: Step) -> SearchResult:
    hits = tuple(ConversationHits(item, 0, ()) for item in step.fitting)
    asked_for = tuple(state for state in CHOICES["is"] if query.asks_for(state))
    return SearchResult(
        query.text, order, hits, step.all_asked, step.notice, problems=query.problems, asked_for=asked_for
    )

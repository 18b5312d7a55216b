"""Full-text search over messages, titles and ids, newest first, grouped by conversation.

The first answer comes at once, however common the words; answers grow behind it until everything was looked at, which
may mean to read every message. Ranking by relevance is a second order, asked for by name. What comes from where is
`finding`'s business, what a query means `query`'s, which conversations may be found at all the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator

from hermes_sessions.errors import Interrupted
from hermes_sessions.model import Catalog, ConversationHits, SearchHit, SearchOrder, SearchResult
from hermes_sessions.storage.blind_spots import BlindSpots
from hermes_sessions.storage.candidates import Candidates
from hermes_sessions.storage.coverage import Coverage, coverage_of
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.exclusion import Exclusion
from hermes_sessions.storage.finding import Finder
from hermes_sessions.storage.grouping import Groups
from hermes_sessions.storage.matching import Needles, without_marks
from hermes_sessions.storage.messages import MessageTable
from hermes_sessions.storage.query import SearchQuery, parse
from hermes_sessions.storage.texts import MessageText
from hermes_sessions.storage.title_index import TitleIndex

HITS_SHOWN = 5
"""Hits of each conversation that `run` gives with a snippet."""

COUNTED_HITS = 5_000
"""Hits after which counting stops; a result that met it says that it is not complete."""

FEW_CONVERSATIONS = 500
"""So many, if it is known which, are named to SQLite; of more, hits in all others are left out afterwards."""

TEXTS_KEPT = 2_000
"""Messages with images whose text is kept in memory: to read it means to read the images."""


class Search:
    """Answers queries over one `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._messages = MessageTable(database)
        self._titles = TitleIndex(Catalog(()))
        self._coverage: Coverage | None = None
        self._version = 0
        self._blind_spots = BlindSpots(database)
        self._texts: dict[int, MessageText] = {}

    def run(
        self,
        query: str | SearchQuery,
        catalog: Catalog,
        *,
        limit: int = 20,
        offset: int = 0,
        order: SearchOrder = "recent",
        allowed: Container[str] | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> SearchResult:
        """The conversations that fit, `limit` of them from `offset` on; 0 means all.

        `allowed` holds the ids of the conversations that may be found, None for all. Raises Interrupted (also when
        `cancelled` says so), StoreBusy, StoreDamaged. A damaged or missing index is no error: see `notice`.
        """
        asked = without_marks(parse(query) if isinstance(query, str) else query)
        wanted = offset + limit if limit else 0
        result = SearchResult(asked.text, order, (), complete=True)
        for result in self._results(asked, catalog, wanted, order, HITS_SHOWN, allowed, cancelled):  # noqa: B007 - the last one is the fullest
            pass
        return SearchResult(asked.text, order, result.conversations[offset:], result.complete, result.notice)

    def stream(
        self,
        query: str | SearchQuery,
        catalog: Catalog,
        *,
        limit: int = 200,
        order: SearchOrder = "recent",
        allowed: Container[str] | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> Iterator[SearchResult]:
        """Growing results: each holds the one before it, in the same order. The first is fast. Only in the last no
        message is counted twice that a compaction wrote again.

        `cancelled` is asked every few milliseconds; when it says so, Interrupted is raised.
        """
        asked = without_marks(parse(query) if isinstance(query, str) else query)
        yield from self._results(asked, catalog, limit, order, 1, allowed, cancelled)

    def messages(
        self,
        query: str | SearchQuery,
        catalog: Catalog,
        *,
        allowed: Container[str] | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> Iterator[int]:
        """Ids of all messages that fit, as they are found: for going from hit to hit, in one conversation or in all."""
        asked = without_marks(parse(query) if isinstance(query, str) else query)
        if asked.clauses or asked.excluded or asked.of_messages:
            finder = self._finder(asked, Needles(asked), catalog, allowed, cancelled)
            for page in finder.newest_first(bool):
                for item in page.found:
                    conversation = catalog.by_session.get(item.session_id)
                    if conversation is not None and (allowed is None or conversation.id in allowed):
                        yield item.message_id

    def conversations(
        self,
        query: SearchQuery,
        catalog: Catalog,
        *,
        allowed: Container[str] | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> set[str]:
        """Ids of all conversations in which anything is found, also by their titles: no snippet is cut for it."""
        asked = without_marks(query)
        needles = Needles(asked)
        ids = set[str]()
        if asked.clauses and not asked.of_messages:
            ids = {hit.conversation.id for hit in self._titles_of(catalog).hits(needles, allowed)}
        for page in self._finder(asked, needles, catalog, allowed, cancelled).newest_first(bool):
            found = (catalog.by_session.get(item.session_id) for item in page.found)
            ids |= {item.id for item in found if item is not None and (allowed is None or item.id in allowed)}
        return ids

    def exclusion(self, query: SearchQuery) -> Exclusion | None:
        """What tells the conversations that hold nothing of what a query excludes; None when it excludes nothing.

        Raises Interrupted, StoreBusy, StoreDamaged.
        """
        excluded = without_marks(query).excluded
        return Exclusion(self._database, excluded, self._known_coverage(), self._blind_spots) if excluded else None

    def _results(
        self,
        query: SearchQuery,
        catalog: Catalog,
        limit: int,
        order: SearchOrder,
        kept: int,
        allowed: Container[str] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[SearchResult]:
        if not (query.clauses or query.excluded or query.of_messages):
            yield self._listed(query, catalog, limit, order, allowed)
            return
        nowhere = isinstance(allowed, Collection) and not allowed
        if nowhere or "messages" not in self._database.tables:
            yield SearchResult(query.text, order, (), complete=catalog.whole)
            return
        needles = Needles(query)
        # A title has no role and calls no tool.
        titles = (
            self._titles_of(catalog).hits(needles, allowed) if query.clauses and not query.of_messages else iter(())
        )
        groups = Groups(catalog, titles, needles.words, limit=limit, kept=kept, allowed=allowed)
        finder = self._finder(query, needles, catalog, allowed, cancelled)
        notice = ""
        result = groups.result(query.text, order, exhausted=False, notice=notice)
        pages = finder.newest_first if order == "recent" else finder.best_first
        for page in pages(lambda: groups.full):
            grown = bool(page.found) and groups.add(page.found, finder.texts, by_time=order == "recent")
            if grown or (page.progress or page.notice) != notice:
                notice = page.progress or page.notice
                result = groups.result(query.text, order, exhausted=False, notice=notice)
            yield result
            if groups.counted >= COUNTED_HITS and groups.full:
                result = groups.result(query.text, order, exhausted=False, notice=page.notice)
                yield self._without_copies(result, groups, cancelled)
                return
        groups.add_remaining_titles()
        result = groups.result(query.text, order, exhausted=finder.exhausted, notice=notice)
        yield self._without_copies(result, groups, cancelled)

    def _listed(
        self,
        query: SearchQuery,
        catalog: Catalog,
        limit: int,
        order: SearchOrder,
        allowed: Container[str] | None,
    ) -> SearchResult:
        """Every conversation that may be found, where nothing is looked for in them."""
        fitting = [item for item in catalog if allowed is None or item.id in allowed] if query.conditions else []
        shown = fitting[:limit] if limit else fitting
        complete = catalog.whole and len(shown) == len(fitting)
        return SearchResult(query.text, order, tuple(ConversationHits(item, 0, ()) for item in shown), complete)

    def _titles_of(self, catalog: Catalog) -> TitleIndex:
        if self._titles.catalog is not catalog:
            self._titles = TitleIndex(catalog, self._titles)
        return self._titles

    def _finder(
        self,
        query: SearchQuery,
        needles: Needles,
        catalog: Catalog,
        allowed: Container[str] | None,
        cancelled: Callable[[], bool],
    ) -> Finder:
        coverage = self._known_coverage()
        if len(self._texts) > TEXTS_KEPT:
            self._texts.clear()
        sessions = allows = None
        if isinstance(allowed, Collection):
            sessions = [session.id for item in catalog if item.id in allowed for session in item.sessions]
        if allowed is not None and not (isinstance(allowed, Collection) and len(allowed) <= FEW_CONVERSATIONS):
            known = catalog.by_session

            def allows(session: str) -> bool:
                return session in known and known[session].id in allowed

        candidates = Candidates(self._database, query, needles, sessions, cancelled, allows)
        return Finder(self._database, query, needles, coverage, candidates, self._blind_spots, self._texts)

    def _known_coverage(self) -> Coverage:
        version = self._database.data_version()
        if self._coverage is None or version != self._version:
            self._coverage, self._version = coverage_of(self._database), version
            self._texts.clear()
        return self._coverage

    def _without_copies(self, result: SearchResult, groups: Groups, cancelled: Callable[[], bool]) -> SearchResult:
        """The result with each hit once, in the message that a transcript shows, where a compaction wrote some again.

        It does so in a new session, or in the same one behind the messages that it marks as compacted.
        """
        conversations: list[ConversationHits] = []
        for hits in result.conversations:
            if cancelled():
                raise Interrupted
            messages = groups.messages(hits.conversation)
            several = len(hits.conversation.sessions) > 1
            repeated = several or (len(messages) > 1 and self._messages.any_compacted(messages))
            conversations.append(self._once(hits, messages) if repeated else hits)
        return result._replace(conversations=tuple(conversations))

    def _once(self, found: ConversationHits, messages: Collection[int]) -> ConversationHits:
        copies = self._messages.copies(found.conversation)
        hits: dict[int | None, SearchHit] = {}
        for hit in found.hits:
            if hit.message_id is not None and (stub := copies.get(hit.message_id)) is not None:
                hit = hit._replace(message_id=stub.id, session_id=stub.session_id, timestamp=stub.timestamp)
            hits.setdefault(hit.message_id, hit)
        named = min(1, found.hit_count - len(messages))
        count = named + len({copies[id].id if id in copies else id for id in messages})
        return found._replace(hit_count=count, hits=tuple(hits.values()))

"""Full-text search over messages, titles and ids, newest first, grouped by conversation.

The store's own FTS5 tables answer where they can: newest rows first and in pages, so that the first answer
needs no more than its own rows, however common the word. No index sees everything: what one found comes first,
and behind it what only another sees. What none can answer is found by reading the messages, newest first. Ranking
by relevance is a second order, asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.model import Catalog, ConversationHits, SearchHit, SearchOrder, SearchResult, Session
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.grouping import Found, Groups, TitleHit
from hermes_sessions.storage.index_health import source_of
from hermes_sessions.storage.matching import fold
from hermes_sessions.storage.messages import MessageTable
from hermes_sessions.storage.query import Term, parse
from hermes_sessions.storage.routing import TRIGRAM, WORDS, Indexes, Plan, is_slow, plans
from hermes_sessions.storage.texts import MessageText, texts_of
from hermes_sessions.storage.values import as_int, as_text, as_time

FIRST_PAGE = 50
"""Rows of the first page: enough for a screen, few enough to answer within a frame."""

PAGE = 500
HITS_SHOWN = 5
"""Hits of each conversation that `run` gives with a snippet."""

COUNTED_HITS = 5_000
"""Hits after which counting stops; a result that met it says that it is not complete."""

GLIMPSE_ROWS = 120
"""Newest rows read to answer what the index may be slow at, before it is asked."""

VOCABULARY_LIMIT = 1_000
"""Trigrams tried for one or two characters; with more of them the text is so common that reading finds it sooner."""

BARE_CHARACTERS = 3
"""Letters a term must have to be looked for in titles without their punctuation."""

LAST_ROWID = 2**63 - 1


Page = tuple[list[Found], str]
"""Hits, and a notice about how they were found."""


class Search:
    """Answers queries over one `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._messages = MessageTable(database)
        self._titles = _Titles(Catalog(()))

    def run(
        self, query: str, catalog: Catalog, *, limit: int = 20, offset: int = 0, order: SearchOrder = "recent"
    ) -> SearchResult:
        """The conversations that hold every term, `limit` of them from `offset` on; 0 means all.

        Raises Interrupted, StoreBusy, StoreDamaged. A damaged or missing index is no error: see `notice`.
        """
        wanted = offset + limit if limit else 0
        result = SearchResult(query, order, (), complete=True)
        for result in self._results(query, catalog, wanted, order, HITS_SHOWN):  # noqa: B007 - the last one is the fullest
            pass
        found = tuple(self._without_copies(hits) for hits in result.conversations[offset:])
        return SearchResult(query, order, found, result.complete, result.notice)

    def stream(self, query: str, catalog: Catalog, *, limit: int = 200) -> Iterator[SearchResult]:
        """Growing results, newest first: each holds the one before it, in the same order. The first is fast."""
        yield from self._results(query, catalog, limit, "recent", 1)

    def _results(
        self, query: str, catalog: Catalog, limit: int, order: SearchOrder, kept: int
    ) -> Iterator[SearchResult]:
        terms = parse(query)
        if not terms or "messages" not in self._database.tables:
            yield SearchResult(query, order, (), complete=True)
            return
        if self._titles.catalog is not catalog:
            self._titles = _Titles(catalog)
        folded = [fold(term.text) for term in terms]
        groups = Groups(catalog, self._titles.hits(folded), folded, limit=limit, kept=kept)
        counted = 0
        notice = ""
        result = groups.result(query, order, exhausted=False, notice=notice)
        for page, notice in self._pages(terms, order):
            if page:
                groups.add(page, self._texts, by_time=order == "recent")
            if page or notice != result.notice:
                result = groups.result(query, order, exhausted=False, notice=notice)
            counted += len(page)
            yield result
            if counted >= COUNTED_HITS and (limit or order == "relevance"):
                return
        groups.add_remaining_titles()
        yield groups.result(query, order, exhausted=True, notice=notice)

    def _without_copies(self, found: ConversationHits) -> ConversationHits:
        """The hits, each in the message that a transcript shows, where a compaction wrote some messages again."""
        alike = {(hit.role, hit.snippet.text) for hit in found.hits}
        if len(found.conversation.sessions) == 1 and len(alike) == len(found.hits):
            return found
        copies = self._messages.copies(found.conversation)
        hits: dict[int | None, SearchHit] = {}
        for hit in found.hits:
            if hit.message_id is not None and (stub := copies.get(hit.message_id)) is not None:
                hit = hit._replace(message_id=stub.id, session_id=stub.session_id, timestamp=stub.timestamp)
            hits.setdefault(hit.message_id, hit)
        count = found.hit_count - len(found.hits) + len(hits)
        return found._replace(hit_count=count, hits=tuple(hits.values()))

    # Where rows come from.

    def _pages(self, terms: tuple[Term, ...], order: SearchOrder) -> Iterator[Page]:
        """Pages of hits, newest first or best first, each message once, with a notice if an index failed on the way."""
        seen: set[int] = set()
        if order == "recent" and is_slow(terms):
            rows = self._messages_below(LAST_ROWID, GLIMPSE_ROWS)
            yield self._verified(rows, terms, seen, word_starts=True), ""
        try:
            routes = plans(terms, self._indexes())
            if order == "relevance" and routes and routes[0].match:
                yield self._ranked(routes[0], seen), routes[0].notice
                routes = routes[1:]
            for route in routes:
                yield from self._newest_first(route, seen)
        except StoreDamaged:
            notice = "The search index cannot be read: every message is read instead, which is slower."
            yield from self._newest_first(Plan(terms, notice=notice), seen)

    def _newest_first(self, route: Plan, seen: set[int]) -> Iterator[Page]:
        """Pages of hits by falling message id, from the index of the plan, else by reading."""
        size, following = (COUNTED_HITS, COUNTED_HITS) if route.merges else (FIRST_PAGE, PAGE)
        if not route.match:
            size = following = PAGE
        below = LAST_ROWID
        while below:
            rows = self._matches_below(route, below, size) if route.match else self._messages_below(below, size)
            yield self._verified(rows, route.verified if route.match else route.terms, seen), route.notice
            below = as_int(rows[-1][0]) if len(rows) == size else 0
            size = following

    def _ranked(self, route: Plan, seen: set[int]) -> list[Found]:
        rows = self._database.rows(
            f"""
            SELECT m.id, m.session_id, m.role, m.timestamp FROM {route.table} CROSS JOIN messages m
                ON m.id = {route.table}.rowid
            WHERE {route.table} MATCH ? AND {self._visible()} ORDER BY {route.table}.rank LIMIT {COUNTED_HITS}
            """,
            (route.match,),
        )
        return self._verified(rows, route.verified, seen)

    def _matches_below(self, route: Plan, below: int, size: int) -> list[Row]:
        return self._database.rows(
            f"""
            SELECT m.id, m.session_id, m.role, m.timestamp FROM {route.table} CROSS JOIN messages m
                ON m.id = {route.table}.rowid
            WHERE {route.table} MATCH ? AND {route.table}.rowid < ? AND {self._visible()}
            ORDER BY {route.table}.rowid DESC LIMIT ?
            """,
            (route.match, below, size),
        )

    def _messages_below(self, below: int, size: int) -> list[Row]:
        return self._database.rows(
            f"""
            SELECT m.id, m.session_id, m.role, m.timestamp FROM messages m
            WHERE m.id < ? AND {self._visible()} ORDER BY m.id DESC LIMIT ?
            """,
            (below, size),
        )

    def _verified(
        self, rows: Sequence[Row], terms: Sequence[Term], seen: set[int], *, word_starts: bool = False
    ) -> list[Found]:
        """The rows that are not among those `seen`, and whose text really holds these terms. They are seen now."""
        found = [item for item in map(_found, rows) if item.message_id not in seen]
        if terms:
            folded = [fold(term.text) for term in terms]
            # As in the index, a word begins where no other letter stands before it.
            words = [term for term in terms if term.route == "word" and word_starts]
            starts = [re.compile(rf"(?<![^\W_]){re.escape(fold(term.text))}") for term in words]
            texts = self._texts([item.message_id for item in found])
            whole = {identity: fold(text.whole) for identity, text in texts.items()}
            found = [
                item
                for item in found
                if (text := whole.get(item.message_id)) is not None
                and all(term in text for term in folded)
                and all(start.search(text) for start in starts)
            ]
        seen.update(item.message_id for item in found)
        return found

    def _texts(self, ids: Sequence[int]) -> dict[int, MessageText]:
        return texts_of(self._database, ids)

    # What the store can answer with.

    def _visible(self) -> str:
        """SQL condition of rows that may be found: not rewound ones, and not Hermes' own scaffolding."""
        has = self._database.has
        conditions = ["m.role <> 'session_meta'"]
        if has("messages", "active"):
            compacted = " OR m.compacted = 1" if has("messages", "compacted") else ""
            conditions.append(f"(m.active IS NOT 0{compacted})")
        if has("messages", "display_kind"):
            conditions.append("m.display_kind IS NOT 'hidden'")
        return " AND ".join(conditions)

    def _indexes(self) -> Indexes:
        tables = self._database.tables
        return Indexes(
            words=WORDS in tables,
            # From version 23 on the trigram table reads a view without tool rows and machine-made sessions.
            trigram=TRIGRAM in tables and source_of(tables[TRIGRAM]) is None,
            parts=TRIGRAM in tables,
            tools=WORDS in tables and source_of(tables[WORDS]) != "messages",
            trigrams_beginning=self._trigrams_beginning,
        )

    def _trigrams_beginning(self, text: str) -> list[str] | None:
        if not self._database.has_vocabulary:
            return None
        rows = self._database.rows(
            "SELECT term FROM temp.trigram_vocabulary WHERE term >= ? AND term < ? LIMIT ?",
            (text, text + "\U0010ffff", VOCABULARY_LIMIT + 1),
        )
        return [str(term) for (term,) in rows] if len(rows) <= VOCABULARY_LIMIT else None


def _found(row: Row) -> Found:
    identity, session_id, role, timestamp = row
    return Found(as_int(identity), as_text(session_id) or "", as_text(role) or "?", as_time(timestamp))


class _Titles:
    """Titles and ids of a catalogue, folded once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._sessions = [session for item in catalog for session in reversed(item.sessions)]
        # Beside them and not with them in tuples: text alone is nothing to Python's cycle collector.
        self._keys = [_title_key(session) for session in self._sessions]

    def hits(self, folded: Sequence[str]) -> Iterator[TitleHit]:
        """Conversations with a title or an id that holds every term, newest activity first, as they are asked for.

        Punctuation may be left out of what is looked for in a title: "an94" finds "AN-94".
        """
        longest = max(folded, key=len)
        bare = {term: _bare(term) for term in folded}
        loose = {term: bare[term] if len(bare[term]) >= BARE_CHARACTERS else term for term in folded}
        # One plain pass over all titles for the term that rules out most, then a closer look at the few left.
        if loose[longest] == longest:
            fitting = [at for at, key in enumerate(self._keys) if longest in key]
        else:
            bare_longest = loose[longest]
            fitting = [at for at, key in enumerate(self._keys) if longest in key or bare_longest in key]
        seen: set[str] = set()
        for at in fitting:
            session = self._sessions[at]
            title, bare_title, identity = self._keys[at].split("\n")
            titled = all(term in title or loose[term] in bare_title for term in folded)
            if titled or all(term in identity for term in folded):
                conversation = self.catalog.by_session[session.id]
                if conversation.id not in seen:
                    seen.add(conversation.id)
                    yield TitleHit(conversation, session.id, session.title if titled else None)


def _title_key(session: Session) -> str:
    """The folded title, the same without punctuation, and the id, on a line each."""
    title = fold(session.title or "").replace("\n", " ")
    return "\n".join((title, _bare(title), session.id.lower().replace("\n", " ")))


def _bare(text: str) -> str:
    """The text without punctuation, blanks and line ends."""
    return re.sub(r"\W", "", text)

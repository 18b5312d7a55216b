"""Which conversations a pasted text comes from: ranked by the words of it that few messages hold.

An error message, a stack trace or a log is never in a store as it is: paths, times and numbers differ. What it shares
with the talk about it are its rare words. How rare a word is tells the index of words, asked for a bounded number of
messages; where there is none, the caller has to search in another way.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.model import Catalog, ConversationHits, SearchHit, SearchResult, Snippet
from hermes_sessions.storage.coverage import coverage_of
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.matching import fold
from hermes_sessions.storage.message_conditions import where
from hermes_sessions.storage.query import Term, has_cjk, quoted, words_in
from hermes_sessions.storage.routing import TRIGRAM, WORDS
from hermes_sessions.storage.texts import texts_of
from hermes_sessions.storage.values import as_int, as_text, as_time

FEW = 500
"""Messages of which a rare word is in no more."""

MOST_ASKED = 600
"""Words of a text that the index is asked for, the longest first."""

MOST_USED = 40
"""The rarest words, by which conversations are ranked."""

SHORTEST = 3
"""Letters of a word worth asking for."""

LONGEST = 200
"""Characters of a word that are asked for."""

FEW_WORDS = 100
"""Words of a text that is short."""

CJK_PIECE = 4
"""Characters that are asked for together where words have no blanks between them."""

RELATED = 1 / 3
"""Share of the best conversation's weight below which a conversation has nothing to do with the text."""

HITS_SHOWN = 5

_EDGES = "\"'`.,;:!?()[]{}<>*|=…“”‘’"


class RareWord(NamedTuple):
    """A word and the messages that hold it, by id."""

    text: str
    messages: frozenset[int]


class RareWords:
    """Ranks by rare words over one `Database`. Composed by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(
        self, text: str, catalog: Catalog, *, limit: int = 20, offset: int = 0, allowed: Container[str] | None = None
    ) -> SearchResult | None:
        """The conversations that hold the rarest words of a text, those with most of them first; None where no index
        can tell. `allowed` holds the ids of those that may be found. A limit of 0 means all.

        Raises Interrupted, StoreBusy, StoreDamaged.
        """
        try:
            coverage = coverage_of(self._database)
            if not coverage.words:
                return None
            rare, common = self._words_of(text, trigram=coverage.trigram)
        except StoreDamaged:
            return None
        found, ranked = rare, self._ranked(rare, catalog, allowed)
        if not ranked:
            # No message that may be found holds a rare one.
            found, ranked = common, self._ranked(common, catalog, allowed)
        page = ranked[offset : offset + limit] if limit else ranked[offset:]
        words = [fold(word.text) for word in found]
        conversations = tuple(self._shown(hits, words) for hits in page)
        complete = catalog.whole and len(page) == len(ranked[offset:])
        told = ", ".join(word.text for word in found[:8])
        notice = f"Ranked by the rare words of the text: {told}." if page else ""
        return SearchResult(text.strip(), "relevance", conversations, complete, notice)

    def _words_of(self, text: str, *, trigram: bool) -> tuple[list[RareWord], list[RareWord]]:
        """The rare words of the text that are in any message, the rarest first; and common ones, the longest first."""
        found: dict[frozenset[int], RareWord] = {}
        common: list[RareWord] = []
        waiting = sorted(dict.fromkeys(pieces_of(text)), key=len, reverse=True)
        asked = 0
        while waiting and asked < MOST_ASKED:
            piece = waiting.pop(0)
            asked += 1
            word = RareWord(piece, self._messages_with(piece, trigram=trigram))
            if len(word.messages) > FEW:
                common.append(word)
            elif word.messages:
                # Words that stand together in a text are in the same messages: one of them counts.
                found.setdefault(word.messages, word)
            elif words_in(piece) > 1 and not has_cjk(piece):
                waiting += [part for part in re.findall(r"\w+", piece) if len(part) >= SHORTEST]
        rarest = sorted(found.values(), key=lambda word: len(word.messages))
        return rarest[:MOST_USED], common[:MOST_USED]

    def _messages_with(self, piece: str, *, trigram: bool) -> frozenset[int]:
        table, match = WORDS, Term(piece, "word").words_match
        if trigram and has_cjk(piece) and len(piece) >= SHORTEST:
            table, match = TRIGRAM, quoted(piece)
        rows = self._database.rows(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {FEW + 1}", (match,)
        )
        return frozenset(as_int(id) for (id,) in rows)

    def _ranked(
        self, found: list[RareWord], catalog: Catalog, allowed: Container[str] | None
    ) -> list[ConversationHits]:
        """The conversations with their hits, heaviest first, and of equals the newest. Hits have no snippets yet."""
        total = as_int(self._database.value("SELECT max(id) FROM messages"))
        weights = {word.text: math.log(1 + total / len(word.messages)) for word in found}
        words_of: dict[int, list[str]] = defaultdict(list)
        for word in found:
            for message in word.messages:
                words_of[message].append(word.text)
        conditions, _ = where((), self._database)
        rows = self._database.rows(
            f"""
            SELECT m.id, m.session_id, m.role, m.timestamp FROM messages m
            WHERE m.id IN (SELECT value FROM json_each(?)) AND {conditions}
            """,
            (json.dumps(list(words_of)),),
        )
        hits: dict[str, list[tuple[float, SearchHit]]] = defaultdict(list)
        together: dict[str, set[str]] = defaultdict(set)
        for id, session_id, role, timestamp in rows:
            conversation = catalog.by_session.get(as_text(session_id) or "")
            if conversation is None or (allowed is not None and conversation.id not in allowed):
                continue
            message = as_int(id)
            weight = sum(weights[word] for word in words_of[message])
            hit = SearchHit(
                message, as_text(session_id) or "", as_text(role), as_time(timestamp), "content", Snippet("")
            )
            hits[conversation.id].append((weight, hit))
            together[conversation.id].update(words_of[message])
        weight_of = {id: sum(weights[word] for word in words) for id, words in together.items()}
        least = RELATED * max(weight_of.values(), default=0.0)
        related = [item for item in catalog if weight_of.get(item.id, -1.0) >= least]
        related.sort(key=lambda item: -weight_of[item.id])
        ranked = []
        for item in related:
            best = sorted(hits[item.id], key=lambda pair: (-pair[0], -(pair[1].message_id or 0)))
            ranked.append(ConversationHits(item, len(best), tuple(hit for _, hit in best[:HITS_SHOWN])))
        return ranked

    def _shown(self, found: ConversationHits, words: list[str]) -> ConversationHits:
        """The hits with the places and snippets that show them."""
        texts = texts_of(self._database, [hit.message_id for hit in found.hits if hit.message_id is not None])
        shown = []
        for hit in found.hits:
            if hit.message_id in texts:
                place, snippet = texts[hit.message_id].hit(words)
                shown.append(hit._replace(place=place, snippet=snippet))
        return found._replace(hits=tuple(shown))


def pieces_of(text: str) -> Iterator[str]:
    """What stands between blanks, without the punctuation around it, and of a short text each two of them together;
    writing without blanks in short pieces."""
    words = text.replace("\x00", " ").encode("utf-8", "replace").decode().split()
    pieces = [word.strip(_EDGES)[:LONGEST] for word in words]
    for piece in pieces:
        if has_cjk(piece):
            yield from (piece[at : at + CJK_PIECE] for at in range(0, max(1, len(piece) - SHORTEST + 1), CJK_PIECE))
        elif len(piece) >= SHORTEST and words_in(piece):
            yield piece
    if len(pieces) <= FEW_WORDS:
        # Of a plain sentence no word may be rare, but what stands side by side in it.
        yield from (f"{one} {other}" for one, other in pairwise(pieces) if words_in(one) and words_in(other))

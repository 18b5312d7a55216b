"""Where the hits of one query come from: the indexes, and reading.

The indexes answer first, newest messages first and in pages, so that the first page costs no more than its own rows.
What no index vouches for is read behind them, newest first and in windows between which a search can be given up. The
same conditions hold on every way, and each message is found once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.blind_spots import BlindSpots
from hermes_sessions.storage.candidates import GLIMPSED, Candidates
from hermes_sessions.storage.coverage import DAMAGED, READ_ANYWAY, Coverage, message_ids
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.grouping import Found
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.query import SearchQuery, quoted
from hermes_sessions.storage.routing import (
    TRIGRAM,
    WORDS,
    inner_words_match,
    is_common,
    is_merged,
    trigram_match,
    without_prefixes,
    words_match,
)
from hermes_sessions.storage.texts import MessageText, texts_of
from hermes_sessions.storage.values import as_float, as_int, as_text, as_time

FIRST_PAGE = 24
"""Rows of the first page: enough for a screen, few enough to answer within a frame."""

PAGE = 500
RANKED = 2_000
"""The newest hits, which are ranked; to rank all 200,000 of a common word takes a second."""

MERGED = 5_000
"""Hits fetched at once from an index that has to merge many entries before the first."""

WINDOW, WIDEST = 2_000, 32_000
"""Messages that one statement reads, at first and at most."""

PARTS_AT_ONCE = 16
"""Messages with images, which may have megabytes each, that are read between two moments in which a search can be
given up."""

UNRANKED = "Too common to be ranked: newest first."

NOT_AS_WORDS = "No message has this as whole words: looking inside of words."
NOT_IN_AN_INDEX = "No search index has this: looking where they cannot see."


class Page(NamedTuple):
    """Hits, and what is to be said about how they were found so far."""

    found: list[Found]
    notice: str = ""
    progress: str = ""
    """How far it is, while every message is read."""


class Finder:
    """The hits of one query, page by page.

    `blind_spots` and `texts`, those of messages with images, are kept from one query to the next.
    """

    def __init__(
        self,
        database: Database,
        query: SearchQuery,
        needles: Needles,
        coverage: Coverage,
        candidates: Candidates,
        blind_spots: BlindSpots,
        texts: dict[int, MessageText],
    ) -> None:
        self._database = database
        self._query = query
        self._needles = needles
        self._coverage = coverage
        self._candidates = candidates
        self._blind_spots = blind_spots
        self._texts = texts
        self._seen: set[int] = set()
        self.exhausted = False
        """Whether everything was looked at."""

    def newest_first(self, enough: Callable[[], bool]) -> Iterator[Page]:
        """Pages by falling message id, first of what begins words, then of what is inside of them.

        When there is `enough`, nothing more is looked for behind an index that has answered.
        """
        try:
            yield from self._by_indexes(enough)
        except StoreDamaged:
            yield from self._reading(message_ids(self._database), DAMAGED)
            self.exhausted = True

    def best_first(self, enough: Callable[[], bool]) -> Iterator[Page]:
        """The newest hits ranked by relevance; then the rest, newest first."""
        try:
            notice = ""
            if self._coverage.missing or self._is_dense():
                notice = UNRANKED
            else:
                for page in self._ranked():
                    notice = page.notice
                    yield page
            for page in self._by_indexes(enough):
                told = notice if page.notice == NOT_AS_WORDS else ""
                yield page._replace(notice=told or page.notice or notice)
        except StoreDamaged:
            yield from self._reading(message_ids(self._database), DAMAGED)
            self.exhausted = True

    def texts(self, ids: Sequence[int]) -> Mapping[int, MessageText]:
        """The texts of messages that were found, by id. Raises Interrupted when the search is given up."""
        return self._candidates.texts(ids)

    # In which order to ask.

    def _by_indexes(self, enough: Callable[[], bool]) -> Iterator[Page]:
        coverage, query = self._coverage, self._query
        # What stands in a text in other accents or in JSON comes behind what is there as it was typed.
        words_last = any(term.route == "literal" and not term.text.isascii() for term in query.words)
        told = False
        if not words_last and coverage.words and query.clauses:
            told = yield from self._whole_words()
        everything = message_ids(self._database)
        if coverage.missing or not query.clauses:
            yield from self._reading(everything, coverage.notice)
            self.exhausted = True
            return
        common = is_common(query)
        if common or any(term.prefix and term.route == "word" for term in query.words):
            rows = self._candidates.newest()
            yield from self._fitting(rows, word_starts=True)
            if common and len(rows) >= GLIMPSED:
                yield from self._reading(everything, word_starts=True)
                yield from self._reading(everything)
                self.exhausted = True
                return
        if not words_last:
            if not told:
                yield from self._words()
            if enough():
                return
            if not self._seen and coverage.words and words_match(query)[0]:
                yield Page([], NOT_AS_WORDS)
        unread = coverage.unread
        if self._holding_inner_words is not None:
            yield from self._fitting(self._holding_inner_words)
        elif coverage.trigram:
            if match := trigram_match(query, self._candidates.trigrams_beginning):
                yield from self._matches(TRIGRAM, match, checked=True)
            else:
                unread = everything
        if words_last:
            yield from self._words()
        if enough():
            return
        if not self._seen and len(everything) > READ_ANYWAY:
            yield Page([], NOT_IN_AN_INDEX)
        # A blank may be any white space, which is other letters to a trigram index.
        if any(len(term.text.split()) > 1 for term in query.words):
            unread = everything
        if len(unread) < len(everything):
            if coverage.words:
                yield from self._parts()
            yield from self._in_blind_spots(everything)
        yield from self._reading(unread)
        yield Page([])
        self.exhausted = True

    def _whole_words(self) -> Generator[Page, None, bool]:
        """What holds the words as typed, if that is little. Return whether the index of words can tell no more."""
        match, checked = words_match(without_prefixes(self._query))
        if not match:
            return False
        if (rows := self._holding_inner_words) is not None:
            if not rows:
                yield Page([], NOT_AS_WORDS)
            yield from self._fitting(rows, word_starts=True)
            return True
        few = self._candidates.few(WORDS, match)
        if few is None:
            return False
        if not few:
            yield Page([], NOT_AS_WORDS)
        yield from self._these(few, checked=checked, word_starts=True)
        return match == words_match(self._query)[0]

    @cached_property
    def _holding_inner_words(self) -> list[Row] | None:
        """All messages that hold the inner words of long phrases; None without such words, or when too many do.

        Sooner told than who holds the phrases: it is less to be merged.
        """
        match = inner_words_match(self._query) if self._coverage.words else ""
        few = self._candidates.few(WORDS, match) if match else None
        return None if few is None else self._candidates.of(few)

    def _words(self) -> Iterator[Page]:
        match, checked = words_match(self._query)
        if match and self._coverage.words:
            merged = is_merged(self._query)
            yield from self._matches(WORDS, match, checked=checked, word_starts=True, merged=merged)

    # How each is asked.

    def _matches(
        self, table: str, match: str, *, checked: bool, word_starts: bool = False, merged: bool = False
    ) -> Iterator[Page]:
        """Pages from an index. One that is `merged` from many entries does much work for each page: it gives one."""
        if (
            table == TRIGRAM
            and match.isascii()
            and not merged
            and (few := self._candidates.few(table, match)) is not None
        ):
            yield from self._these(few, checked=checked, word_starts=word_starts)
            return
        below = self._candidates.stop
        size, following = (MERGED, MERGED) if merged else (FIRST_PAGE, PAGE)
        while below:
            rows = self._candidates.matching(table, match, below, size)
            for some in (rows[:FIRST_PAGE], rows[FIRST_PAGE:]):
                yield from self._fitting(some, word_starts=word_starts, vouched=not checked)
            below = as_int(rows[-1][0]) if len(rows) == size else 0
            size = following

    def _these(self, ids: Sequence[int], *, checked: bool, word_starts: bool) -> Iterator[Page]:
        """Pages of those of these messages that fit."""
        for some in (ids[:FIRST_PAGE], ids[FIRST_PAGE:]):
            yield from self._fitting(self._candidates.of(some), word_starts=word_starts, vouched=not checked)

    def _parts(self) -> Iterator[Page]:
        """Pages of messages that are lists of parts, all of which are read: releases of SQLite before 3.42 filled a
        trigram index with nothing of a text that begins with a NUL.
        """
        below = self._candidates.stop
        while below:
            rows = self._candidates.matching(WORDS, self._coverage.parts_match, below, PARTS_AT_ONCE)
            fresh = [as_int(row[0]) for row in rows if as_int(row[0]) not in self._seen]
            self._texts.update(texts_of(self._database, [id for id in fresh if id not in self._texts]))
            fitting = {id for id in fresh if id in self._texts and self._texts[id].fits(self._needles)}
            yield Page(self._unseen([row for row in rows if row[0] in fitting]))
            below = as_int(rows[-1][0]) if len(rows) == PARTS_AT_ONCE else 0

    def _in_blind_spots(self, ids: range) -> Iterator[Page]:
        """Pages of what a person sees in these messages, and the trigram index does not."""
        for spots, looked_at in self._blind_spots.newest_first(ids, self._candidates.check):
            if not (spots or looked_at):
                continue
            progress = _read_so_far(ids, looked_at) if looked_at else ""
            for page in self._fitting(self._candidates.of(spots, readable=True)):
                yield page._replace(progress=progress)

    def _reading(self, ids: range, notice: str = "", *, word_starts: bool = False) -> Iterator[Page]:
        """Pages of the messages with these ids, newest first, that hold what is looked for."""
        if not ids:
            return
        below, window = ids.stop, WINDOW
        # Where many ids in a row are of no message, nothing is read.
        while (last := self._candidates.last_before(below)) is not None and last >= ids.start:
            above = max(ids.start, last + 1 - window)
            rows = self._candidates.between(above, last + 1, PAGE)
            progress = "" if notice else _read_so_far(ids, above)
            for page in self._fitting(rows, word_starts=word_starts):
                yield page._replace(notice=notice, progress=progress)
            below = as_int(rows[-1][0]) if len(rows) == PAGE else above
            window = min(WIDEST, 2 * window)
        yield Page([], notice)

    def _is_dense(self) -> bool:
        return is_common(self._query) and len(self._candidates.newest()) >= GLIMPSED

    def _ranked(self) -> Iterator[Page]:
        """The newest hits, best first: by bm25, which counts double where the words stand as they were typed. Ranks are
        below zero: the lower the better.
        """
        table, (match, checked) = WORDS, words_match(self._query)
        if not self._coverage.words or not match:
            table, match, checked = TRIGRAM, trigram_match(self._query, self._candidates.trigrams_beginning), True
        if not match or not (self._coverage.words if table == WORDS else self._coverage.trigram):
            return
        rows, floor = self._candidates.ranked(table, match, RANKED)
        phrase = self._phrase() if table == WORDS else ""
        exact = self._candidates.ids_matching(table, phrase, floor) if phrase else set[int]()

        def rank(row: Row) -> tuple[float, int]:
            id = as_int(row[0])
            return (as_float(row[-1]) or 0.0) * (2 if id in exact else 1), -id

        notice = f"The newest {RANKED:,} hits are ranked." if floor else ""
        for page in self._fitting(sorted(rows, key=rank), word_starts=table == WORDS, vouched=not checked):
            yield page._replace(notice=notice)

    def _phrase(self) -> str:
        """What was typed as one phrase for the index of words, when it is several words."""
        words = [clause[0].text for clause in self._query.clauses if len(clause) == 1 and clause[0].route == "word"]
        return quoted(" ".join(words)) if len(words) > 1 and len(words) == len(self._query.clauses) else ""

    # What of it really fits.

    def _fitting(self, rows: Sequence[Row], *, word_starts: bool = False, vouched: bool = False) -> Iterator[Page]:
        """Pages of the rows that fit and were not found before. There is a page even of none."""
        fresh = [row for row in rows if as_int(row[0]) not in self._seen]
        for some in self._candidates.fitting(fresh, word_starts=word_starts, vouched=vouched):
            yield Page(self._unseen(some))

    def _unseen(self, rows: Sequence[Row]) -> list[Found]:
        found = [_found(row) for row in rows if as_int(row[0]) not in self._seen]
        self._seen.update(item.message_id for item in found)
        return found


def _read_so_far(ids: range, above: int) -> str:
    """How far it is when what is from an id on has been read; nothing where all is read in a moment."""
    return f"Every message is read: {100 * (ids.stop - above) // len(ids)} %." if len(ids) > READ_ANYWAY else ""


def _found(row: Row) -> Found:
    identity, session_id, role, timestamp, *_ = row
    return Found(as_int(identity), as_text(session_id) or "", as_text(role) or "?", as_time(timestamp))

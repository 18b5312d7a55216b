"""Where the hits of one query come from: the indexes, and reading.

The indexes answer first, newest messages first and in pages, so that the first page costs no more than its own rows.
What no index vouches for is read behind them, newest first and in windows between which a search can be given up. The
same conditions hold on every way, and each message is found once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import NamedTuple

from hermes_sessions.errors import Interrupted, StoreDamaged
from hermes_sessions.storage.coverage import DAMAGED, READ_ANYWAY, Coverage, message_ids
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.grouping import Found
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.message_conditions import where
from hermes_sessions.storage.query import SearchQuery, quoted
from hermes_sessions.storage.routing import (
    TRIGRAM,
    WORDS,
    inner_words_match,
    is_common,
    readable_condition,
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

GLIMPSE = 500
"""Newest messages that are read before an index is asked that may be slow to answer."""

GLIMPSED = 24
"""Hits wanted of them. With all of them, what is looked for is so common that reading on finds
more sooner than an index."""

WINDOW, WIDEST = 2_000, 32_000
"""Messages that one statement reads, at first and at most."""

CHECKED_AT_ONCE = 64
"""Messages whose text is looked at between two moments in which the search can be given up."""

PARTS_AT_ONCE = 16
"""The same, of messages with images, which may have megabytes each."""

VOCABULARY_LIMIT = 1_000
"""Trigrams tried for one or two characters."""

FEW = 200
"""Hits that are known to be all after one look through an index, which is faster forwards than backwards."""

LAST_ROWID = 2**63 - 1
FOUND = "m.id, m.session_id, m.role, m.timestamp"

UNRANKED = "Too common to be ranked: newest first."

NOT_AS_WORDS = "No message has this as whole words: looking inside of words."


class Page(NamedTuple):
    """Hits, and what is to be said about how they were found so far."""

    found: list[Found]
    notice: str = ""


class Finder:
    """The hits of one query, page by page.

    `sessions` are the ids of the sessions that are searched, None for all. `texts` keeps the texts of messages with
    images from one query to the next.
    """

    def __init__(
        self,
        database: Database,
        query: SearchQuery,
        needles: Needles,
        coverage: Coverage,
        sessions: Collection[str] | None,
        texts: dict[int, MessageText],
        cancelled: Callable[[], bool],
    ) -> None:
        self._database = database
        self._query = query
        self._needles = needles
        self._coverage = coverage
        self._texts = texts
        self._cancelled = cancelled
        self._seen: set[int] = set()
        self._where, self._values = where(query.of_messages, database)
        if sessions is not None:
            self._where = f"m.session_id IN (SELECT value FROM json_each(?)) AND {self._where}"
            self._values.insert(0, json.dumps(list(sessions)))
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
        """The newest hits ranked by relevance, in one page; then the rest, newest first."""
        try:
            notice = ""
            if self._coverage.missing or self._is_dense():
                notice = UNRANKED
            else:
                page = self._ranked()
                notice = page.notice
                yield page
            for page in self._by_indexes(enough):
                told = notice if page.notice == NOT_AS_WORDS else ""
                yield page._replace(notice=told or page.notice or notice)
        except StoreDamaged:
            yield from self._reading(message_ids(self._database), DAMAGED)
            self.exhausted = True

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
            rows = self._glimpse()
            yield Page(self._fitting(rows, word_starts=True))
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
            if not self._seen:
                yield Page([], NOT_AS_WORDS)
        unread = coverage.unread
        if coverage.trigram:
            inner = self._with_inner_words()
            if inner is not None:
                yield from self._in_steps(inner)
            elif match := trigram_match(query, self._trigrams_beginning):
                yield from self._matches(TRIGRAM, match, checked=True)
            else:
                unread = everything
        if words_last:
            yield from self._words()
        if enough():
            return
        if coverage.words and not unread:
            yield from self._parts()
        yield from self._reading(unread)
        yield Page([])
        self.exhausted = True

    def _whole_words(self) -> Generator[Page, None, bool]:
        """What holds the words as typed, if that is little. Return whether the index of words can tell no more."""
        match, checked = words_match(without_prefixes(self._query))
        few = self._few(WORDS, match) if match else None
        if few is None:
            return False
        if not few:
            yield Page([], NOT_AS_WORDS)
        yield from self._these(few, checked=checked, word_starts=True)
        return match == words_match(self._query)[0]

    def _words(self) -> Iterator[Page]:
        match, checked = words_match(self._query)
        if match and self._coverage.words:
            merged = is_common(self._query)
            yield from self._matches(WORDS, match, checked=checked, word_starts=True, merged=merged)

    # How each is asked.

    def _matches(
        self, table: str, match: str, *, checked: bool, word_starts: bool = False, merged: bool = False
    ) -> Iterator[Page]:
        """Pages from an index. One that is `merged` from many entries does much work for each page: it gives one."""
        if table == TRIGRAM and match.isascii() and not merged and (few := self._few(table, match)) is not None:
            yield from self._these(few, checked=checked, word_starts=word_starts)
            return
        below = LAST_ROWID
        size, following = (MERGED, MERGED) if merged else (FIRST_PAGE, PAGE)
        while below:
            rows = self._rows_matching(table, match, below, size)
            if checked:
                yield from self._in_steps(rows, word_starts=word_starts)
            else:
                yield Page(self._unseen(rows[:FIRST_PAGE]))
                for start in range(FIRST_PAGE, len(rows), PAGE):
                    yield Page(self._unseen(rows[start : start + PAGE]))
            below = as_int(rows[-1][0]) if len(rows) == size else 0
            size = following

    def _few(self, table: str, match: str) -> list[int] | None:
        """Ids of all messages that match, newest first; None when they are not few."""
        self._check()
        rows = self._database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT {FEW + 1}", (match,))
        return None if len(rows) > FEW else sorted((as_int(id) for (id,) in rows), reverse=True)

    def _these(self, ids: Sequence[int], *, checked: bool, word_starts: bool) -> Iterator[Page]:
        """Pages of those of these messages that fit."""
        for some in (ids[:FIRST_PAGE], ids[FIRST_PAGE:]):
            rows = self._rows_of(some) if some else []
            if checked:
                yield from self._in_steps(rows, word_starts=word_starts)
            elif rows:
                yield Page(self._unseen(rows))

    def _with_inner_words(self) -> list[Row] | None:
        """All messages that hold the inner words of long phrases; None without such words, or when too many do."""
        match = inner_words_match(self._query) if self._coverage.words else ""
        rows = self._rows_matching(WORDS, match, LAST_ROWID, PAGE + 1) if match else []
        return rows if match and len(rows) <= PAGE else None

    def _parts(self) -> Iterator[Page]:
        """Pages of messages that are lists of parts, all of which are read: releases of SQLite before 3.42 filled a
        trigram index with nothing of a text that begins with a NUL.
        """
        below = LAST_ROWID
        while below:
            rows = self._rows_matching(WORDS, self._coverage.parts_match, below, PARTS_AT_ONCE)
            fresh = [as_int(row[0]) for row in rows if as_int(row[0]) not in self._seen]
            self._texts.update(texts_of(self._database, [id for id in fresh if id not in self._texts]))
            fitting = {id for id in fresh if id in self._texts and self._texts[id].fits(self._needles)}
            yield Page(self._unseen([row for row in rows if row[0] in fitting]))
            below = as_int(rows[-1][0]) if len(rows) == PARTS_AT_ONCE else 0

    def _reading(self, ids: range, notice: str = "", *, word_starts: bool = False) -> Iterator[Page]:
        """Pages of the messages with these ids, newest first, that hold what is looked for."""
        if not ids:
            return
        below, window = ids.stop, WINDOW
        while below > ids.start:
            above = max(ids.start, below - window)
            rows = self._rows_between(above, below, PAGE)
            said = notice
            if not said and len(ids) > READ_ANYWAY:
                said = f"Every message is read: {100 * (ids.stop - above) // len(ids)} %."
            for page in self._in_steps(rows, word_starts=word_starts):
                yield page._replace(notice=said)
            below = as_int(rows[-1][0]) if len(rows) == PAGE else above
            window = min(WIDEST, 2 * window)
        yield Page([], notice)

    def _rows_matching(self, table: str, match: str, below: int, limit: int) -> list[Row]:
        self._check()
        return self._database.rows(
            f"""
            SELECT {FOUND} FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid
            WHERE {table} MATCH ? AND {table}.rowid < ? AND {self._where} ORDER BY {table}.rowid DESC LIMIT ?
            """,
            (match, below, *self._values, limit),
        )

    def _rows_of(self, ids: Sequence[int]) -> list[Row]:
        self._check()
        return self._database.rows(
            f"""
            SELECT {FOUND} FROM json_each(?) want CROSS JOIN messages m ON m.id = want.value
            WHERE {self._where} ORDER BY m.id DESC
            """,
            (json.dumps(ids), *self._values),
        )

    def _rows_between(self, above: int, below: int, limit: int) -> list[Row]:
        self._check()
        condition, values = readable_condition(self._query, self._text_columns())
        return self._database.rows(
            f"""
            SELECT {FOUND} FROM messages m
            WHERE m.id < ? AND m.id >= ? AND {self._where} AND {condition} ORDER BY m.id DESC LIMIT ?
            """,
            (below, above, *self._values, *values, limit),
        )

    def _glimpse(self) -> list[Row]:
        newest = message_ids(self._database).stop
        return self._rows_between(newest - GLIMPSE, newest, GLIMPSED)

    def _is_dense(self) -> bool:
        return is_common(self._query) and len(self._glimpse()) >= GLIMPSED

    def _ranked(self) -> Page:
        """The newest hits, best first: by bm25, which counts double where the words stand as they were typed. Ranks are
        below zero: the lower the better.
        """
        table, (match, checked) = WORDS, words_match(self._query)
        if not self._coverage.words or not match:
            table, match, checked = TRIGRAM, trigram_match(self._query, self._trigrams_beginning), True
        if not match or not (self._coverage.words if table == WORDS else self._coverage.trigram):
            return Page([])
        self._check()
        matched = f"FROM {table} WHERE {table} MATCH ?"
        floor = as_int(
            self._database.value(f"SELECT rowid {matched} ORDER BY rowid DESC LIMIT 1 OFFSET {RANKED - 1}", (match,))
        )
        rows = self._database.rows(
            f"""
            SELECT {FOUND}, {table}.rank FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid
            WHERE {table} MATCH ? AND {table}.rowid >= ? AND {self._where}
            """,
            (match, floor, *self._values),
        )
        exact = set[Row]()
        if table == WORDS and (phrase := self._phrase()):
            exact.update(self._database.rows(f"SELECT rowid {matched} AND rowid >= ?", (phrase, floor)))
        rows.sort(key=lambda row: ((as_float(row[4]) or 0.0) * (2 if row[:1] in exact else 1), -as_int(row[0])))
        plain = [row[:4] for row in rows]
        found = self._fitting(plain, word_starts=table == WORDS) if checked else self._unseen(plain)
        return Page(found, f"The newest {RANKED:,} hits are ranked." if floor else "")

    def _phrase(self) -> str:
        """What was typed as one phrase for the index of words, when it is several words."""
        words = [clause[0].text for clause in self._query.clauses if len(clause) == 1 and clause[0].route == "word"]
        return quoted(" ".join(words)) if len(words) > 1 and len(words) == len(self._query.clauses) else ""

    # What of it really fits.

    def _in_steps(self, rows: Sequence[Row], *, word_starts: bool = False) -> Iterator[Page]:
        """The rows that fit, a few at a time. There is a page even of none."""
        for start in range(0, max(1, len(rows)), CHECKED_AT_ONCE):
            self._check()
            yield Page(self._fitting(rows[start : start + CHECKED_AT_ONCE], word_starts=word_starts))

    def _fitting(self, rows: Sequence[Row], *, word_starts: bool = False) -> list[Found]:
        fresh = [row for row in rows if as_int(row[0]) not in self._seen]
        fitting = []
        for start in range(0, len(fresh), CHECKED_AT_ONCE):
            self._check()
            some = fresh[start : start + CHECKED_AT_ONCE]
            texts = texts_of(self._database, [as_int(row[0]) for row in some])
            fitting += [
                row
                for row in some
                if (text := texts.get(as_int(row[0]))) and text.fits(self._needles, word_starts=word_starts)
            ]
        return self._unseen(fitting)

    def _unseen(self, rows: Sequence[Row]) -> list[Found]:
        found = [_found(row) for row in rows if as_int(row[0]) not in self._seen]
        self._seen.update(item.message_id for item in found)
        return found

    def _check(self) -> None:
        if self._cancelled():
            raise Interrupted

    # What the store has.

    def _text_columns(self) -> list[str]:
        names = ("content", "tool_calls", "tool_name")
        return [f"m.{name}" for name in names if self._database.has("messages", name)]

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

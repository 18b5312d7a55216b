"""Messages that may fit a query, as SQLite gives them, and which of them do: that is decided by what is shown of them.

In which order to ask, and what each message is found by, is `finding`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property

from hermes_sessions.errors import Interrupted
from hermes_sessions.storage.coverage import last_message, message_ids
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.message_conditions import where
from hermes_sessions.storage.query import SearchQuery
from hermes_sessions.storage.routing import readable_condition
from hermes_sessions.storage.texts import MessageText, texts_of
from hermes_sessions.storage.values import SQLValue, as_int

GLIMPSE = 500
"""Newest messages that are read before an index is asked that may be slow to answer."""

GLIMPSED = 24
"""Hits wanted of them. With all of them, what is looked for is so common that reading on finds
more sooner than an index."""

CHECKED_AT_ONCE = 64
"""Messages whose text is looked at between two moments in which the search can be given up."""

FEW = 200
"""Hits that are known to be all after one look through an index, which is faster forwards than backwards."""

LAST_ROWID = 2**63 - 1

VOCABULARY_LIMIT = 1_000
"""Trigrams tried for one or two characters."""


class Candidates:
    """Rows of messages that may fit: id, session, role, time, and whether stored and shown text may differ.

    `sessions` are the ids of the sessions that are searched, None for all or where they are not known; where they are
    not named to SQLite, `allows` tells by its id of one whether it counts. Every question to SQLite is a moment in
    which the search can be given up: Interrupted.
    """

    def __init__(
        self,
        database: Database,
        query: SearchQuery,
        needles: Needles,
        sessions: Collection[str] | None,
        cancelled: Callable[[], bool],
        allows: Callable[[str], bool] | None = None,
    ) -> None:
        self._database = database
        self._query = query
        self._needles = needles
        self._cancelled = cancelled
        self._sessions = sessions
        self._allows = allows
        self._checked: dict[int, MessageText] = {}
        self._where, self._values = where(query.of_messages, database)
        if sessions is not None and allows is None:
            self._where = f"m.session_id IN (SELECT value FROM json_each(?)) AND {self._where}"
            self._values.insert(0, json.dumps(list(sessions)))
        calls = "m.tool_calls" if database.has("messages", "tool_calls") else "NULL"
        self.columns = (
            f"m.id, m.session_id, m.role, m.timestamp, m.role = 'tool' OR {calls} NOT NULL OR m.content < char(1)"
            " OR m.content GLOB '*[\x1b\x80-\x9f]*'"
        )

    @cached_property
    def stop(self) -> int:
        """An id above those of all messages that may be found: to pass by all hits above it takes long."""
        if self._sessions is None or self._allows is None:
            return LAST_ROWID
        self.check()
        last = self._database.value(
            "SELECT max(m.id) FROM json_each(?) want CROSS JOIN messages m ON m.session_id = want.value",
            (json.dumps(list(self._sessions), ensure_ascii=False),),
        )
        return 0 if last is None else as_int(last) + 1

    def matching(self, table: str, match: str, below: int, limit: int) -> list[Row]:
        """The newest that an index has under an expression, with ids `below` one."""
        self.check()
        return self._database.rows(
            f"""
            SELECT {self.columns} FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid
            WHERE {table} MATCH ? AND {table}.rowid < ? AND {self._where} ORDER BY {table}.rowid DESC LIMIT ?
            """,
            (match, below, *self._values, limit),
        )

    def ranked(self, table: str, match: str, newest: int) -> tuple[list[Row], int]:
        """The `newest` that an index has under an expression, with their rank as one more column, in no order; and the
        id from which on they are looked for, 0 if these are all."""
        self.check()
        nth = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        floor = as_int(self._database.value(nth, (match, newest - 1)))
        rows = self._database.rows(
            f"""
            SELECT {self.columns}, {table}.rank FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid
            WHERE {table} MATCH ? AND {table}.rowid >= ? AND {self._where}
            """,
            (match, floor, *self._values),
        )
        return rows, floor

    def ids_matching(self, table: str, match: str, floor: int) -> set[int]:
        """Ids of all from `floor` on that an index has under an expression."""
        self.check()
        rows = self._database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ?", (match, floor))
        return {as_int(id) for (id,) in rows}

    def few(self, table: str, match: str) -> list[int] | None:
        """Ids of all that an index has under an expression, newest first; None when they are not few."""
        self.check()
        rows = self._database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT {FEW + 1}", (match,))
        return None if len(rows) > FEW else sorted((as_int(id) for (id,) in rows), reverse=True)

    def of(self, ids: Sequence[int], *, readable: bool = False) -> list[Row]:
        """Those of these messages, newest first, that may be found; if `readable`, SQLite rules out what it can."""
        if not ids:
            return []
        self.check()
        condition, values = self._readable if readable else ("1", [])
        return self._database.rows(
            f"""
            SELECT {self.columns} FROM json_each(?) want CROSS JOIN messages m ON m.id = want.value
            WHERE {self._where} AND {condition} ORDER BY m.id DESC
            """,
            (json.dumps(ids), *self._values, *values),
        )

    def between(self, above: int, below: int, limit: int) -> list[Row]:
        """The newest with ids from `above` to before `below`: SQLite reads them all, and rules out what it can."""
        self.check()
        condition, values = self._readable
        return self._database.rows(
            f"""
            SELECT {self.columns} FROM messages m
            WHERE m.id < ? AND m.id >= ? AND {self._where} AND {condition} ORDER BY m.id DESC LIMIT ?
            """,
            (below, above, *self._values, *values, limit),
        )

    def last_before(self, below: int) -> int | None:
        """The id of the newest message of all below one; None without any."""
        self.check()
        return last_message(self._database, below)

    def newest(self) -> list[Row]:
        """Those among the newest messages of all."""
        stop = message_ids(self._database).stop
        return self.between(stop - GLIMPSE, stop, GLIMPSED)

    def fitting(self, rows: Sequence[Row], *, word_starts: bool = False, vouched: bool = False) -> Iterator[list[Row]]:
        """Those of these rows that fit, a few at a time. There is a list even of none.

        Those that an index has `vouched` for are read only where stored and shown text may differ.
        """
        for start in range(0, max(1, len(rows)), CHECKED_AT_ONCE):
            self.check()
            some = rows[start : start + CHECKED_AT_ONCE]
            if self._allows is not None:  # cheaper than to read what it says
                some = [row for row in some if self._allows(str(row[1]))]
            read = [as_int(row[0]) for row in some if row[4] or not vouched]
            texts = self._checked = texts_of(self._database, read) if read else {}
            unfit = {id for id in read if id not in texts or not texts[id].fits(self._needles, word_starts=word_starts)}
            yield [row for row in some if row[0] not in unfit]

    def texts(self, ids: Sequence[int]) -> dict[int, MessageText]:
        """The texts of these messages, by id. Those that have just been checked are at hand."""
        self.check()
        known = {id: self._checked[id] for id in ids if id in self._checked}
        unknown = [id for id in ids if id not in known]
        return known | texts_of(self._database, unknown) if unknown else known

    @cached_property
    def _readable(self) -> tuple[str, list[SQLValue]]:
        names = ("content", "tool_calls", "tool_name")
        columns = [f"m.{name}" for name in names if self._database.has("messages", name)]
        return readable_condition(self._query, columns)

    def check(self) -> None:
        """Raise Interrupted when the search is given up."""
        if self._cancelled():
            raise Interrupted

    def trigrams_beginning(self, text: str) -> list[str] | None:
        """The trigrams in the index that begin with a text; None when they are too many to try or cannot be listed."""
        if not self._database.has_vocabulary:
            return None
        rows = self._database.rows(
            "SELECT term FROM temp.trigram_vocabulary WHERE term >= ? AND term < ? LIMIT ?",
            (text, text + "\U0010ffff", VOCABULARY_LIMIT + 1),
        )
        return [str(term) for (term,) in rows] if len(rows) <= VOCABULARY_LIMIT else None

"""How a search index that is behind is completed beside everyone who writes: in short transactions, newest first.

Only the tables that keep a text of their own are completed (Hermes up to 0.19, and ours). Those of newer layouts read
it from views that Hermes alone knows how to fill.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_int, as_text
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.index_mark import (
    Claim,
    Mark,
    Stale,
    drop_triggers,
    keeps_text,
    triggers_of,
)
from hermes_sessions.storage.writing.writer import Writer

Progress = Callable[[int, int], object]
"""Called with how many messages were looked at, and how many there are to look at; it may raise to stop."""

Work = Callable[[Database, str, Stale], int]

STEP_SECONDS = 0.04
"""How long one transaction goes on taking messages. The last one it takes may be a long one."""

PAUSE_SECONDS = 0.02
"""How long the lock is left alone after each transaction: others ask for it every few milliseconds."""

CLAIM_SECONDS = 60.0
"""After this long without a sign of life a rebuild is taken to be abandoned, also while its process lives."""

ROWS_AT_ONCE = 20
SHADOWS = ("data", "idx", "content", "docsize", "config")
"""The tables in which FTS5 keeps an index."""
ASIDE = "hermes_sessions_old_"
START, END = -(2**63), 2**63 - 1
"""The ids below and above all messages."""

TEXT = (
    "CASE length(content) WHEN 0 THEN CAST(substr(CAST(content AS BLOB), 2) AS TEXT) ELSE COALESCE(content, '') END"
    " || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '')"
)
"""What the triggers of `schema.sql` put into the index for a message."""


class Rebuild:
    """Completes the index of one store. Only one of all that have the store open does so at a time."""

    def __init__(
        self,
        writer: Writer,
        database: Database,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ):
        self._writer = writer
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep
        self._name = secrets.token_hex(8)

    def run(self, progress: Progress | None) -> None:
        """Complete what can be completed here, unless another is at it. See `SearchIndex.catch_up`."""
        tables = self._writer.run(self._claim)
        mark = Mark.read(self._database)
        done, total = 0, sum(_to_look_at(self._database, mark.tables[table]) for table in tables)

        def report(rows: int) -> None:
            nonlocal done
            done += rows
            if progress:
                progress(min(done, total), total)

        # Else no table could be renamed while a trigger names one that is missing. Not heard inside a transaction.
        self._database.execute("PRAGMA legacy_alter_table = ON")
        try:
            for table in tables:
                self._complete(table, report)
        except _ClaimLost:
            return
        finally:
            self._database.execute("PRAGMA legacy_alter_table = OFF")
            if tables:
                self._writer.run(self._release)

    def _claim(self, database: Database) -> list[str]:
        """Take the task; return the tables that can be completed here."""
        mark = Mark.read(database)
        mark.add_unmarked(database)
        if mark.claim and self._is_live(mark.claim):
            return []
        able = []
        for table, entry in mark.tables.items():
            if not keeps_text(database, table):
                continue
            if reason := _lacks(database, table):
                entry.reason = reason
            else:
                able.append(table)
        mark.claim = Claim(self._name, os.getpid(), self._clock()) if able else None
        mark.write(database)
        return able

    def _release(self, database: Database) -> None:
        mark = Mark.read(database)
        if mark.claim and mark.claim.name == self._name:
            mark.claim = None
            mark.write(database)

    def _is_live(self, claim: Claim) -> bool:
        import psutil

        recent = abs(self._clock() - claim.at) < CLAIM_SECONDS
        return recent and claim.name != self._name and psutil.pid_exists(claim.pid)

    def _complete(self, table: str, report: Callable[[int], None]) -> None:
        try:
            self._fill(table, report)
        except StoreDamaged:
            # It does not hold what it seems to: once more, from nothing.
            self._step(table, _give_up)
            self._fill(table, report)

    def _fill(self, table: str, report: Callable[[int], None]) -> None:
        """Take one table through its steps: replaced if it is damaged, fed again, filled."""
        entry = Mark.read(self._database).tables.get(table, Stale(""))
        if entry.damaged:
            self._require_messages()
            self._step(table, _replace)
        elif entry.below is None:
            self._step(table, _feed)
        while _put_aside(self._database):
            self._step(table, self._clear)
            self._sleep(PAUSE_SECONDS)
            report(0)
        while rows := self._step(table, self._agree):
            self._sleep(PAUSE_SECONDS)
            report(rows)

    def _require_messages(self) -> None:
        """Raise StoreDamaged unless every message can be read: else the index may hold the last copy of one."""
        if (answer := self._database.value("PRAGMA main.quick_check(messages)")) != "ok":
            raise StoreDamaged(f"{self._database.path} is damaged: {answer!s}.", "The search index was left as it is.")

    def _step(self, table: str, work: Work) -> int:
        """One transaction of `work`. Raises _ClaimLost when the task is another's now."""

        def transaction(database: Database) -> int:
            mark = Mark.read(database)
            entry = mark.tables.get(table)
            if entry is None or mark.claim is None or mark.claim.name != self._name:
                raise _ClaimLost
            result = work(database, table, entry)
            if entry.below == START:
                del mark.tables[table]
            mark.claim.at = self._clock()
            mark.write(database)
            return result

        return self._writer.run(transaction)

    def _clear(self, database: Database, table: str, entry: Stale) -> int:
        """Free what was put aside, for a while: dropped at once, a large table would hold the lock for seconds."""
        until = self._monotonic() + STEP_SECONDS
        for name in _put_aside(database):
            some = f"SELECT id FROM {name} LIMIT {ROWS_AT_ONCE}"
            while database.has(name, "id") and database.rows(f"DELETE FROM {name} WHERE id IN ({some}) RETURNING 1"):
                if self._monotonic() >= until:
                    return 0
            database.execute(f"DROP TABLE {name}")
        return 1

    def _agree(self, database: Database, table: str, entry: Stale) -> int:
        """Make entries and messages agree for a while, by falling id; return how many were looked at, 0 at the end."""
        until = self._monotonic() + STEP_SECONDS
        count = 0
        while True:
            ids = database.rows(
                f"SELECT id FROM messages WHERE id < ?1 UNION SELECT id FROM {table}_content WHERE id < ?1"
                f" ORDER BY id DESC LIMIT {ROWS_AT_ONCE}",
                (entry.below,),
            )
            for (id,) in ids:
                other = database.row(
                    f"SELECT instr(CAST(c.c0 AS BLOB), x'00') FROM {table}_content c LEFT JOIN messages m USING (id)"
                    f" WHERE c.id = ? AND (m.id IS NULL OR c.c0 IS NOT ({TEXT}))",
                    (id,),
                )
                if other and other[0]:
                    # Put there by Hermes, perhaps with another SQLite, which divides a text behind a NUL otherwise.
                    raise StoreDamaged(f"What a search index of {database.path} has of message {id!s} is uncertain.")
                if other:
                    database.execute(f"DELETE FROM {table} WHERE rowid = ?", (id,))
                database.execute(
                    f"INSERT INTO {table}(rowid, content) SELECT id, {TEXT} FROM messages"
                    f" WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM {table}_content WHERE id = ?1)",
                    (id,),
                )
                count += 1
                entry.below = as_int(id)
                if self._monotonic() >= until:
                    return count
            if not ids:
                if count == 0:
                    entry.below = START
                return count


class _ClaimLost(Exception):
    """Another process completes the index now, or has let go of it."""


def condemn(database: Database, tables: Iterable[str] = schema.FTS_TABLES) -> None:
    """Mark these tables of the index as damaged, so that they are made anew. Whoever is completing them stops."""
    mark = Mark.read(database)
    mark.tables |= {table: Stale("made anew") for table in tables if keeps_text(database, table)}
    mark.claim = None
    mark.write(database)


def _lacks(database: Database, table: str) -> str:
    """The module or the tokenizer of a table of the index that this SQLite does not have; empty when it has both."""
    _, using, rest = _statement(database, table).partition("USING")
    try:
        database.execute(f"CREATE VIRTUAL TABLE temp.hermes_sessions_trial {using}{rest}")
    except StoreDamaged as error:
        return str(error.__cause__)
    database.execute("DROP TABLE temp.hermes_sessions_trial")
    return ""


def _statement(database: Database, table: str) -> str:
    """How a table of the index was made; how it would be, where there is none."""
    stored = as_text(database.value("SELECT sql FROM main.sqlite_schema WHERE name = ?", (table,)))
    return stored or _declared(table)


def _declared(name: str) -> str:
    return next(declared.sql for declared in schema.objects() if declared.name == name)


def _to_look_at(database: Database, entry: Stale) -> int:
    below = END if entry.below is None else entry.below
    return as_int(database.value("SELECT count(*) FROM messages WHERE id < ?", (below,)))


def _give_up(database: Database, table: str, entry: Stale) -> int:
    entry.damaged = True
    return 1


def _feed(database: Database, table: str, entry: Stale) -> int:
    """Put the triggers in place. From here on no change is missed, and what is older can be filled in."""
    drop_triggers(database, table)
    for name in triggers_of(table):
        database.execute(_declared(name))
    entry.below = END
    return 1


def _replace(database: Database, table: str, entry: Stale) -> int:
    """Put an empty table in the place of a damaged one, and feed it. What the old one kept is put aside."""
    statement = _statement(database, table)
    drop_triggers(database, table)
    for shadow in SHADOWS:
        name = f"{table}_{shadow}"
        if database.row("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)):
            database.execute(f"ALTER TABLE {name} RENAME TO {ASIDE}{secrets.token_hex(4)}_{shadow}")
    drop_table(database, table)
    database.execute(statement)
    entry.damaged = False
    return _feed(database, table, entry)


def _put_aside(database: Database) -> list[str]:
    return [str(name) for (name,) in database.rows(f"SELECT name FROM sqlite_schema WHERE name GLOB '{ASIDE}*'")]


def drop_table(database: Database, table: str) -> None:
    """Drop an FTS5 table that may lack what FTS5 needs to open it, and what is left of its shadow tables.

    FTS5 (SQLite 3.54) cannot open one without a sound `_config`, and drops it in whatever state the others are.
    """
    if database.row("SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE VIRTUAL%'", (table,)):
        database.execute(f"DROP TABLE IF EXISTS {table}_config")
        database.execute(f"CREATE TABLE {table}_config(k PRIMARY KEY, v) WITHOUT ROWID")
        database.execute(f"INSERT INTO {table}_config VALUES ('version', 4)")
        database.execute(f"DROP TABLE {table}")
    for shadow in SHADOWS:
        database.execute(f"DROP TABLE IF EXISTS {table}_{shadow}")

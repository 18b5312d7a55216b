"""The search index of a store of our own: whether it answers, and what happens when it fails.

The index is derived from the messages, so it must never keep one from being stored. A write that fails is tried again
without the triggers that feed the index; if it passes, the index was at fault: its triggers stay away, and a mark in
`state_meta` says so. While the mark is there, readers look into the messages themselves (`index_health.stale_tables`),
until an owner whose SQLite can do so has completed the index (`rebuild`).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeVar

import apsw

from hermes_sessions.errors import IndexUnusable, SessionsError, StoreDamaged, UsageError
from hermes_sessions.storage.database import INDEX_HINT, Database
from hermes_sessions.storage.values import as_int, as_text
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.index_mark import EVENTS, Mark, Stale, drop_triggers, waiting
from hermes_sessions.storage.writing.rebuild import Progress, Rebuild, condemn
from hermes_sessions.storage.writing.writer import Writer

T = TypeVar("T")

_TRIGGER = re.compile(rf"(messages_fts\w*)_(?:{'|'.join(EVENTS)})", re.ASCII)
_INCAPABLE = re.compile(r"no such (?:module|tokenizer)")

_logger = logging.getLogger(__name__)
_warned: set[str] = set()


class IndexState(NamedTuple):
    """Whether the index answers. `missing` is how many messages it may lack, `reason` why; empty when it is usable."""

    status: Literal["usable", "stale", "missing"]
    reason: str = ""
    missing: int = 0


_NOT_OF_THE_INDEX = (apsw.ConnectionClosedError, apsw.ThreadingViolationError, apsw.TooBigError)


class SearchIndex:
    """The search index of one store, and the way to write that it never stands in.

    `clock` gives the time of day, `monotonic` measures the steps of a rebuild, `sleep` parts them; all in seconds.
    """

    def __init__(
        self,
        writer: Writer,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._writer = writer
        self._database = database
        self._rebuild = Rebuild(writer, database, clock=clock, monotonic=monotonic, sleep=sleep)

    def run(self, fn: Callable[[Database], T]) -> T:
        """Return what `fn` returned once its transaction is committed, with the index or without. See `Writer.run`.

        Raises what `fn` raises with the index in place, and StoreBusy; nothing is written then.
        """
        try:
            return self._writer.run(fn)
        except (StoreDamaged, UsageError) as error:
            # A broken index shows in many ways: as corruption, as a missing table, even as a constraint.
            cause = error.__cause__
            if not isinstance(cause, apsw.Error) or isinstance(cause, _NOT_OF_THE_INDEX):
                raise
            return self._run_without_index(fn, error)

    @property
    def state(self) -> IndexState:
        """What the index can answer now. Counts messages when it cannot."""
        mark = self._mark()
        if not mark.tables:
            return IndexState("usable")
        there = self._database.value("SELECT 1 FROM sqlite_schema WHERE name = 'messages_fts'")
        missing = max(waiting(self._database, entry) for entry in mark.tables.values())
        return IndexState("stale" if there else "missing", mark.reason, missing)

    def catch_up(self, progress: Progress | None = None) -> bool:
        """Complete the index if it is behind, as far as this SQLite can, and return whether it is whole.

        What an owner does on opening; under a millisecond when there is nothing to do. Newest messages come first. It
        may be stopped anywhere, by an exception out of `progress` or by the end of the process: the next one goes on
        from there. Does nothing while another process is at it. Raises StoreBusy, and StoreDamaged when the pages of
        the messages or of the index cannot be read; what could be read is all there then, too.
        """
        if not self._mark().tables:
            return True
        self._rebuild.run(progress)
        left = self._mark()
        if left.tables and not left.claim:
            self._say(left.reason)
        return not left.tables

    def rebuild(self, progress: Progress | None = None) -> bool:
        """Make the index anew, for one that answers and is wrong (see `check`). All else is as in `catch_up`."""
        self._writer.run(condemn)
        return self.catch_up(progress)

    def check(self) -> None:
        """Compare both indexes with the text they keep, the strict way (FTS5's 'integrity-check', rank 1).

        Raises IndexUnusable when one differs, or is known to be behind. Holds the write lock for as long as it runs.
        """
        state = self.state
        if state.status != "usable":
            raise self._unusable(f"{state.status} ({state.reason})")
        try:
            self._writer.run(schema.check_index)
        except StoreDamaged as error:
            raise self._unusable(f"damaged ({error.__cause__})") from error

    def _mark(self) -> Mark:
        mark = Mark.read(self._database)
        mark.add_unmarked(self._database)
        return mark

    def _run_without_index(self, fn: Callable[[Database], T], error: SessionsError) -> T:
        """Run `fn` without the triggers of one table of the index, then of all; raise `error` if that is no better."""
        rows = self._database.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
        names = [_TRIGGER.fullmatch(as_text(name) or "") for (name,) in rows]
        tables = sorted({name[1] for name in names if name})
        # With none left another process has let go of them meanwhile, and `fn` is only run again.
        for chosen in (*([table] for table in tables), tables):

            def attempt(database: Database, chosen: list[str] = chosen) -> T:
                _let_go(database, chosen, str(error.__cause__))
                return fn(database)

            try:
                result = self._writer.run(attempt)
            except (StoreDamaged, UsageError):
                continue
            self._say(str(error.__cause__))
            return result
        raise error

    def _unusable(self, what: str) -> IndexUnusable:
        return IndexUnusable(f"The search index of {self._database.path} is {what}.", INDEX_HINT)

    def _say(self, reason: str) -> None:
        path = str(self._database.path.absolute())
        notice = f"A search index of {path} is not in use ({reason}). Messages are stored, and found without it."
        if notice not in self._database.notices:
            self._database.notices.append(notice)
        if path not in _warned:
            _warned.add(path)
            _logger.warning(notice)


def _let_go(database: Database, tables: Iterable[str], reason: str) -> None:
    """Take away the triggers of these tables, and mark them: what is written from now on will be missing."""
    mark = Mark.read(database)
    newest = as_int(database.value("SELECT max(id) FROM messages"))
    for table in tables:
        drop_triggers(database, table)
        known = mark.tables.get(table)
        if known is not None and known.damaged:
            continue  # nothing of it will stay
        damaged = not _INCAPABLE.search(reason)
        mark.tables[table] = Stale(reason, known.newest if known else newest, damaged)
        # Whoever fills it must begin anew.
        mark.claim = None
    mark.write(database)

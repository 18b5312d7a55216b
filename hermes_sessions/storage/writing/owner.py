"""A store of our own: made, brought up to date and opened here; composed of the parts that write it.

Who waits for whom is argued in `writer`; reading is for `open_store`.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from hermes_sessions.errors import SessionsError, StoreBusy, StoreDamaged, StoreReplaced, StoreUnreadable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import stale_tables
from hermes_sessions.storage.lock_holder import lock_holder
from hermes_sessions.storage.writing import place
from hermes_sessions.storage.writing.first_aid import condemn_silent, open_mended
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.journal import ask_for_wal
from hermes_sessions.storage.writing.lineage import LineageWriter
from hermes_sessions.storage.writing.messages import MessageWriter
from hermes_sessions.storage.writing.migration import migrate, standing
from hermes_sessions.storage.writing.rebuild import Progress
from hermes_sessions.storage.writing.removal import RemovalWriter
from hermes_sessions.storage.writing.sessions import SessionWriter
from hermes_sessions.storage.writing.usage import UsageWriter
from hermes_sessions.storage.writing.writer import BUDGET_SECONDS, LONGEST_WAIT_SECONDS, SHORTEST_WAIT_SECONDS, Writer

T = TypeVar("T")

BUSY_TIMEOUT_MS = 1_000
"""How long SQLite itself waits for a lock before the Writer takes its turn, as in Hermes."""


def own_store(
    path: str | os.PathLike[str],
    *,
    clock: Callable[[], float] = time.time,
    durable: bool = True,
    progress: Progress | None = None,
    budget: float = BUDGET_SECONDS,
    attempts: int | None = None,
) -> OwnerStore:
    """Open a store of our own for writing. What is missing of it is made; an older one is brought up to date.

    Any number of processes may do so at the same time, also where there is nothing yet. A new file is readable by its
    owner alone (0600, in folders of 0700), laid out as by Hermes 0.17.0 (version 16) and in WAL where the disk allows.
    A file of a version above 16 is written as it is. `progress` is called with the rows done and to do while an older
    file is changed, then while its search index is filled; what it raises stops that, and the file is as before or goes
    on with the next call.

    With `durable` an append that has returned survives a power cut, without only the end of the process. `clock` is the
    time of day. A lock of another process is waited for as long as `budget` (seconds) and `attempts` allow, here and by
    every later call.

    A malformed catalogue and an index that does not answer are mended, once for each process and path (`first_aid`);
    the store as it was is kept beside it then, and `notices` say so.

    Raises StoreDamaged for what is no session store (it stays untouched), StoreUnreadable and ReadOnlyStore when the
    place does not serve or the disk is full, StoreBusy.
    """
    path = Path(path)
    place.claim(path)
    return _open(path, clock, durable, progress, budget, attempts)


def create_store(
    path: str | os.PathLike[str],
    *,
    clock: Callable[[], float] = time.time,
    durable: bool = True,
    budget: float = BUDGET_SECONDS,
    attempts: int | None = None,
) -> OwnerStore:
    """Make a new, empty store at `path` and open it: `own_store` for a place where nothing may be.

    Raises FileExists when anything is there already, and what `own_store` raises; no file of ours is left behind then.
    """
    path = Path(path)
    place.claim_new(path)
    try:
        return _open(path, clock, durable, None, budget, attempts)
    except BaseException:
        # Somebody else may have found the file meanwhile, and written to it.
        with suppress(OSError, SessionsError):
            with closing(_database(path)) as database:
                unused = not database.tables
            if unused:
                path.unlink()
        raise


class OwnerStore:
    """Sessions and messages, written. One thread owns it, any number of processes may have one on the same file."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        writer: Writer | None = None,
        durable: bool = True,
    ):
        database.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self.path = database.path
        self.journal_mode = str(database.value("PRAGMA journal_mode"))
        self._closed = False
        self._database = database
        self._writer = writer or Writer(database)
        self.index = SearchIndex(self._writer, database, clock=clock)
        self.sessions = SessionWriter(self.index, clock)
        self.messages = MessageWriter(self.index, clock)
        self.lineage = LineageWriter(self.index, clock)
        self.usage = UsageWriter(self.index, clock)
        self.removal = RemovalWriter(self.index, clock, database)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know about this store, such as a refused WAL."""
        return tuple(self._database.notices)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Merge the write-ahead log into the file as far as nobody is in the way, and let go of both.

        When the last connection to a file goes, SQLite merges once more and deletes the log. That is left on
        (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE): it is done under an exclusive lock, which is not waited for and only granted
        where nobody else has the file open; after the PASSIVE merge before it next to nothing is left to copy; and a
        file without a log beside it can be copied, moved to where nothing may be written, and replaced by a backup
        without losing or mixing anything. What is not ours any more is left alone, see `Database.close`.
        """
        if self._closed:
            return
        self._closed = True
        with suppress(StoreReplaced):
            self._database.check_still_there()
            self._writer.checkpoint()
        self._database.close()


def _open(
    path: Path,
    clock: Callable[[], float],
    durable: bool,
    progress: Progress | None,
    budget: float,
    attempts: int | None,
) -> OwnerStore:
    with ExitStack() as undo:
        database = open_mended(path, budget, lambda: _patiently(path, budget, lambda: _database(path)))
        undo.callback(database.close)
        found = _patiently(path, budget, lambda: standing(database))
        if loose := place.tighten(path):
            database.notices.append(loose)
        writer = Writer(database, budget=budget, attempts=attempts)
        if found != "newer":
            _patiently(path, budget, lambda: ask_for_wal(database))
        if found in ("empty", "older"):
            migrate(database, writer, progress)
        store = OwnerStore(database, clock=clock, writer=writer, durable=durable)
        if found == "current":
            condemn_silent(path, database, writer)
        if found != "newer" or stale_tables(database):
            _complete_index(store, database, progress)
        undo.pop_all()
    return store


def _database(path: Path) -> Database:
    return Database(path, "owner", busy_timeout_ms=BUSY_TIMEOUT_MS)


def _complete_index(store: OwnerStore, database: Database, progress: Progress | None) -> None:
    """An index that cannot be completed now is one more thing to say, and no reason to have no store."""
    try:
        store.index.catch_up(progress)
    except (StoreBusy, StoreDamaged, StoreUnreadable) as error:  # the last one: a full disk
        database.notices.append(f"The search index is not complete: {error.message}")


def _patiently(path: Path, budget: float, action: Callable[[], T]) -> T:
    """Do what needs a lock outside of a transaction; the budget is that of a write."""
    deadline = time.monotonic() + budget
    while True:
        try:
            return action()
        except StoreBusy as error:
            if time.monotonic() >= deadline:
                holder = lock_holder(path) or "another program"
                raise StoreBusy(f"{path} was locked by {holder} and could not be opened.", error.hint) from error
        time.sleep(random.uniform(SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS))

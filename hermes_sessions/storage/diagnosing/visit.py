"""One visit of the doctor: to which store, for how long, and how it gives way to those who work there.

A small store is copied into memory, and its long checks read the copy. In a large one a long check goes in steps,
or ends when it has taken its time, when somebody wants to write, or when Ctrl+C is pressed. What is checked is for
the other files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from hermes_sessions.errors import Interrupted, StoreBusy, StoreDamaged, StoreUnreadable
from hermes_sessions.storage.database import BUSY_TIMEOUT_MS, Database
from hermes_sessions.storage.lock_holder import log_readers

SMALL = 64 << 20
"""Bytes up to which a store is copied, and checked from end to end."""

SECONDS = 1.0
"""How long a check of a large store may take that does not have to be complete."""

LOG_GROWTH = 16 << 20
"""Bytes that others may write into the log before a long reading ends for their sake: meanwhile it only grows."""

INSTRUCTIONS = 2_000
"""Steps of SQLite's machine, or pages, between two looks at the clock: some milliseconds at most."""

Show = Callable[[str, float | None], None]
"""Told what is being looked at, and which part of it is done, if that can be known."""


class Visit:
    """What every check is given. `path` has no links in it, so that what lies beside the file is found."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        *,
        full: bool = False,
        show: Show = lambda what, share: None,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = Path(os.path.realpath(path))
        self.full = full
        self.now = clock()
        self.what = ""
        self.share: float | None = None
        self._reading: tuple[apsw.Connection, float] | None = None
        self.disputed: set[str] = set()
        """Search indexes that SQLite itself has taken for damaged."""
        self.unreadable: set[str] = set()
        """Search indexes with pages that cannot be read."""
        self.disordered = False
        """Whether the catalogue is damaged, so that SQLite may complain of what is well."""
        self.broken = False
        """Whether damage was found that later checks may stumble over."""
        self.readers = log_readers(self.path)
        """Processes that were reading when the visit began."""
        self._show = show
        self._tick = tick
        self._ends: float | None = None
        self._log_limit: int | None = None

    def begin(self, what: str) -> None:
        """Say what is looked at from now on."""
        self.what, self.share, self._reading = what, None, None
        self._show(what, None)

    def size(self, suffix: str = "") -> int:
        """Bytes of the store, or of a file beside it; 0 where there is none."""
        with suppress(OSError):
            return Path(f"{self.path}{suffix}").stat().st_size
        return 0

    @property
    def small(self) -> bool:
        return self.size() + self.size("-wal") <= SMALL

    @property
    def whole(self) -> bool:
        """Whether everything is read from end to end."""
        return self.small or self.full

    @contextmanager
    def opened(self) -> Iterator[Database]:
        """The store, open for reading. Raises the errors of `Database`, and Interrupted past a limit."""
        with closing(Database(self.path, busy_timeout_ms=BUSY_TIMEOUT_MS)) as database:
            self.watch(database.connection)
            yield database

    def watch(self, connection: apsw.Connection) -> None:
        """Look at the clock while a statement of this connection runs; it is also when Ctrl+C gets through."""
        connection.set_progress_handler(self._enough, INSTRUCTIONS)

    def measure(self, connection: apsw.Connection, expected: float) -> None:
        """Tell how far a long statement is by the pages that it has read, of those that it will read, about."""
        self._reading = connection, max(1.0, expected)

    @contextmanager
    def limited(self, seconds: float | None = None) -> Iterator[None]:
        """Have statements end with Interrupted when they took `seconds` (None: however long), or get in the way."""
        self._ends = None if seconds is None else self._tick() + seconds
        self._log_limit = self.size("-wal") + LOG_GROWTH
        try:
            yield
        finally:
            self._ends = self._log_limit = self._reading = None

    @contextmanager
    def copied(self) -> Iterator[apsw.Connection]:
        """A copy of the store in memory, which reads past broken entries of the catalogue, and may be written.

        Raises the errors of `opened`, and turns those of SQLite inside into ones of the tree.
        """
        with closing(apsw.Connection(":memory:")) as copy:
            try:
                with self.opened() as database, copy.backup("main", database.connection, "main") as backup:
                    backup.step()
                copy.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
                copy.pragma("writable_schema", True)
                self.watch(copy)
                yield copy
            except apsw.InterruptError as error:
                raise Interrupted() from error
            except apsw.BusyError as error:
                raise StoreBusy(f"{self.path} stayed locked.", "Try again when it is free.") from error
            except apsw.IOError as error:
                message = f"{self.path} cannot be read from end to end."
                raise StoreUnreadable(message, "The disk fails, or a log was deleted while it was in use.") from error
            except apsw.Error as error:
                raise StoreDamaged(f"{self.path} is damaged: {error}.") from error

    def steps(self, seconds: float = SECONDS) -> Iterator[None]:
        """Steps of a long check, to be left when it is done: as many as fit into `seconds`, and without end in full."""
        ends = self._tick() + seconds
        while True:
            yield
            self._show(self.what, self.share)
            if not self.full and self._tick() > ends:
                return

    def _enough(self) -> bool:
        if self._reading:
            connection, expected = self._reading
            self.share = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] / expected
        self._show(self.what, self.share)
        if self._ends is not None and self._tick() > self._ends:
            return True
        return self._log_limit is not None and (self.size("-wal") > self._log_limit or self.size("-journal") > 0)

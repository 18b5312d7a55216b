"""How a store is written while other processes write it too.

SQLite lets one connection write at a time, and readers of a WAL file are never in the way. So a write is one
short transaction, and only its beginning has to wait:

* `BEGIN IMMEDIATE` takes the write lock before anything is read. What `fn` then reads cannot change under it, and
  a transaction that has begun is not turned away half way, as one that starts by reading and writes later is
  (SQLITE_BUSY_SNAPSHOT, which no waiting cures).
* While another process holds a lock, SQLite asks `_keep_asking` how to go on. Its own way is to ask ever more rarely,
  and then whoever has waited longest is the least likely to come in: beside seven busy writers some waited for seconds
  while others wrote thousands of times. Here one asks ever sooner, at random times so that no two keep step: the
  slowest append becomes many times faster. (Locks that block in the kernel would be better still, but on Unix SQLite
  has only a placeholder for them: with SQLITE_ENABLE_SETLK_TIMEOUT and sqlite3_setlk_timeout it tries once, and is
  busy.) That is for a queue of short writes. What lasts longer is a long one, a backup, a stopped process: then one
  asks seldom, or a crowd of ours would shut out a Hermes, which gives up after some sixteen seconds.
* After `PATIENCE_SECONDS`, and where SQLite does not ask (a WAL that is recovered after a crash, a deadlock of two
  that both hold something), it is BUSY: roll back, so that nothing is kept from others, wait 20 to 150 ms as
  Hermes does, and run the whole of `fn` again. `fn` must therefore have no effect outside the database.
* The time budget decides when to give up. People met locks held for many seconds by a checkpoint or a backup; a
  message that was lost is worse than one that came late. A cap of attempts is there for callers that
  would rather fail fast.

Nothing of a transaction is visible before COMMIT returns, and with `synchronous=FULL` a transaction whose
`run` has returned survives the end of the process and of the power.

The WAL is merged into the database by whoever has just written, without ever waiting for anybody (PASSIVE): by SQLite
itself as soon as it has grown to a thousand pages, and here after every `WRITES_PER_CHECKPOINT` and at the end. Without
the former it grows without end while many write. A longer one, left by somebody who read for long, is cut back.
"""

from __future__ import annotations

import logging
import math
import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

from hermes_sessions.errors import SessionsError, StoreBusy, UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.lock_holder import lock_holder

T = TypeVar("T")

BUDGET_SECONDS = 20.0
PATIENCE_SECONDS = 1.0
"""How long a transaction waits where it is before it lets go of what it holds, as in Hermes."""
FIRST_PAUSE_SECONDS = 0.010
"""About as long as a queue of a few writers takes."""
LAST_PAUSE_SECONDS = 0.0005
"""Reached after `IMPATIENT_SECONDS`; asking so often takes about a twentieth of a processor."""
IMPATIENT_SECONDS = 0.050
QUEUE_SECONDS = 0.250
"""Whoever has waited longer than that does not stand in a queue of short writes."""
LONG_PAUSE_SECONDS = 0.035
SHORTEST_WAIT_SECONDS = 0.020
LONGEST_WAIT_SECONDS = 0.150

WRITES_PER_CHECKPOINT = 50
LARGEST_IDLE_WAL = 64 * 2**20
"""Bytes of a WAL that are kept for its next use. As in Hermes after 0.19."""

_logger = logging.getLogger(__name__)


class Writer:
    """Runs functions as write transactions of one connection, and decides how that one waits for locks.

    `budget` is in seconds on `clock`; `attempts` caps how often a function is started, None leaves that to the budget.
    `uniform` gives the jitter.
    """

    def __init__(
        self,
        database: Database,
        *,
        budget: float = BUDGET_SECONDS,
        attempts: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ):
        self._database = database
        self._budget = budget
        self._attempts = attempts
        self._clock = clock
        self._sleep = sleep
        self._uniform = uniform
        self._writes = 0
        self._pid = os.getpid()
        self._started = self._deadline = math.inf
        self._first_asked = 0.0
        database.connection.set_busy_handler(self._keep_asking)
        database.execute(f"PRAGMA journal_size_limit={LARGEST_IDLE_WAL}")

    def run(self, fn: Callable[[Database], T]) -> T:
        """Return what `fn` returned once its transaction is committed. `fn` may be run several times.

        Raises StoreBusy when the store stayed locked past the limit, naming who holds the lock where that can be known;
        StoreReplaced when the file is no longer the one at its path; and whatever `fn` raises. Nothing is written then.
        """
        self._started = self._clock()
        self._deadline = self._started + self._budget
        attempt = 1
        try:
            while True:
                try:
                    result = self._transaction(fn)
                    break
                except StoreBusy as error:
                    if self._clock() >= self._deadline or attempt == self._attempts:
                        raise self._given_up(self._clock() - self._started) from error
                self._sleep(self._uniform(SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS))
                attempt += 1
        finally:
            self._started = self._deadline = math.inf
        self._writes += 1
        if self._writes % WRITES_PER_CHECKPOINT == 0:
            self.checkpoint()
        return result

    def checkpoint(self) -> None:
        """Merge as much of the WAL into the database as can be without waiting for anybody. To be called at the end.

        What fails is only logged: the WAL holds what was written, and the next one tries again.
        """
        try:
            self._database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except SessionsError as error:
            _logger.warning("The write-ahead log of %s was not merged: %s", self._database.path, error.__cause__)

    def _transaction(self, fn: Callable[[Database], T]) -> T:
        if os.getpid() != self._pid:
            # SQLite's locks stay with the parent: what is written here may land in a log that is deleted meanwhile.
            raise UsageError(
                f"{self._database.path} was opened by process {self._pid}, before this one was forked from it.",
                "Nothing was written. Open the store in the new process.",
            )
        if self._database.in_transaction:
            raise RuntimeError("a write transaction may not be started inside another one")
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.check_still_there()
            self._database.follow_layout()
            result = fn(self._database)
            self._database.execute("COMMIT")
        except BaseException:
            # Some errors (disk full, I/O) have rolled back already.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        return result

    def _keep_asking(self, asked: int) -> bool:
        """Wait a moment for a lock that was refused `asked` times before; False to be refused for good."""
        now = self._clock()
        if asked == 0:
            self._first_asked = now
        patience = self._budget if self._deadline == math.inf else PATIENCE_SECONDS  # a question beside `run` asks once
        if now - self._first_asked >= patience or now >= self._deadline:
            return False
        waited = now - min(self._started, self._first_asked)
        pause = max(LAST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * (1 - waited / IMPATIENT_SECONDS))
        if waited >= QUEUE_SECONDS:
            pause = LONG_PAUSE_SECONDS
        self._sleep(self._uniform(pause / 2, pause * 3 / 2))
        return True

    def _given_up(self, waited: float) -> StoreBusy:
        path = self._database.path
        holder = lock_holder(path)
        return StoreBusy(
            f"{path} was locked by {holder or 'another program'} for {waited:.1f} s; nothing was written.",
            "Try again when it has finished.",
        )

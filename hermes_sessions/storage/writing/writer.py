"""How a store is written while other processes write it too.

SQLite lets one connection write at a time, and readers of a WAL file are never in the way. So a write is one
short transaction, and only its beginning has to wait:

* `BEGIN IMMEDIATE` takes the write lock before anything is read. What `fn` then reads cannot change under it, and
  a transaction that has begun is not turned away half way, as one that starts by reading and writes later is
  (SQLITE_BUSY_SNAPSHOT, which no waiting cures).
* BUSY still happens at three places: at BEGIN while another writer is at work; inside `fn` or at COMMIT when there is
  no WAL and a reader is in the way or the cache spills; at any place while another process recovers the WAL
  after a crash. All are answered alike: roll back, wait, run the whole of `fn` again. `fn` must therefore have no
  effect outside the database.
* The wait is random, 20 to 150 ms as in Hermes. Writers that wait for equal times meet again at the lock; random ones
  spread.
* The time budget decides when to give up. People met locks held for many seconds by a checkpoint or a backup; a
  message that was lost is worse than one that came late. A cap of attempts is there for callers that
  would rather fail fast.

Nothing of a transaction is visible before COMMIT returns, and with `synchronous=FULL` a transaction whose
`run` has returned survives the end of the process and of the power.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from hermes_sessions.errors import StoreBusy
from hermes_sessions.storage.database import Database

T = TypeVar("T")

BUDGET_SECONDS = 20.0
SHORTEST_WAIT_SECONDS = 0.020
LONGEST_WAIT_SECONDS = 0.150


class Writer:
    """Runs functions as write transactions of one connection.

    `budget` is in seconds on `clock`; `attempts` caps how often a function is started, None leaves that to the budget.
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

    def run(self, fn: Callable[[Database], T]) -> T:
        """Return what `fn` returned once its transaction is committed. `fn` may be run several times.

        Raises StoreBusy when the store stayed locked past the limit, and whatever `fn` raises; nothing is written then.
        """
        started = self._clock()
        attempt = 1
        while True:
            try:
                return self._transaction(fn)
            except StoreBusy as error:
                waited = self._clock() - started
                if waited >= self._budget or attempt == self._attempts:
                    raise StoreBusy(
                        f"{self._database.path} was locked by another program for {waited:.1f} s; nothing was written.",
                        error.hint,
                    ) from error
            self._sleep(self._uniform(SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS))
            attempt += 1

    def _transaction(self, fn: Callable[[Database], T]) -> T:
        if self._database.connection.in_transaction:
            raise RuntimeError("a write transaction may not be started inside another one")
        try:
            self._database.execute("BEGIN IMMEDIATE")
            result = fn(self._database)
            self._database.execute("COMMIT")
        except BaseException:
            # Some errors (disk full, I/O) have rolled back already.
            if self._database.connection.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        return result

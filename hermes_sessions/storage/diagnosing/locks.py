"""What says that sessions are in use: locks and leases in the store, the registry beside it, and a repair that goes on.

Whether they are right: those of programs that ended without taking them back are stale.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted, some
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.lease_registry import NAME, read_leases
from hermes_sessions.storage.liveness import LOCKS, Liveness
from hermes_sessions.storage.processes import Processes
from hermes_sessions.storage.values import as_text, as_time

_PID = re.compile(r"(\d{1,10}):")
"""Hermes names a holder by process, thread and a random word."""


def use_check(visit: Visit, database: Database) -> Check:
    """How many sessions are in use, by any sign in the store."""
    live = len(Liveness(database).live_sessions(visit.now))
    return Check("in use", "ok", f"{counted(live, 'session')} right now" if live else "no session right now")


def lock_check(visit: Visit, database: Database) -> Iterator[Check]:
    """Locks and leases whose holder has ended, and those that have run out."""
    processes = Processes()
    dead, over = [], 0
    for table, column in LOCKS:
        if not {column, "holder", "expires_at"} <= database.columns(table):
            continue
        for id, holder, expires in database.rows(f"SELECT {column}, holder, expires_at FROM {table}"):
            pid = _PID.match(as_text(holder) or "")
            if (as_time(expires) or 0.0) <= visit.now:
                over += 1
            elif pid and processes.find(int(pid[1])) is None:
                dead.append(as_text(id) or "")
    if dead:
        means = "Hermes waits for a process that has ended, for five minutes at most; then it takes the lock itself."
        yield Check("locks", "warn", f"Held by a process that has ended: {some(dead)}.", "", means)
    elif over:
        yield Check("locks", "ok", f"{counted(over, 'lock')} that ran out: Hermes passes over them")
    elif any(database.columns(table) for table, _ in LOCKS):
        yield Check("locks", "ok", "none is stale")


def registry_check(visit: Visit) -> Iterator[Check]:
    """The registry of leases in the home of the store."""
    runtime = visit.path.parent / "runtime"
    if not (runtime / NAME).exists():
        return
    found = read_leases(runtime)
    if found.notice:
        means = "Hermes takes it for empty, writes over it, and forgets which sessions are in use."
        yield Check("leases", "warn", found.notice, "", means)
        return
    stale = f"; {found.dropped} of programs that have ended, which Hermes passes over" if found.dropped else ""
    yield Check("leases", "ok", f"{counted(len(found.leases), 'lease')} held{stale}")


def repair_check(visit: Visit) -> Iterator[Check]:
    """Whether a repair goes on. The lock file stays when it is over, and says nothing then."""
    lock = Path(f"{visit.path}.repair.lock")
    if not lock.exists():
        return
    if holder := _flock_holder(lock):
        means = "Wait until it has finished, and look again."
        yield Check("repair", "warn", f"Process {holder} is repairing the store right now.", "", means)
    else:
        yield Check("repair", "ok", "none goes on; its lock file is held by nobody")


def _flock_holder(lock: Path) -> int:
    """The process that holds a lock of flock(2) on a file, by proc_locks(5); 0 where none is known."""
    with suppress(OSError, ValueError):
        status = lock.stat()
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if len(words) == 8 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(status.st_ino):
                return int(words[4]) if int(words[4]) != os.getpid() else 0
    return 0

"""Saying that a session is in use: leases that hold as long as their process lives, shared with Hermes 0.17 and later.

Leases count against `max_concurrent_sessions` in both programs, whoever took them; an entry of a dead process is
dropped by whoever changes the registry next. What holds is told by `lease_registry`, how the files are locked and
replaced is in `lease_file`.

Where this differs from Hermes, and why:

* A lease is written even where no limit is set. It also says that a session is in use: without it a browser could let
  someone delete what an agent is writing. A Hermes without a limit does not look at the file.
* A lease of this program that has vanished from the registry while its holder lives (Hermes took a damaged file for an
  empty one; the clock was set and Hermes no longer knew the process) is entered again with the next change.
* A registry that the system does not let us read stops the change. One that makes no sense is set aside, and what is
  known of it still counts: whole entries in it, and all leases of this program. To refuse every session until
  somebody repairs the file would be worse than the one that a lost lease of Hermes may let in.
* An entry that names no process one could look for is left as it is, and counts for nothing.
"""

from __future__ import annotations

import json
import logging
import math
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hermes_sessions.errors import LeaseLost, LimitReached, SessionLive, UsageError
from hermes_sessions.model import Lease
from hermes_sessions.storage.lease_file import BUDGET_SECONDS, LeaseFile
from hermes_sessions.storage.lease_registry import (
    PROGRAM,
    Registry,
    is_ours,
    lease_id,
    lease_of,
    registry,
)
from hermes_sessions.storage.processes import Processes, Running
from hermes_sessions.storage.store_file import check_name

MOST_NAMED = 5
"""How many holders a refusal names."""

_logger = logging.getLogger(__name__)


def session_limit(value: object) -> int | None:
    """`max_concurrent_sessions` as Hermes reads it: a positive whole number, also as text; all else is no limit."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return None
    try:
        limit = int(value)
    except ValueError:
        return None
    return limit if limit > 0 else None


class Leases:
    """The leases in one runtime directory, taken and given back by this process. Any thread may use it.

    `limit` is how many leases may hold at a time in all programs together (`session_limit` says what counts as one).
    `clock` gives epoch seconds for what is written; a change waits at most `budget` seconds of `timer` for the lock.
    As a context manager it gives back at the end whatever was taken through it.

    Every method that changes something raises StoreBusy, StoreUnreadable or ReadOnlyStore when it cannot be done;
    nothing is changed then.
    """

    def __init__(
        self,
        runtime_directory: str | os.PathLike[str],
        *,
        limit: object = None,
        clock: Callable[[], float] = time.time,
        processes: Processes | None = None,
        budget: float = BUDGET_SECONDS,
        timer: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ):
        self.limit = session_limit(limit)
        self.notices: list[str] = []
        """What a person should know about the registry, such as that it was damaged and where it was put."""
        # Taken here and given back here, wherever the process or its HERMES_HOME moves meanwhile.
        self._directory = Path(runtime_directory).absolute()
        check_name(self._directory)
        self._file = LeaseFile(self._directory, clock=clock, budget=budget, timer=timer, sleep=sleep, uniform=uniform)
        self._clock = clock
        self._processes = processes or Processes()
        self._pid = os.getpid()
        self._held: dict[str, dict[str, Any]] = {}

    def acquire(
        self, session_id: str, surface: str, metadata: Mapping[str, Any] | None = None, *, exclusive: bool = False
    ) -> Lease:
        """Return a new lease of this process. `metadata` must be fit for JSON, or it is a UsageError.

        A session may have several leases, as in Hermes 0.17 to 0.19; with `exclusive` it may not. Raises LimitReached,
        which names the holders, and SessionLive.
        """
        with self._file.locked(make=True):
            found = self._find()
            if exclusive:
                self._refuse_if_live(session_id, found.leases)
            if self.limit is not None and len(found.leases) >= self.limit:
                raise LimitReached(
                    f"Of at most {self.limit} sessions at a time, {len(found.leases)} are in use.",
                    f"End one of them: {self._described(found.leases)}.",
                    found.leases,
                )
            now = self._clock()
            entry: dict[str, Any] = {
                "lease_id": uuid.uuid4().hex,
                "session_id": session_id,
                "surface": surface,
                "started_at": now,
                "updated_at": now,
                "program": PROGRAM,
                **self._identity(),
            }
            if metadata:
                entry["metadata"] = _fit_for_json(metadata)
            self._write((*found.entries, entry), found)
            self._own()[entry["lease_id"]] = entry
        return lease_of(entry)

    def refresh(self, lease: Lease) -> Lease:
        """Say that the lease is still in use; returns it with its new time. Raises LeaseLost."""
        return self._update(lease, {})

    def transfer(self, lease: Lease, session_id: str, metadata: Mapping[str, Any] | None = None) -> Lease:
        """Move the lease to another session without giving up its place, as compression does. Raises LeaseLost.

        `metadata` takes the place of what was there; None leaves it.
        """
        return self._update(
            lease, {"session_id": session_id} | ({"metadata": _fit_for_json(metadata)} if metadata else {})
        )

    def release(self, lease: Lease) -> bool:
        """Give back a lease of this process, also one that another part of it has taken. False when there was none.

        A child does not give back what its parent holds.
        """
        return self._give_back({lease.id}) if lease.pid == os.getpid() else False

    def close(self) -> None:
        """Give back every lease that was taken through this object in this process."""
        if held := set(self._own()):
            self._give_back(held)

    def list(self) -> tuple[Lease, ...]:
        """The leases that hold now, of all programs. Raises StoreUnreadable."""
        return self._find().leases

    def prune(self) -> int:
        """Drop the entries of dead processes and return how many these were. Sets a damaged registry aside."""
        found = self._find()
        if not found.dropped and not found.notice:
            return 0
        with self._file.locked():
            found = self._find()
            self._write(found.entries, found)
        return found.dropped

    @contextmanager
    def hold(
        self, session_id: str, surface: str, metadata: Mapping[str, Any] | None = None, *, exclusive: bool = False
    ) -> Iterator[Lease]:
        """`acquire`, and `release` at the end of the block."""
        lease = self.acquire(session_id, surface, metadata, exclusive=exclusive)
        try:
            yield lease
        finally:
            self.release(lease)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _update(self, lease: Lease, changes: dict[str, Any]) -> Lease:
        if lease.pid != os.getpid():
            raise LeaseLost(f"The lease of {lease.session_id} belongs to process {lease.pid}.", "Acquire another one.")
        with self._file.locked():
            found = self._find()
            entry = next((entry for entry in found.entries if lease_id(entry) == lease.id), None)
            if entry is None:
                raise LeaseLost(f"The lease of {lease.session_id} has been given back.", "Acquire another one.")
            changed = entry | changes | {"updated_at": self._clock()} | self._identity()
            self._write([changed if other is entry else other for other in found.entries], found)
            if lease.id in self._own():
                self._own()[lease.id] = changed
        return lease_of(changed)

    def _give_back(self, ids: set[str]) -> bool:
        if not self._directory.is_dir():  # gone with all that was in it, and not ours to make again
            self._own().clear()
            return False
        with self._file.locked():
            found = self._find()
            kept = [entry for entry in found.entries if lease_id(entry) not in ids]
            if len(kept) < len(found.entries):
                self._write(kept, found)
            for id in ids:
                self._own().pop(id, None)
        return len(kept) < len(found.entries)

    def _find(self) -> Registry:
        return registry(self._directory, self._own(), self._processes)

    def _own(self) -> dict[str, dict[str, Any]]:
        """What was taken through this object in this process: after a fork, nothing yet."""
        if self._pid != os.getpid():
            self._pid, self._held = os.getpid(), {}
        return self._held

    def _identity(self) -> dict[str, Any]:
        pid = os.getpid()
        me = self._processes.find(pid) or Running()
        return {"pid": pid, "process_start_time": me.started_at, "process_start_ticks": me.ticks, "boot_id": me.boot}

    def _write(self, entries: Sequence[Any], found: Registry) -> None:
        if found.notice:
            self.notices.append(f"{found.notice} It was kept as {self._file.set_aside().name}.")
            _logger.warning(self.notices[-1])
        ours = tuple(entry for entry in entries if is_ours(entry))
        # A lease that is given back must not come back from our own file, so there it goes first. One that is taken
        # is good as soon as the registry has it; our own file only guards it.
        gives_back = {lease_id(entry) for entry in found.own} - {lease_id(entry) for entry in ours}
        if gives_back:
            self._file.write_own(ours)
        self._file.write(entries, found.rest)
        if ours != found.own and not gives_back:
            with suppress(OSError):
                self._file.write_own(ours)

    def _refuse_if_live(self, session_id: str, leases: Sequence[Lease]) -> None:
        if holders := [lease for lease in leases if lease.session_id == session_id]:
            raise SessionLive(f"In use: {self._described(holders)}.", "End the session there first, or its process.")

    def _described(self, leases: Sequence[Lease]) -> str:
        now = self._clock()
        named = [f"{lease.session_id} ({lease.surface}, process {lease.pid}{_age(now, lease)})" for lease in leases]
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        return ", ".join(named[:MOST_NAMED]) + more


def _age(now: float, lease: Lease) -> str:
    return "" if lease.acquired_at is None else f", for {max(0.0, now - lease.acquired_at) / 60:.0f} min"


def _fit_for_json(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as a reader of the file gets it: keys are text. Raises UsageError."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(metadata)))
        json.dumps(copied, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"The metadata of a lease must be fit for JSON: {error}.", "Nothing was written.") from error
    return copied

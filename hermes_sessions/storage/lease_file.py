"""Changing the files of the leases: one program at a time, and nobody ever reads half of one.

The rules are Hermes' (0.17 and later), so that both programs wait for each other: an exclusive lock on
`active_sessions.lock`, which is never deleted, and the new text in a file beside the old, then put in its place. What
the entries mean is for `leases` and `lease_registry`.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hermes_sessions.errors import ReadOnlyStore, StoreBusy, StoreUnreadable
from hermes_sessions.storage.file_lock import try_lock, unlock
from hermes_sessions.storage.lease_registry import NAME, OWN_NAME

LOCK_NAME = "active_sessions.lock"
TEMPORARY = re.compile(r"active_sessions\.(hermes-sessions\.)?json\.\d+\.[0-9a-f]{32}\.tmp")
"""How this program and Hermes name a file that is not in its place yet."""

DAMAGED_KEPT = 5

BUDGET_SECONDS = 10.0
SHORTEST_WAIT_SECONDS = 0.002
LONGEST_WAIT_SECONDS = 0.030

NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


class LeaseFile:
    """The files of one runtime directory. `budget` is how many seconds of `timer` a change waits for the lock."""

    def __init__(
        self,
        directory: Path,
        *,
        clock: Callable[[], float] = time.time,
        budget: float = BUDGET_SECONDS,
        timer: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ):
        self.directory = directory
        self._clock = clock
        self._budget = budget
        self._timer = timer
        self._sleep = sleep
        self._uniform = uniform

    @contextmanager
    def locked(self, *, make: bool = False) -> Iterator[None]:
        """Keep every other program, Hermes too, from changing the registry. `make` makes a missing directory.

        Raises StoreBusy when the lock was not free within the budget, ReadOnlyStore or StoreUnreadable when no lock can
        be taken here or a file cannot be written; nothing is changed then.
        """
        try:
            if make:
                _make_directory(self.directory)
            descriptor = os.open(self.directory / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _give_to_owner(descriptor, self.directory)
                self._wait_for(descriptor)
                try:
                    yield
                finally:
                    unlock(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            kind = ReadOnlyStore if error.errno in NOT_ALLOWED else StoreUnreadable
            raise kind(
                f"The leases in {self.directory} cannot be changed: {error.strerror}.",
                "No lease was taken or given back. Check the disk and who owns the directory.",
            ) from error

    def write(self, entries: Sequence[Any], rest: Mapping[str, Any]) -> None:
        """Put these entries in place of the registry's, for good. Under the lock."""
        self._sweep()
        self._replace(NAME, json.dumps({**rest, "entries": entries}, sort_keys=True), sync=True)

    def write_own(self, entries: Sequence[Any]) -> None:
        """The same for this program's own file. Under the lock."""
        # Not forced to the disk: when the power is cut, every holder is gone too.
        self._replace(OWN_NAME, json.dumps({"entries": entries}, sort_keys=True), sync=False)

    def set_aside(self) -> Path:
        """Keep the damaged registry under another name, with the newest few of such. Under the lock, before `write`."""
        day = time.strftime("%Y%m%dT%H%M%S", time.gmtime(self._clock()))
        path = self.directory / NAME
        aside = self.directory / f"{NAME}.damaged-{day}-{uuid.uuid4().hex[:8]}"
        try:
            aside.hardlink_to(path)  # so that there is no moment without a registry
        except OSError:
            path.rename(aside)
        for old in sorted(self.directory.glob(f"{NAME}.damaged-*"))[:-DAMAGED_KEPT]:
            old.unlink(missing_ok=True)
        return aside

    def _wait_for(self, descriptor: int) -> None:
        started = self._timer()
        while not try_lock(descriptor):
            waited = self._timer() - started
            if waited >= self._budget:
                raise StoreBusy(
                    f"{self.directory / LOCK_NAME} was locked by another program for {waited:.1f} s.",
                    "No lease was taken or given back. Try again; if it stays so, look for a Hermes that hangs.",
                )
            self._sleep(self._uniform(SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS))

    def _sweep(self) -> None:
        """Remove what writers that died have left. All write under the lock, and we hold it."""
        for path in self.directory.iterdir():
            if TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _replace(self, name: str, text: str, *, sync: bool) -> None:
        path = self.directory / name
        temporary = self.directory / f"{name}.{os.getpid()}.{uuid.uuid4().hex}.tmp"
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                _give_to_owner(file.fileno(), self.directory)
                if os.name == "posix":
                    with suppress(FileNotFoundError):
                        # Someone else may be meant to read it, and Hermes takes what it cannot read for empty.
                        os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
                file.write(text.encode())
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if sync:
            _sync_directory(self.directory)


def _make_directory(directory: Path) -> None:
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    if _is_root():
        owner = directory.parent.stat()
        os.chown(directory, owner.st_uid, owner.st_gid)


def _give_to_owner(descriptor: int, directory: Path) -> None:
    """What root makes in a user's directory belongs to the user: Hermes would fail at a lock file of root's."""
    if _is_root():
        owner = directory.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        # The new file is in its place already, and some network disks know no such thing.
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

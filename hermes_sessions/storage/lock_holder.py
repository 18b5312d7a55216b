"""Who holds the lock that keeps a store busy, for the words of an error. It never raises, and guesses nothing.

Only what the kernel tells is used: the database and its side files are looked at with `stat`, for to open and close one
would drop this process's own locks on it (fcntl(2)). Elsewhere than on Linux nobody is named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

WAL_LOCK_BYTES = (range(120, 121), range(122, 123))
"""In the -shm: the write lock, and the one of a recovery (https://sqlite.org/walformat.html#wal_locks)."""

WAL_READ_BYTES = (range(123, 128),)
"""In the -shm: the locks of readers. As long as one is held, what was written since stays in the log."""

ROLLBACK_LOCK_BYTES = (range(0x4000_0000, 0x4000_0200),)
"""In the database itself: pending, reserved and shared (https://sqlite.org/fileformat2.html#the_lock_byte_page)."""


def lock_holder(path: Path, clock: Callable[[], float] = time.time) -> str | None:
    """Words such as "hermes (process 4711, running for 3 h)" for who keeps others from writing to the database at
    `path`; None when it cannot be known. `clock` is the time of day.
    """
    with suppress(OSError, ValueError):
        for pid in _holders(Path(os.path.realpath(path))):
            return f"process {pid}, this program itself" if pid == os.getpid() else described(pid, clock())
    return None


def log_readers(path: Path) -> frozenset[int]:
    """Other processes that are just reading from the database at `path`, which keeps its log from being emptied."""
    with suppress(OSError, ValueError):
        locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        found = _locked(locks, Path(f"{os.path.realpath(path)}-shm"), WAL_READ_BYTES, {"READ", "WRITE"})
        return frozenset(found) - {os.getpid()}
    return frozenset()


def _holders(path: Path) -> Iterator[int]:
    locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    shared_memory = Path(f"{path}-shm")
    if shared_memory.exists():
        yield from _locked(locks, shared_memory, WAL_LOCK_BYTES, {"WRITE"})
        yield from _locked(locks, path, ROLLBACK_LOCK_BYTES, {"WRITE"})
    else:
        # Without a WAL whoever reads keeps the others from writing, too; a writer is the better answer.
        yield from _locked(locks, path, ROLLBACK_LOCK_BYTES, {"WRITE"})
        yield from _locked(locks, path, ROLLBACK_LOCK_BYTES, {"READ"})


def _locked(locks: list[str], path: Path, places: tuple[range, ...], kinds: set[str]) -> Iterator[int]:
    """Processes with a lock of these kinds on these bytes of the file.

    A line of proc_locks(5) is "1: POSIX ADVISORY WRITE 4711 fe:01:131 120 120"; one that waits has "->" as second word.
    """
    status = path.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in locks:
        words = line.split()
        if len(words) != 8 or words[3] not in kinds:
            continue
        place, _, inode = words[5].rpartition(":")
        first, last = int(words[6]), 2**63 if words[7] == "EOF" else int(words[7])
        if int(inode) != status.st_ino or not any(first < span.stop and last >= span.start for span in places):
            continue
        pid = int(words[4])
        # Btrfs and overlays show another device than `stat` does: there the process must have the file open.
        if pid > 0 and (place == device or _has_open(pid, status)):
            yield pid


def _has_open(pid: int, status: os.stat_result) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            if os.path.samestat(descriptor.stat(), status):
                return True
    return False


def described(pid: int, now: float) -> str:
    """Words for a process, such as "hermes (process 4711, running for 3 h)"."""
    import psutil

    try:
        process = psutil.Process(pid)
        return f"{process.name()} (process {pid}, running for {_duration(now - process.create_time())})"
    except psutil.Error:
        return f"process {pid}"


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"

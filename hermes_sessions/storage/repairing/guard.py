"""Whether a store may be repaired now: one repairer at a time, nobody else at the store, enough free space.

Who has a file open is known on Linux, and of the processes of one's own user. SQLite's exclusive lock tells the rest:
in either journal mode it is given to nobody while another connection has the store open.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from hermes_sessions.errors import ReadOnlyStore, Refused, SessionLive, StoreBusy, StoreUnreadable
from hermes_sessions.model import Lease
from hermes_sessions.storage.file_lock import try_lock
from hermes_sessions.storage.repairing.backups import size
from hermes_sessions.storage.repairing.unfinished import has_journal
from hermes_sessions.storage.repairing.watch import Watch

MOUNTS = Path("/proc/self/mountinfo")
"""What is mounted where, on Linux: the fifth word, blanks in it as octal numbers (proc_pid_mountinfo(5))."""

_OCTAL = re.compile(r"\\([0-7]{3})")

MARGIN = 16 << 20
COPIES = 3
"""The store as it is, the copy that is worked on, and a new file that is filled from it."""

PATIENCE_SECONDS = 20.0
BUSY_TIMEOUT_MS = 1_000


def refuse_in_use(path: Path, leases: Sequence[Lease]) -> None:
    """Raises SessionLive when a lease holds, Refused when another process has the store or a log of it open."""
    if leases:
        named = ", ".join(f"{lease.session_id} (process {lease.pid})" for lease in leases[:5])
        raise SessionLive(f"In use: {named}.", "Nothing was changed. End these sessions and try again.")
    if others := openers(path):
        named = ", ".join(f"{_name(pid)} (process {pid})" for pid in others[:5])
        raise Refused(f"{path} is open in {named}.", "Nothing was changed. Close these programs and try again.")


def refuse_little_space(folder: Path, path: Path, free: Callable[[Path], int]) -> None:
    """Raises StoreUnreadable when `folder` has no room for the copies of the store."""
    needed = COPIES * size(path) + MARGIN
    if (there := free(folder)) < needed:
        what = "Free some space" if folder == path.parent else "Free some space, or name another folder as TMPDIR,"
        raise StoreUnreadable(
            f"A repair of {path} needs {needed:,} bytes in {folder}, and {there:,} are free.",
            f"Nothing was changed. {what} and try again.",
        )


def refuse_mounted(path: Path) -> None:
    """Raises Refused for a file that is mounted by itself, as into a container: no other can take its place."""
    if str(path) in _mount_points():
        raise Refused(
            f"{path} is mounted by itself: a repaired file cannot take its place.",
            "Nothing was changed. Repair it where it lies, outside of the container.",
        )


def free_space(folder: Path) -> int:
    """Bytes that this user may still write in a folder."""
    return shutil.disk_usage(folder).free


@contextmanager
def only_repairer(path: Path, watch: Watch, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Keep other repairers away, Hermes' own too, which take the same lock. It goes with its process.

    The empty file that is locked stays for good: whoever deletes it while another waits for it has that one and a third
    hold locks of two different files, and Hermes does not look whether the file that it locked is still there.

    Raises StoreBusy after `patience` seconds, ReadOnlyStore where nothing may be written.
    """
    lock = path.with_name(f"{path.name}.repair.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise ReadOnlyStore(
            f"{lock} cannot be opened: {error.strerror}.", f"Nothing was changed. Check who may write in {path.parent}."
        ) from error
    try:
        deadline = time.monotonic() + patience
        watch.begin("Waiting for another repair")
        while not try_lock(descriptor):
            watch.look()
            if time.monotonic() >= deadline:
                raise StoreBusy(f"{path} is being repaired by another program.", "Try again when it has finished.")
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[apsw.Connection | apsw.VFSFile | None]:
    """Have the store to oneself: what keeps all others out, or None when the file is too broken for that.

    A connection, or the locked file alone where a journal lies beside it: a connection would take a change back.
    Nothing is merged or deleted when it is closed. Raises Refused when somebody else is there, ReadOnlyStore.
    """
    if has_journal(path):
        with _locked(path) as file:
            yield file
        return
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        raise StoreUnreadable(f"{path} cannot be opened: {error}.", "Check who owns the file.") from error
    with closing(connection):
        held = False
        try:
            if connection.readonly("main"):
                raise ReadOnlyStore(f"{path} may not be written.", "Nothing was changed. Check who owns the file.")
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
            # The lock outlives the transaction in this mode.
            connection.execute("COMMIT")
            held = True
        except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as error:
            raise _refused(path) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
            for side in ("-wal", "-shm"):
                if (log := Path(f"{path}{side}")).exists() and not os.access(log, os.W_OK):
                    raise ReadOnlyStore(f"{log} may not be written.", "Check who owns the file.") from error
            raise ReadOnlyStore(f"{path} may not be written: {error}.", "Check who may write in its folder.") from error
        except apsw.Error:
            # Nobody can write to what SQLite does not take for a database.
            held = False
        yield connection if held else None


@contextmanager
def _locked(path: Path) -> Iterator[apsw.VFSFile]:
    """A file under the lock that SQLite takes to write to it (https://sqlite.org/lockingv3.html), and not looked at."""
    if not os.access(path, os.W_OK):
        raise ReadOnlyStore(f"{path} may not be written.", "Nothing was changed. Check who owns the file.")
    try:
        file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except apsw.Error as error:
        raise StoreUnreadable(f"{path} cannot be opened: {error}.", "Check who owns the file.") from error
    try:
        deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1_000
        while True:
            try:
                file.xLock(apsw.SQLITE_LOCK_SHARED)
                file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
                break
            except apsw.BusyError as error:
                file.xUnlock(apsw.SQLITE_LOCK_NONE)
                if time.monotonic() >= deadline:
                    raise _refused(path) from error
                time.sleep(0.05)
        yield file
    finally:
        file.xClose()


def _refused(path: Path) -> Refused:
    return Refused(f"{path} is in use by another program.", "Nothing was changed. Close every Hermes and try again.")


def _mount_points() -> set[str]:
    """Devices would not tell: a bind mount has that of its folder, and a file in an overlay may have another."""
    with suppress(OSError):
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        return {_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), line.split()[4]) for line in lines}
    return set()


def openers(path: Path) -> list[int]:
    """Other processes that have the store or a log of it open, as far as this user may know."""
    files = set()
    for side in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            status = Path(f"{path}{side}").stat()
            files.add((status.st_dev, status.st_ino))
    with suppress(OSError):
        processes = (process for process in Path("/proc").iterdir() if process.name.isdecimal())
        found = (int(process.name) for process in processes if _has_open(process / "fd", files))
        return sorted(pid for pid in found if pid != os.getpid())
    return []


def _has_open(descriptors: Path, files: set[tuple[int, int]]) -> bool:
    with suppress(OSError):
        for descriptor in descriptors.iterdir():
            with suppress(OSError):
                status = descriptor.stat()
                if (status.st_dev, status.st_ino) in files:
                    return True
    return False


def _name(pid: int) -> str:
    import psutil

    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return "a program"

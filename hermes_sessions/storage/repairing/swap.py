"""How a repaired file takes the place of the store: in one `os.replace`, with everybody else kept out.

Guaranteed, with a connection that holds SQLite's exclusive lock (`guard.alone`): whoever opens the store before the
replacement waits, and then finds that the file it has open is no database any more, so that it cannot write a log
which would be taken for the new file's; whoever opens it afterwards has the new one. Killed at any point, the store
is the old one or the new one, whole. One thing only needs the next repair: a log that cannot be merged is moved away
before the file that it belongs to, and `put_back` brings it again.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from pathlib import Path

import apsw

from hermes_sessions.errors import Refused, StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.repairing.backups import sync_folder
from hermes_sessions.storage.repairing.watch import Watch

LOGS = ("-wal", "-journal")
REPLACED = b"Replaced, reopen"
"""What the file that was replaced begins with. As long as `SQLite format 3` and its zero."""

Standing = tuple[tuple[int, int, int, int] | None, ...]
"""What the store and its logs are (device, inode) and when they were changed last (bytes, time)."""


def standing(path: Path) -> Standing:
    """To be compared with what it is later: a difference means that somebody else was at the store."""
    return tuple(_stands(Path(f"{path}{side}")) for side in ("", *LOGS))


def refuse_changed(path: Path, before: Standing) -> None:
    """Raises Refused when the store is not what it was."""
    if standing(path) != before:
        raise Refused(
            f"Another program has changed or replaced {path} meanwhile.",
            "Nothing was changed by the repair. Close every Hermes and try again.",
        )


def make_ready(new: Path, path: Path, watch: Watch) -> None:
    """Give a file that may replace the one at `path` its rights, and have it on the disk, whole without a log.

    Raises StoreDamaged when its log cannot be merged into it.
    """
    status = path.stat()
    with closing(Database(new, "owner")) as database:
        database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    if _stands(Path(f"{new}-wal")):
        raise StoreDamaged(f"The log of the repaired copy of {path} cannot be merged into it.", "Nothing was changed.")
    new.chmod(status.st_mode & 0o7777)
    if os.name == "posix" and (status.st_uid, status.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
    watch.begin("Writing it to the disk")
    _flush(new, watch)


def put_in_place(new: Path, path: Path, held: apsw.Connection | apsw.VFSFile | None) -> None:
    """Replace the store by a file that was made ready, while `guard.alone` holds it.

    The log of the old one must be gone before: it would be taken for the new one's. It is merged into the old file, as
    by any connection that is closed as the last one. Whatever fails, the store is as it was.
    """
    if isinstance(held, apsw.Connection):
        with suppress(apsw.Error):
            held.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    old = _last_name_of(path) if held else None
    mended = new.rename(_mended(new.parent, path))
    try:
        for side in LOGS:
            if (log := Path(f"{path}{side}")).exists():
                log.rename(f"{mended}{side}")
        Path(f"{path}-shm").unlink(missing_ok=True)
        mended.replace(path)
    except BaseException:
        put_back(mended.parent, path)
        raise
    finally:
        if old and not _is(old[1], path):
            # It has no name any more; the backup has what was in it.
            with suppress(apsw.Error):
                old[0].xWrite(REPLACED, 0)
        if old:
            old[0].xClose()
    sync_folder(path.parent)


def put_back(scratch: Path, path: Path) -> None:
    """Bring back a log that was moved away in favour of a file which never took its place."""
    for side in LOGS:
        mended, place = _mended(scratch, path), Path(f"{path}{side}")
        log = Path(f"{mended}{side}")
        if mended.exists() and _stands(log) and not _stands(place):
            log.replace(place)


def _flush(file: Path, watch: Watch) -> None:
    """Have a file on the disk. Nothing can stop the system in this, so that another thread waits for it."""
    failures: list[OSError] = []

    def flush() -> None:
        try:
            with file.open("r+b") as opened:
                os.fsync(opened.fileno())
        except OSError as error:
            failures.append(error)

    thread = threading.Thread(target=flush, name="hermes-sessions repair", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
        watch.look()
    if failures:
        raise failures[0]


def _last_name_of(path: Path) -> tuple[apsw.VFSFile, tuple[int, int]] | None:
    """The file at `path`, open, and what it is; None when it has other names, which are not ours to spoil."""
    status = path.stat()
    if status.st_nlink > 1:
        return None
    flags = [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB, 0]
    with suppress(apsw.Error):
        return apsw.VFSFile("", str(path), flags), (status.st_dev, status.st_ino)
    return None


def _is(identity: tuple[int, int], path: Path) -> bool:
    with suppress(OSError):
        status = path.stat()
        return (status.st_dev, status.st_ino) == identity
    return True


def _mended(scratch: Path, path: Path) -> Path:
    """The name of the file that is about to replace the one that is now at `path`."""
    status = path.stat()
    return scratch / f"mended-{status.st_ino}-{status.st_mtime_ns}"


def _stands(file: Path) -> tuple[int, int, int, int] | None:
    """None where there is nothing in a file: SQLite leaves an empty log where it only looked."""
    with suppress(FileNotFoundError):
        status = file.stat()
        if status.st_size:
            return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    return None

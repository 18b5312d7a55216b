"""How a store keeps its changes until they are in the file: in a write-ahead log (WAL) where the disk allows one.

Without it readers and writers shut each other out; all else works as well. Network and FUSE disks refuse it, by an
error or by answering another mode.
"""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import closing, suppress
from pathlib import Path

import apsw

from hermes_sessions.errors import SessionsError, StoreUnreadable
from hermes_sessions.storage.database import Database

REFUSALS = (apsw.ProtocolError, apsw.IOError, apsw.CantOpenError, apsw.AuthError, apsw.PermissionsError)
"""What SQLite raises where a WAL cannot be; "locking protocol" and "disk I/O error" were met on NFS."""

TRIAL = "trial.db"

_logger = logging.getLogger(__name__)
_warned: set[str] = set()


def ask_for_wal(database: Database) -> None:
    """Turn a rollback journal into a WAL where that works; else leave it, add a notice, and warn once per process.

    A file that is in WAL already stays so. Raises StoreBusy while another program uses the file, which is no refusal.
    """
    if database.value("PRAGMA journal_mode") == "wal":
        return
    reason = _refusal(database)
    if reason is None:
        try:
            answer = database.value("PRAGMA journal_mode=WAL")
            reason = None if answer == "wal" else f"SQLite answered “{answer!s}”"
        except SessionsError as error:
            if not isinstance(error.__cause__, REFUSALS):
                raise
            reason = f"SQLite said: {error.__cause__}"
    if reason is None:
        return
    notice = f"{database.path} cannot use a write-ahead log ({reason}). Readers and writers wait for each other."
    database.notices.append(notice)
    if (name := str(database.path.absolute())) not in _warned:
        _warned.add(name)
        _logger.warning(notice)


def _refusal(database: Database) -> str | None:
    """Why the directory of a store does not take a WAL, or None. Tried with a file of its own, which is gone after.

    SQLite writes into the header that there is a WAL before it has one. Where that then fails, the file can be used no
    more, not even to take the word back, so the store itself must not be the first to try.
    """
    path = Path(os.path.realpath(database.path))
    directory = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        directory.mkdir(0o700)
    except OSError as error:
        raise StoreUnreadable(
            f"Nothing can be made beside {path}: {error.strerror}.", "Check the folder and its disk."
        ) from error
    try:
        with closing(apsw.Connection(str(directory / TRIAL))) as trial:
            trial.execute("PRAGMA synchronous=OFF").fetchall()
            ((answer,),) = trial.execute("PRAGMA journal_mode=WAL").fetchall()
            if answer != "wal":
                return f"SQLite answered “{answer}”"
            trial.execute("CREATE TABLE trial (id)").fetchall()
            return None
    except REFUSALS as error:
        return f"SQLite said: {error}"
    except apsw.Error:
        # A full disk and the like are no refusal; the store itself will meet them and say so.
        return None
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                (directory / f"{TRIAL}{ending}").unlink()
        with suppress(OSError):
            directory.rmdir()

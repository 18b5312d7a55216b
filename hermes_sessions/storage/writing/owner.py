"""A store of our own: created here, written through `Writer`, with the semantics of Hermes 0.17.

Each method is one transaction. Who waits for whom is argued in `writer`; reading is for `open_store`.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from hermes_sessions.errors import FileExists, SessionsError, StoreUnreadable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.lineage import LineageWriter
from hermes_sessions.storage.writing.messages import MessageWriter
from hermes_sessions.storage.writing.sessions import SessionWriter
from hermes_sessions.storage.writing.usage import UsageWriter
from hermes_sessions.storage.writing.writer import Writer

BUSY_TIMEOUT_MS = 1_000
"""How long SQLite itself waits for a lock before the Writer takes its turn, as in Hermes."""

_logger = logging.getLogger(__name__)
_warned: set[str] = set()


def create_store(
    path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time, durable: bool = True
) -> OwnerStore:
    """Return a new, empty store at `path`; file 0600, a missing directory 0700. WAL where the disk allows it.

    With `durable` an append that has returned survives a power cut, without only the end of the process. Raises
    FileExists when anything is there already, StoreUnreadable when the file cannot be made.
    """
    path = Path(path)
    _claim(path)
    with ExitStack() as undo:
        undo.callback(path.unlink)
        database = Database(path, "owner", busy_timeout_ms=BUSY_TIMEOUT_MS)
        undo.callback(database.close)
        _ask_for_wal(database)
        Writer(database).run(schema.create)
        store = OwnerStore(database, clock=clock, durable=durable)
        undo.pop_all()
    return store


class OwnerStore:
    """Sessions and messages, written. One thread owns it, any number of processes may have one on the same file."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        writer: Writer | None = None,
        durable: bool = True,
    ):
        database.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self.path = database.path
        self.journal_mode = str(database.value("PRAGMA journal_mode"))
        self._database = database
        writer = writer or Writer(database)
        self.sessions = SessionWriter(writer, clock)
        self.messages = MessageWriter(writer, clock)
        self.lineage = LineageWriter(writer, clock)
        self.usage = UsageWriter(writer)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know about this store, such as a refused WAL."""
        return tuple(self._database.notices)

    def close(self) -> None:
        """Let go of the file. The last one to close it merges the WAL."""
        self._database.close()


def _claim(path: Path) -> None:
    """Make the empty file, for its owner only. SQLite gives -wal, -shm and -journal the same mode later."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreadable(f"{path.parent} cannot be created: {error.strerror}.", "Check the path.") from error
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise FileExists(f"{path} exists already.", "Nothing was changed. Choose another place.") from None
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be created: {error.strerror}.", "Check the directory.") from error


def _ask_for_wal(database: Database) -> None:
    """Network and FUSE disks refuse WAL, by an error or by answering another mode: then it is a rollback journal."""
    try:
        answer = database.value("PRAGMA journal_mode=WAL")
        if answer == "wal":
            return
        reason = f"SQLite answered “{answer!s}”"
    except SessionsError as error:
        reason = f"SQLite said: {error.__cause__}"
    database.execute("PRAGMA journal_mode=DELETE")
    notice = f"{database.path} cannot use a write-ahead log ({reason}). Readers and writers wait for each other."
    database.notices.append(notice)
    if (name := str(database.path.absolute())) not in _warned:
        _warned.add(name)
        _logger.warning(notice)

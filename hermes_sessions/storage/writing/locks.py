"""The compression lock: who is compressing a session now, so that two agents never continue it twice.

The table and its rules are Hermes' own (`SessionDB.try_acquire_compression_lock`, release 0.17.0): a row per session
with its holder and the time it expires, which covers a holder that died.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable

from hermes_sessions.errors import SessionLive
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_text
from hermes_sessions.storage.writing.sessions import need, require
from hermes_sessions.storage.writing.transactions import Transactions

EXPIRY_SECONDS = 300.0


class CompressionLocks:
    """The compression locks of a store that may be written. Each method is one transaction."""

    def __init__(self, writer: Transactions, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock

    def acquire(self, session_id: str, holder: str | None = None, *, seconds: float = EXPIRY_SECONDS) -> str:
        """Take the lock for `seconds` and return its holder, made here unless given. A live holder may take it again.

        A lock that has expired is taken over. Raises SessionLive when somebody else's is live, SessionNotFound, and
        Refused when the file's layout has no such locks.
        """
        now = self._clock()
        mine = holder or new_holder()

        def write(database: Database) -> str:
            require(database, session_id)
            need(database, "compression_locks", "holder", "lock a session")
            refuse_locked(database, session_id, mine, now)
            database.execute(
                "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session_id) DO UPDATE SET expires_at = excluded.expires_at,"
                " acquired_at = CASE WHEN holder = excluded.holder AND expires_at >= excluded.acquired_at"
                " THEN acquired_at ELSE excluded.acquired_at END,"
                " holder = excluded.holder",
                (session_id, mine, now, now + seconds),
            )
            return mine

        return self._run(write)

    def refresh(self, session_id: str, holder: str, *, seconds: float = EXPIRY_SECONDS) -> bool:
        """Hold on for another `seconds` from now. False when the lock expired or is somebody else's."""
        now = self._clock()

        def write(database: Database) -> bool:
            if not database.has("compression_locks", "holder"):
                return False
            sql = (
                "UPDATE compression_locks SET expires_at = ? WHERE session_id = ? AND holder = ? AND expires_at >= ?"
                " RETURNING holder"
            )
            return database.row(sql, (now + seconds, session_id, holder, now)) is not None

        return self._run(write)

    def release(self, session_id: str, holder: str) -> None:
        """Let go of the lock; nothing happens when it is not this holder's any more."""

        def write(database: Database) -> None:
            if database.has("compression_locks", "holder"):
                database.execute(
                    "DELETE FROM compression_locks WHERE session_id = ? AND holder = ?", (session_id, holder)
                )

        self._run(write)

    def holder(self, session_id: str) -> str | None:
        """Who holds the lock now; None when nobody does or it has expired."""
        now = self._clock()
        return self._run(lambda database: live_holder(database, session_id, now))


def new_holder() -> str:
    """A name for a holder as Hermes makes them: process, thread, and eight hex digits."""
    return f"{os.getpid()}:{threading.get_ident()}:{secrets.token_hex(4)}"


def live_holder(database: Database, session_id: str, now: float) -> str | None:
    if not database.has("compression_locks", "holder"):
        return None
    sql = "SELECT holder FROM compression_locks WHERE session_id = ? AND expires_at >= ?"
    return as_text(database.value(sql, (session_id, now)))


def refuse_locked(database: Database, session_id: str, holder: str | None, now: float) -> None:
    """Raises SessionLive when the lock is live and not this holder's."""
    other = live_holder(database, session_id, now)
    if other is not None and other != holder:
        raise SessionLive(
            f"Session {session_id} is being compressed by {other} (process:thread:number).",
            "Nothing was changed. Go on with the session that it makes, or try again when the lock has expired.",
        )


def drop_lock(database: Database, session_id: str) -> None:
    """What was locked is done: no trace of the lock stays."""
    if database.has("compression_locks", "session_id"):
        database.execute("DELETE FROM compression_locks WHERE session_id = ?", (session_id,))

"""Which sessions the store itself shows to be in use. What the files beside it say is in `services.live`."""

from __future__ import annotations

import json

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_int, as_text, as_time

LOCKS = (("compression_locks", "session_id"), ("session_turn_leases", "conversation_id"))
"""Tables whose rows hold a session until `expires_at`; the second one came after Hermes 0.19."""

RECENT_SECONDS = 120
"""A session that has not ended and was written to within them counts as in use: most of Hermes takes no lock."""

CLOCK_SKEW = 60
"""Seconds by which the clock of whoever wrote a message may be ahead of ours."""

PAGE = 200
MOST_PAGES = 25
"""How far back the newest messages are read: after an import, far more of them may be recent."""


class Liveness:
    """Asks one `Database` what is in use. Composed by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def live_sessions(self, now: float) -> frozenset[str]:
        """Ids of sessions with a lock or lease that has not expired at `now`, or written to just before it."""
        return frozenset(self._held(now) | self._recently_written(now))

    def _held(self, now: float) -> set[str]:
        held = set()
        for table, column in LOCKS:
            if {column, "expires_at"} <= self._database.columns(table):
                rows = self._database.rows(f"SELECT {column}, expires_at FROM {table}")
                held |= {as_text(id) or "" for id, expires_at in rows if (as_time(expires_at) or 0.0) > now}
        return held

    def _recently_written(self, now: float) -> set[str]:
        """Sessions of the newest messages, as far as these are recent, that have not ended."""
        if not {"id", "session_id", "timestamp"} <= self._database.columns("messages"):
            return set()
        recent: set[str] = set()
        before = 2**63 - 1
        for _ in range(MOST_PAGES):
            rows = self._database.rows(
                "SELECT id, session_id, timestamp FROM messages WHERE id < ? ORDER BY id DESC LIMIT ?", (before, PAGE)
            )
            found = {
                as_text(session_id) or ""
                for _, session_id, timestamp in rows
                if now - RECENT_SECONDS < (as_time(timestamp) or 0.0) <= now + CLOCK_SKEW
            }
            if not found:
                break
            recent |= found
            before = as_int(rows[-1][0])
        if not recent or not self._database.has("sessions", "ended_at"):
            return recent
        rows = self._database.rows(
            "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND ended_at IS NULL",
            (json.dumps(sorted(recent), ensure_ascii=False),),
        )
        return {as_text(id) or "" for (id,) in rows}

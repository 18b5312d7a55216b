"""What conditions ask of many sessions at once, each kind of fact by one statement over the ids that are wanted.

What a page of a list shows is in `sessions`; what money is and how it is added, in `costs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from hermes_sessions.model import Money, Status, Tokens
from hermes_sessions.storage.conditions import Condition
from hermes_sessions.storage.costs import CostTable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.message_conditions import where
from hermes_sessions.storage.sessions import SessionTable
from hermes_sessions.storage.values import as_int, as_text

NEWEST_MESSAGES = 10_000
"""Messages that are looked through for names of tools, which no index lists."""


class Names(NamedTuple):
    """The texts of a session that a catalogue does not hold."""

    provider: str | None = None
    branch: str | None = None
    user: str | None = None
    chat: str | None = None
    """Id and name of the chat, on a line each."""


class Counts(NamedTuple):
    """How much there is in a session. Messages that were undone are not counted."""

    messages: int = 0
    tool_calls: int = 0


class FactTable:
    """Reads facts by session id; a session that is not there has none. Composed by `Store` over the one `Database`.

    Every question may raise Interrupted, StoreBusy, StoreDamaged.
    """

    def __init__(self, database: Database, sessions: SessionTable, costs: CostTable) -> None:
        self._database = database
        self._sessions = sessions
        self._costs = costs

    def names(self, ids: Iterable[str]) -> dict[str, Names]:
        """Provider, branch, user and chat of these sessions."""
        chat = "nullif(concat_ws(char(10), {}, {}), '')".format(*map(self._column, ("chat_id", "display_name")))
        columns = [*map(self._column, ("billing_provider", "git_branch", "user_id")), chat]
        rows = self._database.rows(
            f"SELECT s.id, {', '.join(columns)} FROM json_each(?) want CROSS JOIN sessions s ON s.id = want.value",
            (_as_json(ids),),
        )
        return {as_text(id) or "": Names(*map(as_text, texts)) for id, *texts in rows}

    def counts(self, ids: Iterable[str]) -> dict[str, Counts]:
        """Messages and tool calls of these sessions."""
        of_session = "SELECT count(*) FROM messages m WHERE m.session_id = s.id"
        counted = f"({of_session})"
        if self._database.has("messages", "active"):
            # Answered by an index alone; few rows have left the live context, and those are looked at.
            counted = f"({of_session} AND m.active IS NOT 0)"
            if self._database.has("messages", "compacted"):
                counted += f" + ({of_session} AND m.active = 0 AND m.compacted = 1)"
        rows = self._database.rows(
            f"""
            SELECT s.id, {counted}, {self._column("tool_call_count")}
            FROM json_each(?) want CROSS JOIN sessions s ON s.id = want.value
            """,
            (_as_json(ids),),
        )
        return {as_text(id) or "": Counts(as_int(messages), as_int(calls)) for id, messages, calls in rows}

    def spent(self, ids: Iterable[str]) -> dict[str, tuple[Tokens, Money]]:
        """What these sessions used and cost."""
        return self._costs.of_sessions(list(ids))

    def statuses(self, ids: Iterable[str]) -> dict[str, Status]:
        """How these sessions stand, by their newest messages; an empty session has no status."""
        return self._sessions.statuses(list(ids))

    def holding(self, ids: Iterable[str], conditions: Iterable[Condition]) -> set[str]:
        """Those of these sessions that hold a message which fits all the conditions."""
        fits, values = where(conditions, self._database)
        rows = self._database.rows(
            f"""
            SELECT want.value FROM json_each(?) want
            WHERE EXISTS (SELECT 1 FROM messages m WHERE m.session_id = want.value AND {fits})
            """,
            (_as_json(ids), *values),
        )
        return {as_text(id) or "" for (id,) in rows}

    def tools(self) -> dict[str, int]:
        """The tools that answered in the newest messages, and how often."""
        if not self._database.has("messages", "tool_name"):
            return {}
        newest = f"SELECT tool_name FROM messages ORDER BY id DESC LIMIT {NEWEST_MESSAGES}"
        rows = self._database.rows(
            f"SELECT tool_name, count(*) FROM ({newest}) WHERE ifnull(tool_name, '') <> '' GROUP BY tool_name"
        )
        return {as_text(name) or "": as_int(count) for name, count in rows}

    def _column(self, name: str) -> str:
        return f"s.{name}" if self._database.has("sessions", name) else "NULL"


def _as_json(ids: Iterable[str]) -> str:
    return json.dumps(list(ids), ensure_ascii=False)

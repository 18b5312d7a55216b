"""The `sessions` table as conversations: the catalogue, and what a list shows of each entry.

Every query names only columns that are there. The catalogue is one statement over the whole table; all else
is asked for the few conversations on a page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from typing import NamedTuple

from hermes_sessions.model import (
    Catalog,
    Conversation,
    Money,
    Overview,
    Session,
    SessionFacts,
    Status,
    Tokens,
)
from hermes_sessions.storage.content import decode_text, is_summary
from hermes_sessions.storage.costs import CostTable, add_money
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.lineage import resolve
from hermes_sessions.storage.values import LATEST_TIME, SQLValue, as_int, as_text, as_time

ERROR_REASONS = frozenset({"error", "agent_error", "content_filter"})
"""`finish_reason` values of a last message that make a session an error (Hermes' own browse picker)."""

PREVIEW_BYTES = 4_000
PREVIEW_CANDIDATES = 6


class SessionTable:
    """Reads `sessions`. Composed by `Store` over the one `Database`."""

    def __init__(self, database: Database, costs: CostTable) -> None:
        self._database = database
        self._costs = costs

    def catalog(self, recent: int | None = None) -> Catalog:
        """The conversations of the whole store, or quickly those around the `recent` last active sessions."""
        database = self._database
        if "sessions" not in database.tables:
            return Catalog(())
        if recent is None:
            rows = database.rows(f"SELECT {self._columns()} FROM sessions s")
            return Catalog(tuple(resolve([_session(row) for row in rows])))
        newest = f"SELECT id FROM (SELECT s.id FROM sessions s ORDER BY {self._last_message()} DESC LIMIT ?)"
        rows = self._linked(newest, recent)
        # One session more than asked for would have come if there were more.
        whole = len(rows) < recent or as_int(database.value("SELECT count(*) FROM sessions")) == len(rows)
        conversations = resolve([_session(row) for row in rows])
        return Catalog(tuple(conversations if whole else conversations[:recent]), whole)

    def family(self, session_ids: Iterable[str]) -> Catalog:
        """The conversations of these sessions and of all that hang together with them by their parents."""
        rows = self._linked("SELECT value FROM json_each(?)", _id_list(session_ids))
        return Catalog(tuple(resolve([_session(row) for row in rows])), whole=False)

    def overviews(
        self, conversations: Iterable[Conversation], live: Collection[str] = frozenset()
    ) -> dict[str, Overview]:
        """What a list shows of these conversations, by conversation id. `live` holds ids of sessions in use."""
        wanted = list(conversations)
        if not wanted:
            return {}
        sums = self._sums(session.id for item in wanted for session in item.sessions)
        previews = self._previews([item.root.id for item in wanted])
        statuses = self.statuses([_last_filled(item) for item in wanted])
        return {
            item.id: Overview(
                preview=self._preview_of(item, previews),
                status=statuses.get(_last_filled(item), "empty"),
                live=any(session.id in live for session in item.sessions),
                message_count=sum(sums[session.id].messages for session in item.sessions),
                tool_call_count=sum(sums[session.id].tool_calls for session in item.sessions),
                tokens=sum((sums[session.id].tokens for session in item.sessions), Tokens()),
                cost=add_money(sums[session.id].cost for session in item.sessions),
                git_branch=sums[item.id].git_branch,
            )
            for item in wanted
        }

    def facts(self, conversations: Iterable[Conversation]) -> dict[str, SessionFacts]:
        """What filters and sorting ask of these conversations, by conversation id."""
        wanted = list(conversations)
        if not wanted:
            return {}
        sums = self._sums(session.id for item in wanted for session in item.sessions)
        return {
            item.id: SessionFacts(
                provider=sums[item.id].provider,
                git_branch=sums[item.id].git_branch,
                user_id=sums[item.id].user_id,
                message_count=sum(sums[session.id].messages for session in item.sessions),
                tool_call_count=sum(sums[session.id].tool_calls for session in item.sessions),
                tokens=sum((sums[session.id].tokens for session in item.sessions), Tokens()),
                cost=add_money(sums[session.id].cost for session in item.sessions),
            )
            for item in wanted
        }

    def _linked(self, seeds: str, parameter: SQLValue) -> list[Row]:
        """The sessions that `seeds` selects, with their ancestors, their descendants and those of all of them."""
        return self._database.rows(
            f"""
            WITH RECURSIVE near(id) AS (
                {seeds}
                UNION SELECT child.id FROM near JOIN sessions child ON child.parent_session_id = near.id
                UNION SELECT self.parent_session_id FROM near JOIN sessions self ON self.id = near.id
            )
            SELECT {self._columns()} FROM sessions s WHERE s.id IN (SELECT id FROM near)
            """,
            (parameter,),
        )

    def _column(self, name: str, otherwise: str = "NULL") -> str:
        return f"s.{name}" if self._database.has("sessions", name) else otherwise

    def _columns(self) -> str:
        column = self._column
        config = column("model_config")
        # Parsing JSON is the dearest part, so only rows that can hold a marker are parsed.
        markers = ", ".join(
            f"CASE WHEN instr({config}, '{name}') AND json_valid({config}) THEN json_extract({config}, '$.{name}') END"
            for name in ("_branched_from", "_delegate_from", "_reset_from")
        )
        last = self._last_message()
        odd = " OR ".join(
            f"typeof({value}) NOT IN ({types})"
            for value, types in (
                ("s.id", "'text'"),
                ("s.source", "'text'"),
                ("s.started_at", "'real'"),
                (column("title"), "'text', 'null'"),
                (column("model"), "'text', 'null'"),
                (column("cwd"), "'text', 'null'"),
                (column("parent_session_id"), "'text', 'null'"),
                (column("end_reason"), "'text', 'null'"),
            )
        )
        return f"""
            s.id, s.source, {column("title")}, {column("model")}, {column("cwd")}, {column("parent_session_id")},
            {markers}, s.started_at, {column("ended_at")}, {column("end_reason")},
            {column("archived", "0")}, {column("hidden", "0")}, {last}, {" OR ".join(self._any_message())}, {odd}
            """

    def _any_message(self) -> list[str]:
        """SQL conditions of sessions that hold messages; such as cannot be read are messages, too."""
        tables = ["messages", *(["temp.lost_messages"] if self._database.is_partial("messages") else [])]
        return [f"EXISTS (SELECT 1 FROM {table} m WHERE m.session_id = s.id)" for table in tables]

    def _last_message(self) -> str:
        """SQL for the time of a session's newest message: one index seek; absurd times only if there is no other."""
        newest = "SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id"
        return f"coalesce(({newest} AND m.timestamp < {LATEST_TIME}), ({newest}))"

    def _visible(self) -> str:
        """SQL condition of rows that belong to the transcript. Some old files hold NULL in `active`: it counts as 1."""
        if not self._database.has("messages", "active"):
            return "1"
        compacted = " OR compacted = 1" if self._database.has("messages", "compacted") else ""
        return f"(active IS NOT 0{compacted})"

    def _sums(self, ids: Iterable[str]) -> dict[str, _Sums]:
        column = self._column
        counted = f"SELECT count(*) FROM messages m WHERE m.session_id = s.id AND {self._visible()}"
        names = ("tool_call_count", "billing_provider", "git_branch", "user_id")
        wanted = list(ids)
        rows = self._database.rows(
            f"""
            SELECT s.id, ({counted}), {", ".join(map(column, names))}
            FROM json_each(?) want CROSS JOIN sessions s ON s.id = want.value
            """,
            (_id_list(wanted),),
        )
        spent = self._costs.of_sessions(wanted)
        sums = {
            str(session_id): _Sums(
                as_int(messages),
                as_int(tool_calls),
                *spent.get(str(session_id), (Tokens(), Money(None, "unknown"))),
                as_text(provider),
                as_text(branch),
                as_text(user),
            )
            for session_id, messages, tool_calls, provider, branch, user in rows
        }
        return _WithNothing(sums)

    def _previews(self, ids: list[str]) -> dict[str, str]:
        """The first thing a person said in each session: not a compaction's summary, and not empty."""
        text = f"""
            CASE WHEN octet_length(content) > {PREVIEW_BYTES} AND substr(CAST(content AS BLOB), 1, 6) <> x'006a736f6e3a'
            THEN substr(CAST(content AS BLOB), 1, {PREVIEW_BYTES}) ELSE content END
            """
        rows = self._database.rows(
            f"""
            SELECT want.value, {text} FROM json_each(?) want CROSS JOIN messages ON messages.id IN (
                SELECT id FROM messages WHERE session_id = want.value AND role = 'user' AND {self._visible()}
                ORDER BY timestamp, id LIMIT {PREVIEW_CANDIDATES})
            ORDER BY want.key, messages.id
            """,
            (_id_list(ids),),
        )
        previews: dict[str, str] = {}
        for session_id, content in rows:
            said = decode_text(content)
            if said.strip() and not is_summary(said):
                previews.setdefault(str(session_id), said)
        return previews

    def _preview_of(self, conversation: Conversation, previews: dict[str, str]) -> str | None:
        if (said := previews.get(conversation.root.id)) is not None:
            return said
        # An empty root, or one that holds nothing of the person's: look along the chain.
        for session in conversation.sessions[1:]:
            if (said := self._previews([session.id]).get(session.id)) is not None:
                return said
        return None

    def statuses(self, ids: list[str]) -> dict[str, Status]:
        """How each session stands, by its newest message: the rule of Hermes' own browse picker."""
        # An index alone tells the newest message; of few sessions it is one that a transcript does not show.
        newest = "SELECT max(id) FROM messages WHERE session_id = want.value"
        visible = f"{self._visible()} AND role <> 'session_meta'"
        found = self._newest(ids, f"messages.id = ({newest})", visible)
        if left := [session_id for session_id in ids if session_id not in found]:
            # The plus keeps SQLite on the session's index; without it, it may walk the whole table backwards.
            shown = f"SELECT max(+id) FROM messages WHERE session_id = want.value AND {visible}"
            found |= self._newest(left, f"messages.id = ({shown})", "1")
        return found

    def _newest(self, ids: list[str], which: str, condition: str) -> dict[str, Status]:
        calls = "tool_calls" if self._database.has("messages", "tool_calls") else "NULL"
        reason = "finish_reason" if self._database.has("messages", "finish_reason") else "NULL"
        rows = self._database.rows(
            f"""
            SELECT want.value, role, {reason}, iif(role = 'assistant', {calls}, NULL)
            FROM json_each(?) want CROSS JOIN messages ON {which} WHERE {condition}
            """,
            (_id_list(ids),),
        )
        return {str(session_id): _status(role, reason, calls) for session_id, role, reason, calls in rows}


class _Sums(NamedTuple):
    messages: int = 0
    tool_calls: int = 0
    tokens: Tokens = Tokens()
    cost: Money = Money(None, "unknown")
    provider: str | None = None
    git_branch: str | None = None
    user_id: str | None = None


class _WithNothing(dict[str, _Sums]):
    """Sums by session id; a session that vanished since the catalogue was read has none."""

    def __missing__(self, key: str) -> _Sums:
        return _Sums()


def _session(row: Row) -> Session:
    if row[-1]:
        row = _repaired(row)
    identity, source, title, model, cwd, *links, started_at, ended_at, reason = row[:12]
    archived, hidden, last_message_at, has_messages = row[12:16]
    return Session._make(
        (
            identity,
            _shared(source),
            title,
            _shared(model),
            _shared(cwd),
            *links,
            as_time(started_at),
            as_time(ended_at),
            _shared(reason),
            archived == 1,
            hidden == 1,
            as_time(last_message_at),
            has_messages == 1,
        )
    )


def _shared(text: SQLValue) -> SQLValue:
    """The same text as one object: thousands of sessions have few sources, models and directories between them."""
    return sys.intern(text) if type(text) is str else text


def _repaired(row: Row) -> Row:
    """A row with text where text belongs; only rows that hold another storage class come here."""
    texts = [as_text(value) for value in row[:9]]
    return (texts[0] or "", texts[1] or "unknown", *texts[2:], row[9], row[10], as_text(row[11]), *row[12:])


def _status(role: SQLValue, reason: SQLValue, calls: SQLValue) -> Status:
    if as_text(reason) in ERROR_REASONS:
        return "error"
    if role in ("user", "tool") or (role == "assistant" and as_text(calls) not in (None, "", "[]")):
        return "interrupted"
    return "complete"


def _last_filled(conversation: Conversation) -> str:
    """The newest session of the chain that holds messages, else the tip."""
    filled = (session.id for session in reversed(conversation.sessions) if session.has_messages)
    return next(filled, conversation.id)


def _id_list(ids: Iterable[str]) -> str:
    """Ids as one parameter for json_each, so that a statement takes any number of them."""
    return json.dumps(list(ids), ensure_ascii=False)

"""How one session follows another: compressed into the next, branched off, started for a task.

Each method is one transaction. Which of the results a reader takes for one conversation is `storage.lineage`'s
business; who may compress is `locks`'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_sessions.errors import Refused, TitleTaken, UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue, as_text
from hermes_sessions.storage.writing.entries import NewMessage, as_json, insert, storable
from hermes_sessions.storage.writing.locks import CompressionLocks, drop_lock, refuse_locked
from hermes_sessions.storage.writing.messages import put
from hermes_sessions.storage.writing.sessions import (
    MARKERS,
    close,
    config_of,
    conversation_of,
    exists,
    need,
    new_id_at,
    numbered,
    require,
    title_holder,
)
from hermes_sessions.storage.writing.titles import clean_title
from hermes_sessions.storage.writing.transactions import Transactions

CARRIED = (
    *("source", "created_source", "user_id", "session_key", "chat_id", "chat_type", "thread_id", "display_name"),
    *("origin_json", "model", "system_prompt", "system_prompt_hash", "cwd", "git_branch", "git_repo_root"),
    *("profile_name", "transport_profile", "tool_names"),
)
"""What a session has from the one it follows: who, where, and with what model."""

COPIED = (
    *("role", "content", "tool_call_id", "tool_calls", "tool_name", "effect_disposition", "token_count"),
    *("finish_reason", "reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items"),
    *("codex_message_items", "platform_message_id", "observed", "_compressed_summary", "api_content"),
    *("display_kind", "display_metadata"),
)
"""What a branch copies of a message. Ids, times and places in the display are its own."""


class LineageWriter:
    """The links between sessions of a store that may be written."""

    def __init__(self, writer: Transactions, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock
        self.locks = CompressionLocks(writer, clock)

    def compress(
        self,
        session_id: str,
        new_id: str | None = None,
        *,
        messages: Sequence[NewMessage] = (),
        holder: str | None = None,
    ) -> str:
        """End a session as compressed and return the id of the one that continues it, which begins with `messages`.

        Source, model, marks of lineage, person and place go over; the title gets the next number. The compression
        lock must be free or `holder`'s, and is gone afterwards. Raises SessionNotFound; SessionLive while somebody
        else compresses; Refused when the session has ended, so that none is continued twice.
        """
        now = self._clock()
        following = storable(new_id) or new_id_at(now)

        def write(database: Database) -> str:
            require(database, session_id)
            refuse_locked(database, session_id, holder, now)
            if not close(database, session_id, "compression", now):
                raise _has_ended(database, session_id)
            title = _next_title(database, session_id)
            config = database.value("SELECT model_config FROM sessions WHERE id = ?", (session_id,))
            _follow(database, session_id, following, now, model_config=config, title=title)
            put(database, following, messages, now)
            drop_lock(database, session_id)
            return following

        return self._run(write)

    def compact(self, session_id: str, messages: Sequence[NewMessage], *, holder: str | None = None) -> list[int]:
        """Compress a session within itself: put its live messages away, go on with these, and return their ids.

        What was put away stays part of the transcript and is found by searches; the counters count what is live, as
        in Hermes (`SessionDB.archive_and_compact`, release 0.19.0). Raises SessionNotFound, SessionLive while somebody
        else compresses, and Refused when the file's layout cannot do it: then `compress` can.
        """
        now = self._clock()

        def write(database: Database) -> list[int]:
            require(database, session_id)
            need(database, "messages", "compacted", "compact a session within itself")
            refuse_locked(database, session_id, holder, now)
            database.execute(
                "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active IS NOT 0", (session_id,)
            )
            database.execute("UPDATE sessions SET message_count = 0, tool_call_count = 0 WHERE id = ?", (session_id,))
            ids = put(database, session_id, messages, now)
            drop_lock(database, session_id)
            return ids

        return self._run(write)

    def branch(
        self, session_id: str, new_id: str | None = None, *, title: str | None = None, end_parent: bool = True
    ) -> str:
        """Return the id of a copy of a session that goes on from here; the session ends as branched.

        The full-screen chat of Hermes leaves it open (`end_parent=False`). Messages that were rewound or put away by a
        compaction are not copied; the copies get new ids and the present time. Raises SessionNotFound, TitleTaken.
        """
        now = self._clock()
        following = storable(new_id) or new_id_at(now)
        cleaned = clean_title(title)

        def write(database: Database) -> str:
            require(database, session_id)
            if cleaned is not None and (taker := title_holder(database, cleaned)) is not None:
                raise TitleTaken(f"The title “{cleaned}” belongs to session {as_text(taker)}.", "Choose another one.")
            if end_parent:
                close(database, session_id, "branched", now)
            own = {name: value for name, value in config_of(database, session_id).items() if name not in MARKERS}
            config = as_json({**own, "_branched_from": session_id})
            given = cleaned or _next_title(database, session_id)
            _follow(database, session_id, following, now, model_config=config, title=given)
            _copy_messages(database, session_id, following, now)
            return following

        return self._run(write)

    def delegate(
        self,
        session_id: str,
        new_id: str | None = None,
        *,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        cwd: str | None = None,
    ) -> str:
        """Return the id of a new session in which an agent works for this one; it is deleted together with it.

        Raises SessionNotFound.
        """
        now = self._clock()
        child = storable(new_id) or new_id_at(now)

        def write(database: Database) -> str:
            require(database, session_id)
            refuse_id(database, child)
            row: dict[str, SQLValue] = {
                "id": child,
                "source": "subagent",
                "created_source": "subagent",
                "model": storable(model),
                "model_config": as_json({**(model_config or {}), "_delegate_from": session_id}),
                "system_prompt": storable(system_prompt),
                "parent_session_id": session_id,
                "started_at": now,
                "cwd": storable(cwd),
            }
            insert(database, "sessions", row)
            return child

        return self._run(write)


def refuse_id(database: Database, new_id: str) -> None:
    """Raises UsageError when a session that is to be made is there already."""
    if exists(database, new_id):
        raise UsageError(f"There is a session {new_id} already.", "Nothing was changed. Leave the id out to get one.")


def _has_ended(database: Database, session_id: str) -> Refused:
    tip = conversation_of(database, session_id).id
    if tip != session_id:
        return Refused(f"Session {session_id} was compressed already and goes on in {tip}.", f"Go on with {tip}.")
    reason = as_text(database.value("SELECT end_reason FROM sessions WHERE id = ?", (session_id,)))
    return Refused(f"Session {session_id} has ended ({reason or 'no reason was stored'}).", "Reopen it first.")


def _follow(database: Database, parent_id: str, new_id: str, now: float, **own: SQLValue) -> None:
    """Insert the session that goes on from `parent_id`, with what it has from there and what is its own."""
    refuse_id(database, new_id)
    carried = [name for name in CARRIED if database.has("sessions", name)]
    values = database.row(f"SELECT {', '.join(carried)} FROM sessions WHERE id = ?", (parent_id,)) or ()
    inherited = dict(zip(carried, values, strict=True))
    insert(database, "sessions", {**inherited, "id": new_id, "parent_session_id": parent_id, "started_at": now, **own})


def _next_title(database: Database, session_id: str) -> str | None:
    title = database.value("SELECT title FROM sessions WHERE id = ?", (session_id,))
    return numbered(database, title) if isinstance(title, str) else None


def _copy_messages(database: Database, session_id: str, new_id: str, now: float) -> None:
    """Copy the live messages with all they hold, in their order, and count them as an append would have."""
    columns = ", ".join(name for name in COPIED if database.has("messages", name))
    # Some old files hold NULL in `active`: it counts as 1. Before Hermes 0.16 nothing was ever hidden.
    live = "active IS NOT 0" if database.has("messages", "active") else "1"
    database.execute(
        f"INSERT INTO messages (session_id, timestamp, {columns})"
        f" SELECT ?, ?, {columns} FROM messages WHERE session_id = ? AND {live} ORDER BY id",
        (new_id, now, session_id),
    )
    database.execute(
        """
        UPDATE sessions SET (message_count, tool_call_count) = (
            SELECT count(*), COALESCE(sum(CASE
                WHEN COALESCE(tool_calls, '') = '' THEN 0
                WHEN json_valid(tool_calls) AND json_type(tool_calls) = 'array' THEN json_array_length(tool_calls)
                ELSE 1 END), 0)
            FROM messages WHERE session_id = sessions.id)
        WHERE id = ?
        """,
        (new_id,),
    )

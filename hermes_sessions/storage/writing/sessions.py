"""Sessions, written: made, ended, titled, archived. Each method is one transaction.

How one session follows another is `lineage`'s business, what is said in it `messages`', how it goes `removal`'s. Which
sessions are one conversation is decided by the readers' own resolver.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hermes_sessions.errors import Refused, SessionLive, SessionNotFound, TitleTaken
from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.storage.costs import CostTable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import Liveness
from hermes_sessions.storage.sessions import SessionTable
from hermes_sessions.storage.values import SQLValue, as_text, as_time
from hermes_sessions.storage.writing.entries import as_json, insert, storable
from hermes_sessions.storage.writing.titles import base_of, clean_title, next_title, shorten, tidy
from hermes_sessions.storage.writing.transactions import Transactions

MARKERS = ("_branched_from", "_delegate_from", "_reset_from")
"""Keys of `model_config` that say where a session comes from."""


class SessionWriter:
    """The sessions of a store that may be written."""

    def __init__(self, writer: Transactions, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock

    def create(
        self,
        session_id: str | None = None,
        *,
        source: str,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        parent_id: str | None = None,
        user_id: str | None = None,
        cwd: str | None = None,
    ) -> str:
        """Return the id of a session that starts now. An id that is there already is left as it is, as in Hermes.

        Raises SessionNotFound when there is no parent of that id.
        """
        now = self._clock()
        new_id = storable(session_id) or new_id_at(now)
        row: dict[str, SQLValue] = {
            "id": new_id,
            "source": storable(source),
            "created_source": storable(source),
            "user_id": storable(user_id),
            "model": storable(model),
            "model_config": as_json(model_config),
            "system_prompt": storable(system_prompt),
            "parent_session_id": parent_id,
            "started_at": now,
            "cwd": storable(cwd),
        }

        def write(database: Database) -> None:
            if exists(database, new_id):
                return
            if parent_id is not None:
                require(database, parent_id)
            insert(database, "sessions", row)

        self._run(write)
        return new_id

    def end(self, session_id: str, reason: str) -> bool:
        """End a session now; the first reason stays. Return whether it was open. Raises SessionNotFound."""
        now = self._clock()

        def write(database: Database) -> bool:
            require(database, session_id)
            return close(database, session_id, reason, now)

        return self._run(write)

    def reopen(self, session_id: str) -> None:
        """Make an ended session one that goes on: when and why it ended is forgotten.

        Raises SessionNotFound, and Refused when the conversation goes on in a later session: two ends would be live.
        """

        def write(database: Database) -> None:
            conversation = conversation_of(database, session_id)
            if conversation.id != session_id:
                raise Refused(
                    f"Session {session_id} was compressed and goes on in {conversation.id}.",
                    f"Go on with {conversation.id}.",
                )
            database.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session_id,))

        self._run(write)

    def set_title(self, session_id: str, title: str | None) -> str | None:
        """Return the title as it was stored, cleaned; None or blanks clear it.

        A title held by an earlier part of the same conversation moves here, as in Hermes: nobody sees the earlier
        part. Raises TitleTaken, SessionNotFound, and UsageError for one that is too long.
        """
        cleaned = clean_title(title)

        def write(database: Database) -> str | None:
            require(database, session_id)
            holder = title_holder(database, cleaned)
            if cleaned is not None and holder not in (None, session_id):
                segments = conversation_of(database, session_id).segments
                if holder not in segments[: segments.index(session_id)]:
                    raise TitleTaken(
                        f"The title “{cleaned}” belongs to {_who(database, holder)}.", "Choose another one."
                    )
                database.execute("UPDATE sessions SET title = NULL WHERE id = ?", (holder,))
            _update(database, session_id, title=cleaned, title_source=cleaned and "user")
            return cleaned

        return self._run(write)

    def propose_title(self, session_id: str, title: str) -> str | None:
        """Title a session that has no title, and return the one it has then.

        One that was given by hand in the meantime stays. A title that is taken gets the next number and one that is
        too long is cut, so that no session is left nameless for it. Raises SessionNotFound.
        """
        proposed = shorten(tidy(title))

        def write(database: Database) -> str | None:
            require(database, session_id)
            current = database.value("SELECT title FROM sessions WHERE id = ?", (session_id,))
            if current is not None or not proposed:
                return as_text(current)
            free = proposed if title_holder(database, proposed) is None else numbered(database, proposed)
            _update(database, session_id, title=free, title_source="llm")
            return free

        return self._run(write)

    def set_model(self, session_id: str, model: str, model_config: Mapping[str, Any] | None = None) -> None:
        """Another model from now on, and what it was told to do if that is given. Raises SessionNotFound.

        The marks of lineage in the stored configuration stay.
        """

        def write(database: Database) -> None:
            require(database, session_id)
            _update(database, session_id, model=storable(model))
            if model_config is not None:
                stored = config_of(database, session_id)
                marks = {name: stored[name] for name in MARKERS if name in stored}
                _update(database, session_id, model_config=as_json({**model_config, **marks}))

        self._run(write)

    def set_system_prompt(self, session_id: str, prompt: str | None) -> None:
        """What the agent is told first from now on. Raises SessionNotFound."""

        def write(database: Database) -> None:
            require(database, session_id)
            # Newer layouts keep prompts in a table of their own; an inline one counts where no hash names one.
            _update(database, session_id, system_prompt=storable(prompt), system_prompt_hash=None)

        self._run(write)

    def set_cwd(
        self, session_id: str, cwd: str, *, git_branch: str | None = None, git_repo_root: str | None = None
    ) -> None:
        """Where the session works now. Facts of Git that are not known keep what is stored. Raises SessionNotFound."""
        facts = {"cwd": cwd, "git_branch": git_branch, "git_repo_root": git_repo_root}
        known = {name: storable(value.strip()) for name, value in facts.items() if value and value.strip()}

        def write(database: Database) -> None:
            require(database, session_id)
            _update(database, session_id, **known)

        self._run(write)

    def archive(self, session_id: str, archived: bool = True, *, force: bool = False) -> tuple[str, ...]:
        """Hide a whole conversation from lists, or show it again; return the ids of its sessions, root first.

        Branches and delegates are conversations of their own. Raises SessionNotFound; SessionLive when an agent is
        using it and it is not forced; Refused when the file's layout has no archive.
        """
        now = self._clock()

        def write(database: Database) -> tuple[str, ...]:
            segments = conversation_of(database, session_id).segments
            need(database, "sessions", "archived", "archive")
            if archived and not force:
                refuse_live(database, segments, now)
            for part in segments:
                _update(database, part, archived=int(archived), auto_archived=0)
            return segments

        return self._run(write)


def new_id_at(now: float) -> str:
    """An id as Hermes makes them: the local time, and six hex digits."""
    return f"{time.strftime('%Y%m%d_%H%M%S', time.localtime(now))}_{secrets.token_hex(3)}"


def exists(database: Database, session_id: str) -> bool:
    return database.value("SELECT 1 FROM sessions WHERE id = ?", (storable(session_id),)) is not None


def require(database: Database, session_id: str) -> None:
    """Raises SessionNotFound unless there is a session of that id."""
    if not exists(database, session_id):
        raise SessionNotFound(f"There is no session {session_id}.")


def need(database: Database, table: str, column: str, action: str) -> None:
    """Raises Refused when the layout has no place for what is asked."""
    if not database.has(table, column):
        raise Refused(f"The layout of {database.path} is too old to {action}.", "A newer Hermes brings it up to date.")


def close(database: Database, session_id: str, reason: str, now: float) -> bool:
    """End a session that is open. Return whether it was."""
    sql = "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL RETURNING id"
    return database.row(sql, (now, storable(reason), session_id)) is not None


def family(database: Database, session_ids: Collection[str]) -> Catalog:
    """The conversations of these sessions and of all that hang together with them."""
    return SessionTable(database, CostTable(database)).family(session_ids)


def conversation_of(database: Database, session_id: str) -> Conversation:
    """The conversation a session is part of. Raises SessionNotFound."""
    require(database, session_id)
    return family(database, [session_id]).by_session[session_id]


def config_of(database: Database, session_id: str) -> dict[str, Any]:
    """The stored configuration; what is no JSON object is none."""
    try:
        config = json.loads(
            as_text(database.value("SELECT model_config FROM sessions WHERE id = ?", (session_id,))) or ""
        )
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def title_holder(database: Database, title: str | None) -> SQLValue:
    """The id of the session that has this title, or None."""
    return database.value("SELECT id FROM sessions WHERE title = ?", (title,))


def numbered(database: Database, title: str) -> str:
    """The title with the next number that is free."""
    beginning = shorten(base_of(title), 80)
    taken = database.rows(
        "SELECT title FROM sessions WHERE title >= ? AND title < ?", (beginning, beginning + "\U0010ffff")
    )
    return next_title(title, {as_text(other) or "" for (other,) in taken})


def refuse_live(database: Database, session_ids: Collection[str], now: float) -> None:
    """Raises SessionLive when the store shows one of these sessions to be in use."""
    if live := sorted(Liveness(database).live_sessions(now) & set(session_ids)):
        raise SessionLive(
            f"An agent is using session {live[0]}.", "Nothing was changed. End it there first, or force it."
        )


def _update(database: Database, session_id: str, **values: SQLValue) -> None:
    """Set what the layout has columns for."""
    names = [name for name in values if database.has("sessions", name)]
    if names:
        database.execute(
            f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?",
            [*(values[name] for name in names), session_id],
        )


def _who(database: Database, holder: SQLValue) -> str:
    """A session so that a person can place it: id, source, when it began, whether it is hidden."""
    archived = "archived" if database.has("sessions", "archived") else "0"
    row = database.row(f"SELECT source, started_at, {archived} FROM sessions WHERE id = ?", (holder,))
    source, started_at, archived_now = row or (None, None, 0)
    facts = [as_text(source) or "?"]
    if (moment := as_time(started_at)) is not None:
        facts.append(time.strftime("%Y-%m-%d", time.localtime(moment)))
    if archived_now:
        facts.append("archived")
    return f"session {as_text(holder)} ({', '.join(facts)})"

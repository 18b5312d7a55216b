"""Sessions, written: made, ended, titled, archived. Each method is one transaction.

How one session follows another is `lineage`'s business, what is said in it `messages`'.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from hermes_sessions.errors import SessionNotFound, TitleTaken
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import as_json, storable
from hermes_sessions.storage.writing.titles import clean_title
from hermes_sessions.storage.writing.writer import Writer


class SessionWriter:
    """The sessions of a store that may be written."""

    def __init__(self, writer: Writer, clock: Callable[[], float]):
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
        new_id = session_id or new_id_at(now)
        row = (new_id, source, user_id, model, as_json(model_config), system_prompt, parent_id, now, cwd)

        def insert(database: Database) -> None:
            if parent_id is not None:
                require(database, parent_id)
            database.execute(
                "INSERT INTO sessions (id, source, user_id, model, model_config, system_prompt, parent_session_id,"
                " started_at, cwd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                storable(*row),
            )

        self._run(insert)
        return new_id

    def end(self, session_id: str, reason: str) -> bool:
        """End a session now; the first reason stays. Return whether it was open. Raises SessionNotFound."""
        now = self._clock()

        def end(database: Database) -> bool:
            require(database, session_id)
            return close(database, session_id, reason, now)

        return self._run(end)

    def set_title(self, session_id: str, title: str | None) -> str | None:
        """Return the title as it was stored, cleaned; None or blanks clear it.

        A title held by an earlier part of the same conversation moves here, as in Hermes: nobody sees the earlier
        part. Raises TitleTaken, SessionNotFound, and UsageError for one that is too long.
        """
        cleaned = clean_title(title)

        def write(database: Database) -> str | None:
            require(database, session_id)
            holder = database.value("SELECT id FROM sessions WHERE title = ? AND id <> ?", (cleaned, session_id))
            if holder is not None:
                if holder not in chain(database, session_id, ANCESTORS):
                    raise TitleTaken(f"The title “{cleaned}” belongs to session {holder!s}.", "Choose another one.")
                database.execute("UPDATE sessions SET title = NULL WHERE id = ?", (holder,))
            database.execute("UPDATE sessions SET title = ? WHERE id = ?", (cleaned, session_id))
            return cleaned

        return self._run(write)

    def archive(self, session_id: str, archived: bool = True) -> None:
        """Hide a whole conversation from lists, or show it again. Raises SessionNotFound."""

        def write(database: Database) -> None:
            require(database, session_id)
            for part in {session_id} | chain(database, session_id, ANCESTORS) | chain(database, session_id, HEIRS):
                database.execute("UPDATE sessions SET archived = ? WHERE id = ?", (int(archived), part))

        self._run(write)


CONTINUES = (
    "child.parent_session_id = parent.id AND parent.end_reason = 'compression' AND child.started_at >= parent.ended_at"
)

ANCESTORS = f"""
    WITH RECURSIVE chain(id) AS (
        SELECT ? UNION
        SELECT parent.id FROM chain JOIN sessions child USING (id) JOIN sessions parent ON {CONTINUES})
    SELECT id FROM chain"""

HEIRS = f"""
    WITH RECURSIVE chain(id) AS (
        SELECT ? UNION
        SELECT child.id FROM chain JOIN sessions parent USING (id) JOIN sessions child ON {CONTINUES})
    SELECT id FROM chain"""


def new_id_at(now: float) -> str:
    """An id as Hermes makes them: the local time, and six hex digits."""
    return f"{time.strftime('%Y%m%d_%H%M%S', time.localtime(now))}_{secrets.token_hex(3)}"


def require(database: Database, session_id: str) -> None:
    """Raises SessionNotFound unless there is a session of that id."""
    if database.value("SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is None:
        raise SessionNotFound(f"There is no session {session_id}.")


def chain(database: Database, session_id: str, sql: str) -> set[SQLValue]:
    """The ids that ANCESTORS or HEIRS answers with, the session itself among them."""
    return {row[0] for row in database.rows(sql, (session_id,))}


def close(database: Database, session_id: str, reason: str, now: float) -> bool:
    """End a session that is open. Return whether it was."""
    sql = "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL RETURNING id"
    return database.row(sql, (now, reason, session_id)) is not None

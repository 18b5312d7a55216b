"""How one session follows another: compressed into the next, branched off. Each method is one transaction."""

from __future__ import annotations

from collections.abc import Callable

from hermes_sessions.errors import TitleTaken
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.sessions import close, new_id_at, require
from hermes_sessions.storage.writing.titles import base_of, clean_title, next_title
from hermes_sessions.storage.writing.writer import Writer


class LineageWriter:
    """The links between sessions of a store that may be written."""

    def __init__(self, writer: Writer, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock

    def compress(self, session_id: str, new_id: str | None = None) -> str:
        """End a session as compressed and return the id of the one that continues it.

        Source, model, markers, person and directory go over; the title gets the next number. Raises SessionNotFound.
        """
        now = self._clock()
        new_id = new_id or new_id_at(now)

        def rotate(database: Database) -> str:
            require(database, session_id)
            close(database, session_id, "compression", now)
            config = database.value("SELECT model_config FROM sessions WHERE id = ?", (session_id,))
            _follow(database, session_id, new_id, now, config)
            return new_id

        return self._run(rotate)

    def branch(self, session_id: str, new_id: str | None = None, *, title: str | None = None) -> str:
        """End a session as branched and return the id of a copy that goes on from here.

        Messages that were rewound are not copied; the copies get new ids and the present time. Raises
        SessionNotFound, TitleTaken.
        """
        now = self._clock()
        new_id = new_id or new_id_at(now)
        cleaned = clean_title(title)

        def fork(database: Database) -> str:
            require(database, session_id)
            close(database, session_id, "branched", now)
            config = database.value(
                "SELECT json_set(COALESCE(model_config, '{}'), '$._branched_from', id) FROM sessions WHERE id = ?",
                (session_id,),
            )
            _follow(database, session_id, new_id, now, config, cleaned)
            database.execute(COPY_SQL, (new_id, now, session_id))
            database.execute(COUNT_COPY_SQL, (new_id, new_id))
            return new_id

        return self._run(fork)


COPY_SQL = """
    INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, reasoning)
    SELECT ?, role, content, tool_call_id, tool_calls, tool_name, ?, reasoning
    FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"""

COUNT_COPY_SQL = """
    UPDATE sessions SET (message_count, tool_call_count) = (
        SELECT count(*), COALESCE(sum(CASE json_type(tool_calls) WHEN 'array' THEN json_array_length(tool_calls)
                                      WHEN 'object' THEN 1 ELSE 0 END), 0)
        FROM messages WHERE session_id = ?)
    WHERE id = ?"""


def _follow(
    database: Database, parent_id: str, new_id: str, now: float, config: SQLValue, title: str | None = None
) -> None:
    """Insert the session that goes on from `parent_id`, titled `title` or like the parent with the next number."""
    if title is None:
        title = _next_title(database, parent_id)
    elif (holder := database.value("SELECT id FROM sessions WHERE title = ?", (title,))) is not None:
        raise TitleTaken(f"The title “{title}” belongs to session {holder!s}.", "Choose another one.")
    database.execute(
        "INSERT INTO sessions (id, source, user_id, model, model_config, system_prompt, parent_session_id, started_at,"
        " cwd, title) SELECT ?, source, user_id, model, ?, system_prompt, id, ?, cwd, ? FROM sessions WHERE id = ?",
        (new_id, config, now, title, parent_id),
    )


def _next_title(database: Database, session_id: str) -> str | None:
    title = database.value("SELECT title FROM sessions WHERE id = ?", (session_id,))
    if not isinstance(title, str):
        return None
    base = base_of(title)
    taken = database.rows("SELECT title FROM sessions WHERE substr(title, 1, ?) = ?", (len(base), base))
    return next_title(title, (str(other) for (other,) in taken))

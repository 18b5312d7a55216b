"""Messages, written: appended, taken back. Each method is one transaction, and keeps the counters of the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hermes_sessions.errors import UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import MESSAGE_COLUMNS, NewMessage, message_row
from hermes_sessions.storage.writing.sessions import require
from hermes_sessions.storage.writing.writer import Writer


class MessageWriter:
    """The messages of a store that may be written."""

    def __init__(self, writer: Writer, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock

    def append(self, session_id: str, message: NewMessage) -> int:
        """Return the id of the message, which is stored when this returns. Raises SessionNotFound."""
        return self.append_all(session_id, [message])[0]

    def append_all(self, session_id: str, messages: Sequence[NewMessage]) -> list[int]:
        """Append all of them or none, and return their ids. Raises SessionNotFound."""
        now = self._clock()
        rows = [message_row(session_id, message, now) for message in messages]
        calls = sum(len(message.tool_calls or ()) for message in messages)

        def insert(database: Database) -> list[int]:
            require(database, session_id)
            ids = [_insert_message(database, row) for row in rows]
            database.execute(
                "UPDATE sessions SET message_count = message_count + ?, tool_call_count = tool_call_count + ?"
                " WHERE id = ?",
                (len(rows), calls, session_id),
            )
            return ids

        return self._run(insert)

    def rewind(self, session_id: str, message_id: int) -> int:
        """Take back a message of the person and all after it. Return how many rows that hid.

        Raises UsageError when the message is not one of a person in this session.
        """

        def hide(database: Database) -> int:
            role = database.value("SELECT role FROM messages WHERE id = ? AND session_id = ?", (message_id, session_id))
            if role != "user":
                raise UsageError(f"Message {message_id} of {session_id} is not one a person wrote.")
            hidden = database.rows(
                "UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND active = 1 RETURNING id",
                (session_id, message_id),
            )
            database.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session_id,))
            return len(hidden)

        return self._run(hide)


def _insert_message(database: Database, row: tuple[SQLValue, ...]) -> int:
    marks = ", ".join("?" * len(row))
    message_id = database.value(f"INSERT INTO messages ({MESSAGE_COLUMNS}) VALUES ({marks}) RETURNING id", row)
    assert isinstance(message_id, int)
    return message_id

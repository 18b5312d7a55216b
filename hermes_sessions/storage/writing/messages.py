"""Messages, written: appended, taken back. Each method is one transaction, and keeps the counters of the session.

The order of a transcript is that of the ids, which never go back, whatever the clock does. What a message holds and how
it is encoded is `entries`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes_sessions.errors import UsageError
from hermes_sessions.storage.content import decode_text
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import NewMessage, insert, message_row
from hermes_sessions.storage.writing.sessions import need, require
from hermes_sessions.storage.writing.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Rewound:
    """What a rewind took back: how many messages it hid, and the text of the first, to be edited and asked again."""

    hidden: int
    text: str


class MessageWriter:
    """The messages of a store that may be written."""

    def __init__(self, writer: Transactions, clock: Callable[[], float]):
        self._run = writer.run
        self._clock = clock

    def append(self, session_id: str, message: NewMessage) -> int:
        """Return the id of the message, which is stored when this returns. Raises SessionNotFound.

        Also to a session that has ended, as in Hermes: what was said is never lost, and the end stays as it is.
        """
        return self.append_all(session_id, [message])[0]

    def append_all(self, session_id: str, messages: Sequence[NewMessage]) -> list[int]:
        """Append all of them or none, and return their ids. Raises SessionNotFound."""
        now = self._clock()

        def write(database: Database) -> list[int]:
            require(database, session_id)
            return put(database, session_id, messages, now)

        return self._run(write)

    def rewind(self, session_id: str, message_id: int) -> Rewound:
        """Take back a message of the person and all after it. Rows are hidden, not deleted, and stay counted.

        Raises SessionNotFound, UsageError when the message is not one of a person in this session, and Refused when
        the file's layout cannot hide messages.
        """

        def write(database: Database) -> Rewound:
            require(database, session_id)
            row = database.row(
                "SELECT role, content FROM messages WHERE id = ? AND session_id = ?", (message_id, session_id)
            )
            if row is None or row[0] != "user":
                raise UsageError(f"Message {message_id} of {session_id} is not one a person wrote.")
            need(database, "messages", "active", "take messages back")
            # Some old files hold NULL in `active`: it counts as 1.
            hidden = database.rows(
                "UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND active IS NOT 0 RETURNING id",
                (session_id, message_id),
            )
            database.execute(
                "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?", (session_id,)
            )
            return Rewound(len(hidden), decode_text(row[1]))

        return self._run(write)

    def restore(self, session_id: str, message_id: int) -> int:
        """Undo a rewind: show this message and all after it that were taken back. Return how many.

        Those that a compaction put away stay away; Hermes 0.19 would bring them back into the live context. Raises
        SessionNotFound, and Refused when the file's layout cannot hide messages.
        """

        def write(database: Database) -> int:
            require(database, session_id)
            need(database, "messages", "active", "take messages back")
            rewound = "active = 0 AND compacted = 0" if database.has("messages", "compacted") else "active = 0"
            sql = f"UPDATE messages SET active = 1 WHERE session_id = ? AND id >= ? AND {rewound} RETURNING id"
            return len(database.rows(sql, (session_id, message_id)))

        return self._run(write)


def put(database: Database, session_id: str, messages: Sequence[NewMessage], now: float) -> list[int]:
    """Insert messages into a session and count them, inside a transaction. Return their ids."""
    ids = [insert(database, "messages", message_row(session_id, message, now)) for message in messages]
    database.execute(
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?,"
        " tool_call_count = COALESCE(tool_call_count, 0) + ? WHERE id = ?",
        (len(messages), sum(message.call_count for message in messages), session_id),
    )
    return ids

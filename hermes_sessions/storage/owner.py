"""A store of our own: created here, written through `Writer`, with the semantics of Hermes 0.17.

Each method is one transaction. Who waits for whom is argued in `writing`; reading is for `open_store`.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hermes_sessions.errors import FileExists, SessionNotFound, SessionsError, StoreUnreadable, TitleTaken, UsageError
from hermes_sessions.storage import schema
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.entries import MESSAGE_COLUMNS, NewMessage, Usage, as_json, message_row, storable
from hermes_sessions.storage.titles import base_of, clean_title, next_title
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing import Writer

BUSY_TIMEOUT_MS = 1_000
"""How long SQLite itself waits for a lock before the Writer takes its turn, as in Hermes."""

_logger = logging.getLogger(__name__)
_warned: set[str] = set()


def create_store(
    path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time, durable: bool = True
) -> OwnerStore:
    """Return a new, empty store at `path`; file 0600, a missing directory 0700. WAL where the disk allows it.

    With `durable` an append that has returned survives a power cut, without only the end of the process. Raises
    FileExists when anything is there already, StoreUnreadable when the file cannot be made.
    """
    path = Path(path)
    _claim(path)
    with ExitStack() as undo:
        undo.callback(path.unlink)
        database = Database(path, "owner", busy_timeout_ms=BUSY_TIMEOUT_MS)
        undo.callback(database.close)
        _ask_for_wal(database)
        Writer(database).run(schema.create)
        store = OwnerStore(database, clock=clock, durable=durable)
        undo.pop_all()
    return store


class OwnerStore:
    """Sessions and messages, written. One thread owns it, any number of processes may have one on the same file."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        writer: Writer | None = None,
        durable: bool = True,
    ):
        database.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self.path = database.path
        self.journal_mode = str(database.value("PRAGMA journal_mode"))
        self._database = database
        self._writer = writer or Writer(database)
        self._clock = clock

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know about this store, such as a refused WAL."""
        return tuple(self._database.notices)

    def close(self) -> None:
        """Let go of the file. The last one to close it merges the WAL."""
        self._database.close()

    def create_session(
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
        new_id = session_id or _new_id(now)
        row = (new_id, source, user_id, model, as_json(model_config), system_prompt, parent_id, now, cwd)

        def insert(database: Database) -> None:
            if parent_id is not None:
                _require(database, parent_id)
            database.execute(
                "INSERT INTO sessions (id, source, user_id, model, model_config, system_prompt, parent_session_id,"
                " started_at, cwd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                storable(*row),
            )

        self._writer.run(insert)
        return new_id

    def append_message(self, session_id: str, message: NewMessage) -> int:
        """Return the id of the message, which is stored when this returns. Raises SessionNotFound."""
        return self.append_messages(session_id, [message])[0]

    def append_messages(self, session_id: str, messages: Sequence[NewMessage]) -> list[int]:
        """Append all of them or none, and return their ids. Raises SessionNotFound."""
        now = self._clock()
        rows = [message_row(session_id, message, now) for message in messages]
        calls = sum(len(message.tool_calls or ()) for message in messages)

        def insert(database: Database) -> list[int]:
            _require(database, session_id)
            ids = [_insert_message(database, row) for row in rows]
            database.execute(
                "UPDATE sessions SET message_count = message_count + ?, tool_call_count = tool_call_count + ?"
                " WHERE id = ?",
                (len(rows), calls, session_id),
            )
            return ids

        return self._writer.run(insert)

    def end_session(self, session_id: str, reason: str) -> bool:
        """End a session now; the first reason stays. Return whether it was open. Raises SessionNotFound."""
        now = self._clock()

        def end(database: Database) -> bool:
            _require(database, session_id)
            return _end(database, session_id, reason, now)

        return self._writer.run(end)

    def set_title(self, session_id: str, title: str | None) -> str | None:
        """Return the title as it was stored, cleaned; None or blanks clear it.

        A title held by an earlier part of the same conversation moves here, as in Hermes: nobody sees the earlier
        part. Raises TitleTaken, SessionNotFound, and UsageError for one that is too long.
        """
        cleaned = clean_title(title)

        def write(database: Database) -> str | None:
            _require(database, session_id)
            holder = database.value("SELECT id FROM sessions WHERE title = ? AND id <> ?", (cleaned, session_id))
            if holder is not None:
                if holder not in _chain(database, session_id, ANCESTORS):
                    raise TitleTaken(f"The title “{cleaned}” belongs to session {holder!s}.", "Choose another one.")
                database.execute("UPDATE sessions SET title = NULL WHERE id = ?", (holder,))
            database.execute("UPDATE sessions SET title = ? WHERE id = ?", (cleaned, session_id))
            return cleaned

        return self._writer.run(write)

    def record_usage(self, session_id: str, usage: Usage) -> None:
        """Add tokens and money to a session. Status, source and prices: the last one said stays; model and route: the
        first one. Raises SessionNotFound.

        As in Hermes an estimate nobody made counts as 0, so the status must say "unknown".
        """
        tokens = usage.tokens

        def add(database: Database) -> None:
            _require(database, session_id)
            database.execute(
                USAGE_SQL,
                (
                    tokens.input,
                    tokens.output,
                    tokens.cache_read,
                    tokens.cache_write,
                    tokens.reasoning,
                    usage.requests,
                    usage.estimated_usd,
                    usage.actual_usd,
                    usage.actual_usd,
                    usage.status,
                    usage.source,
                    usage.pricing_version,
                    usage.model,
                    usage.provider,
                    usage.base_url,
                    usage.billing_mode,
                    session_id,
                ),
            )

        self._writer.run(add)

    def archive(self, session_id: str, archived: bool = True) -> None:
        """Hide a whole conversation from lists, or show it again. Raises SessionNotFound."""

        def write(database: Database) -> None:
            _require(database, session_id)
            for part in {session_id} | _chain(database, session_id, ANCESTORS) | _chain(database, session_id, HEIRS):
                database.execute("UPDATE sessions SET archived = ? WHERE id = ?", (int(archived), part))

        self._writer.run(write)

    def compress(self, session_id: str, new_id: str | None = None) -> str:
        """End a session as compressed and return the id of the one that continues it.

        Source, model, markers, person and directory go over; the title gets the next number. Raises SessionNotFound.
        """
        now = self._clock()
        new_id = new_id or _new_id(now)

        def rotate(database: Database) -> str:
            _require(database, session_id)
            _end(database, session_id, "compression", now)
            config = database.value("SELECT model_config FROM sessions WHERE id = ?", (session_id,))
            _follow(database, session_id, new_id, now, config)
            return new_id

        return self._writer.run(rotate)

    def branch(self, session_id: str, new_id: str | None = None, *, title: str | None = None) -> str:
        """End a session as branched and return the id of a copy that goes on from here.

        Messages that were rewound are not copied; the copies get new ids and the present time. Raises
        SessionNotFound, TitleTaken.
        """
        now = self._clock()
        new_id = new_id or _new_id(now)
        cleaned = clean_title(title)

        def fork(database: Database) -> str:
            _require(database, session_id)
            _end(database, session_id, "branched", now)
            config = database.value(
                "SELECT json_set(COALESCE(model_config, '{}'), '$._branched_from', id) FROM sessions WHERE id = ?",
                (session_id,),
            )
            _follow(database, session_id, new_id, now, config, cleaned)
            database.execute(COPY_SQL, (new_id, now, session_id))
            database.execute(COUNT_COPY_SQL, (new_id, new_id))
            return new_id

        return self._writer.run(fork)

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

        return self._writer.run(hide)


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

USAGE_SQL = """
    UPDATE sessions SET
        input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
        cache_read_tokens = cache_read_tokens + ?, cache_write_tokens = cache_write_tokens + ?,
        reasoning_tokens = reasoning_tokens + ?, api_call_count = COALESCE(api_call_count, 0) + ?,
        estimated_cost_usd = COALESCE(estimated_cost_usd, 0) + COALESCE(?, 0),
        actual_cost_usd = CASE WHEN ? IS NULL THEN actual_cost_usd ELSE COALESCE(actual_cost_usd, 0) + ? END,
        cost_status = COALESCE(?, cost_status), cost_source = COALESCE(?, cost_source),
        pricing_version = COALESCE(?, pricing_version), model = COALESCE(model, ?),
        billing_provider = COALESCE(billing_provider, ?), billing_base_url = COALESCE(billing_base_url, ?),
        billing_mode = COALESCE(billing_mode, ?)
    WHERE id = ?"""
"""`SessionDB.update_token_counts` of release 0.17.0, increments."""

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


def _claim(path: Path) -> None:
    """Make the empty file, for its owner only. SQLite gives -wal, -shm and -journal the same mode later."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreadable(f"{path.parent} cannot be created: {error.strerror}.", "Check the path.") from error
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise FileExists(f"{path} exists already.", "Nothing was changed. Choose another place.") from None
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be created: {error.strerror}.", "Check the directory.") from error


def _ask_for_wal(database: Database) -> None:
    """Network and FUSE disks refuse WAL, by an error or by answering another mode: then it is a rollback journal."""
    try:
        answer = database.value("PRAGMA journal_mode=WAL")
        if answer == "wal":
            return
        reason = f"SQLite answered “{answer!s}”"
    except SessionsError as error:
        reason = f"SQLite said: {error.__cause__}"
    database.execute("PRAGMA journal_mode=DELETE")
    notice = f"{database.path} cannot use a write-ahead log ({reason}). Readers and writers wait for each other."
    database.notices.append(notice)
    if (name := str(database.path.absolute())) not in _warned:
        _warned.add(name)
        _logger.warning(notice)


def _new_id(now: float) -> str:
    return f"{time.strftime('%Y%m%d_%H%M%S', time.localtime(now))}_{secrets.token_hex(3)}"


def _require(database: Database, session_id: str) -> None:
    if database.value("SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is None:
        raise SessionNotFound(f"There is no session {session_id}.")


def _chain(database: Database, session_id: str, sql: str) -> set[SQLValue]:
    return {row[0] for row in database.rows(sql, (session_id,))}


def _end(database: Database, session_id: str, reason: str, now: float) -> bool:
    sql = "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL RETURNING id"
    return database.row(sql, (now, reason, session_id)) is not None


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


def _insert_message(database: Database, row: tuple[SQLValue, ...]) -> int:
    marks = ", ".join("?" * len(row))
    message_id = database.value(f"INSERT INTO messages ({MESSAGE_COLUMNS}) VALUES ({marks}) RETURNING id", row)
    assert isinstance(message_id, int)
    return message_id

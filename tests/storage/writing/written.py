"""What the tests of the operations share: a store of any layout that may be written, and short ways to look at it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hermes_sessions.model import Catalog
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.lineage import LineageWriter
from hermes_sessions.storage.writing.messages import MessageWriter
from hermes_sessions.storage.writing.owner import create_store
from hermes_sessions.storage.writing.removal import RemovalWriter
from hermes_sessions.storage.writing.sessions import SessionWriter
from hermes_sessions.storage.writing.usage import UsageWriter
from hermes_sessions.storage.writing.writer import Writer
from tests.builders import NOW, HermesFile

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
OWNED = 16


class Clock:
    """One second passes with each look, more when it is told so."""

    def __init__(self) -> None:
        self.now = NOW - 100_000

    def __call__(self) -> float:
        self.now += 1
        return self.now

    def later(self, seconds: float) -> None:
        self.now += seconds


class Written:
    """The operations over one file, as the owner of a store puts them together; and a connection that only looks."""

    def __init__(self, path: Path, clock: Clock, version: int = OWNED) -> None:
        if version == OWNED:
            create_store(path, durable=False).close()
        else:
            HermesFile(path, version).close()
        self.path = path
        self.clock = clock
        self.database = Database(path, "owner")
        self.database.execute("PRAGMA synchronous = OFF")
        writer = Writer(self.database)
        self.sessions = SessionWriter(writer, clock)
        self.messages = MessageWriter(writer, clock)
        self.lineage = LineageWriter(writer, clock)
        self.usage = UsageWriter(writer, clock)
        self.removal = RemovalWriter(writer, clock, self.database, sleep=lambda _: None)
        self.reader: Store = open_store(path)

    def close(self) -> None:
        self.reader.close()
        self.database.close()

    def begin(self, session_id: str, *texts: str, title: str | None = None, source: str = "cli") -> list[int]:
        """A session in which a person and an agent speak in turn; return the ids of the messages."""
        self.sessions.create(session_id, source=source)
        if title is not None:
            self.sessions.set_title(session_id, title)
        return self.talk(session_id, *texts)

    def talk(self, session_id: str, *texts: str) -> list[int]:
        roles = ("user", "assistant")
        return self.messages.append_all(session_id, [NewMessage(roles[n % 2], text) for n, text in enumerate(texts)])

    def session(self, session_id: str, *columns: str) -> tuple[SQLValue, ...]:
        row = self.database.row(f"SELECT {', '.join(columns)} FROM sessions WHERE id = ?", (session_id,))
        assert row is not None
        return row

    def rows(self, sql: str, params: Sequence[SQLValue] = ()) -> list[tuple[SQLValue, ...]]:
        return self.database.rows(sql, params)

    def ids(self) -> set[str]:
        return {str(id) for (id,) in self.rows("SELECT id FROM sessions")}

    def catalog(self) -> Catalog:
        """The conversations as a reader sees them."""
        return self.reader.sessions.catalog()

    def content(self) -> dict[str, list[tuple[SQLValue, ...]]]:
        """Every row of every table that Hermes knows, for comparing before with after."""
        tables = [
            str(name)
            for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%fts%'")
            if name != "sqlite_sequence"
        ]
        return {table: sorted(self.rows(f"SELECT * FROM {table}"), key=repr) for table in tables}

    def check(self) -> None:
        """The file is sound: pages, links between rows, and both search indexes."""
        assert self.rows("PRAGMA integrity_check") == [("ok",)]
        assert self.rows("PRAGMA foreign_key_check") == []
        for table in ("messages_fts", "messages_fts_trigram"):
            self.database.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")

"""What the tests of the search index share: short ways to break it, to look at it, and to do without FTS5."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw

from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store

WORDS, TRIGRAM = schema.FTS_TABLES
MESSAGES = 40

WITHOUT_FTS5 = """
import sys, apsw
def remove_fts5(connection):
    modules = [name for (name,) in connection.execute("SELECT name FROM pragma_module_list")]
    connection.drop_modules([name for name in modules if not name.startswith("fts5")])
apsw.connection_hooks.append(remove_fts5)
from hermes_sessions.storage import open_store
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import own_store
"""
"""Makes the SQLite of a process one that was built without FTS5."""


def filled(path: Path) -> OwnerStore:
    """A new store with one session of MESSAGES messages."""
    store = create_store(path, durable=False)
    store.sessions.create("s", source="cli")
    store.messages.append_all("s", [NewMessage("user", f"message {n} about parsers") for n in range(1, MESSAGES + 1)])
    return store


def spoil(path: Path, page: int) -> None:
    """Overwrite a page of a file that nobody has open."""
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def say(store: OwnerStore, text: str) -> int:
    return store.messages.append("s", NewMessage("user", text))


def script(database: Database, statements: str) -> None:
    """Run statements as another program would, on a connection that nothing keeps."""
    connection = apsw.Connection(str(database.path))
    connection.execute(statements).fetchall()
    connection.close()


def found(path: Path, query: str) -> set[int | None]:
    """Ids of the messages that a reader finds, up to five."""
    reader = open_store(path)
    result = reader.search.run(query, reader.sessions.catalog())
    reader.close()
    return {hit.message_id for conversation in result.conversations for hit in conversation.hits}


def notice(path: Path, query: str) -> str:
    reader = open_store(path)
    result = reader.search.run(query, reader.sessions.catalog())
    reader.close()
    return result.notice


def indexed(database: Database, table: str, word: str) -> list[object]:
    return [
        id for (id,) in database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY 1", (f'"{word}"',))
    ]


def triggers(database: Database) -> set[object]:
    return {name for (name,) in database.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'")}


def catalogue(database: Database) -> set[tuple[object, ...]]:
    return set(database.rows("SELECT type, name, sql FROM sqlite_schema"))


def run_without_fts5(path: Path, code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FTS5 + code, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()

"""The schema of a store of our own: Hermes' version 16, declared in `schema.sql`, and what is made from it.

What a file of somebody else looks like is found out by looking at it (`database.Database.columns`), never here. How an
older file of our own becomes like this one is for `migration`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import apsw

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.database import Database

VERSION = 16
"""What `schema_version` holds in a file of release 0.17.0."""

FTS_TABLES = ("messages_fts", "messages_fts_trigram")
"""The two indexes of the same text, by words and by pieces of three characters."""

_CREATE = re.compile(
    r"^CREATE (?:VIRTUAL |UNIQUE )?(?P<kind>TABLE|INDEX|TRIGGER) (?P<name>\w+).*(?=;\s*\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Object:
    """A table, index or trigger as it is declared. `sql` is what SQLite keeps of it in `sqlite_schema`."""

    kind: Literal["table", "index", "trigger"]
    name: str
    sql: str

    @property
    def index(self) -> str | None:
        """The search index it is part of: the table itself, or the one that a trigger feeds. None for all else."""
        return next((table for table in reversed(FTS_TABLES) if self.name.startswith(table)), None)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as `PRAGMA table_xinfo` tells it; `default` is an expression."""

    name: str
    type: str
    required: bool
    default: str | None
    key: bool


def declaration() -> str:
    """The statements that make an empty store, one after the other."""
    return (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")


@cache
def objects() -> tuple[Object, ...]:
    """Everything that is declared, in the order of the declaration: tables before what stands on them."""
    found = []
    statement = ""
    for line in declaration().splitlines(keepends=True):
        statement += line
        if apsw.complete(statement):
            if match := _CREATE.search(statement):
                found.append(Object(match["kind"].lower(), match["name"], match[0]))  # type: ignore[arg-type]
            statement = ""
    return tuple(found)


@cache
def columns(table: str) -> tuple[Column, ...]:
    """The declared columns of a table, as SQLite understands them."""
    scratch = apsw.Connection(":memory:")
    for declared in objects():
        if declared.kind == "table" and declared.index is None:
            scratch.execute(declared.sql)
    rows = scratch.execute("SELECT name, type, [notnull], dflt_value, pk FROM pragma_table_xinfo(?)", (table,))
    return tuple(Column(name, kind, bool(required), default, bool(key)) for name, kind, required, default, key in rows)


def create(database: Database) -> None:
    """Make every table, index and trigger in an empty file, but for search indexes that this SQLite cannot make.

    To be run inside a transaction.
    """
    able = {table for table in FTS_TABLES if can_index(database, table)}
    for declared in objects():
        if declared.index is None or declared.index in able:
            database.execute(declared.sql)
    database.execute("INSERT INTO schema_version (version) VALUES (?)", (VERSION,))


def can_index(database: Database, table: str) -> bool:
    """Whether the SQLite of this connection has the module and the tokenizer of a search index."""
    statement = next(declared.sql for declared in objects() if declared.name == table)
    try:
        database.execute(statement.replace(table, "temp.index_trial", 1))
    except StoreDamaged:
        return False
    database.execute("DROP TABLE temp.index_trial")
    return True


def check_index(database: Database) -> None:
    """Compare both search indexes with the text they keep, the strict way (FTS5's 'integrity-check', rank 1).

    Raises StoreDamaged when one differs. Takes a write lock for as long as it runs.
    """
    for table in FTS_TABLES:
        database.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")

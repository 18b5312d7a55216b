"""The schema this program creates: Hermes' version 16, declared in `schema.sql`.

What a file of somebody else looks like is found out by looking at it (`database.Database.columns`), never here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_sessions.storage.database import Database

VERSION = 16
"""What `schema_version` holds in a file of release 0.17.0."""

FTS_TABLES = ("messages_fts", "messages_fts_trigram")
"""The two indexes of the same text, by words and by pieces of three characters."""


def declaration() -> str:
    """The statements that make an empty store, one after the other."""
    return (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")


def create(database: Database) -> None:
    """Make every table, index and trigger in an empty file. To be run inside a transaction."""
    database.execute(declaration())


def check_index(database: Database) -> None:
    """Compare both search indexes with the text they keep, the strict way (FTS5's 'integrity-check', rank 1).

    Raises StoreDamaged when one differs. Takes a write lock for as long as it runs.
    """
    for table in FTS_TABLES:
        database.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")

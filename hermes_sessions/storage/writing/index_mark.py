"""The mark in a store that says which tables of its search index are behind, why, and who is completing them.

Readers know it as `index_health.stale_tables`. What is done about it is for `index` and `rebuild`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import MARK, source_of
from hermes_sessions.storage.values import as_int, as_text
from hermes_sessions.storage.writing import schema

EVENTS = ("insert", "delete", "update")


@dataclass
class Stale:
    """What is wrong with one table of the index."""

    reason: str
    newest: int = 0
    """The newest message that was in it."""
    damaged: bool = True
    """Whether it has to be replaced; else only what changed without it is missing."""
    below: int | None = None
    """Entries from this id on are right, and kept so by the triggers. None: nothing is."""


@dataclass
class Claim:
    """Who completes the index: a name made for the occasion, the process, and when it last did something."""

    name: str
    pid: int
    at: float


@dataclass
class Mark:
    """The tables that must not be relied on. A whole index has none, and no row in the store."""

    tables: dict[str, Stale] = field(default_factory=dict)
    claim: Claim | None = None

    @property
    def reason(self) -> str:
        """Why the first of them is behind; empty when none is."""
        return next((entry.reason for entry in self.tables.values()), "")

    @classmethod
    def read(cls, database: Database) -> Mark:
        text = as_text(database.value("SELECT value FROM state_meta WHERE key = ?", (MARK,)))
        if not text:
            return cls()
        try:
            stored = json.loads(text)
            claim = stored["claim"]
            return cls({table: Stale(**entry) for table, entry in stored["tables"].items()}, claim and Claim(**claim))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # Nobody knows what it said: every table is made anew.
            return cls({table: Stale("its mark is damaged") for table in schema.FTS_TABLES})

    def write(self, database: Database) -> None:
        """To be run in a transaction, like everything that changes the index along with its mark."""
        if self.tables:
            database.execute("REPLACE INTO state_meta (key, value) VALUES (?, ?)", (MARK, json.dumps(asdict(self))))
        else:
            database.execute("DELETE FROM state_meta WHERE key = ?", (MARK,))

    def add_unmarked(self, database: Database) -> None:
        """Add the tables that are not there, or are not fed, though nobody has said so."""
        names = database.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'messages_fts*'")
        there = {as_text(name) for (name,) in names}
        for table in schema.FTS_TABLES:
            if there.issuperset((table, *triggers_of(table))) or not keeps_text(database, table):
                continue
            known = self.tables.get(table)
            if known is None or known.below is not None:
                # Nobody knows since when, nor what else was done to it: it is made anew.
                self.tables[table] = Stale("not kept up" if table in there else "not there")
            elif table not in there:
                known.damaged = True


def mark_unmarked(database: Database) -> None:
    """Mark the tables of the index that are not there or not fed. To be run in the transaction that made them so."""
    mark = Mark.read(database)
    mark.add_unmarked(database)
    mark.write(database)


def triggers_of(table: str) -> list[str]:
    """Names of the triggers that feed a table of the index, in every layout."""
    return [f"{table}_{event}" for event in EVENTS]


def drop_triggers(database: Database, table: str) -> None:
    for name in triggers_of(table):
        database.execute(f"DROP TRIGGER IF EXISTS {name}")


def keeps_text(database: Database, table: str) -> bool:
    """Whether a table of the index is, or would be, one with a text of its own: not so in layouts after 0.19."""
    stored = as_text(database.value("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)))
    view = database.value("SELECT 1 FROM sqlite_schema WHERE name = ?", (f"{table}_src",))
    return table in schema.FTS_TABLES and view is None and source_of(stored or "") is None


def waiting(database: Database, entry: Stale) -> int:
    """How many messages a table of the index may lack."""
    if entry.below is not None:
        return as_int(database.value("SELECT count(*) FROM messages WHERE id < ?", (entry.below,)))
    return as_int(database.value("SELECT count(*) FROM messages WHERE id > ?", (0 if entry.damaged else entry.newest,)))

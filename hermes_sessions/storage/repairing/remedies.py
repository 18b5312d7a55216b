"""What can be done to a copy of a store that is damaged in its derived parts, in order of gentleness.

Sessions and messages are only read here. When these are damaged, `salvage` is all that is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import BUILT_IN_TOKENIZERS, source_of
from hermes_sessions.storage.repairing.damage import Damage, quoted, read_everything
from hermes_sessions.storage.values import as_text
from hermes_sessions.storage.writing.index_mark import drop_triggers
from hermes_sessions.storage.writing.rebuild import TEXT, drop_table

_VALUES = re.compile(r"\bVALUES\s*\(\s*new\.id\s*,(.*)\)\s*;\s*END\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_NEW = re.compile(r"\bnew\.", re.IGNORECASE)
_TOKENIZER = re.compile(r"\btokenize\s*=\s*['\"]*\s*(\w+)", re.IGNORECASE)


class Remedy(NamedTuple):
    """One thing to try: what it is called, whether it may help, and the doing."""

    words: str
    serves: Callable[[Damage], bool]
    apply: Callable[[Path, Damage], None]


def remove_doubled(copy: Path, damage: Damage) -> None:
    """Leave the first entry of each object in the catalogue: the one with the lowest rowid, as Hermes does."""
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "DELETE FROM sqlite_schema WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_schema GROUP BY type, name)"
        )
        version = next(connection.execute("PRAGMA schema_version"))[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
        connection.execute("COMMIT")


def rebuild_indexes(copy: Path, damage: Damage) -> None:
    """Have FTS5 make damaged search indexes again from the text that they keep, or that they are about."""
    with closing(Database(copy, "owner")) as database:
        for name in damage.indexes:
            database.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('rebuild')")


def replace_indexes(copy: Path, damage: Damage) -> None:
    """Drop damaged search indexes, whatever is left of them, and make them anew from the messages.

    Where nobody knows how one was made, the triggers that feed it go instead: Hermes, or the owner, makes it again.
    """
    with closing(Database(copy, "owner")) as database:
        for name in damage.indexes:
            sql = _stored(database, "table", name)
            fed = _stored(database, "trigger", f"{name}_insert")
            database.execute("BEGIN IMMEDIATE")
            drop_table(database, name)
            database.forget_layout()
            if sql is None:
                drop_triggers(database, name)
            else:
                database.execute(sql)
                fill(database, name, sql, fed or "")
            database.execute("COMMIT")


def reindex(copy: Path, damage: Damage) -> None:
    """Make ordinary indexes again from their tables."""
    with closing(Database(copy, "owner")) as database:
        for name in damage.keys:
            database.execute(f"REINDEX {quoted(name)}")


def fill(database: Database, name: str, sql: str, trigger: str) -> None:
    """Fill an empty search index, made by `sql`, with every message.

    One that keeps the text gets what the trigger that feeds it puts there: releases of Hermes differ in it.
    """
    if source_of(sql) is not None:
        database.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('rebuild')")
        return
    values = _VALUES.search(trigger)
    text = _NEW.sub("", values[1]) if values else TEXT
    database.execute(f"INSERT INTO {quoted(name)}(rowid, content) SELECT id, {text} FROM messages")


def can_be_made(sql: str) -> bool:
    """Whether a search index has a tokenizer that SQLite itself brings."""
    tokenizer = _TOKENIZER.search(sql)
    return tokenizer is None or tokenizer[1] in BUILT_IN_TOKENIZERS


def _stored(database: Database, kind: str, name: str) -> str | None:
    return as_text(database.value("SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?", (kind, name)))


REMEDIES = (
    Remedy("Removed what the catalogue had twice", lambda damage: bool(damage.doubled), remove_doubled),
    Remedy("Rebuilt the search index from its text", lambda damage: bool(damage.indexes), rebuild_indexes),
    Remedy("Made the search index anew from the messages", lambda damage: bool(damage.indexes), replace_indexes),
    Remedy("Made the indexes of tables again", lambda damage: bool(damage.keys), reindex),
)
"""None serves for damaged pages: to write to a file whose pages are in disorder may write over what could be read."""

"""What can be done to a copy of a store that is damaged in its derived parts, in order of gentleness.

Sessions and messages are only read here. When these are damaged, `salvage` is all that is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import BUILT_IN_TOKENIZERS, source_of
from hermes_sessions.storage.repairing import layouts
from hermes_sessions.storage.repairing.damage import (
    Damage,
    Entry,
    catalogue,
    definitions,
    is_text,
    quoted,
    read_everything,
)
from hermes_sessions.storage.values import as_text
from hermes_sessions.storage.writing.index_mark import drop_triggers
from hermes_sessions.storage.writing.rebuild import TEXT, drop_table

_VALUES = re.compile(r"\bVALUES\s*\(\s*new\.id\s*,(.*)\)\s*;\s*END\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_NEW = re.compile(r"\bnew\.", re.IGNORECASE)
_TOKENIZER = re.compile(r"\btokenize\s*=\s*['\"]*\s*(\w+)", re.IGNORECASE)

_NAMED = re.compile(rb"(\s*CREATE\s+TABLE\s+[\"'`\[]?)(\w+)", re.IGNORECASE)

_BAD = "\udc80-\udcff"
"""What Python makes of bytes that are no characters."""

_LIKE = {"messages_fts": "", "messages_fts_trigram": ", tokenize='trigram'"}
"""The search indexes of Hermes, and how they divide words."""


class Remedy(NamedTuple):
    """One thing to try: what it is called when it is done, whether it may help, the doing, and what that is called."""

    words: str
    serves: Callable[[Damage], bool]
    apply: Callable[[Path, Damage], None]
    doing: str


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


def respell(copy: Path, damage: Damage) -> None:
    """Give what the catalogue defines in words that are no text names that are: those of Hermes where they can be."""
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        garbled = [(name, text) for name, text in definitions(connection) if not is_text(text)]
        if not garbled:
            return
        connection.execute("BEGIN IMMEDIATE")
        for name, text in garbled:
            update = "UPDATE sqlite_schema SET sql = ? WHERE CAST(sql AS BLOB) = ?"
            connection.execute(update, (_respelt(name, text), text))
        version = next(connection.execute("PRAGMA schema_version"))[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
        connection.execute("COMMIT")


def rename(copy: Path) -> None:
    """Have the definition of each table of Hermes name it as the catalogue does, where it names none of them."""
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        read_everything(connection)
        astray = [
            (made[1] + name.encode() + text[made.end() :], name)
            for name, text in definitions(connection)
            if name in layouts.TABLES
            and (made := _NAMED.match(text))
            and made[2].decode("utf-8", "replace") not in layouts.TABLES
        ]
        if not astray:
            return
        connection.execute("BEGIN IMMEDIATE")
        update = "UPDATE sqlite_schema SET sql = CAST(? AS TEXT) WHERE type = 'table' AND name = ?"
        connection.executemany(update, astray)
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
        for name in (*damage.indexes, *damage.behind):
            made = {entry.name: entry.sql for entry in lost_indexes(catalogue(database.connection))}
            sql = _stored(database, "table", name) or made.get(name)
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


def lost_indexes(entries: Sequence[Entry]) -> list[Entry]:
    """The search indexes that are not among the entries of a catalogue, though triggers among them feed them."""
    there = {entry.name for entry in entries if entry.kind != "trigger"}
    texts = {entry.name: entry.sql for entry in entries if entry.kind == "trigger"}
    lost = []
    for trigger, text in texts.items():
        name = trigger.removesuffix("_insert")
        columns = re.search(rf"\bINTO\s+{re.escape(name)}\s*\(\s*rowid\s*,([\w\s,]+)\)", text, re.IGNORECASE)
        if name not in _LIKE or name in there or not columns:
            continue
        source = f"{name}_src" if f"{name}_src" in there else "messages"
        # What an index without a text of its own is to forget it must be told.
        told = re.search(r"VALUES\s*\(\s*'delete'", texts.get(f"{name}_delete", ""), re.IGNORECASE)
        content = f", content='{source}', content_rowid='id'" if told else ""
        sql = f"CREATE VIRTUAL TABLE {name} USING fts5({columns[1].strip()}{content}{_LIKE[name]})"
        lost.append(Entry("table", name, sql))
    return lost


def _respelt(table: str, text: bytes) -> str:
    """A definition without the bytes that are no characters: a column of Hermes, if just one can be meant, else `_`."""
    words = text.decode("utf-8", "surrogateescape")
    there = set(re.findall(r"\w+", words))
    for word in re.findall(rf"[\w{_BAD}]*[{_BAD}][\w{_BAD}]*", words):
        meant = re.compile(re.sub(f"[{_BAD}]", ".", word))
        names = {name for order in layouts.orders(table) for name in order} if table in layouts.TABLES else set()
        fitting = [name for name in names - there if meant.fullmatch(name)]
        words = words.replace(word, fitting[0] if len(fitting) == 1 else re.sub(f"[{_BAD}]", "_", word))
    return re.sub(f"[{_BAD}]", "_", words)


def _stored(database: Database, kind: str, name: str) -> str | None:
    return as_text(database.value("SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?", (kind, name)))


REMEDIES = (
    Remedy(
        "Removed what the catalogue had twice",
        lambda damage: bool(damage.doubled),
        remove_doubled,
        "Mending the catalogue",
    ),
    Remedy(
        "Gave names that can be read to what the catalogue defines",
        lambda damage: bool(damage.garbled),
        respell,
        "Mending the catalogue",
    ),
    Remedy(
        "Rebuilt the search index from its text",
        lambda damage: bool(damage.indexes),
        rebuild_indexes,
        "Rebuilding the search index",
    ),
    Remedy(
        "Made the search index anew from the messages",
        lambda damage: bool(damage.indexes or damage.behind),
        replace_indexes,
        "Making the search index anew",
    ),
    Remedy(
        "Made the indexes of tables again",
        lambda damage: bool(damage.keys),
        reindex,
        "Making the indexes of tables again",
    ),
)
"""None serves for damaged pages: to write to a file whose pages are in disorder may write over what could be read."""

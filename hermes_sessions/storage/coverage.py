"""What the search indexes of a store can be trusted with, decided in a moment when it is asked for the first time.

An index is used when its tables and the triggers that fill it are there and it answers. What it lacks is told from
the layout, from the marks of those who fill it in steps, and by looking up rows spread over the whole table; it is
never read from end to end. Messages that no index vouches for are read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hermes_sessions.errors import Interrupted, SessionsError, StoreBusy
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import can_be_read, source_of, stale_tables
from hermes_sessions.storage.routing import TRIGRAM, WORDS
from hermes_sessions.storage.values import as_int, as_text

MOST_ID = 2**61
"""A damaged page may name a message by any number."""

READ_ANYWAY = 30_000
"""Messages that are read in a moment: in a store that has no more of them all are, behind what the indexes find, and
the answer rests on no index."""

PROBES = 64
"""Rows looked up in an index, at even distances."""

NO_INDEX = "This store has no search index: every message is read instead, which is slower."
DAMAGED = "The search index cannot be used: every message is read instead. `hermes-sessions repair` makes it anew."

SHADOWS = ("data", "idx", "docsize", "config")
EVENTS = frozenset({"INSERT", "DELETE", "UPDATE"})

_EVENT = re.compile(r"\b(INSERT|DELETE|UPDATE)\b.*?\bON\b", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"messages_fts\w*", re.ASCII)


class Coverage(NamedTuple):
    """What a store can answer with."""

    words: bool
    trigram: bool
    parts_match: str
    """How to ask the index of words for messages that are lists of parts, such as those with images."""
    unread: range
    """Ids of messages that have to be read because no index is known to hold all of their text."""
    notice: str = ""
    """Why every message has to be read, where there is no index at all."""

    @property
    def missing(self) -> bool:
        return not self.words and not self.trigram


def coverage_of(database: Database) -> Coverage:
    """Look at the indexes of a store. Raises Interrupted, StoreBusy, and StoreDamaged when `messages` is."""
    everything = message_ids(database)
    words, trigram = (_is_usable(database, name) for name in (WORDS, TRIGRAM))
    if not words and not trigram:
        there = {WORDS, TRIGRAM} & database.tables.keys()
        return Coverage(False, False, "", everything, DAMAGED if there else NO_INDEX)
    sources = [source_of(database.tables[name]) for name in (WORDS, TRIGRAM) if name in database.tables]
    parts = 'content : ^"json"' if words and source_of(database.tables[WORDS]) else '^"json"'
    trusted = (
        words
        and trigram
        and not any(sources)
        and len(everything) > READ_ANYWAY
        and not any(_lacks(database, name, everything) for name in (WORDS, TRIGRAM))
    )
    return Coverage(words, trigram, parts, _waiting(database) if trusted else everything)


def message_ids(database: Database) -> range:
    """From the first to the last id of a message, of those that a database can have and Python can count."""
    # Each by itself is the end of a tree; both in one would be a walk through the whole table.
    ((first, last),) = database.rows("SELECT (SELECT min(id) FROM messages), (SELECT max(id) FROM messages)")
    return range(0) if first is None else range(max(-MOST_ID, as_int(first)), min(MOST_ID, as_int(last)) + 1)


def last_message(database: Database, below: int) -> int | None:
    """The largest id of a message below one; None without any."""
    last = database.value("SELECT max(id) FROM messages WHERE id < ?", (below,))
    return None if last is None else as_int(last)


def _is_usable(database: Database, name: str) -> bool:
    """Whether an index is whole in its tables, kept in step by triggers, and answers."""
    if name not in database.tables or name in stale_tables(database):
        return False
    shadows = SHADOWS if source_of(database.tables[name]) else (*SHADOWS, "content")
    if any(f"{name}_{shadow}" not in database.tables for shadow in shadows):
        return _is_lost(database, name)
    try:
        if _filled_by(database, name) != EVENTS:
            return False
        database.rows(f"SELECT rowid FROM {name} WHERE {name} MATCH '\"the\"' LIMIT 1")
        # Without its list of pages an index finds nothing and says nothing.
        pages = f"EXISTS (SELECT 1 FROM {name}_idx) OR NOT EXISTS (SELECT 1 FROM {name}_docsize)"
        return database.value(f"SELECT {pages}") == 1
    except (Interrupted, StoreBusy):
        raise
    except SessionsError:
        return _is_lost(database, name)


def _is_lost(database: Database, name: str) -> bool:
    """Have a damaged index said, unless it is only one that SQLite cannot read; False."""
    if can_be_read(database.tables[name]):
        database.say_lost(name, f"The search index {name} is damaged: a search goes on without it.")
    return False


def _filled_by(database: Database, name: str) -> frozenset[str]:
    """The changes of a message that reach an index."""
    rows = database.rows("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    texts = [text for (sql,) in rows if name in _TABLE.findall(text := as_text(sql) or "")]
    return frozenset(event[1].upper() for text in texts if (event := _EVENT.search(text)))


def _lacks(database: Database, name: str, ids: range) -> bool:
    """Whether messages are missing in an index: the newest, the oldest, or any of those looked up between them."""
    if as_int(database.value(f"SELECT max(id) FROM {name}_docsize")) < ids.stop - 1:
        return True
    step = max(1, len(ids) // PROBES)
    missing = database.value(
        f"""
        WITH probe(at) AS (VALUES (?) UNION ALL SELECT at + ? FROM probe WHERE at + ? < ?)
        SELECT count(*) FROM (SELECT (SELECT id FROM messages WHERE id >= at ORDER BY id LIMIT 1) AS id FROM probe) near
        WHERE near.id NOT NULL AND NOT EXISTS (SELECT 1 FROM {name}_docsize entry WHERE entry.id = near.id)
        """,
        (ids.start, step, step, ids.stop),
    )
    waiting = _waiting(database)
    return as_int(missing) > 0 and not waiting


def _waiting(database: Database) -> range:
    """Ids of messages that wait to be indexed: later layouts than that of Hermes 0.19 rebuild an index in steps."""
    if not database.has("state_meta", "value"):
        return range(0)
    rows = database.rows("SELECT key, value FROM state_meta WHERE key LIKE 'fts_rebuild_%'")
    values = {as_text(key): as_int(value) for key, value in rows}
    done, high_water = values.get("fts_rebuild_progress", 0), values.get("fts_rebuild_high_water", 0)
    return range(done + 1, max(done, high_water) + 1)

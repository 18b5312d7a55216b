"""Whether the search indexes answer: by counting what is in them, and by searching for what must be found.

FTS5's own 'integrity-check' command is a write, and not run on a file that is only read. SQLite's `quick_check` asks
the indexes too, but releases of SQLite differ about what a trigram index holds of a text with a NUL in it, as
Hermes stores messages with images: an index that an older one filled is then called malformed, and is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from hermes_sessions.errors import SessionsError, StoreBusy
from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_int, as_text

REPAIR = (
    "Keep a copy of the file with its -wal and -shm. Then, while no Hermes runs, try `hermes sessions repair` (Hermes"
    " 0.17 and later), or put a backup in its place."
)

SAMPLE_ROWS = 200
SAMPLE_WORDS = 20
SAMPLE_CHARACTERS = 2_000
"""Newest rows that words are taken from, how many words, and from how far into a text: newer layouts cut long ones."""

MARK = "hermes_sessions_index"
"""Key in `state_meta` under which a store of ours says which of its indexes are behind (see `writing.index`)."""

BUILT_IN_TOKENIZERS = frozenset({"unicode61", "ascii", "porter", "trigram"})

_NAME = re.compile(r"messages_fts\w*", re.ASCII)
_FTS5 = re.compile(r"\bUSING\s+fts5\s*\(", re.IGNORECASE)
_TOKENIZER = re.compile(r"\btokenize\s*=\s*['\"]*\s*(\w+)", re.IGNORECASE)
_SOURCE = re.compile(r"\bcontent\s*=\s*['\"]?(\w+)", re.IGNORECASE)
_EVENT = re.compile(r"\b(INSERT|DELETE|UPDATE)\b.*?\bON\b", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"(?<![^\s(])[A-Za-z]{4,20}(?![^\s.,;:!?)])", re.ASCII)


def search_tables(database: Database) -> dict[str, str]:
    """CREATE text of the FTS5 tables over messages, by name."""
    tables = database.tables.items()
    return {name: sql for name, sql in tables if _NAME.fullmatch(name) and _FTS5.search(sql)}


def stale_tables(database: Database) -> frozenset[str]:
    """The indexes that are marked as behind: they lack messages, or hold what messages said before."""
    if not database.has("state_meta", "value"):
        return frozenset()
    mark = as_text(database.value("SELECT value FROM state_meta WHERE key = ?", (MARK,)))
    try:
        return frozenset(json.loads(mark)["tables"]) if mark else frozenset()
    except (ValueError, TypeError, KeyError, RecursionError):
        return frozenset(search_tables(database))


def source_of(sql: str) -> str | None:
    """The table or view whose text an FTS5 table indexes; None for one that keeps a copy of the text (inline)."""
    source = _SOURCE.search(sql)
    return source[1] if source else None


def index_checks(path: Path, disputed: Collection[str], *, whole: bool) -> Iterator[Check]:
    """A check of each search index, and one of the triggers that fill them.

    `whole` reads each index from end to end; `disputed` names those that `quick_check` complained of. Each has a
    connection of its own, since one that knows an index from before another program wrote to it may see damage
    where there is none. Raises StoreBusy.
    """
    with closing(Database(path)) as database:
        tables = search_tables(database)
        if "messages" not in database.tables:
            return
        if not tables:
            yield Check("search", "warn", "There is no search index: a search reads every message.")
            return
        yield _trigger_check(database, tables)
        stale = stale_tables(database)
    for name, sql in tables.items():
        if name in stale:
            yield Check(name, "warn", "It is behind: a search reads the messages until the store's owner opens it.")
            continue
        try:
            with closing(Database(path)) as database:
                yield _index_check(database, name, sql, whole=whole, disputed=name in disputed)
        except StoreBusy:
            raise
        except SessionsError as error:
            yield Check(name, "fail", f"The index cannot be read: {error.message}", REPAIR)


def _trigger_check(database: Database, tables: Collection[str]) -> Check:
    triggers = database.rows("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    filled: dict[str, set[str]] = {name: set() for name in tables}
    for (sql,) in triggers:
        text = as_text(sql) or ""
        event = _EVENT.search(text)
        for name in set(_NAME.findall(text)) & filled.keys():
            if event:
                filled[name].add(event[1].upper())
    missing = [
        f"{event} for {name}"
        for name, events in filled.items()
        for event in ("INSERT", "DELETE", "UPDATE")
        if event not in events
    ]
    if missing:
        return Check("triggers", "warn", f"Missing: {', '.join(missing)}. New messages may not be found.", REPAIR)
    return Check("triggers", "ok", "Every change of a message reaches the search indexes.")


def _index_check(database: Database, name: str, sql: str, *, whole: bool, disputed: bool) -> Check:
    tokenizer = _TOKENIZER.search(sql)
    if tokenizer and tokenizer[1] not in BUILT_IN_TOKENIZERS:
        return Check(name, "ok", f"Not checked: only Hermes has its tokenizer, {tokenizer[1]}.")
    details = []
    if whole:
        entries, expected = _count(database, name)
        if entries != expected:
            return Check(name, "fail", f"The index is damaged: it has {entries:,} of {expected:,} entries.", REPAIR)
        releases_differ = tokenizer is not None and tokenizer[1] == "trigram" and _holds_nul(database, name, sql)
        if disputed and not releases_differ:
            return Check(name, "fail", "The index is damaged: it does not fit the text that it was made from.", REPAIR)
        details.append(f"all {entries:,} entries are there")
    lost, tried, pending = _search(database, name, source_of(sql))
    if lost:
        return Check(name, "warn", f"{lost} of {tried} of the newest messages are not found by their words.", REPAIR)
    details.append(f"{tried} of {tried} words of the newest messages are found")
    if pending:
        details.append(f"{pending:,} older messages are still to be indexed by Hermes")
        return Check(name, "warn", _sentence(details))
    return Check(name, "ok", _sentence(details))


def _count(database: Database, name: str) -> tuple[int, int]:
    """How many entries the index holds, counted, and by its own record. Reads the whole index."""
    # A vocabulary lives in the connection's own memory; the file stays read-only.
    database.execute("PRAGMA query_only = OFF")
    database.execute(f"CREATE VIRTUAL TABLE temp.index_terms USING fts5vocab(main, {name}, row)")
    database.execute("PRAGMA query_only = ON")
    counted = f"SELECT (SELECT sum(cnt) FROM temp.index_terms), (SELECT block FROM {name}_data WHERE id = 1)"
    entries, record = database.row(counted) or (0, b"")
    # The record of averages: the number of rows, then the number of tokens in each column.
    return as_int(entries), sum(_varints(record if isinstance(record, bytes) else b"")[1:])


def _holds_nul(database: Database, name: str, sql: str) -> bool:
    """Whether an indexed text has a NUL in it. Reads them all."""
    source = source_of(sql)
    text, table = ("c0", f"{name}_content") if source is None else ("content", source)
    return database.value(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE instr(CAST({text} AS BLOB), x'00'))") == 1


def _varints(record: bytes) -> list[int]:
    """The numbers of a record in SQLite's variable-length form: big-endian, seven bits a byte, at most nine bytes."""
    numbers = []
    value = length = 0
    for byte in record:
        length += 1
        value = value << 8 | byte if length == 9 else value << 7 | byte & 0x7F
        if length == 9 or byte < 0x80:
            numbers.append(value)
            value = length = 0
    return numbers


def _search(database: Database, name: str, source: str | None) -> tuple[int, int, int]:
    """Search for a word of each of the newest messages: how many were not found, and tried; and how many wait."""
    done, high_water = _progress(database)
    newest = f"SELECT id FROM messages ORDER BY id DESC LIMIT {SAMPLE_ROWS}"
    database.execute("BEGIN")  # so that the words and the index are of one moment
    try:
        rows = database.rows(
            f"SELECT id, content FROM {source or 'messages'} WHERE id IN ({newest}) AND NOT (id > ? AND id <= ?)"
            " ORDER BY id DESC",
            (done, high_water),
        )
        tried = lost = 0
        for id, content in rows:
            word = _word_of(as_text(content) or "")
            if word and tried < SAMPLE_WORDS:
                tried += 1
                matched = f"SELECT EXISTS (SELECT 1 FROM {name} WHERE {name} MATCH ? AND rowid = ?)"
                lost += 1 - as_int(database.value(matched, (f'"{word}"', id)))
    finally:
        database.execute("COMMIT")
    return lost, tried, max(0, high_water - done)


def _word_of(text: str) -> str | None:
    """A word at which no two releases of SQLite divide a text differently."""
    words = _WORD.findall(text[:SAMPLE_CHARACTERS]) if "\0" not in text else []
    return max(words, key=len, default=None)


def _progress(database: Database) -> tuple[int, int]:
    """The ids between which messages wait to be indexed: layouts after 0.19 rebuild an index in steps."""
    if not database.has("state_meta", "value"):
        return 0, 0
    rows = database.rows("SELECT key, value FROM state_meta WHERE key LIKE 'fts_rebuild_%'")
    values = {as_text(key): as_int(value) for key, value in rows}
    return values.get("fts_rebuild_progress", 0), values.get("fts_rebuild_high_water", 0)


def _sentence(details: list[str]) -> str:
    text = "; ".join(details)
    return f"{text[:1].upper()}{text[1:]}."

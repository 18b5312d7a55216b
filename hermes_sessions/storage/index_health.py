"""Whether the search indexes answer: by counting what is in them, and by searching for what must be found.

FTS5's own 'integrity-check' command is a write, and not run on a file that is only read. SQLite's `integrity_check`
asks the indexes too, but releases of SQLite differ about what a trigram index holds of a text with a NUL in it, as
Hermes stores messages with images: an index that an older one filled is then called malformed, and is not. So what
they say is only a reason to look closer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from shlex import quote

from hermes_sessions.errors import Interrupted, SessionsError, StoreBusy
from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_int, as_text

SAMPLE_ROWS = 200
SAMPLE_WORDS = 20
SAMPLE_CHARACTERS = 2_000
"""Newest rows that words are taken from, how many words, and from how far into a text: newer layouts cut long ones."""

TERMS = 20_000
"""Words of an index that are counted in one go, so that none takes long."""

UNFOUND = "A search does not find all that was said. Sessions and messages are not affected."

MARK = "hermes_sessions_index"
"""Key in `state_meta` under which a store of ours says which of its indexes are behind (see `writing.index`)."""

BUILT_IN_TOKENIZERS = frozenset({"unicode61", "ascii", "porter", "trigram"})

_NAME = re.compile(r"messages_fts\w*", re.ASCII)
_FTS5 = re.compile(r"\bUSING\s+fts5\s*\(", re.IGNORECASE)
_TOKENIZER = re.compile(r"\btokenize\s*=\s*['\"]*\s*(\w+)", re.IGNORECASE)
_SOURCE = re.compile(r"\bcontent\s*=\s*['\"]?(\w+)", re.IGNORECASE)
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


def can_be_read(sql: str) -> bool:
    """Whether SQLite itself brings the tokenizer that a search index was made with."""
    tokenizer = _TOKENIZER.search(sql)
    return tokenizer is None or tokenizer[1] in BUILT_IN_TOKENIZERS


def repair_command(path: Path) -> str:
    """What to type to have a store repaired."""
    return f"hermes-sessions repair --db {quote(str(path))}"


def index_checks(
    path: Path,
    disputed: Collection[str],
    *,
    whole: bool,
    opened: Callable[[], AbstractContextManager[Database]] | None = None,
    unreadable: Collection[str] = (),
) -> Iterator[Check]:
    """A check of each search index.

    `whole` reads each index from end to end; `disputed` names those that FTS5 complained of, and `unreadable` those
    with pages that cannot be read; `opened` opens the store. Each index has a connection of its own, since one that
    knows an index from before another program wrote to it may see damage where there is none. Raises StoreBusy, and
    Interrupted.
    """
    opened = opened or (lambda: closing(Database(path)))
    with opened() as database:
        tables = search_tables(database)
        if "messages" not in database.tables:
            return
        if not tables:
            means = "A search works, but reads every message. Hermes makes an index when it starts."
            yield Check("search", "warn", "There is no search index.", "", means)
            return
        stale = stale_tables(database)
    for name, sql in tables.items():
        if name in stale:
            means = "A search reads the messages themselves, until the program that owns the store opens it again."
            yield Check(name, "warn", "The index is behind what was said.", "", means)
            continue
        if name in unreadable:
            yield Check(name, "fail", "The index is damaged: a page cannot be read.", repair_command(path), UNFOUND)
            continue
        try:
            with opened() as database:
                yield _index_check(database, path, name, sql, whole=whole, disputed=name in disputed)
        except (StoreBusy, Interrupted):
            raise
        except SessionsError as error:
            detail = f"The index cannot be read: {error.__cause__ or error.message}."
            yield Check(name, "fail", detail, repair_command(path), UNFOUND)


def _index_check(database: Database, path: Path, name: str, sql: str, *, whole: bool, disputed: bool) -> Check:
    if not can_be_read(sql):
        return Check(name, "ok", f"not checked: only Hermes has its tokenizer, {_tokenizer(sql)}")
    repair = repair_command(path)
    details = []
    if whole:
        entries, expected = _count(database, name)
        if expected is None:
            details.append(f"{entries:,} entries read, while others wrote to it")
        elif entries != expected:
            detail = f"The index is damaged: it has {entries:,} of {expected:,} entries."
            return Check(name, "fail", detail, repair, UNFOUND)
        else:
            details.append(f"all {entries:,} entries are there")
    if disputed and not (_tokenizer(sql) == "trigram" and _holds_nul(database, name, sql)):
        detail = "The index is damaged: it does not fit the text that it was made from."
        return Check(name, "fail", detail, repair, UNFOUND)
    lost, tried, pending = _search(database, name, source_of(sql))
    if lost:
        return Check(
            name, "warn", f"{lost} of {tried} of the newest messages are not found by their words.", "", UNFOUND
        )
    details.append(f"{tried} of {tried} words found")
    if pending:
        detail = f"{pending:,} older messages are still to be indexed by Hermes."
        return Check(name, "warn", detail, "", "Hermes goes on with it when it runs; until then it does not find them.")
    return Check(name, "ok", "; ".join(details))


def _tokenizer(sql: str) -> str:
    tokenizer = _TOKENIZER.search(sql)
    return tokenizer[1] if tokenizer else "unicode61"


def _count(database: Database, name: str) -> tuple[int, int | None]:
    """How many entries the index holds, counted, and by its own record: None when it was written to meanwhile.

    Reads the whole index, in steps.
    """
    # A vocabulary lives in the connection's own memory; the file stays read-only.
    database.execute("PRAGMA query_only = OFF")
    database.execute(f"CREATE VIRTUAL TABLE temp.index_terms USING fts5vocab(main, {name}, row)")
    database.execute("PRAGMA query_only = ON")
    before = database.data_version()
    record = database.value(f"SELECT block FROM {name}_data WHERE id = 1")
    step = (
        "SELECT CAST(max(term) AS BLOB), sum(cnt), count(*) FROM"
        " (SELECT term, cnt FROM temp.index_terms WHERE term > CAST(? AS TEXT) ORDER BY term LIMIT ?)"
    )
    entries, last, terms = 0, b"", TERMS
    while terms == TERMS:
        newest, count, found = database.row(step, (last, TERMS)) or (b"", 0, 0)
        terms = as_int(found)
        entries += as_int(count)
        if terms and (not isinstance(newest, bytes) or newest <= last):
            return entries, -1  # the words are out of order
        last = newest if isinstance(newest, bytes) else b""
    if database.data_version() != before:
        return entries, None
    # The record of averages: the number of rows, then the number of tokens in each column.
    return entries, sum(_varints(record if isinstance(record, bytes) else b"")[1:])


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

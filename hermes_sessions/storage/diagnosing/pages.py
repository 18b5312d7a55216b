"""Whether every page of the file can be read, and fits the others.

A small store is checked by SQLite's `integrity_check`, on a copy in memory, and so is a large one in full, as long as
nobody writes to it. Else rows are read in steps, the newest first: then nobody waits, and a log can be emptied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import apsw

from hermes_sessions.errors import Interrupted, StoreDamaged
from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted, some
from hermes_sessions.storage.diagnosing.visit import SECONDS, Visit
from hermes_sessions.storage.index_health import can_be_read, repair_command, search_tables, source_of
from hermes_sessions.storage.values import as_int, as_text

MOST_LINES = 1_000
STEP = 500
"""Rows that are read in one go."""

READS = 3.5
"""How often `integrity_check` reads each page of a large store with two search indexes, about: for the progress."""

TOLD = ("sessions", "messages")
"""Tables whose rows are told when they are read in steps."""

DAMAGED = "What lies there cannot be read, and Hermes may write over more. Close it, then repair the store."

_VALUE = re.compile(r"(?:NULL|NUMERIC|TEXT|REAL) value in |CHECK constraint failed in ")
_KEYS = re.compile(r"(?:missing from index |wrong # of entries in index |non-unique entry in index )(\S+)")
_ROOT = re.compile(r"Tree (\d+) ")


def page_checks(visit: Visit, database: Database) -> Iterator[Check]:
    """Whether the pages can be read. Sets `visit.disputed` to the search indexes that SQLite complains of."""
    if visit.disordered:
        return
    lines: list[str] | None = None
    with suppress(Interrupted):
        if visit.small:
            with visit.copied() as copy, visit.limited():
                lines = _complaints(copy)
                visit.disputed |= _strictly_refused(copy, database)
        elif visit.full:
            visit.measure(database.connection, READS * as_int(database.value("PRAGMA page_count")))
            with visit.limited():
                lines = _complaints(database.connection)
    if lines is None:
        yield _walk(visit, database)
    else:
        yield from _sorted(visit, database, lines)


def _complaints(connection: apsw.Connection) -> list[str]:
    """The lines of `integrity_check`, up to where it fails itself; none for a whole file."""
    lines: list[str] = []
    try:
        for (text,) in connection.execute(f"PRAGMA main.integrity_check({MOST_LINES})"):
            lines += str(text).splitlines()
    except apsw.InterruptError as error:
        raise Interrupted() from error
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        lines = lines or [str(error)]
    return [line for line in lines if line != "ok" and not line.startswith("***")]


def _strictly_refused(copy: apsw.Connection, database: Database) -> set[str]:
    """The search indexes of a copy that do not pass FTS5's own strict command, which is one that writes."""
    filling = database.has("state_meta", "key") and database.row(
        "SELECT 1 FROM state_meta WHERE key LIKE 'fts_rebuild_%'"
    )
    refused = set()
    for name, sql in search_tables(database).items():
        if not can_be_read(sql) or (filling and source_of(sql)):
            continue
        try:
            copy.execute(f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)").fetchall()
        except apsw.InterruptError as error:
            raise Interrupted() from error
        except apsw.Error:
            refused.add(name)
    return refused


def _sorted(visit: Visit, database: Database, lines: list[str]) -> Iterator[Check]:
    """Complaints by what they are about. Those about search indexes are looked into by `index_health`."""
    roots = {
        as_int(root): (as_text(kind) or "", as_text(name) or "")
        for root, kind, name in database.rows("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0")
    }
    longest_first = sorted(search_tables(database), key=len, reverse=True)
    keys, values, pages, lost = set(), [], [], []
    for line in lines:
        tree = _ROOT.search(line)
        kind, about = roots.get(int(tree[1]), ("", "")) if tree else ("", line)
        index = next((name for name in longest_first if name in about), None)
        named = _KEYS.search(line)
        if _VALUE.match(line):
            values.append(line)
        elif "2nd reference" in line:
            pages.append(line)
        elif "never used" in line:
            lost.append(line)
        elif index:
            visit.disputed.add(index)
        elif named or kind == "index":
            keys.add(named[1] if named else about)
        else:
            pages.append(line)
    visit.broken = visit.broken or bool(keys or pages)
    repair = repair_command(visit.path)
    if pages:
        # Rows that cannot be read are missing from everywhere else.
        keys.clear()
        visit.disputed.clear()
        detail = f"Damaged: {pages[0]} ({counted(len(pages), 'complaint')} of SQLite)."
        yield Check("pages", "fail", detail, repair, DAMAGED)
    elif lost:
        means = "Something that was in the store can no longer be found in it. A repair looks for it."
        yield Check("pages", "fail", f"{counted(len(lost), 'page')} in the file belong to nothing.", repair, means)
    else:
        yield Check("pages", "ok", f"all {as_int(database.value('PRAGMA page_count')):,} read")
    if keys:
        means = "Lists and searches by it leave sessions or messages out. What was said is all there."
        yield Check("keys", "fail", f"Not in step with the table: {some(sorted(keys))}.", repair, means)
    if values:
        means = "Hermes never writes such a row; it may stumble over it. Here it is shown as far as it can be."
        detail = f"{counted(len(values), 'value')} that the layout forbids: {values[0]}."
        yield Check("values", "warn", detail, "", means)


def _walk(visit: Visit, database: Database) -> Check:
    """Read rows with all they hold, the newest first, as far as the time goes; in full, of every table."""
    tables = [table for table in TOLD if table in database.tables]
    if visit.full:
        tables += [name for name in _others(database) if name not in tables]
    told = []
    for table in tables:
        read, of = _read(visit, database, table)
        if table in TOLD:
            told.append(f"{read:,} of {of:,} {table}" if read < of else f"all {of:,} {table}")
    visit.share = None
    how = "row by row, since others write" if visit.full else "the newest; `--full` reads all pages"
    return Check("pages", "ok", f"{', '.join(told)} read, {how}")


def _others(database: Database) -> list[str]:
    """Tables with rows of their own; those without a rowid are small parts of search indexes."""
    return [
        as_text(name) or ""
        for (name,) in database.rows(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT wr"
        )
        + database.rows("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow' AND NOT wr")
    ]


def _read(visit: Visit, database: Database, table: str) -> tuple[int, int]:
    """How many rows of a table were read, and how many it has."""
    columns = [as_text(name) or "" for (name,) in database.rows("SELECT name FROM pragma_table_info(?)", (table,))]
    # Only what is cast is read to its end: the length of a column itself stands at its beginning.
    lengths = ", ".join(f"sum(length(CAST({_quoted(name)} AS BLOB)))" for name in columns)
    quoted = _quoted(table)
    of = as_int(database.value(f"SELECT count(*) FROM {quoted}")) if table in TOLD else 0
    newest = database.value(f"SELECT max(rowid) FROM {quoted}")
    before, read = as_int(newest) + 1, 0
    step = (
        f"SELECT count(*), min(place), {lengths} FROM (SELECT rowid AS place, * FROM {quoted} NOT INDEXED"
        " WHERE rowid < ? ORDER BY rowid DESC LIMIT ?)"
    )
    for _ in visit.steps(SECONDS):
        count, lowest, *_lengths = database.row(step, (before, STEP)) or (0, None)
        if not count:
            break
        if as_int(lowest) >= before:
            raise StoreDamaged(f"the rows of {table} are out of order")
        read, before = read + as_int(count), as_int(lowest)
        visit.share = 1 - before / max(as_int(newest), 1)
    return read, of


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Whether every page of the file can be read, and fits the others.

A small store is checked by SQLite's `integrity_check`, on a copy in memory, and so is a large one in full, as long as
nobody writes to it. Else rows are read in steps, the newest first: then nobody waits, and a log can be emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hermes_sessions.errors import Interrupted, StoreDamaged
from hermes_sessions.model import Check
from hermes_sessions.storage.complaints import Complaints, complaints, strictly_refused
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted, some
from hermes_sessions.storage.diagnosing.visit import SECONDS, Visit
from hermes_sessions.storage.index_health import repair_command
from hermes_sessions.storage.values import as_int, as_text

STEP = 500
"""Rows that are read in one go."""

READS = 3.5
"""How often `integrity_check` reads each page of a large store with two search indexes, about: for the progress."""

TOLD = ("sessions", "messages")
"""Tables whose rows are told when they are read in steps."""

DAMAGED = "What lies there cannot be read, and Hermes may write over more. Close it, then repair the store."


def page_checks(visit: Visit, database: Database) -> Iterator[Check]:
    """Whether the pages can be read. Tells the visit of which search indexes SQLite complains."""
    if visit.disordered:
        return
    found: Complaints | None = None
    with suppress(Interrupted):
        if visit.small:
            with visit.copied() as copy, visit.limited():
                found = complaints(copy, database)
                found = found._replace(disputed=found.disputed | strictly_refused(copy, database))
        elif visit.full:
            visit.measure(database.connection, READS * as_int(database.value("PRAGMA page_count")))
            with visit.limited():
                found = complaints(database.connection, database)
    if found is None:
        yield _walk(visit, database)
    else:
        yield from _told(visit, database, found)


def _told(visit: Visit, database: Database, found: Complaints) -> Iterator[Check]:
    """Complaints as checks. Those about search indexes are looked into by `index_health`."""
    visit.broken = visit.broken or bool(found.keys or found.pages)
    repair = repair_command(visit.path)
    if found.pages:
        # Rows that cannot be read are missing from everywhere else.
        found = found._replace(keys=frozenset())
        detail = f"Damaged: {found.pages[0]} ({counted(len(found.pages), 'complaint')} of SQLite)."
        yield Check("pages", "fail", detail, repair, DAMAGED)
    elif found.unused:
        means = "Something that was in the store can no longer be found in it. A repair looks for it."
        detail = f"{counted(len(found.unused), 'page')} in the file belong to nothing."
        yield Check("pages", "fail", detail, repair, means)
    else:
        yield Check("pages", "ok", f"all {as_int(database.value('PRAGMA page_count')):,} read")
        visit.unreadable |= found.unreadable
        visit.disputed |= found.disputed
    if found.keys:
        means = "Lists and searches by it leave sessions or messages out. What was said is all there."
        yield Check("keys", "fail", f"Not in step with the table: {some(sorted(found.keys))}.", repair, means)
    if found.values:
        means = "Hermes never writes such a row; it may stumble over it. Here it is shown as far as it can be."
        detail = f"{counted(len(found.values), 'value')} that the layout forbids: {found.values[0]}."
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

"""What SQLite's `integrity_check` complains of, sorted by what it is about: doctor and repair know it from here.

FTS5 is asked, too. What it says of an index is only a reason to look closer (`index_health`), unless pages of the
index cannot be read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import apsw

from hermes_sessions.errors import Interrupted
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import can_be_read, search_tables, source_of
from hermes_sessions.storage.values import as_int, as_text

MOST_LINES = 1_000

LOCKING = 1 << 30
"""Where in a file locks are taken (https://sqlite.org/fileformat2.html#the_lock_byte_page)."""

_VALUE = re.compile(r"(?:NULL|NUMERIC|TEXT|REAL) value in |CHECK constraint failed in ")
_KEYS = re.compile(r"(?:missing from index |wrong # of entries in index |non-unique entry in index )(\S+)")
_ROOT = re.compile(r"Tree (\d+) ")


class Complaints(NamedTuple):
    """Names of what is complained of, and SQLite's words for what has no name."""

    pages: tuple[str, ...] = ()
    """Pages that cannot be read, or that two things claim."""
    unused: tuple[str, ...] = ()
    """Pages that belong to nothing."""
    keys: frozenset[str] = frozenset()
    """Ordinary indexes that do not fit their tables."""
    unreadable: frozenset[str] = frozenset()
    """Search indexes with pages that cannot be read."""
    disputed: frozenset[str] = frozenset()
    """Search indexes that FTS5 takes for damaged."""
    values: tuple[str, ...] = ()
    """Values that the layout forbids."""


def complaints(connection: apsw.Connection, database: Database) -> Complaints:
    """All complaints about a connection's file, whose catalogue `database` has open, up to where SQLite gives up.

    Raises Interrupted.
    """
    found = _sorted(_lines(connection), database)
    if not found.pages and not found.unused and (lost := _unused(connection)):
        found = found._replace(unused=("A page is never used",) * lost)
    if not found.pages and (nameless := _nameless(connection, database)):
        return found._replace(pages=("A session has no id",) * nameless)
    return found


def strictly_refused(connection: apsw.Connection, database: Database) -> frozenset[str]:
    """The search indexes about text of elsewhere that FTS5 takes for damaged: its 'integrity-check', taken back.

    With those that keep their text, `integrity_check` has compared it already. Raises Interrupted.
    """
    waiting = database.has("state_meta", "value") and database.row(
        "SELECT 1 FROM state_meta WHERE key LIKE 'fts_rebuild_%'"
    )
    refused = set()
    for name, sql in search_tables(database).items():
        # While Hermes fills an index in steps, it does not hold all of its source yet.
        if not can_be_read(sql) or waiting or source_of(sql) is None:
            continue
        connection.execute("BEGIN").fetchall()
        try:
            connection.execute(f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)").fetchall()
        except apsw.InterruptError as error:
            raise Interrupted() from error
        except apsw.Error:
            refused.add(name)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK").fetchall()
    return frozenset(refused)


def _lines(connection: apsw.Connection) -> list[str]:
    """The lines of `integrity_check`; none for a whole file."""
    lines: list[str] = []
    try:
        for (text,) in connection.execute(f"PRAGMA main.integrity_check({MOST_LINES})"):
            lines += str(text).splitlines()
    except apsw.InterruptError as error:
        raise Interrupted() from error
    except (apsw.CorruptError, apsw.SQLError, UnicodeDecodeError) as error:
        # An SQLError is about a collation or a function of an index that nobody has.
        lines = lines or [str(error)]
    return [line for line in lines if line != "ok" and not line.startswith("***")]


def _unused(connection: apsw.Connection) -> int:
    """How many pages belong to nothing, where `integrity_check` does not look for them: in a file that has views.

    It takes the root of a view, which is none, for the sign that only a part of the file is asked about.
    """
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'view' LIMIT 1").fetchall():
            return 0
        numbers = "pragma_page_count, pragma_freelist_count, pragma_page_size"
        ((pages, free, size),) = connection.execute(f"SELECT * FROM {numbers}").fetchall()
        ((used,),) = connection.execute("SELECT sum(pageno) FROM dbstat WHERE aggregate = TRUE").fetchall()
    except apsw.InterruptError as error:
        raise Interrupted() from error
    except apsw.Error:
        # What cannot be read is told by others; and not every SQLite has dbstat.
        return 0
    # The page that locks are taken on holds nothing.
    locking = as_int(pages) > LOCKING // as_int(size)
    return max(0, as_int(pages) - as_int(free) - as_int(used) - locking)


def _nameless(connection: apsw.Connection, database: Database) -> int:
    """How many sessions have no id: rows of another table, which may fit into this one in all else."""
    if not database.has("sessions", "id"):
        return 0
    sql = "SELECT count(*) FROM main.sessions NOT INDEXED WHERE id IS NULL"
    try:
        return as_int(connection.execute(sql).fetchall()[0][0])
    except apsw.InterruptError as error:
        raise Interrupted() from error
    except apsw.Error:
        # What cannot be read is told by others.
        return 0


def _sorted(lines: list[str], database: Database) -> Complaints:
    roots = {
        as_int(root): (as_text(kind) or "", as_text(name) or "")
        for root, kind, name in database.rows("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0")
    }
    longest_first = sorted(search_tables(database), key=len, reverse=True)
    keys: set[str] = set()
    unreadable: set[str] = set()
    disputed: set[str] = set()
    values, pages, unused = [], [], []
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
            unused.append(line)
        elif index:
            (unreadable if tree else disputed).add(index)
        elif named or kind == "index":
            keys.add(named[1] if named else about)
        else:
            pages.append(line)
    return Complaints(
        tuple(pages), tuple(unused), frozenset(keys), frozenset(unreadable), frozenset(disputed), tuple(values)
    )

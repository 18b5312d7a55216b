"""Where the bytes of the store are: each table with its indexes, the search index, and what is free."""

from __future__ import annotations

from hermes_sessions.errors import Interrupted, SessionsError
from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import amount
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.values import as_int, as_text

SEARCH = "search index"

PROBES = 200
"""Rows, spread over a table, whose lengths are looked at when it is too large to be measured."""

ROW_OVERHEAD = 1.12
"""How much more room a row takes than its values: cells, page headers, and the unfilled ends of pages."""

KEY_BYTES = 45
"""Room for the entry of a row in one ordinary index, as measured on stores of Hermes."""


def size_check(visit: Visit, database: Database) -> Check:
    """The largest parts. A store that is not read from end to end is estimated from some of its rows."""
    page = as_int(database.value("PRAGMA page_size"))
    total = page * as_int(database.value("PRAGMA page_count"))
    free = page * as_int(database.value("PRAGMA freelist_count"))
    exact = True
    try:
        parts = _measured(visit, database) if visit.whole else {}
    except (Interrupted, SessionsError):
        parts = {}
    if not parts:
        exact = False
        parts = _estimated(database)
        parts[SEARCH] = max(0, total - free - sum(parts.values()))
    if free:
        parts["free"] = free
    about = "" if exact else "about "
    share = round(100 * parts.get(SEARCH, 0) / max(total, 1))
    parts[f"{SEARCH} {share} %,"] = parts.pop(SEARCH, 0)
    largest = sorted(parts.items(), key=lambda part: -part[1])[:5]
    told = ", ".join(f"{name} {amount(size)}" for name, size in largest if size * 100 >= total)
    return Check("sizes", "ok", f"{about}{told}")


def _measured(visit: Visit, database: Database) -> dict[str, int]:
    """Bytes by table, its indexes counted with it, from SQLite's own dbstat; empty where the build lacks it."""
    owners = {
        as_text(name): as_text(table) or "" for name, table in database.rows("SELECT name, tbl_name FROM sqlite_schema")
    }
    parts: dict[str, int] = {}
    with visit.limited():
        rows = database.rows("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
    for name, size in rows:
        owner = owners.get(as_text(name), "the catalogue")
        part = SEARCH if owner.startswith("messages_fts") else owner
        parts[part] = parts.get(part, 0) + as_int(size)
    return parts


def _estimated(database: Database) -> dict[str, int]:
    parts = {}
    for table in ("messages", "sessions"):
        lengths = " + ".join(f'ifnull(octet_length("{name}"), 1)' for name in database.columns(table))
        first, last = database.row(f"SELECT min(rowid), max(rowid) FROM {table}") or (0, 0)
        rows = as_int(database.value(f"SELECT count(*) FROM {table}"))
        span = as_int(last) - as_int(first)
        probes = [as_int(first) + span * number // PROBES for number in range(PROBES)]
        sizes = [
            as_int(database.value(f"SELECT {lengths} FROM {table} WHERE rowid >= ? LIMIT 1", (place,)))
            for place in probes
        ]
        indexes = len(database.rows("SELECT 1 FROM pragma_index_list(?)", (table,)))
        average = sum(sizes) / max(len(sizes), 1)
        parts[table] = int(rows * (average * ROW_OVERHEAD + indexes * KEY_BYTES))
    return parts

"""What the doctor finds: whether a file is a session store, whole, and free to go on.

Looks only. The file is opened by nothing but SQLite: closing any other descriptor would drop the locks that this
process holds on it. What is looked at is in `diagnosing`, one subject a file, and `index_health`; here is the order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import apsw

from hermes_sessions.errors import Interrupted, SessionsError, StoreBusy, StoreDamaged
from hermes_sessions.model import Check, Diagnosis
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing import (
    catalogue,
    engines,
    entries,
    files,
    locks,
    log,
    pages,
    rows,
    sizes,
    triggers,
)
from hermes_sessions.storage.diagnosing.figures import counted
from hermes_sessions.storage.diagnosing.header import header_check
from hermes_sessions.storage.diagnosing.visit import Show, Visit
from hermes_sessions.storage.index_health import index_checks, repair_command, search_tables, source_of
from hermes_sessions.storage.values import as_float, as_int, as_text

FEATURES = (
    ("messages", "display_order", "after 0.19"),
    ("session_model_usage", "session_id", "0.19"),
    ("messages", "compacted", "0.18"),
    ("messages", "active", "0.16 or 0.17"),
    ("messages", "platform_message_id", "0.15"),
    ("sessions", "handoff_state", "0.13 or 0.14"),
    ("sessions", "started_at", "before 0.13"),
)
"""Tables and columns that a release of Hermes brought, newest first."""

Found = Check | None | Iterable[Check]


def diagnose(
    path: str | os.PathLike[str],
    *,
    clock: Callable[[], float],
    full: bool = False,
    show: Show = lambda what, share: None,
    asked: engines.Asked = engines.hermes_sqlite,
) -> Diagnosis:
    """Look at a store, changing nothing, also beside live writers.

    `full` reads a large store from end to end, however long that takes; `show` is told how far it is; `asked` knows
    the SQLite of Hermes. Never raises: what cannot be looked at is a failed check, and `stopped` says why not all was
    looked at: Ctrl+C is one of the reasons.
    """
    visit = Visit(Path(path), clock, full=full, show=show)
    found = Diagnosis(str(path), apsw.sqlite_lib_version(), None, None, "unknown")
    checks: list[Check] = []
    try:
        file = files.kind_check(visit)
        checks.append(file._replace(group="File"))
        if file.status != "ok":
            return found._replace(checks=tuple(checks))
        checks += (check._replace(group="File") for check in _answered(visit, "header", lambda: header_check(visit)))
        try:
            with visit.opened() as database:
                found = _described(database, found)
            for group, name, question in _inside(visit):
                checks += (check._replace(group=group) for check in _answered(visit, name, question))
        except StoreBusy as error:
            checks.append(Check("opens", "fail", error.message, "", f"It may be whole. {error.hint}", "File"))
            found = found._replace(stopped="busy")
        except SessionsError as error:
            if checks[-1].status != "fail":
                checks.append(_failed(visit, "opens", error)._replace(group="File"))
        for group, name, question in _outside(visit, asked):
            checks += (check._replace(group=group) for check in _answered(visit, name, question))
    except KeyboardInterrupt:
        found = found._replace(stopped="interrupted")
    return found._replace(checks=tuple(sorted(checks, key=lambda check: GROUPS.index(check.group))))


GROUPS = ("File", "Layout", "Messages", "Search", "Use", "Programs")
"""The headings, in the order they are shown in."""


def _inside(visit: Visit) -> Iterator[tuple[str, str, Callable[[], Found]]]:
    """What is asked of a store that opens: the heading, what a question that cannot be answered is called, and it."""

    def asking(question: Callable[[Visit, Database], Found]) -> Callable[[], Found]:
        def ask() -> Found:
            with visit.opened() as database:
                found = question(visit, database)
                return found if found is None or isinstance(found, Check) else tuple(found)

        return ask

    yield "Layout", "catalogue", asking(catalogue.catalogue_check)
    yield "Use", "journal", asking(log.journal_check)
    yield "Layout", "pages", asking(pages.page_checks)
    with visit.opened() as database:
        missing = {"sessions", "messages"} - database.tables.keys()
    if missing:
        yield "Layout", "tables", asking(lambda visit, database: _missing(visit, database, missing))
    else:
        yield "Layout", "tables", asking(_count)
        yield "Layout", "layout", asking(catalogue.layout_check)
    yield "Layout", "sizes", asking(sizes.size_check)
    if missing:
        return
    yield "Messages", "messages", asking(rows.owner_check)
    yield "Messages", "parents", asking(rows.parent_check)
    yield "Messages", "titles", asking(rows.title_check)
    yield "Messages", "counters", asking(rows.counter_check)
    yield "Messages", "references", asking(rows.reference_check)
    yield "Search", "triggers", asking(triggers.trigger_check)
    yield "Search", "search", lambda: _index_checks(visit)
    if visit.whole:
        yield "Search", "entries", asking(entries.entry_check)
    yield "Use", "in use", asking(locks.use_check)
    yield "Use", "locks", asking(locks.lock_check)


def _index_checks(visit: Visit) -> Iterator[Check]:
    disputed, unreadable = visit.disputed, visit.unreadable
    for check in index_checks(visit.path, disputed, whole=visit.whole, opened=visit.opened, unreadable=unreadable):
        if visit.broken and check.status == "fail" and check.name not in disputed | unreadable:
            yield _unknown(check.name)
        else:
            yield check


def _outside(visit: Visit, asked: engines.Asked) -> Iterator[tuple[str, str, Callable[[], Found]]]:
    """What is asked of what lies around a store, whether it opens or not."""
    yield "File", "permissions", lambda: files.permission_checks(visit)
    yield "File", "disk", lambda: files.space_check(visit)
    yield "File", "leftovers", lambda: files.leftover_check(visit)
    yield "Use", "wal", lambda: log.log_check(visit)
    yield "Use", "open in", lambda: log.holder_check(visit)
    yield "Use", "leases", lambda: locks.registry_check(visit)
    yield "Use", "repair", lambda: locks.repair_check(visit)
    yield "Programs", "sqlite", engines.own_check
    yield "Programs", "hermes sqlite", lambda: engines.hermes_check(visit, asked)


def _answered(visit: Visit, name: str, question: Callable[[], Found]) -> Iterator[Check]:
    """The answers to a question; that it could not be answered is one, too. Raises StoreBusy."""
    visit.begin(name)
    try:
        found = question()
        if isinstance(found, Check):
            yield found
        elif found is not None:
            yield from found
    except StoreBusy:
        raise
    except Interrupted:
        yield Check(name, "ok", "not finished: it takes longer than a moment; `--full` goes on to the end")
    except SessionsError as error:
        yield _failed(visit, name, error)
    except OSError as error:
        yield Check(name, "warn", f"It cannot be found out: {error.strerror or error}.", "", "Nothing follows from it.")


def _unknown(name: str) -> Check:
    return Check(name, "warn", "Not known, since it needs what is damaged.", "", "Look again after the repair.")


def _failed(visit: Visit, name: str, error: SessionsError) -> Check:
    if isinstance(error, StoreDamaged) and visit.broken:
        return _unknown(name)
    if isinstance(error, StoreDamaged) and visit.size():
        means = "Sessions cannot be read, or not all of them. Nothing was changed; the repair keeps the file as it is."
        return Check(name, "fail", error.message, repair_command(visit.path), means)
    return Check(name, "fail", error.message, "", error.hint)


def _described(database: Database, found: Diagnosis) -> Diagnosis:
    version = None
    if database.has("schema_version", "version"):
        version = as_float(database.value("SELECT max(version) FROM schema_version"))
    return found._replace(
        journal_mode=as_text(database.value("PRAGMA journal_mode")),
        stored_version=None if version is None else int(version),
        layout=_layout(database),
    )


def _layout(database: Database) -> str:
    """What release wrote it, by what is there, and how its search tables hold their text."""
    if not {"sessions", "messages"} <= database.tables.keys():
        return "no session store"
    release = next((label for table, column, label in FEATURES if database.has(table, column)), "unknown")
    tables = search_tables(database)
    if "messages_fts" not in tables:
        return f"Hermes {release}, no search index"
    source = source_of(tables["messages_fts"])
    text = "inline" if source is None else "external content" if source == "messages" else "external content by views"
    trigram = ", with trigrams" if "messages_fts_trigram" in tables else ""
    return f"Hermes {release}, search index {text}{trigram}"


def _missing(visit: Visit, database: Database, tables: Collection[str]) -> Check:
    detail = f"Missing: {', '.join(sorted(tables))}."
    names = [as_text(name) or "" for (name,) in database.rows("SELECT name FROM sqlite_schema")]
    if not names or any("sessions" in name or "messages" in name for name in names):
        means = "The catalogue does not have them any more. A repair looks for their rows, and keeps the file."
        return Check("tables", "fail", detail, repair_command(visit.path), means)
    means = "It is a database of something else. Name the file that Hermes writes with --db."
    return Check("tables", "fail", detail, "", means)


def _count(visit: Visit, database: Database) -> Check:
    sessions, messages = (as_int(database.value(f"SELECT count(*) FROM {table}")) for table in ("sessions", "messages"))
    return Check("tables", "ok", f"{counted(sessions, 'session')}, {counted(messages, 'message')}")

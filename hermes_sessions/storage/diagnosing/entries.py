"""Whether each search index has an entry for each message, and with the text that the message has now.

Whether the index itself is sound is for `index_health`. Doctor and repair both ask here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import can_be_read, repair_command, search_tables, source_of, stale_tables
from hermes_sessions.storage.values import as_int, as_text

STEP = 5_000
"""Messages that are compared in one go."""

_VALUES = re.compile(r"\bVALUES\s*\(\s*new\.id\s*,(.*)\)\s*;\s*END\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_NEW = re.compile(r"\bnew\.", re.IGNORECASE)


class Compared(NamedTuple):
    """How an index differs from the messages: how many it lacks, has otherwise, and has though they are gone."""

    name: str
    missing: int
    other: int
    foreign: int
    until: int | None
    """The message that the comparison got to; None when it got through."""

    @property
    def differs(self) -> bool:
        return bool(self.missing or self.other or self.foreign)


def entry_check(visit: Visit, database: Database) -> Iterator[Check]:
    """Compare messages and entries, all of them, in steps."""

    def show(share: float) -> None:
        visit.share = share

    faults = []
    differs = False
    for found in compared(database, visit.steps, show):
        if found.until is not None:
            faults.append(f"Only the first {counted(found.until, 'message')} were compared with {found.name}.")
        for count, words in (
            (found.missing, "not in"),
            (found.other, "with other words in"),
            (found.foreign, "gone but still in"),
        ):
            if count:
                faults.append(f"{counted(count, 'message')} {words} {found.name}.")
        differs = differs or found.differs
    visit.share = None
    if differs:
        means = (
            "A search does not find these messages, or finds what is no longer there. Nothing that was said is lost."
        )
        yield Check("entries", "fail", " ".join(faults), repair_command(visit.path), means)
    elif faults:
        yield Check("entries", "warn", " ".join(faults), "", "`--full` compares them all.")
    elif "messages" in database.tables:
        yield Check("entries", "ok", "every message, with the words it has")


def compared(
    database: Database,
    steps: Callable[[], Iterator[None]],
    show: Callable[[float], None] = lambda share: None,
    without: Collection[str] = (),
) -> Iterator[Compared]:
    """Compare each search index with the messages. An index that Hermes still fills, or that is behind, is left out."""
    tables = {name: sql for name, sql in search_tables(database).items() if can_be_read(sql)}
    for name in (*stale_tables(database), *without):
        tables.pop(name, None)
    filling = database.has("state_meta", "key") and database.row(
        "SELECT 1 FROM state_meta WHERE key LIKE 'fts_rebuild_%'"
    )
    if filling or not tables or "messages" not in database.tables:
        return
    newest = as_int(database.value("SELECT max(id) FROM messages"))
    for name, sql in tables.items():
        missing = foreign = other = 0
        compare = _comparison(database, name, sql)
        ghosts = (
            f"SELECT count(*) FROM {name}_docsize AS entry WHERE id > ? AND id <= ?"
            " AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = entry.id)"
        )
        start = 0
        until: int | None = None
        for _ in steps():
            show(start / max(newest, 1))
            row = database.row(compare, (start, start + STEP)) or (0, 0)
            missing, other = missing + as_int(row[0]), other + as_int(row[1])
            foreign += as_int(database.value(ghosts, (start, start + STEP)))
            start += STEP
            following = database.value("SELECT min(id) FROM messages WHERE id > ?", (start,))
            if following is None:
                break
            start = as_int(following) - 1
        else:
            until = start
        yield Compared(name, missing, other, foreign, until)


def _comparison(database: Database, name: str, sql: str) -> str:
    """A query for how many messages between two ids have no entry, and how many have one of another text."""
    source = source_of(sql)
    if source is not None:
        return (
            f"SELECT count(*), 0 FROM {source} AS said WHERE id > ? AND id <= ?"
            f" AND NOT EXISTS (SELECT 1 FROM {name}_docsize AS entry WHERE entry.id = said.id)"
        )
    trigger = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?"
    values = _VALUES.search(as_text(database.value(trigger, (f"{name}_insert",))) or "")
    # The text of the index is what its own trigger puts there: releases of Hermes differ in it.
    differs = f"kept.c0 IS NOT ({_NEW.sub('said.', values[1])})" if values else "0"
    return (
        f"SELECT sum(kept.id IS NULL), sum(kept.id IS NOT NULL AND {differs}) FROM messages AS said"
        f" LEFT JOIN {name}_content AS kept ON kept.id = said.id WHERE said.id > ? AND said.id <= ?"
    )

"""Whether the rows of the store fit together: messages and their sessions, parents, titles, and the counters.

Goes by the indexes of the tables where it can, in steps, so that it takes a moment in a large store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hermes_sessions.model import Check
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosing.figures import counted, some
from hermes_sessions.storage.diagnosing.visit import SECONDS, Visit
from hermes_sessions.storage.values import as_int, as_text

STEP = 200
"""Sessions that are counted in one go."""

SESSIONS_OF_MESSAGES = (
    "WITH RECURSIVE named(id) AS (SELECT min(session_id) FROM messages UNION ALL"
    " SELECT (SELECT min(session_id) FROM messages WHERE session_id > named.id) FROM named WHERE named.id IS NOT NULL)"
)
"""Each session that has messages, by jumping through the index of messages from one to the next."""


def owner_check(visit: Visit, database: Database) -> Check:
    """Whether every message belongs to a session that is there."""
    with visit.limited(None if visit.full else SECONDS):
        lost = database.rows(
            f"{SESSIONS_OF_MESSAGES} SELECT id, (SELECT count(*) FROM messages WHERE session_id = named.id) FROM named"
            " WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = named.id)"
        )
    if not lost:
        return Check("messages", "ok", "each belongs to a session")
    messages = counted(sum(as_int(count) for _, count in lost), "message")
    detail = f"{messages} of {counted(len(lost), 'session')} that {'is' if len(lost) == 1 else 'are'} not there."
    return Check("messages", "warn", detail, "", "No list shows them. They take room and do no harm.")


def parent_check(visit: Visit, database: Database) -> Check | None:
    """Whether the sessions that others go on from are there, and none goes on from itself."""
    if not database.has("sessions", "parent_session_id"):
        return None
    # By the index: in the row, the parent stands behind all of the system prompt.
    rows = database.rows(
        "SELECT id, parent_session_id, EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id)"
        " FROM sessions AS s WHERE parent_session_id IS NOT NULL"
    )
    parents = {as_text(id) or "": as_text(parent) or "" for id, parent, _ in rows}
    lost = [as_text(id) or "" for id, _, there in rows if not there]
    circles = _circles(parents)
    faults = []
    if lost:
        faults.append(
            f"{counted(len(lost), 'session goes', 'sessions go')} on from one that is not there: {some(lost)}."
        )
    if circles:
        faults.append(f"{counted(len(circles), 'session comes', 'sessions come')} from themselves: {some(circles)}.")
    if not faults:
        return Check("parents", "ok", "each is there, and none comes from itself")
    means = "Hermes may not list them, or only in part. Here each is listed, as one that stands alone."
    return Check("parents", "warn", " ".join(faults), "", means)


def _circles(parents: Mapping[str, str]) -> list[str]:
    """Sessions that are reached again by going from parent to parent."""
    seen: set[str] = set()
    found: list[str] = []
    for start in parents:
        way: dict[str, None] = {}
        at = start
        while at in parents and at not in seen and at not in way:
            way[at] = None
            at = parents[at]
        if at in way:
            names = list(way)
            found += names[names.index(at) :]
        seen |= way.keys()
    return found


def reference_check(visit: Visit, database: Database) -> Check:
    """What the other tables refer to (`PRAGMA foreign_key_check`). The two large ones are looked at above."""
    faults = []
    names = [name for name, sql in database.tables.items() if name not in ("messages", "sessions")]
    with visit.limited(None if visit.full else SECONDS):
        for name in names:
            if not database.rows("SELECT 1 FROM pragma_foreign_key_list(?)", (name,)):
                continue
            lost = as_int(database.value("SELECT count(*) FROM pragma_foreign_key_check(?)", (name,)))
            if lost:
                faults.append(f"{counted(lost, 'row')} of {name}")
    if not faults:
        return Check("references", "ok", "no other table refers to what is not there")
    means = "Figures of sessions that are gone are still counted by Hermes. They do no harm."
    return Check("references", "warn", f"They refer to what is not there: {some(faults)}.", "", means)


def title_check(visit: Visit, database: Database) -> Check | None:
    """Whether a title names one session."""
    if not database.has("sessions", "title"):
        return None
    twice = database.rows(
        "SELECT title, count(*) FROM sessions WHERE title IS NOT NULL GROUP BY title HAVING count(*) > 1"
    )
    if not twice:
        return Check("titles", "ok", "each is given once")
    names = [f"{(as_text(title) or '')[:40]!r}" for title, _ in twice]
    means = "Hermes goes on with the newest of them when it is told to resume one by its title. Rename the others."
    return Check("titles", "warn", f"Given to more than one session: {some(names)}.", "", means)


def counter_check(visit: Visit, database: Database) -> Iterator[Check]:
    """Whether sessions have as many messages as they say.

    Rewinding leaves the counter as it was in releases up to 0.19, and lowers it after; compaction sets it to what is
    left. So any number from the messages that are active to all of them is right.
    """
    if not database.has("sessions", "message_count"):
        return
    active = " FILTER (WHERE active IS NOT 0)" if database.has("messages", "active") else ""
    newest = as_int(database.value("SELECT max(rowid) FROM sessions"))
    count = (
        "SELECT s.rowid, s.id, s.message_count, (SELECT count(*) FROM messages AS m WHERE m.session_id = s.id),"
        f" (SELECT count(*){active} FROM messages AS m WHERE m.session_id = s.id)"
        " FROM sessions AS s NOT INDEXED WHERE s.rowid > ? ORDER BY s.rowid LIMIT ?"
    )
    last, looked_at, wrong = -1, 0, []
    complete = False
    for _ in visit.steps():
        rows = database.rows(count, (last, STEP))
        wrong += [
            as_text(id) or "" for _, id, said, most, least in rows if not as_int(least) <= as_int(said) <= as_int(most)
        ]
        looked_at += len(rows)
        if complete := len(rows) < STEP:
            break
        last = as_int(rows[-1][0])
        visit.share = last / max(newest, 1)
    visit.share = None
    part = "" if complete else f" of the first {looked_at:,} (`--full` counts all)"
    if wrong:
        detail = f"{counted(len(wrong), 'session')}{part} with another number of messages than told: {some(wrong)}."
        means = "Hermes shows a wrong number for them. Here messages are counted."
        yield Check("counters", "warn", detail, "", means)
    else:
        what = "each session has" if complete else f"each{part} has"
        yield Check("counters", "ok", f"{what} as many messages as it says")

"""Sessions, deleted: one conversation, all empty ones, all old ones; and put back. Each step is one transaction.

The unit is the conversation as a reader sees it, with the sessions of the agents that worked for it (the marker
`_delegate_from`, the cascade of Hermes since 0.17). Branches stay and only lose their parent. What the store shows to
be in use is refused; what is known outside of it (leases) is for the caller to ask first. What exactly goes, and how it
comes back, is `removed`'s business; which conversations are old is `pruning`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes_sessions.errors import SessionLive
from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.storage.costs import CostTable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import CLOCK_SKEW, RECENT_SECONDS, Liveness
from hermes_sessions.storage.pruning import Planned, PrunePlan, PruneRules, Workers, judged, plan_prune
from hermes_sessions.storage.sessions import SessionTable
from hermes_sessions.storage.values import SQLValue, as_text
from hermes_sessions.storage.writing.removed import AMONG, Removed, as_list, put_back, take
from hermes_sessions.storage.writing.sessions import conversation_of, family, refuse_live
from hermes_sessions.storage.writing.transactions import Transactions

STEP_MESSAGES = 250
STEP_CONVERSATIONS = 100
"""How much one transaction of a prune deletes, so that nobody waits long for the lock; one conversation may be more."""

BREATH_SECONDS = 0.02
"""The pause between two of them, in which those who wait get the lock."""

Started = tuple[str, str | None, SQLValue]

Keep = Callable[[Removed], None]
"""Stores what is about to be deleted, before that is committed: then nothing is lost, whatever happens in between. It
may be called again with the same rows when the store was busy, and what it raises calls the deletion off."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Ids of the sessions that went, and of the planned conversations that stayed because they had changed since."""

    sessions: tuple[str, ...]
    changed: tuple[str, ...]


class RemovalWriter:
    """Deletes and restores in a store that may be written. `clock` is the time of day, `sleep` parts the steps."""

    def __init__(
        self,
        writer: Transactions,
        clock: Callable[[], float],
        database: Database,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._run = writer.run
        self._clock = clock
        self._database = database
        self._sleep = sleep

    def delete(self, session_id: str, *, whole: bool = True, force: bool = False, keep: Keep | None = None) -> Removed:
        """Delete the conversation a session is part of, or with `whole=False` this session alone; return what went.

        Without the whole, later parts of the chain stay and begin a conversation of their own. Raises SessionNotFound,
        and SessionLive when an agent is using any of it and it is not forced.
        """
        now = self._clock()
        marked = _marked(self._database)

        def write(database: Database) -> Removed:
            conversation = conversation_of(database, session_id)
            doomed = _with_workers(database, conversation.segments if whole else [session_id], marked)
            if not force:
                refuse_live(database, doomed, now)
                _refuse_begun(database, doomed, now)
            return _take(database, doomed, keep)

        return self._run(write)

    def delete_empty(self, *, keep: Keep | None = None) -> Removed:
        """Delete every conversation without a single message that has ended and is not archived; return what went.

        Messages are counted, not believed in. One for which an agent worked is not empty.
        """
        now = self._clock()
        # Reading the whole table is not done under the lock; what it found is looked at again there.
        catalog = SessionTable(self._database, CostTable(self._database)).catalog()
        suspects = [item.id for item in _empty(catalog, frozenset())]

        def write(database: Database) -> Removed:
            empty = _empty(family(database, suspects), Liveness(database).live_sessions(now))
            return _take(database, [id for item in empty if item.id in suspects for id in item.segments], keep)

        return self._run(write)

    def restore(self, removed: Removed) -> None:
        """Put back what a deletion returned: rows, ids of messages, links to parents and children; all or nothing.

        Restore the latest deletion first when one took a conversation and another its branch. A title somebody took
        meanwhile gets the next number. Raises Refused when a session or message is there already.
        """
        self._run(lambda database: put_back(database, removed))

    def plan_prune(self, rules: PruneRules) -> PrunePlan:
        """What pruning by these rules would delete now. Changes nothing and takes no lock."""
        return plan_prune(self._database, rules, self._clock())

    def prune(
        self,
        plan: PrunePlan,
        *,
        keep: Keep | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Pruned:
        """Delete what a plan says, no more, in small transactions; return what went.

        Each conversation is judged again inside its transaction: what was used, pinned, continued or changed otherwise
        since the plan stays. `progress` gets how many conversations are done and how many there are. When it, `keep`
        or the store raises, the steps before stay done; `keep` was given all of them.
        """
        gone: list[str] = []
        changed: list[str] = []
        done = 0
        for step in _steps(plan.items):
            if done:
                self._sleep(BREATH_SECONDS)
            now = self._clock()

            def write(database: Database, step: Sequence[Planned] = step, now: float = now) -> list[Planned]:
                fitting = _unchanged(database, plan, step, now)
                _take(database, [session for item in fitting for session in item.sessions], keep)
                return fitting

            fitting = self._run(write)
            gone += [session for item in fitting for session in item.sessions]
            changed += [item.id for item in step if item not in fitting]
            done += len(step)
            if progress is not None:
                progress(done, len(plan.items))
        return Pruned(tuple(gone), tuple(changed))


def _empty(catalog: Catalog, live: frozenset[str]) -> list[Conversation]:
    return [
        item
        for item in catalog
        if item.empty
        and item.tip.ended_at is not None
        and not item.archived
        and not item.delegates
        and live.isdisjoint(item.segments)
    ]


def _take(database: Database, session_ids: Sequence[str], keep: Keep | None) -> Removed:
    removed = take(database, session_ids)
    if keep is not None and removed.rows:
        keep(removed)
    return removed


def _marked(database: Database, condition: str = "1", parameter: Sequence[SQLValue] = ()) -> list[Started]:
    """Sessions with the marker `_delegate_from`, as id, parent and marker."""
    config = "model_config" if database.has("sessions", "model_config") else "NULL"
    rows = database.rows(
        f"""
        SELECT id, parent_session_id, json_extract({config}, '$._delegate_from') FROM sessions
        WHERE {condition} AND instr({config}, '_delegate_from') AND json_valid({config})
        """,
        parameter,
    )
    return [(as_text(id) or "", as_text(parent), marker) for id, parent, marker in rows]


def _with_workers(database: Database, session_ids: Sequence[str], before: Sequence[Started]) -> list[str]:
    """These sessions and all that agents started for them, wherever they hang (`_collect_delegate_child_ids`).

    Finding all markers reads the whole table, so that was done `before` the transaction. What it found is looked at
    again here, and children are found by their index.
    """
    suspects = Workers(before).of(session_ids)
    started = dict.fromkeys(_marked(database, f"id {AMONG}", (as_list(suspects),)))
    while True:
        found = Workers(started).of(session_ids)
        children = _marked(database, f"parent_session_id {AMONG}", (as_list(found),))
        if started.keys() >= set(children):
            return found
        started |= dict.fromkeys(children)


def _refuse_begun(database: Database, session_ids: Sequence[str], now: float) -> None:
    """Raises SessionLive for a session that was begun a moment ago and is open: its first message may be on the way."""
    for session in session_ids:
        row = database.row(
            "SELECT 1 FROM sessions WHERE id = ? AND ended_at IS NULL AND started_at > ? AND started_at <= ?",
            (session, now - RECENT_SECONDS, now + CLOCK_SKEW),
        )
        if row is not None:
            raise SessionLive(
                f"Session {session} was begun a moment ago.", "Nothing was changed. End it first, wait, or force it."
            )


def _steps(items: Sequence[Planned]) -> list[list[Planned]]:
    """The items in transactions of bounded size."""
    steps: list[list[Planned]] = []
    size = 0
    for item in items:
        if not steps or size + item.messages > STEP_MESSAGES or len(steps[-1]) == STEP_CONVERSATIONS:
            steps.append([])
            size = 0
        steps[-1].append(item)
        size += item.messages
    return steps


def _unchanged(database: Database, plan: PrunePlan, step: Sequence[Planned], now: float) -> list[Planned]:
    """The items that would be planned again, with exactly the same sessions."""
    catalog = family(database, [session for item in step for session in item.sessions])
    again = {
        item.id: set(item.sessions) for item, reason in judged(database, catalog, plan.rules, now) if reason is None
    }
    return [item for item in step if again.get(item.id) == set(item.sessions)]

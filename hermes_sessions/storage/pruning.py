"""Which conversations are old enough to go, and why others stay. Reads only; `writing.removal` carries a plan out.

Old is what nobody touched: the last activity of the whole conversation and of all that agents did for it counts, never
the start of a session. A chain is never cut: a conversation goes as a whole, or stays.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.storage.costs import CostTable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import Liveness
from hermes_sessions.storage.sessions import SessionTable
from hermes_sessions.storage.values import as_int, as_text, as_time

Reason = Literal["live", "open", "pinned", "archived", "undated"]


class Planned(NamedTuple):
    """A conversation that would go."""

    id: str
    title: str | None
    sessions: tuple[str, ...]
    """Its chain, root first, then the sessions of agents that worked for it."""
    last_active_at: float
    messages: int = 0
    bytes: int = 0
    """Of the messages' texts; the search index has about as much again."""


@dataclass(frozen=True, slots=True)
class PruneRules:
    """What is old (`before`, epoch seconds), and what is to go although it would be spared."""

    before: float
    open: bool = False
    """Also conversations whose end was never stored, as after a crash."""
    archived: bool = False
    pinned: bool = False
    fits: Callable[[Conversation], bool] | None = None
    """Any further condition."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What would go, oldest first, and the ids of old conversations that stay, by the reason why."""

    rules: PruneRules
    items: tuple[Planned, ...]
    spared: Mapping[Reason, tuple[str, ...]]

    @property
    def sessions(self) -> int:
        return sum(len(item.sessions) for item in self.items)

    @property
    def messages(self) -> int:
        return sum(item.messages for item in self.items)

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.items)


def plan_prune(database: Database, rules: PruneRules, now: float) -> PrunePlan:
    """What pruning by these rules would do at `now`. The plan is carried out as it is, or not at all, item by item."""
    catalog = SessionTable(database, CostTable(database)).catalog()
    items: list[Planned] = []
    spared: dict[Reason, list[str]] = defaultdict(list)
    for item, reason in judged(database, catalog, rules, now):
        if reason is None:
            items.append(item)
        else:
            spared[reason].append(item.id)
    sizes = _sizes(database, [session for item in items for session in item.sessions])
    measured = [
        item._replace(
            messages=sum(sizes[session][0] for session in item.sessions),
            bytes=sum(sizes[session][1] for session in item.sessions),
        )
        for item in sorted(items, key=lambda item: (item.last_active_at, item.id))
    ]
    return PrunePlan(rules, tuple(measured), {reason: tuple(ids) for reason, ids in spared.items()})


def judged(
    database: Database, catalog: Catalog, rules: PruneRules, now: float
) -> Iterator[tuple[Planned, Reason | None]]:
    """Every old conversation of the catalogue, and the reason to spare it, if there is one."""
    by_id = {session.id: session for item in catalog for session in item.sessions}
    workers = Workers((session.id, session.parent_id, session.delegated_from) for session in by_id.values())
    live = Liveness(database).live_sessions(now)
    pinned, touched = _marks(database, by_id)
    for conversation in catalog:
        if any(workers.is_owned(session, by_id) for session in conversation.segments):
            continue  # it goes with the conversation it was started for, or stays with it
        if rules.fits is not None and not rules.fits(conversation):
            continue
        ids = workers.of(conversation.segments)
        times = [by_id[session].last_active_at for session in ids] + [touched.get(session) for session in ids]
        last = max((time for time in times if time is not None), default=None)
        if last is not None and last >= rules.before:
            continue
        item = Planned(conversation.id, conversation.title, tuple(ids), last or 0.0)
        yield item, _reason(conversation, rules, ids, last, live, pinned)


class Workers:
    """Who was started by an agent for whom, from `(id, parent, marker)` of sessions; without a marker nobody was."""

    def __init__(self, sessions: Iterable[tuple[str, str | None, object]]):
        self._started: dict[str, list[str]] = defaultdict(list)
        self._starters: dict[str, set[str]] = {}
        for identity, parent, marker in sessions:
            if marker is not None:
                starters = {name for name in (parent, marker) if isinstance(name, str) and name != identity}
                self._starters[identity] = starters
                for starter in starters:
                    self._started[starter].append(identity)

    def of(self, session_ids: Iterable[str]) -> list[str]:
        """These sessions, and behind them all that worked for them, directly or not; each once (cycles exist)."""
        found = dict.fromkeys(session_ids)
        waiting = list(found)
        while waiting:
            for worker in self._started.get(waiting.pop(), ()):
                if worker not in found:
                    found[worker] = None
                    waiting.append(worker)
        return list(found)

    def is_owned(self, session_id: str, present: Collection[str]) -> bool:
        """Whether somebody who is still there started this session."""
        return any(starter in present for starter in self._starters.get(session_id, ()))


def _reason(
    conversation: Conversation,
    rules: PruneRules,
    ids: Sequence[str],
    last: float | None,
    live: frozenset[str],
    pinned: set[str],
) -> Reason | None:
    if not live.isdisjoint(ids):
        return "live"
    if last is None:
        return "undated"
    if not rules.pinned and not pinned.isdisjoint(ids):
        return "pinned"
    if not rules.archived and conversation.archived:
        return "archived"
    if not rules.open and conversation.tip.ended_at is None:
        return "open"
    return None


def _marks(database: Database, session_ids: Iterable[str]) -> tuple[set[str], dict[str, float]]:
    """Which sessions are pinned, and when Hermes itself says it last touched them (layouts after 0.19)."""
    columns = [name if database.has("sessions", name) else "NULL" for name in ("pinned", "last_activity_at")]
    if columns == ["NULL", "NULL"]:
        return set(), {}
    pinned: set[str] = set()
    touched: dict[str, float] = {}
    rows = database.rows(
        f"SELECT id, {', '.join(columns)} FROM sessions WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(session_ids), ensure_ascii=False),),
    )
    for identity, pin, moment in rows:
        session = as_text(identity) or ""
        if pin:
            pinned.add(session)
        if (time := as_time(moment)) is not None:
            touched[session] = time
    return pinned, touched


def _sizes(database: Database, session_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Messages and their bytes, by session."""
    rows = database.rows(
        """
        SELECT want.value, count(m.id), total(octet_length(m.content)) + total(octet_length(m.tool_calls))
        FROM json_each(?) want CROSS JOIN messages m ON m.session_id = want.value GROUP BY want.value
        """,
        (json.dumps(list(session_ids), ensure_ascii=False),),
    )
    sizes = dict.fromkeys(session_ids, (0, 0))
    sizes |= {as_text(session) or "": (as_int(count), as_int(size)) for session, count, size in rows}
    return sizes

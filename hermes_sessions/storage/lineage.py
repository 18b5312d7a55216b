"""Which sessions are one conversation, which one forked from another, and which an agent started.

The one resolver for list, show, search, resume and cost. Pure: it reads no file. The rules are Hermes' own
(`get_compression_tip`, `list_sessions_rich`) of all releases together, made safe against cycles and
missing parents. Every session given ends up in exactly one conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from hermes_sessions.model import Conversation, Kind, Session

MACHINE_SOURCES = frozenset({"subagent", "tool", "kanban", "oneshot"})
"""Sources whose sessions no person started; Hermes leaves them out of its lists."""

RESET_REASONS = frozenset({"session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired"})
"""A parent that ended for one of these was left by its person, who went on in a child begun after it."""

CLOCK_SLACK = 60.0
"""Seconds by which a continuation may seem older than its parent's end, since both rows are written apart."""


def resolve(sessions: Sequence[Session]) -> list[Conversation]:
    """Return the conversations of these sessions, newest activity first, equal times by id.

    A parent that is not among `sessions` counts as missing.
    """
    by_id = {session.id: session for session in sessions}
    children: dict[str, list[Session]] = defaultdict(list)
    for session in sessions:
        if session.parent_id is not None and session.parent_id != session.id and session.parent_id in by_id:
            children[session.parent_id].append(session)
    successor = _successors(by_id, children)
    chains = _chains(sessions, successor)
    conversations = _conversations(chains, by_id)
    conversations.sort(key=lambda item: (-(item.last_active_at or 0.0), item.id))
    return conversations


def _successors(by_id: Mapping[str, Session], children: Mapping[str, list[Session]]) -> dict[str, Session]:
    """The session that goes on where a compressed one stopped, by the compressed one's id."""
    successor: dict[str, Session] = {}
    for parent_id, candidates in children.items():
        parent = by_id[parent_id]
        if parent.end_reason != "compression":
            continue
        fitting = [child for child in candidates if _may_continue(parent, child)]
        if fitting:
            successor[parent_id] = max(fitting, key=lambda child: _claim(parent, child))
    return successor


def _may_continue(parent: Session, child: Session) -> bool:
    """A marker that names another session than `parent` is inherited, so it makes the child no fork of `parent`."""
    if parent.id in (child.branched_from, child.delegated_from) or child.reset_from:
        return False
    if child.source in MACHINE_SOURCES and child.source != parent.source:
        return False
    return _begun_after(parent, child, CLOCK_SLACK)


def _begun_after(parent: Session, child: Session, slack: float = 0.0) -> bool:
    if parent.ended_at is None or child.started_at is None:
        return True
    return child.started_at >= parent.ended_at - slack


def _claim(parent: Session, child: Session) -> tuple[bool, bool, bool, float, float, str]:
    """How strongly a child claims to continue its parent: the order of Hermes 0.18, after the time test of 0.16."""
    return (
        (child.started_at or 0.0) >= (parent.ended_at or 0.0),
        child.end_reason == "compression",
        child.ended_at is None,
        child.last_active_at or 0.0,
        child.started_at or 0.0,
        child.id,
    )


def _chains(sessions: Sequence[Session], successor: Mapping[str, Session]) -> list[tuple[Session, ...]]:
    """Cut the sessions into chains, root first. A cycle is cut before its oldest session."""
    continued = {child.id for child in successor.values()}
    chains: list[tuple[Session, ...]] = []
    placed: set[str] = set()

    def follow(root: Session) -> None:
        chain = [root]
        placed.add(root.id)
        while (following := successor.get(chain[-1].id)) is not None and following.id not in placed:
            chain.append(following)
            placed.add(following.id)
        chains.append(tuple(chain))

    for session in sessions:
        if session.id in continued:
            continue
        if session.id in successor:
            follow(session)
        else:
            placed.add(session.id)
            chains.append((session,))
    in_cycles = [session for session in sessions if session.id not in placed]
    for session in sorted(in_cycles, key=lambda item: (item.started_at or 0.0, item.id)):
        if session.id not in placed:
            follow(session)
    return chains


def _conversations(chains: Sequence[tuple[Session, ...]], by_id: Mapping[str, Session]) -> list[Conversation]:
    natures: list[tuple[Kind, str | None]] = []
    delegates: dict[str, list[str]] = defaultdict(list)
    for chain in chains:
        root = chain[0]
        natures.append(_nature(root, by_id.get(root.parent_id) if root.parent_id else None))
        if natures[-1][0] == "subagent" and (starter := _starter(root, by_id)) is not None:
            delegates[starter].append(chain[-1].id)
    return [
        Conversation(
            chain,
            kind,
            branched_from,
            tuple(tip for session in chain for tip in delegates.get(session.id, ())) if delegates else (),
        )
        for chain, (kind, branched_from) in zip(chains, natures, strict=True)
    ]


def _nature(root: Session, parent: Session | None) -> tuple[Kind, str | None]:
    """What kind of conversation begins with `root`, and the session it forked from."""
    if root.hidden or root.source in MACHINE_SOURCES:
        return "subagent", None
    if root.branched_from and root.branched_from == root.parent_id:
        return "conversation", root.branched_from
    if root.delegated_from:
        return "subagent", None
    if parent is None or root.reset_from:
        return "conversation", root.branched_from
    if root.branched_from or root.title:
        return "conversation", root.branched_from or parent.id
    if parent.end_reason == "compression" and _may_continue(parent, root):
        return "conversation", parent.id
    if parent.end_reason == "branched" and _begun_after(parent, root):
        return "conversation", parent.id
    if parent.end_reason in RESET_REASONS and _begun_after(parent, root):
        return "conversation", None
    # Up to 0.16 a delegate carries no marker: an untitled child of a session that did not end for it.
    return "subagent", None


def _starter(root: Session, by_id: Mapping[str, Session]) -> str | None:
    for starter in (root.parent_id, root.delegated_from):
        if starter is not None and starter != root.id and starter in by_id:
            return starter
    return None

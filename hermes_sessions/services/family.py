"""The family of a conversation: what it was branched from or started by, and all that came of it. Pure.

Which sessions are one conversation, and where it came from, is `storage.lineage`'s word. A cycle is gone round once and
a parent that is not there is named; nothing is left out for either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, NamedTuple

from hermes_sessions.model import Catalog, Conversation, Session

Relation = Literal["origin", "branch", "delegate", "part", "gone"]


RELATION_WORDS = {"branch": "branched from", "delegate": "started by"}


class Kin(NamedTuple):
    """One line of a family."""

    relation: Relation
    conversation: Conversation | None
    """None for a parent that is gone."""
    session: Session | None = None
    """The session, where the line is about one part of a conversation that was compressed."""
    source: str | None = None
    """Id of the session that this was branched from or started by; of a gone parent, its own."""
    rails: tuple[bool, ...] = ()
    """For each level above the line, and its own, whether more follows on that level below it."""


def family(catalog: Catalog, conversation: Conversation) -> tuple[Kin, ...]:
    """All lines of the family that `conversation` belongs to, from its oldest known ancestor on, depth first.

    The parts of a compressed conversation stand below it, and what was branched or started from a part below that.
    """
    top = _oldest(catalog, conversation)
    children = _children(catalog)
    lines: list[Kin] = []
    source = source_of(top, catalog.by_session)
    if source is not None and source not in catalog.by_session:
        lines.append(Kin("gone", None, source=source))
    seen = {top.id}
    ahead = [Kin("origin" if source is None else relation_of(top), top, source=source)]
    while ahead:
        line = ahead.pop()
        lines.append(line)
        ahead += reversed(_below(line, children, seen))
    return tuple(lines)


def relation_of(item: Conversation) -> Relation:
    """How a conversation that has a source came of it."""
    return "delegate" if item.kind == "subagent" else "branch"


def source_of(item: Conversation, known: Mapping[str, Conversation]) -> str | None:
    """Id of the session that a conversation was branched from or started by, known or not; None where it began."""
    if item.kind != "subagent":
        candidates: tuple[str | None, ...] = (item.branched_from,)
    else:
        candidates = (item.root.parent_id, item.root.delegated_from)
    named = [id for id in candidates if id and id not in item.segments]
    return next((id for id in named if id in known), named[0] if named else None)


def _oldest(catalog: Catalog, item: Conversation) -> Conversation:
    known = catalog.by_session
    seen = {item.id}
    while (parent := known.get(source_of(item, known) or "")) is not None and parent.id not in seen:
        seen.add(parent.id)
        item = parent
    return item


def _children(catalog: Catalog) -> Mapping[str, list[Conversation]]:
    """What was branched or started from a session, by its id, the first one first."""
    known = catalog.by_session
    children: dict[str, list[Conversation]] = defaultdict(list)
    for item in catalog.conversations:
        if item.branched_from or item.kind == "subagent":
            source = source_of(item, known)
            if source is not None:
                children[source].append(item)
    for found in children.values():
        found.sort(key=lambda item: (item.started_at or 0.0, item.id))
    return children


def _below(line: Kin, children: Mapping[str, list[Conversation]], seen: set[str]) -> list[Kin]:
    """The lines right below this one, in order."""
    item, found = line.conversation, list[Kin]()
    if item is None:
        return found
    if line.session is None and len(item.sessions) > 1:
        found += [Kin("part", item, session) for session in item.sessions]
    else:
        source = (line.session or item.tip).id
        for child in children.get(source, ()):
            if child.id not in seen:
                seen.add(child.id)
                found.append(Kin(relation_of(child), child, source=source))
    last = len(found) - 1
    return [kin._replace(rails=(*line.rails, place < last)) for place, kin in enumerate(found)]

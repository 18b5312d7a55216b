"""Conversations as rows: which of them are listed, how many are not and why, and what a row says.

Shared by `list`, `search` and the numbered list. Leaves widths to `cli.output`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hermes_sessions.cli.output import NOTE_INDENT, Column, Output
from hermes_sessions.cli.records import preview
from hermes_sessions.model import Catalog, Conversation, ConversationHits, Overview
from hermes_sessions.services import sorting, wording
from hermes_sessions.storage.store import Store

COLUMNS = (
    Column("Status", spare=3),
    Column("Title", flexible=True, style="bold"),
    Column("Active", right=True, spare=2),
    Column("Msgs", right=True, spare=4),
    Column("Cost", right=True, spare=5),
    Column("Source", spare=6),
    Column("ID", style="dim"),
)
NUMBER = Column("#", right=True)

HIDDEN = ("archived", "empty", "subagent")
UNTITLED = "(nothing was said)"


@dataclass(frozen=True, slots=True)
class Listing:
    """The conversations that are listed, of a catalogue of `total`, and how many are not, each counted once."""

    conversations: tuple[Conversation, ...]
    hidden: Mapping[str, int]
    total: int


def choose(
    catalog: Catalog, fitting: Collection[str] | None = None, wanted: Collection[str] = (), *, everything: bool = False
) -> Listing:
    """The conversations of the catalogue that are listed, in its order: of the `fitting` ones, by their ids (None: of
    all), those that are neither archived nor empty nor a subagent's, unless that is `wanted`, or `everything` is."""
    hidden = dict.fromkeys((*HIDDEN, "filtered"), 0)
    chosen = []
    for conversation in catalog:
        reason = None if everything else _reason_to_hide(conversation)
        if reason is not None and reason not in wanted:
            hidden[reason] += 1
        elif fitting is not None and conversation.id not in fitting:
            hidden["filtered"] += 1
        else:
            chosen.append(conversation)
    return Listing(tuple(chosen), hidden, len(catalog))


def _reason_to_hide(conversation: Conversation) -> str | None:
    if conversation.kind == "subagent":
        return "subagent"
    if conversation.archived:
        return "archived"
    return "empty" if conversation.empty else None


def sort(
    store: Store, conversations: Sequence[Conversation], key: str, reverse: bool = False
) -> Sequence[Conversation]:
    """The conversations by one of `sorting.SORTS`, or in reverse. A catalogue is by activity already."""
    if key == "active" and not reverse:
        return conversations
    facts = store.sessions.facts(conversations) if key in sorting.SORTS_BY_FACTS else None
    return sorting.arrange(conversations, key, facts, reverse)


def row(conversation: Conversation, overview: Overview, now: float | None) -> list[str | None]:
    """What a list says of a conversation, in the order of `COLUMNS`; without `now` the time is a date."""
    active = conversation.last_active_at
    return [
        _mark(conversation, overview),
        conversation.title or preview(overview) or UNTITLED,
        wording.moment(active) if now is None else wording.age(active, now),
        wording.count(overview.message_count),
        wording.money(overview.cost),
        conversation.tip.source,
        conversation.id,
    ]


def _mark(conversation: Conversation, overview: Overview) -> str:
    if overview.live:
        return "live"
    if conversation.kind == "subagent":
        return "subagent"
    if conversation.archived:
        return "archived"
    return {"complete": "done", "interrupted": "intr", "error": "error", "empty": "empty"}[overview.status]


def print_rows(
    output: Output,
    conversations: Sequence[Conversation],
    overviews: Mapping[str, Overview],
    now: float,
    *,
    first_number: int | None = None,
    hits: Mapping[str, ConversationHits] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """The conversations as a table, numbered from `first_number` on if there is one, with what was found in each or
    another safe note below it."""
    moment = now if output.is_terminal else None
    columns: tuple[Column, ...] = COLUMNS
    rows = [row(conversation, overviews[conversation.id], moment) for conversation in conversations]
    if first_number is not None:
        columns = (NUMBER, *COLUMNS)
        rows = [[str(number), *cells] for number, cells in enumerate(rows, first_number)]
    output.table(columns, rows, [_found(output, hits.get(item.id)) for item in conversations] if hits else notes)


def _found(output: Output, found: ConversationHits | None) -> str:
    if found is None or not found.hits:
        return ""
    hit = found.hits[0]
    where = output.safe(hit.role if hit.place == "content" and hit.role else hit.place.replace("_", " "))
    intro = f"{wording.count(found.hit_count)} hits, {where}: " if found.hit_count > 1 else f"{where}: "
    room = output.width - len(NOTE_INDENT) - len(intro) if output.is_terminal else None
    return intro + output.highlighted(hit.snippet.text, hit.snippet.spans, room)


def sum_line(shown: int, listing: Listing, more: str = "", everything: str = "") -> str:
    """How many are shown of how many, and where the others are. `more` and `everything` say how to see those."""
    parts = [f"{wording.count(shown)} of {sessions(listing.total)}"]
    paged = len(listing.conversations) - shown
    if paged:
        parts.append(f"{wording.count(paged)} on other pages{f' ({more})' if more else ''}")
    hidden = [f"{wording.count(listing.hidden[name])} {name}" for name in HIDDEN if listing.hidden[name]]
    if hidden:
        parts.append(f"{', '.join(hidden)}{f' ({everything})' if everything else ''}")
    if listing.hidden["filtered"]:
        parts.append(f"{wording.count(listing.hidden['filtered'])} filtered")
    return " · ".join(parts)


def sessions(number: int) -> str:
    """So many sessions, in words."""
    return f"{wording.count(number)} session{'' if number == 1 else 's'}"

"""Which conversations the list shows, in what order, and how many it does not show and why. Nothing is drawn here.

Without a search, archived and empty conversations and those of subagents are left out until they are asked for. A
search asks the whole store, and its order is the store's: an answer that grows never moves what is already there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from hermes_sessions.model import Catalog, Conversation, ConversationHits, SearchResult, SessionFacts
from hermes_sessions.services.sorting import SORTS_BY_TIME, arrange
from hermes_sessions.tui.list_rows import Heading

GroupBy = Literal["", "day", "directory"]
Facts = Mapping[str, SessionFacts]


class Listed(NamedTuple):
    """What is listed, and how many conversations of the catalogue are not, by the first reason that fits."""

    conversations: tuple[Conversation, ...] = ()
    hits: Mapping[str, ConversationHits] = MappingProxyType({})
    """What a search found, by conversation id; nothing when it asked for conversations alone."""
    query: str | None = None
    """The search whose answer this is, or None."""
    total: int = 0
    archived: int = 0
    empty: int = 0
    subagent: int = 0
    elsewhere: int = 0
    """Of another directory."""

    @property
    def filtered(self) -> bool:
        """Whether a question of the person's decides what is listed."""
        return self.query is not None or self.elsewhere > 0


class Listing(NamedTuple):
    """What the person asked to see. Values only: a key press makes another one."""

    sort: str = "active"
    """One of `services.sorting.SORTS`."""
    reverse: bool = False
    archived: bool = False
    minor: bool = False
    """Show empty conversations and subagents."""
    directory: str | None = None
    """Show conversations of this directory only, and of those below it."""
    group: GroupBy = ""
    two_lines: bool = False
    """Two lines for every conversation, as while a search is shown."""

    @property
    def as_stored(self) -> bool:
        """Whether the order is the catalogue's own."""
        return self.sort == "active" and not self.reverse

    @property
    def quick(self) -> bool:
        """Whether a big catalogue can be listed between two frames: nothing to sort, group or look up."""
        return self.as_stored and self.directory is None and not self.group

    @property
    def grouped_by(self) -> GroupBy:
        """The groups that there are in this order: those of a day stand together only where time decides."""
        return "" if self.group == "day" and self.sort not in SORTS_BY_TIME else self.group

    @property
    def next_group(self) -> GroupBy:
        """The groups after these, round and round, without those that this order has not."""
        after: dict[GroupBy, GroupBy] = {"": "day", "day": "directory", "directory": ""}
        group = after[self.grouped_by]
        return after[group] if self._replace(group=group).grouped_by != group else group

    def of(self, catalog: Catalog, result: SearchResult | None = None, facts: Facts | None = None) -> Listed:
        """What is listed of `catalog`, or of what a search found in it. Sorting by numbers needs `facts`.

        A hit is shown wherever it is. What only fits conditions is hidden like any other, unless these ask for it.
        """
        here = _Here(self.directory)
        candidates: Sequence[Conversation] = catalog.conversations
        asked: Collection[str] = ()
        if result is not None and any(entry.hits for entry in result.conversations):
            found = [entry for entry in result.conversations if here.holds(entry.conversation)]
            return Listed(
                conversations=tuple(entry.conversation for entry in found),
                hits={entry.conversation.id: entry for entry in found},
                query=result.query,
                total=len(catalog),
                elsewhere=len(result.conversations) - len(found),
            )
        shown: list[Conversation] = []
        archived = empty = subagent = elsewhere = 0
        if result is not None:
            candidates, asked = [entry.conversation for entry in result.conversations], result.asked_for
        no_subagent, no_empty = (not self.minor and state not in asked for state in ("subagent", "empty"))
        no_archived, everywhere = not self.archived and "archived" not in asked, self.directory is None
        for item in candidates:  # up to 20,000, while a person waits
            if no_subagent and item.kind == "subagent":
                subagent += 1
            elif no_archived and item.sessions[-1].archived:
                archived += 1
            elif no_empty and not item.sessions[-1].has_messages and item.empty:
                empty += 1
            elif everywhere or here.holds(item):
                shown.append(item)
            else:
                elsewhere += 1
        if not self.as_stored and result is None:
            shown = arrange(shown, self.sort, facts, self.reverse)
        return Listed(
            conversations=tuple(shown),
            query=None if result is None else result.query,
            total=len(catalog),
            archived=archived,
            empty=empty,
            subagent=subagent,
            elsewhere=elsewhere,
        )

    def rows(self, listed: Listed, now: float) -> Sequence[Conversation | Heading]:
        """What is listed, with headings where it is grouped. What a search found is not: its order is the search's."""
        if not self.grouped_by or listed.query is not None:
            return listed.conversations
        from hermes_sessions.services.groups import by_day, by_directory

        items = listed.conversations
        groups = by_day(items, self.sort, now) if self.grouped_by == "day" else by_directory(items)
        rows: list[Conversation | Heading] = []
        for group in groups:
            rows += (Heading(*group), *group.conversations)
        return rows


class _Here:
    """Whether a conversation belongs to a directory; every one belongs to none."""

    def __init__(self, directory: str | None) -> None:
        self.directory = None if directory is None else _real(directory)
        self.inside = "" if self.directory is None else self.directory.rstrip(os.sep) + os.sep

    def holds(self, item: Conversation) -> bool:
        if self.directory is None:
            return True
        if (cwd := item.cwd) is None:
            return False
        real = _real(cwd)
        return real == self.directory or real.startswith(self.inside)


@lru_cache(4096)
def _real(path: str) -> str:
    """`path` without links: a stored directory may be another name of the one we are in."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path

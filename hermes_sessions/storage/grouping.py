"""Hits collected by conversation, in the order they come. Pure, but for the texts it asks for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hermes_sessions.model import (
    Catalog,
    Conversation,
    ConversationHits,
    Place,
    SearchHit,
    SearchOrder,
    SearchResult,
)
from hermes_sessions.storage.matching import plain, snippet
from hermes_sessions.storage.texts import MessageText

CUT_AT_ONCE = 32
"""Conversations whose snippets are cut before the next texts are asked for, where a search can be given up."""


class Found(NamedTuple):
    """A message that fits."""

    message_id: int
    session_id: str
    role: str
    timestamp: float | None


class TitleHit(NamedTuple):
    """A conversation whose title fits, or, when `title` is None, the id of one of its sessions."""

    conversation: Conversation
    session_id: str
    title: str | None


@dataclass(slots=True)
class _Group:
    conversation: Conversation
    count: int = 0
    hits: list[SearchHit] = field(default_factory=list)
    waiting: list[Found] = field(default_factory=list)
    messages: array[int] = field(default_factory=lambda: array("q"))
    answer: ConversationHits | None = None
    """What was last said of it, as long as it holds: most pages change a few of very many."""

    def as_hits(self) -> ConversationHits:
        if self.answer is None:
            self.answer = ConversationHits(self.conversation, self.count, tuple(self.hits))
        return self.answer


class Groups:
    """The conversations found so far, at most `limit` (0: all). Title hits take their place by last activity.

    Of each conversation's hits the first `kept` get a snippet; the rest are counted. Hits in conversations that are not
    `allowed` (None: all are) are no hits.
    """

    def __init__(
        self,
        catalog: Catalog,
        titles: Iterator[TitleHit],
        words: Sequence[str],
        *,
        limit: int,
        kept: int,
        allowed: Container[str] | None = None,
    ) -> None:
        self._by_session = catalog.by_session
        self._titles = titles
        self._next_title: TitleHit | None = None
        self._words = words
        self._allowed = allowed
        self._limit = limit
        self._kept = kept
        self._groups: dict[str, _Group] = {}
        self._left_out = not catalog.whole
        self.counted = 0
        """Hits in messages."""

    @property
    def full(self) -> bool:
        """Whether there is no room for another conversation."""
        return 0 < self._limit <= len(self._groups)

    def add(
        self, page: Sequence[Found], texts: Callable[[Sequence[int]], Mapping[int, MessageText]], *, by_time: bool
    ) -> bool:
        """Add a page of hits, and before each the title hits of conversations that were active later. Return whether
        there was any."""
        before = self.counted
        if not by_time:
            self.add_remaining_titles()
        for found in page:
            conversation = self._by_session.get(found.session_id)
            if conversation is None:
                self._left_out = True
                continue
            if self._allowed is not None and conversation.id not in self._allowed:
                continue
            self.counted += 1
            if found.timestamp is not None:
                self._add_titles(since=found.timestamp)
            group = self._group(conversation)
            if group is not None:
                group.count += 1
                group.messages.append(found.message_id)
                # A hit in the title shows no place to open.
                messages = sum(hit.message_id is not None for hit in group.hits) + len(group.waiting)
                if messages < self._kept:
                    group.waiting.append(found)
        self._cut_snippets(texts)
        return self.counted > before

    def add_remaining_titles(self) -> None:
        self._add_titles(since=None)

    def result(self, query: str, order: SearchOrder, *, exhausted: bool, notice: str) -> SearchResult:
        """What was found so far. It is complete when the source is exhausted and no conversation was left out."""
        conversations = tuple(group.as_hits() for group in self._groups.values())
        return SearchResult(query, order, conversations, exhausted and not self._left_out, notice)

    def messages(self, conversation: Conversation) -> Sequence[int]:
        """The ids of all messages that are hits in a conversation of the result, copies too."""
        return self._groups[conversation.id].messages

    def _group(self, conversation: Conversation) -> _Group | None:
        """The group of a conversation, which is about to change; None when it is one too many."""
        group = self._groups.get(conversation.id)
        if group is None:
            if self._limit and len(self._groups) >= self._limit:
                self._left_out = True
                return None
            group = self._groups[conversation.id] = _Group(conversation)
        group.answer = None
        return group

    def _add_titles(self, since: float | None) -> None:
        # Asked for no sooner: to look through the titles of a large store takes longer than most first hits.
        while (following := self._next_title or next(self._titles, None)) is not None:
            conversation, session_id, title = following
            if since is not None and (conversation.last_active_at or 0.0) < since:
                self._next_title = following
                break
            self._next_title = None
            group = self._group(conversation)
            if group is not None:
                group.count += 1
                shown = snippet(session_id if title is None else plain(title), self._words)
                place: Place = "id" if title is None else "title"
                group.hits.append(SearchHit(None, session_id, None, conversation.last_active_at, place, shown))

    def _cut_snippets(self, texts: Callable[[Sequence[int]], Mapping[int, MessageText]]) -> None:
        waiting = [group for group in self._groups.values() if group.waiting]
        for start in range(0, len(waiting), CUT_AT_ONCE):
            some = waiting[start : start + CUT_AT_ONCE]
            found = texts([item.message_id for group in some for item in group.waiting])
            for group in some:
                for item in group.waiting:
                    text = found.get(item.message_id)
                    if text is not None:
                        place, shown = text.hit(self._words)
                        group.hits.append(
                            SearchHit(item.message_id, item.session_id, item.role, item.timestamp, place, shown)
                        )
                group.waiting.clear()

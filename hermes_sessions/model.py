"""The vocabulary: what a session, a conversation, a message, a hit and a cost are. Values only.

Text in these types is exactly what the store holds; it is made safe for a person at the two doors
(`cli.output` and the panes). Times are epoch seconds, sizes bytes, money USD. None means: not stored, or
stored as nonsense. Most types are named tuples: there may be tens of thousands of them, and every command begins by
importing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

Status = Literal["complete", "interrupted", "error", "empty"]
Basis = Literal["actual", "estimated", "included", "mixed", "unknown"]
Place = Literal["content", "tool_call", "tool_name", "title", "id"]
Kind = Literal["conversation", "subagent"]
SearchOrder = Literal["recent", "relevance"]
CheckStatus = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of the five classes Hermes keeps. Input excludes cached tokens; output includes reasoning."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        """All tokens, each once (reasoning is part of output)."""
        return self.input + self.output + self.cache_read + self.cache_write


class Money(NamedTuple):
    """An amount in USD and what it rests on. An unknown amount is None, never 0."""

    amount_usd: float | None
    basis: Basis


class Session(NamedTuple):
    """One row of `sessions`, with what lineage and lists need. Everything heavier is an `Overview`."""

    id: str
    source: str
    title: str | None
    model: str | None
    cwd: str | None
    parent_id: str | None
    branched_from: str | None
    """The marker `_branched_from` of `model_config`; a continuation inherits it from its ancestor."""
    delegated_from: str | None
    """The marker `_delegate_from`; may name a session that is gone, or be `__orphaned__`."""
    reset_from: str | None
    started_at: float | None
    ended_at: float | None
    end_reason: str | None
    archived: bool
    hidden: bool
    last_message_at: float | None
    has_messages: bool

    @property
    def last_active_at(self) -> float | None:
        """Time of the newest message, else the start."""
        return self.started_at if self.last_message_at is None else self.last_message_at


class Conversation(NamedTuple):
    """The chain of sessions that is one talk, root first. Its id is the tip's: what a person resumes.

    The kind is "subagent" when an agent or a tool made it, not a person.
    """

    sessions: tuple[Session, ...]
    kind: Kind = "conversation"
    branched_from: str | None = None
    """Id of the session this conversation forked from."""
    delegates: tuple[str, ...] = ()
    """Ids of the conversations that agents started on behalf of this one."""

    @property
    def root(self) -> Session:
        return self.sessions[0]

    @property
    def tip(self) -> Session:
        return self.sessions[-1]

    @property
    def id(self) -> str:
        return self.sessions[-1].id

    @property
    def segments(self) -> tuple[str, ...]:
        """Ids of the chain, root first."""
        return tuple(session.id for session in self.sessions)

    @property
    def title(self) -> str | None:
        """The tip's title, else that of the nearest ancestor that has one."""
        return next((session.title for session in reversed(self.sessions) if session.title), None)

    @property
    def cwd(self) -> str | None:
        """The directory that the newest session of the chain names that names one at all."""
        return next((session.cwd for session in reversed(self.sessions) if session.cwd), None)

    @property
    def archived(self) -> bool:
        """The tip decides: a live continuation of an archived root is still listed."""
        return self.sessions[-1].archived

    @property
    def empty(self) -> bool:
        return not any(session.has_messages for session in self.sessions)

    @property
    def started_at(self) -> float | None:
        return self.sessions[0].started_at

    @property
    def last_active_at(self) -> float | None:
        """Time of the newest message of the chain, else of its newest start."""
        if len(self.sessions) == 1:
            return self.sessions[0].last_active_at
        times = [session.last_active_at for session in self.sessions]
        return max((time for time in times if time is not None), default=None)


@dataclass(frozen=True)
class Catalog:
    """Conversations by real last activity, newest first, and the way from any session to its own.

    `whole` is False while only the newest part of the store was read.
    """

    conversations: tuple[Conversation, ...]
    whole: bool = True

    @cached_property
    def by_session(self) -> Mapping[str, Conversation]:
        """Every known session's conversation, by session id."""
        return {session.id: item for item in self.conversations for session in item.sessions}

    def __len__(self) -> int:
        return len(self.conversations)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)


class Overview(NamedTuple):
    """What a list shows of a conversation beyond its `Session` rows: counts over the whole chain, cost, preview."""

    preview: str | None
    """The first thing the person said."""
    status: Status
    live: bool
    message_count: int
    """Rows of the transcript; rewound rows are not counted."""
    tool_call_count: int
    tokens: Tokens
    cost: Money
    git_branch: str | None = None
    """The tip's."""


class SessionFacts(NamedTuple):
    """What filters and sorting ask of a conversation beyond its `Session` rows, over the whole chain."""

    provider: str | None
    git_branch: str | None
    user_id: str | None
    message_count: int
    tool_call_count: int
    tokens: Tokens
    cost: Money


class ToolCall(NamedTuple):
    """A tool an assistant message asked for. `arguments` is JSON text as stored, and may be invalid."""

    id: str | None
    name: str
    arguments: str


class MessageStub(NamedTuple):
    """A message's place in a transcript without its text. `size` is the stored text's length in bytes."""

    id: int
    session_id: str
    role: str
    size: int
    timestamp: float | None
    rewound: bool = False
    compacted: bool = False


class Message(NamedTuple):
    """One stored message, decoded. `text` is what was said; images and other parts are named in brackets."""

    id: int
    session_id: str
    role: str
    text: str
    tool_calls: tuple[ToolCall, ...]
    tool_name: str | None
    tool_call_id: str | None
    reasoning: str | None
    finish_reason: str | None
    timestamp: float | None
    rewound: bool
    """Undone by the person: hidden unless asked for."""
    compacted: bool
    """Left the live context by in-place compaction, still part of the transcript."""
    summary: bool
    """Written by a compaction, not by a person."""


class Snippet(NamedTuple):
    """A piece of the found text; `spans` are the character offsets of the matches in it."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()


class SearchHit(NamedTuple):
    """Where a query was found. A hit in a title or an id has no message."""

    message_id: int | None
    session_id: str
    role: str | None
    timestamp: float | None
    place: Place
    snippet: Snippet


class ConversationHits(NamedTuple):
    """A conversation that fits a query, its hits newest first (those inside of words behind all others), and how many
    hits were counted in it."""

    conversation: Conversation
    hit_count: int
    hits: tuple[SearchHit, ...]


class Problem(NamedTuple):
    """What makes no sense in a query, from `start` to before `stop` in its text. The rest of the query is answered.

    The message says what would be right; the suggestion, which may be empty, could stand in its place.
    """

    start: int
    stop: int
    message: str
    suggestion: str = ""


class SearchResult(NamedTuple):
    """What a query found so far. `complete` says whether anything may be missing."""

    query: str
    order: SearchOrder
    conversations: tuple[ConversationHits, ...]
    complete: bool
    notice: str = ""
    """Why the search was slower or weaker than usual, if it was."""
    problems: tuple[Problem, ...] = ()
    words: tuple[str, ...] = ()
    """What the query looks for, to be marked in a text; empty when it asks for conversations alone."""
    asked_for: tuple[str, ...] = ()
    """States such as archived that the query itself asks for, so that none of them is hidden."""


class CostLine(NamedTuple):
    """Money and tokens of a group of sessions. Amounts are None where no session of the group has one."""

    key: str
    amount_usd: float | None
    actual_usd: float | None
    estimated_usd: float | None
    sessions: int
    unpriced_sessions: int
    included_sessions: int
    tokens: Tokens


class CostSummary(NamedTuple):
    """Sums by one key; the groups add up to the total."""

    by: str
    total: CostLine
    groups: tuple[CostLine, ...]


class Check(NamedTuple):
    """One thing the doctor looked at."""

    name: str
    status: CheckStatus
    detail: str
    """What it found, with numbers."""
    fix: str = ""
    """The command that helps, to be typed into a shell; empty where none does."""
    means: str = ""
    """What it means for the person, and what to do where no command does it; empty where all is well."""
    group: str = ""
    """The heading it stands under."""


class Diagnosis(NamedTuple):
    """What the doctor found in a store."""

    store: str
    sqlite: str
    journal_mode: str | None
    stored_version: int | None
    layout: str
    checks: tuple[Check, ...] = ()
    stopped: Literal["", "busy", "interrupted"] = ""
    """Why not all was looked at: the store stayed locked, or the person had enough."""

    @property
    def healthy(self) -> bool:
        """True when no check failed; a warning is no failure."""
        return all(check.status != "fail" for check in self.checks)


class Lease(NamedTuple):
    """A process's word that it is using a session, as the registry beside the store has it. Good while the process
    lives, or until it is given back; it does not run out."""

    id: str
    session_id: str
    surface: str
    """Where the session is used: cli, tui, gateway, …"""
    pid: int
    acquired_at: float | None
    refreshed_at: float | None
    metadata: Mapping[str, Any]
    """Whatever the holder wrote along."""


class BrowseResult(NamedTuple):
    """What a person left the browser with: a conversation to resume or to name, or nothing."""

    action: Literal["resume", "pick"]
    conversation: Conversation

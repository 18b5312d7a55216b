"""What stands above a message: dividers, a header with the role and the time, or just a blank line. Pure.

All of it is known from the stubs and from what is known of their sessions, so that it is drawn before any text is
there. The messages of one turn of the agent share a header, unless minutes lie between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from hermes_sessions.model import Conversation, MessageStub
from hermes_sessions.services import wording
from hermes_sessions.text import one_line
from hermes_sessions.tui.line_styles import Headline
from hermes_sessions.tui.steps import Steps, finish

Divider = Literal["day", "pause", "compressed", "continued", "branched", "undone"]
Opening = Literal["blank", "header"] | Divider

DIVIDERS = frozenset({"day", "pause", "compressed", "continued", "branched", "undone"})

LONG_PAUSE = 3600.0
"""Seconds after which it is said how long nobody spoke."""

_PAUSE = 300.0
"""After so many seconds the agent's turn says the time again."""

_BURST = 0.2
"""Seconds that a branch takes at most from one copied message to the next; people are slower."""

_QUARTER = 900
"""Seconds between the moments at which, somewhere, a local day can begin."""

_AT_ONCE = 1000
"""Messages after which the work pauses."""

_NAMES = {"user": "you", "assistant": "agent"}


class Story(NamedTuple):
    """What is known of a conversation beside its messages."""

    ends: Mapping[str, str | None] = {}
    """Why each of its sessions ended, by its id."""
    origin: str | None = None
    """What the conversation is called that it was branched from; None if it was not."""
    started_at: float = 0.0

    @classmethod
    def of(cls, conversation: Conversation, origin: Conversation | None) -> Story:
        """Return the story of a conversation, `origin` being the one that it was branched from, if that is there."""
        ends = {session.id: session.end_reason for session in conversation.sessions}
        if conversation.branched_from is None:
            return cls(ends)
        name = (one_line(origin.title) if origin else "") or one_line(conversation.branched_from)
        return cls(ends, name, conversation.started_at or 0.0)

    def fork(self, stubs: Sequence[MessageStub]) -> int | None:
        """Return the first message that a person said here, and that was not copied from the origin; None without."""
        if self.origin is None:
            return None
        before = self.started_at
        for index, stub in enumerate(stubs):
            when = stub.timestamp or 0.0
            if stub.role == "user" and when - max(before, self.started_at) > _BURST:
                return index
            before = when
        return None


def openings(stubs: Sequence[MessageStub], story: Story, start: int = 0) -> list[tuple[Opening, ...]]:
    """Return for each message from number `start` on the lines that stand above its own."""
    return finish(openings_steps(stubs, story, start))


def openings_steps(stubs: Sequence[MessageStub], story: Story, start: int = 0) -> Steps[list[tuple[Opening, ...]]]:
    """`openings` in steps, for conversations of many thousand messages."""
    fork = story.fork(stubs)
    lines: list[tuple[Opening, ...]] = []
    previous = stubs[start - 1] if start else None
    for index in range(start, len(stubs)):
        stub = stubs[index]
        lines.append(_opening(previous, stub, story, forks=index == fork))
        previous = stub
        if index % _AT_ONCE == 0:
            yield
    return lines


def header(stub: MessageStub) -> Headline:
    """The line with the role and the local time."""
    parts = [(role_name(stub.role), f"{role_look(stub.role)} strong"), (f" · {wording.clock(stub.timestamp)}", "muted")]
    if stub.rewound:
        parts.append((" · undone", "note"))
    return Headline(*parts)


def divider(opening: Divider, stubs: Sequence[MessageStub], index: int, story: Story, summary: int | None) -> Headline:
    """The words of a divider above message number `index`, which is a `summary` of so many bytes if it is one."""
    stub = stubs[index]
    passed = wording.duration(_between(stubs[index - 1], stub)) if index else ""
    match opening:
        case "day":
            late = index and _between(stubs[index - 1], stub) >= wording.DAY
            words = wording.day(stub.timestamp) + (f" · {passed} later" if late else "")
        case "pause":
            words = f"{passed} later"
        case "compressed":
            words = "compressed here" + ("" if summary is None else f" into a summary of {wording.size(summary)}")
        case "continued":
            words = "continued in another session"
        case "branched":
            words = f"branched {'here ' if index else ''}from {story.origin}"
        case "undone":
            count = next((place for place, each in enumerate(stubs[index:]) if not each.rewound), len(stubs) - index)
            words = f"{count:,} message{'' if count == 1 else 's'} undone"
    return Headline((words, "divider"))


def role_name(role: str) -> str:
    """What a person calls the one who spoke."""
    return _NAMES.get(role) or one_line(role[:40]) or "?"


def role_look(role: str) -> str:
    """The look of a role; unknown ones look like the system."""
    return role if role in ("user", "assistant", "tool") else "system"


def _opening(previous: MessageStub | None, stub: MessageStub, story: Story, *, forks: bool) -> tuple[Opening, ...]:
    header: tuple[Opening, ...] = () if stub.role == "tool" else ("header",)
    dividers: list[Opening] = ["branched"] if forks else []
    if previous is None:
        return ("day", *dividers, "blank", *header)
    if previous.compacted and not stub.compacted and not stub.rewound:
        dividers.append("compressed")
    elif stub.session_id != previous.session_id:
        is_compression = story.ends.get(previous.session_id) in (None, "compression")
        dividers.append("compressed" if is_compression else "continued")
    if _is_another_day(previous.timestamp, stub.timestamp):
        dividers.append("day")
    elif _between(previous, stub) >= LONG_PAUSE:
        dividers.append("pause")
    if stub.rewound and not previous.rewound:
        dividers.append("undone")
    if dividers:
        return ("blank", *dividers, "blank", *header)
    same_turn = (
        previous.role in ("assistant", "tool")
        and previous.rewound == stub.rewound
        and stub.role in ("assistant", "tool")
    )
    if same_turn and stub.role == "tool":
        return ()
    if same_turn and abs((stub.timestamp or 0.0) - (previous.timestamp or 0.0)) < _PAUSE:
        return ("blank",) if stub.size else ()
    return ("blank", *header)


def _between(previous: MessageStub, stub: MessageStub) -> float:
    """Seconds between two messages; 0 where one has no time, or clocks went backwards."""
    if previous.timestamp is None or stub.timestamp is None:
        return 0.0
    return max(0.0, stub.timestamp - previous.timestamp)


def _is_another_day(before: float | None, after: float | None) -> bool:
    if before is None or after is None or before // _QUARTER == after // _QUARTER:
        return False
    return wording.date(before) != wording.date(after)

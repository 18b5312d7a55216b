"""What stands above a message: a divider for a new day or a compression, a header, or just a blank line. Pure.

All of it is known from the stubs, so that it is drawn before any text is there. The messages of one turn of the agent
share a header, unless minutes lie between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hermes_sessions.model import MessageStub
from hermes_sessions.services import wording
from hermes_sessions.text import one_line
from hermes_sessions.tui.line_styles import Headline

Opening = Literal["blank", "day", "compressed", "header"]

_PAUSE = 300.0
"""After so many seconds the agent's turn says the time again."""

_QUARTER = 900
"""Seconds between the moments at which, somewhere, a local day can begin."""

_NAMES = {"user": "you", "assistant": "agent"}


def openings(stubs: Sequence[MessageStub]) -> list[tuple[Opening, ...]]:
    """Return for each message the lines that stand above its own."""
    lines: list[tuple[Opening, ...]] = []
    previous = None
    for stub in stubs:
        lines.append(_opening(previous, stub))
        previous = stub
    return lines


def header(stub: MessageStub) -> Headline:
    """The line with the role and the local time."""
    parts = [(role_name(stub.role), f"{role_look(stub.role)} strong"), (f" · {wording.clock(stub.timestamp)}", "muted")]
    if stub.rewound:
        parts.append((" · undone", "note"))
    return Headline(*parts)


def divider(opening: Opening, stub: MessageStub) -> Headline:
    """The words of a divider: the local day, or that the conversation was compressed here."""
    return Headline((wording.day(stub.timestamp) if opening == "day" else "compressed here", "divider"))


def role_name(role: str) -> str:
    """What a person calls the one who spoke."""
    return _NAMES.get(role) or one_line(role[:40]) or "?"


def role_look(role: str) -> str:
    """The look of a role; unknown ones look like the system."""
    return role if role in ("user", "assistant", "tool") else "system"


def _opening(previous: MessageStub | None, stub: MessageStub) -> tuple[Opening, ...]:
    header: tuple[Opening, ...] = () if stub.role == "tool" else ("header",)
    if previous is None:
        return ("day", "blank", *header)
    dividers: list[Opening] = []
    if stub.session_id != previous.session_id or (previous.compacted and not stub.compacted):
        dividers.append("compressed")
    if _is_another_day(previous.timestamp, stub.timestamp):
        dividers.append("day")
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


def _is_another_day(before: float | None, after: float | None) -> bool:
    if before is None or after is None or before // _QUARTER == after // _QUARTER:
        return False
    return wording.date(before) != wording.date(after)

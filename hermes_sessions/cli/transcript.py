"""A conversation as text: a rule with role and time above each message, tools folded as asked for.

Shared by `show` and the numbered list. Reads the messages in pages, so that a conversation may be of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_sessions.cli.output import Output, Style
from hermes_sessions.errors import NotFound
from hermes_sessions.model import Conversation, Message, MessageStub, Overview, ToolCall
from hermes_sessions.services import wording
from hermes_sessions.storage.store import Store

PAGE = 300
"""Messages held in memory at once."""

AROUND = 20
INDENT = "  "
FOLDED_WIDTH = 100
HEAD_WIDTH = 200

Tools = Literal["off", "short", "full"]

ROLE_STYLES: dict[str, Style] = {"user": "cyan", "assistant": "green", "tool": "dim", "system": "yellow"}


@dataclass(frozen=True, slots=True)
class Part:
    """A run of messages of a transcript; `offset` of its `total` messages come before the first."""

    stubs: tuple[MessageStub, ...]
    offset: int
    total: int


def part_of(stubs: Sequence[MessageStub], *, around: int | None, limit: int | None) -> Part:
    """The messages around one, or the newest, at most `limit` of them (None: 20 around one, else all; 0: all).

    Raises `NotFound` when the message to be seen is none of these.
    """
    total = len(stubs)
    if around is None:
        offset = max(0, total - limit) if limit else 0
        return Part(tuple(stubs[offset:]), offset, total)
    place = next((place for place, stub in enumerate(stubs) if stub.id == around), None)
    if place is None:
        raise NotFound(f"There is no message {around} in this conversation.", "--rewound shows undone messages too.")
    size = AROUND if limit is None else limit or total
    offset = max(0, min(place - size // 2, total - size))
    return Part(tuple(stubs[offset : offset + size]), offset, total)


def messages(store: Store, stubs: Sequence[MessageStub]) -> Iterator[Message]:
    """The messages, page by page. One that was deleted meanwhile is left out."""
    for start in range(0, len(stubs), PAGE):
        page = stubs[start : start + PAGE]
        found = store.messages.get(stub.id for stub in page)
        yield from (found[stub.id] for stub in page if stub.id in found)


def print_head(output: Output, conversation: Conversation, overview: Overview) -> None:
    """What is known of a conversation besides its messages."""
    tip = conversation.tip
    name = conversation.title or overview.preview or conversation.id
    output.line(output.paint(output.shortened(name, HEAD_WIDTH), "bold"))
    facts = [
        conversation.id,
        tip.source,
        tip.model,
        f"{wording.moment(conversation.started_at)} to {wording.moment(conversation.last_active_at)}",
        f"{wording.count(overview.message_count)} messages",
        f"{wording.tokens(overview.tokens.total)} tokens",
        wording.money(overview.cost),
        "live" if overview.live else overview.status,
        "archived" if conversation.archived else None,
    ]
    output.line(" · ".join(output.safe(fact) for fact in facts if fact))
    if tip.cwd:
        output.line(output.safe(tip.cwd))
    if len(conversation.segments) > 1:
        output.line(f"continues {output.safe(', '.join(conversation.segments[:-1]))}")
    if conversation.branched_from:
        output.line(f"branched from {output.safe(conversation.branched_from)}")


def sum_line(part: Part) -> str:
    """Which of the conversation's messages were shown."""
    if not part.total:
        return "This session has no messages."
    if len(part.stubs) == part.total:
        return f"{wording.count(part.total)} messages"
    first, last = part.offset + 1, part.offset + len(part.stubs)
    return f"messages {wording.count(first)} to {wording.count(last)} of {wording.count(part.total)}"


def print_messages(
    output: Output, messages: Iterator[Message], *, tools: Tools, reasoning: bool, marked: int | None = None
) -> None:
    """The messages as text, `marked` with a mark of its own."""
    for message in messages:
        if message.role == "tool" and tools != "full":
            if tools == "short":
                _print_folded(output, message.tool_name or "tool", message.text, arrow="←")
            continue
        thought = message.reasoning if reasoning else None
        if not (message.text.strip() or thought or (message.tool_calls and tools != "off")):
            continue
        output.line()
        _print_rule(output, message, marked=message.id == marked)
        if thought:
            output.block(thought, indent=f"{INDENT}| ")
        if message.text.strip():
            output.block(message.text)
        for call in message.tool_calls if tools != "off" else ():
            _print_call(output, call, tools)


def _print_rule(output: Output, message: Message, *, marked: bool) -> None:
    role = "summary" if message.summary else message.role
    words = [output.safe(role)]
    if message.tool_name:
        words.append(output.safe(message.tool_name))
    words += [wording.moment(message.timestamp), f"#{message.id}"]
    if message.rewound:
        words.append("rewound")
    line = f"── {' · '.join(words)} ──"
    output.line(output.paint(f"{line} <──" if marked else line, "bold", ROLE_STYLES.get(message.role, "bold")))


def _print_call(output: Output, call: ToolCall, tools: Tools) -> None:
    if tools == "short":
        _print_folded(output, call.name, call.arguments, arrow="→")
    else:
        output.line(output.paint(f"{INDENT}→ {output.safe(call.name)}", "dim"))
        output.block(call.arguments, indent=INDENT * 2)


def _print_folded(output: Output, name: str, content: str, arrow: str) -> None:
    size = wording.size(len(content.encode("utf-8", "replace")))
    intro = f"{INDENT}{arrow} {output.safe(name)} ({size}) "
    room = min(FOLDED_WIDTH, max(0, output.width - len(intro))) if output.is_terminal else FOLDED_WIDTH
    output.line(output.paint(f"{intro}{output.shortened(content, room)}".rstrip(), "dim"))

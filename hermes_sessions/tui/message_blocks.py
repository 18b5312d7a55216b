"""A stored message as blocks of clean text: what was thought, said, asked of a tool or answered by one.

Owns the bounds that keep a huge message from stopping the screen: work on a long text is done in steps, and without
being asked only its beginning is looked at. What calls and results say is `tool_calls`' and `tool_results`' business,
colours inside a text `line_styles`', lines and folding `transcript`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hermes_sessions.model import Message, ToolCall
from hermes_sessions.services.wording import size
from hermes_sessions.text import clean, one_line
from hermes_sessions.tui.line_styles import Headline, SourceText, TextKind
from hermes_sessions.tui.listings import given
from hermes_sessions.tui.steps import Steps, finish
from hermes_sessions.tui.stored_json import AS_STORED, decoded_steps, unfold_steps
from hermes_sessions.tui.tool_calls import call_headline, changes_in
from hermes_sessions.tui.tool_results import END, PARSED, glimpse_of, outcome_steps, result_headline

BlockKind = Literal["text", "reasoning", "call", "result", "summary", "note"]

TEXT_LIMIT = 64 * 1024
LINE_LIMIT = 2000
"""How many characters (half as many beyond ASCII) and lines are looked at before the person asks for all of them."""

HEADLINE_LIMIT = 400
_STEP = 256 * 1024
_QUIET_ENDINGS = frozenset({"", "stop", "tool_calls", "end_turn", "tool_use", "stop_sequence", "completed"})


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a message: its clean text, and the line that stands for it while it is folded.

    `left_out` is how many characters of the stored text are not in `body`; 0 when it is whole. `end` is then the end of
    a result. A block without a headline is never folded.
    """

    kind: BlockKind
    body: SourceText
    headline: Headline | None = None
    left_out: int = 0
    end: SourceText | None = None


def compose(message: Message, *, whole: bool = False) -> tuple[Block, ...]:
    """Return the blocks of `message` in reading order; `whole` takes long texts to their end."""
    return finish(compose_steps(message, whole=whole))


def compose_steps(message: Message, *, whole: bool = False) -> Steps[tuple[Block, ...]]:
    """`compose` in steps of a few milliseconds, for texts of megabytes."""
    blocks: list[Block] = []
    if message.reasoning and message.reasoning.strip():
        body, left_out = yield from clean_steps(message.reasoning.strip("\n"), whole)
        blocks.append(Block("reasoning", SourceText(body, "reasoning"), _thought(body), left_out))
    if message.role == "tool":
        blocks.append((yield from _result_steps(message, whole)))
    elif message.text.strip():
        body, left_out = yield from clean_steps(message.text.strip("\n"), whole)
        if message.summary:
            headline = Headline(("≡ compaction summary", "note"), (f" · {size(len(body) + left_out)}", "muted"))
            blocks.append(Block("summary", SourceText(body, "text"), headline, left_out))
        else:
            blocks.append(Block("text", SourceText(body, "text"), None, left_out))
    for call in message.tool_calls:
        block = yield from _call_steps(call, whole)
        blocks.append(block)
    ending = one_line((message.finish_reason or "")[:HEADLINE_LIMIT])
    if message.role == "assistant" and ending not in _QUIET_ENDINGS:
        blocks.append(Block("note", SourceText("", "text"), Headline((f"! ended: {ending[:80]}", "error"))))
    return tuple(blocks)


def _thought(body: str) -> Headline:
    count = body.count("\n") + 1
    lines = "1 line" if count == 1 else f"{count:,} lines"
    glimpse = glimpse_of(body[: 4 * HEADLINE_LIMIT].replace("**", ""))
    return Headline(("✻ thought", "note"), (f" · {lines}", "muted"), *glimpse)


def _result_steps(message: Message, whole: bool) -> Steps[Block]:
    outcome = yield from outcome_steps(message.text, whole)
    yield
    body, cut = yield from clean_steps(outcome.text.strip("\n"), whole)
    left_out = outcome.left_out + cut
    outcome = outcome._replace(glimpse=clean(outcome.glimpse[:HEADLINE_LIMIT]))
    headline = Headline(*result_headline(message.tool_name, outcome, body, left_out))
    end = outcome.end if outcome.left_out else outcome.text[-END:] if left_out else ""
    kind: TextKind = "stored" if outcome.kind == "stored" else "result"
    tail = SourceText(clean(end).strip("\n"), kind) if end.strip() else None
    return Block("result", SourceText(body, outcome.kind), headline, left_out, tail)


def _call_steps(call: ToolCall, whole: bool) -> Steps[Block]:
    arguments = call.arguments
    is_looked_at = whole or len(arguments) <= PARSED
    value = (yield from decoded_steps(arguments)) if is_looked_at else None
    is_stored = value is AS_STORED
    value = None if is_stored else value
    text = arguments if value is None else (yield from unfold_steps(value))
    body, left_out = yield from clean_steps(text.strip("\n"), whole)
    broken = is_looked_at and value is None and not is_stored and arguments.lstrip()[:1] in ("{", "[")
    headline = Headline(*call_headline(call.name, arguments, value, broken=broken))
    arguments_by_name = value if isinstance(value, dict) else {}
    changes, listings = changes_in(body, arguments_by_name), list(given(body, arguments_by_name))
    kind: TextKind = "stored" if is_stored else "result" if value is None else "fields"
    return Block("call", SourceText(body, kind, changes, listings), headline, left_out)


def clean_steps(raw: str, whole: bool = True) -> Steps[tuple[str, int]]:
    """Return the clean text, as far as the limits unless `whole`, and how many stored characters are left out."""
    limit = TEXT_LIMIT if raw.isascii() else TEXT_LIMIT // 2
    stop = len(raw) if whole or len(raw) <= limit else _place_to_cut(raw, limit)
    pieces, start = [], 0
    while stop - start > _STEP:
        end = _place_to_cut(raw, start + _STEP)
        pieces.append(clean(raw[start:end]))
        start = end
        yield
    pieces.append(clean(raw[start:stop]))
    text = "".join(pieces)
    left_out = len(raw) - stop
    if not whole and text.count("\n") >= LINE_LIMIT:
        end = -1
        for _ in range(LINE_LIMIT):
            end = text.find("\n", end + 1)
        text, left_out = text[:end], left_out + len(text) - end
    return text, left_out


def _place_to_cut(raw: str, stop: int) -> int:
    """A place at or a little before `stop` that divides no line, else no word, else no escape sequence."""
    for mark, reach in (("\n", 4096), (" ", 256)):
        if (place := raw.rfind(mark, stop - reach, stop)) >= 0:
            return place + 1
    escape = raw.rfind("\x1b", stop - 64, stop)
    return escape if escape > 0 else stop

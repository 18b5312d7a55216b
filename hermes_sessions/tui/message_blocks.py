"""A stored message as blocks of clean text: what was thought, said, asked of a tool or answered by one.

Owns the unwrapping of tool results, the argument that tells what a call does, and the bounds that keep a huge
message from stopping the screen: work on a long text is done in steps, and without being asked only its beginning is
looked at. Colours inside a text are `line_styles`' business, lines and folding `transcript`'s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeVar

from hermes_sessions.model import Message, ToolCall
from hermes_sessions.services.wording import size
from hermes_sessions.text import clean, one_line
from hermes_sessions.tui.line_styles import Headline, SourceText

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that pauses every few milliseconds; its return value is the result."""

BlockKind = Literal["text", "reasoning", "call", "result", "summary", "note"]

TEXT_LIMIT = 64 * 1024
LINE_LIMIT = 2000
"""How many characters (half as many beyond ASCII) and lines are looked at before the person asks for all of them."""

HEADLINE_LIMIT = 400
_STEP = 256 * 1024
_PARSE_LIMIT = 256 * 1024
_TELLING_KEYS = [
    *("command", "cmd", "code", "script", "path", "file_path", "filename", "file", "query", "pattern", "url"),
    *("goal", "task", "prompt", "question", "name", "title", "action", "text", "content"),
]
_QUIET_ENDINGS = frozenset({"", "stop", "tool_calls", "end_turn", "tool_use", "stop_sequence", "completed"})

_FIRST_BLOB = re.compile(r'\s*\{\s*"(?:output|content|result|stdout|text)"\s*:\s*(?=")')
_LENIENT = json.JSONDecoder(strict=False)
_DIFF = re.compile(r"(?:\A|^diff:\n)(?=diff --git |--- [^\n]*\n\+\+\+ |@@ -)", re.MULTILINE)
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")
_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d{1,9})\b')


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a message: its clean text, and the line that stands for it while it is folded.

    `left_out` is how many characters of the stored text are not in `body`; 0 when it is whole. A block without a
    headline is never folded.
    """

    kind: BlockKind
    body: SourceText
    headline: Headline | None = None
    left_out: int = 0


def compose(message: Message, *, whole: bool = False) -> tuple[Block, ...]:
    """Return the blocks of `message` in reading order; `whole` takes long texts to their end."""
    return finish(compose_steps(message, whole=whole))


def finish(steps: Steps[T]) -> T:
    """Do all of the work at once and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result


def compose_steps(message: Message, *, whole: bool = False) -> Steps[tuple[Block, ...]]:
    """`compose` in steps of a few milliseconds, for texts of megabytes."""
    blocks: list[Block] = []
    if message.reasoning and message.reasoning.strip():
        body, left_out = yield from _clean_steps(message.reasoning.strip("\n"), whole)
        blocks.append(Block("reasoning", SourceText(body, "reasoning"), _thought(body), left_out))
    if message.role == "tool":
        blocks.append((yield from _result_steps(message, whole)))
    elif message.text.strip():
        body, left_out = yield from _clean_steps(message.text.strip("\n"), whole)
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


def unfold(value: Any) -> str:
    """Return decoded JSON as text for a person: one `key: value` a line, long texts as the lines they are."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return _json_text(value)
    lines = []
    for key, item in value.items():
        text = item if isinstance(item, str) else _json_text(item)
        lines.append(f"{key}:\n{text}" if "\n" in text.strip("\n") else f"{key}: {text}")
    return "\n".join(lines)


def _json_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, list | dict) and value else None)
    except RecursionError:
        return "…"


def _decoded(raw: str) -> Any:
    """The JSON value in `raw`, or None when it is no list or object."""
    if raw.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None


def _thought(body: str) -> Headline:
    glimpse = _glimpse(body[: 4 * HEADLINE_LIMIT].replace("**", ""))
    return Headline(("✻ thought", "note"), (f" · {_lines(body)}", "muted"), *glimpse)


def _result_steps(message: Message, whole: bool) -> Steps[Block]:
    raw, exit_code, failed, left_out = _unwrapped(message.text, whole)
    yield
    body, cut = yield from _clean_steps(raw.strip("\n"), whole)
    left_out += cut
    parts = [(f"↳ {_name(message.tool_name)}", "tool")]
    if exit_code is not None:
        parts.append((f" · exit {exit_code}", "error" if failed else "muted"))
    elif failed:
        parts.append((" · failed", "error"))
    if body:
        parts.append((f" · {size(len(body) + left_out)}", "muted"))
        if "\n" in body:
            parts.append((f" · {_lines(body)}{'+' if left_out else ''}", "muted"))
        parts.extend((_changes(body) if not left_out else []) or _glimpse(body))
    else:
        parts.append((" · nothing", "muted"))
    return Block("result", SourceText(body, "result"), Headline(*parts), left_out)


def _unwrapped(raw: str, whole: bool) -> tuple[str, int | None, bool, int]:
    """What a tool said, without the JSON around it: text, exit code, whether it failed, characters left out."""
    if len(raw) > _PARSE_LIMIT and not whole:
        return _unwrapped_beginning(raw)
    value = _decoded(raw)
    if not isinstance(value, dict):
        return (raw if value is None else unfold(value)), None, False, 0
    code = value.pop("exit_code", None)
    if not isinstance(code, int) or isinstance(code, bool):
        if code is not None:
            value["exit_code"] = code
        code = None
    error = value.get("error")
    if not error:
        value.pop("error", None)
    failed = bool(error) or code not in (None, 0) or value.get("success") is False
    if len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return text, code, failed, 0
    if isinstance(output := value.get("output"), str):
        del value["output"]
        return "\n".join(part for part in (output.rstrip("\n"), unfold(value)) if part), code, failed, 0
    return unfold(value), code, failed, 0


def _unwrapped_beginning(raw: str) -> tuple[str, int | None, bool, int]:
    """`_unwrapped` for a text too long to be parsed: its first string, as far as the limit, and the exit code."""
    start = _FIRST_BLOB.match(raw)
    if start is None:
        return raw, None, False, 0
    piece = raw[start.end() : start.end() + TEXT_LIMIT]  # from its opening quote
    for back in range(7):  # an escape cut in two makes the string invalid; the longest has six characters
        try:
            text, end = _LENIENT.raw_decode(piece[: len(piece) - back] + '"')
        except ValueError:
            continue
        found = _EXIT_CODE.search(raw, max(0, len(raw) - 400))
        code = int(found[1]) if found else None
        return text, code, code not in (None, 0), max(0, len(raw) - start.end() - end)
    return raw, None, False, 0


def _call_steps(call: ToolCall, whole: bool) -> Steps[Block]:
    arguments = call.arguments
    value = _decoded(arguments) if whole or len(arguments) <= _PARSE_LIMIT else None
    text = arguments if value is None else unfold(value)
    body, left_out = yield from _clean_steps(text.strip("\n"), whole)
    parts = [(f"⚙ {_name(call.name)}", "tool")]
    if telling := _telling(value, arguments):
        parts.append((f"  {telling}", "argument"))
    return Block("call", SourceText(body, "result"), Headline(*parts), left_out)


def _telling(value: Any, arguments: str) -> str:
    """The argument a person would name to say what the call does."""
    if isinstance(value, dict):
        if not value:
            return ""
        for key in _TELLING_KEYS:
            if isinstance(text := value.get(key), str) and text.strip():
                place = value.get("path") if key in ("pattern", "query") else None
                where = f" in {place[:HEADLINE_LIMIT]}" if isinstance(place, str) and place else ""
                return one_line(text[:HEADLINE_LIMIT] + where)
    return one_line(arguments[:HEADLINE_LIMIT])


def _name(name: str | None) -> str:
    return one_line((name or "tool")[:80]) or "tool"


def _lines(body: str) -> str:
    count = body.count("\n") + 1
    return "1 line" if count == 1 else f"{count:,} lines"


def _glimpse(body: str) -> list[tuple[str, str]]:
    """The first line with something on it, as the end of a headline."""
    first = next((line for line in islice(body[: 4 * HEADLINE_LIMIT].split("\n"), 20) if line.strip()), "")
    return [(f"  {one_line(first[:HEADLINE_LIMIT])}", "glimpse")] if first else []


def _changes(body: str) -> list[tuple[str, str]]:
    """How many lines a diff adds and removes, if that is what a tool gave back, as the end of a headline."""
    diff = _DIFF.search(body, 0, TEXT_LIMIT)
    if diff is None or len(body) > TEXT_LIMIT:
        return []
    added = removed = old = new = 0
    for line in body[diff.end() :].split("\n"):
        if old <= 0 and new <= 0:
            if hunk := _HUNK.match(line):
                old, new = int(hunk[1] or 1), int(hunk[2] or 1)
        elif line.startswith("+"):
            added, new = added + 1, new - 1
        elif line.startswith("-"):
            removed, old = removed + 1, old - 1
        elif not line.startswith("\\"):
            old, new = old - 1, new - 1
    return [(f"  +{added:,}", "added"), (f" −{removed:,}", "removed")] if added or removed else []


def _clean_steps(raw: str, whole: bool) -> Steps[tuple[str, int]]:
    """The clean text, as far as the limits unless `whole`, and how many stored characters are left out."""
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

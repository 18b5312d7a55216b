"""Reads the sample conversations, which are written down as plain scripts.

A script begins with `==== key` and facts, one a line (`title: …`), up to a blank line. Then come the steps, each begun
by a line with `@` and a word, with its text below:

    @user [photo]       what the person says            @seen      overheard in a group
    @think              thoughts of the next answer     @agent     the answer; `@agent error` ends in an error
    @call TOOL name=…   a call of the answer above it; its arguments as one `name=value` or as JSON
    @output CODE        a command's output              @diff      what a patch changed
    @file               a file that was read            @json      a result as it is; also @text
    @rewind             the person takes back what they said last

A result belongs to the oldest call that has none yet. `+7h` behind a word sets the time since the step before;
without it, it follows from the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from hermes_sessions.storage.writing.entries import NewMessage

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

# A picture of one pixel.
PHOTO = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

_STEP = re.compile(
    r"^@(user|seen|think|agent|call|output|diff|file|json|text|rewind)(?: (.*?))??(?: \+(\d+[smhd][\d smhd]*))?$",
    re.MULTILINE,
)
_HEADING = re.compile(r"^==== (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """A message, or None for a rewind, and the seconds since the step before it."""

    gap: float
    message: NewMessage | None


@dataclass(frozen=True, slots=True)
class Talk:
    """A session to be told: its facts by name, and what was said."""

    key: str
    facts: dict[str, str]
    steps: tuple[Step, ...]


def seconds(text: str) -> float:
    """ "1d 2h 30m" in seconds."""
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd])", text))


def read(text: str) -> Iterator[Talk]:
    """The talks of a script file, in its order."""
    _, *pieces = _HEADING.split(text)
    for key, piece in zip(pieces[::2], pieces[1::2], strict=True):
        head, _, body = piece.strip().partition("\n\n")
        facts = dict(line.split(": ", 1) for line in head.splitlines())
        yield Talk(key, facts, tuple(_steps(key, body, escapes="escapes" in facts)))


def _steps(key: str, body: str, *, escapes: bool) -> list[Step]:
    steps: list[Step] = []
    waiting: list[tuple[str, str, str]] = []
    thoughts: str | None = None
    numbers = count(1)
    _, *pieces = _STEP.split(body)
    for word, rest, gap, text in zip(pieces[::4], pieces[1::4], pieces[2::4], pieces[3::4], strict=True):
        said = text.strip("\n")
        if escapes:
            said = json.loads(f'"{said}"', strict=False)
        if word == "think":
            thoughts = said
            continue
        if word == "call":
            name, _, arguments = rest.partition(" ")
            call_id = f"call_{key}_{next(numbers)}"
            arguments = _arguments(arguments, said)
            waiting.append((call_id, name, arguments))
            answer = _answer_above(steps, thoughts)
            thoughts = None
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            message = replace(answer, tool_calls=[*(answer.tool_calls or ()), call], finish_reason="tool_calls")
            steps[-1] = Step(steps[-1].gap, message)
            continue
        if word == "rewind":
            steps.append(Step(30.0, None))
            continue
        if word in ("user", "seen"):
            new = NewMessage("user", _photo(said) if rest == "photo" else said, observed=word == "seen")
        elif word == "agent":
            new = NewMessage("assistant", said, finish_reason=rest or "stop", reasoning=thoughts)
            thoughts = None
        else:
            call_id, name, arguments = waiting.pop(0)
            result = _result(word, rest, said, arguments)
            new = NewMessage("tool", result, tool_call_id=call_id, tool_name=name)
        steps.append(Step(seconds(gap) if gap else _pace(new, said), new))
    return steps


def _answer_above(steps: list[Step], thoughts: str | None) -> NewMessage:
    """The answer a call belongs to; one without words is added where there is none."""
    last = steps[-1].message if steps else None
    if last is None or last.role != "assistant" or last.finish_reason not in ("stop", "tool_calls"):
        last = NewMessage("assistant", reasoning=thoughts)
        steps.append(Step(3.0, last))
    return last


def _arguments(text: str, body: str) -> str:
    if text.startswith("{"):
        return text
    name, _, value = text.partition("=")
    arguments = {name: value}
    if body:
        arguments["content"] = f"{body}\n"
    return json.dumps(arguments, ensure_ascii=False)


def _result(word: str, rest: str | None, text: str, arguments: str) -> str:
    """A result in the shape Hermes' own tools give it."""
    lines = text.splitlines()
    match word:
        case "output":
            shape: dict[str, object] = {"output": text, "exit_code": int(rest or 0)}
        case "diff":
            shape = {"success": True, "diff": f"{text}\n", "files_modified": [json.loads(arguments)["path"]]}
        case "file":
            numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, 1))
            shape = {"content": numbered, "total_lines": len(lines)}
        case _:
            return text
    return json.dumps(shape, ensure_ascii=False)


def _photo(text: str) -> list[dict[str, object]]:
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": PHOTO}}]


def _pace(message: NewMessage, text: str) -> float:
    """Seconds a person types and reads, a model writes, a tool runs."""
    match message.role:
        case "user":
            return min(18.0 + len(text) / 6, 180.0)
        case "assistant":
            return 2.0 + (len(text) + len(message.reasoning or "")) / 70
        case _:
            return 0.8 + len(text) / 900

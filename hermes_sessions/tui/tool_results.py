"""What a tool gave back: its words without the JSON around them, and the line that stands for it while it is folded.

Pure. Without being asked, only the beginning of a huge result is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from hermes_sessions.services.wording import duration, size
from hermes_sessions.text import one_line
from hermes_sessions.tui.diffs import diffs
from hermes_sessions.tui.line_styles import TextKind
from hermes_sessions.tui.steps import Steps
from hermes_sessions.tui.stored_json import AS_STORED, decoded_steps, unfold_steps
from hermes_sessions.tui.tool_calls import LONGEST, Piece, change_counts, tool_name

PARSED = 256 * 1024
"""Characters beyond which a result is not taken apart without being asked."""

BEGINNING = 64 * 1024
"""Characters of such a result that are looked at."""

END = 8 * 1024
"""Characters of its end that are, too."""

_FIRST_TEXT = re.compile(r'\s*\{\s*"(?:output|content|result|stdout|text)"\s*:\s*(?=")')
_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d{1,9})\b')
_FAILURE = re.compile(r"\s*(?:(?:[Tt]ool )?(?:ERROR|Error|error)\b|Traceback \(most recent call last\)|fatal: )")
_BEHIND = re.compile(
    r'"(?:\s*,\s*"\w{1,40}"\s*:\s*(?:[\w.+-]{1,40}|"(?:[^"\\]|\\.){0,200}+"|\[\]|\{\}))*+\s*\}\s*$', re.ASCII
)
_LONGEST_ESCAPE = 6
_LENIENT = json.JSONDecoder(strict=False)
_SECONDS = ("duration_seconds", "elapsed_seconds", "duration", "elapsed", "execution_time", "took")
_BAD, _GOOD = frozenset({"error", "failed", "failure", "timeout"}), frozenset({"success", "ok", "completed", "done"})
_UNTELLING = frozenset({"status", "mode", "type", "success", "role", "id"})
_NUMBERED = re.compile(r"\s*\d+\|")


class Outcome(NamedTuple):
    """A result taken apart."""

    text: str
    kind: TextKind
    exit_code: int | None = None
    succeeded: bool | None = None
    """None where nothing tells."""
    left_out: int = 0
    """Characters of the stored text that were not looked at."""
    seconds: float | None = None
    glimpse: str = ""
    """What a person wants to know of it first, if that is not its first line."""
    end: str = ""
    """The end of its text where only the beginning was looked at."""


def outcome_steps(raw: str, whole: bool) -> Steps[Outcome]:
    """Take a stored result apart; `whole` to its end."""
    if len(raw) > PARSED and not whole:
        return _beginning(raw)
    value = yield from decoded_steps(raw)
    yield
    if value is AS_STORED:
        return Outcome(raw, "stored")
    if not isinstance(value, dict):
        failed = _FAILURE.match(raw) is not None
        text = raw if value is None else (yield from unfold_steps(value))
        glimpse = f"{len(value):,} item{'' if len(value) == 1 else 's'}" if isinstance(value, list) else ""
        kind: TextKind = "result" if value is None else "fields"
        return Outcome(text, kind, succeeded=False if failed else None, glimpse=glimpse)
    code = value.pop("exit_code", None)
    if not isinstance(code, int) or isinstance(code, bool):
        if code is not None:
            value["exit_code"] = code
        code = None
    if not value.get("error"):
        value.pop("error", None)
    found = Outcome("", "fields", code, _succeeded(value, code), 0, _seconds(value))
    if len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return found._replace(text=text, kind="result")
    if isinstance(output := value.get("output"), str):
        del value["output"]
        rest = yield from unfold_steps(value)
        parts = [part for part in (output.rstrip("\n"), rest) if part]
        glimpse = "" if output.strip() else _glimpse(value)
        return found._replace(text="\n".join(parts), glimpse=glimpse)
    return found._replace(text=(yield from unfold_steps(value)), glimpse=_glimpse(value))


def result_headline(name: str | None, outcome: Outcome, body: str, left_out: int) -> list[Piece]:
    """Return the line of a result whose clean text is `body`, with `left_out` characters more."""
    pieces = [(f"↳ {tool_name(name)}", "muted")]
    good = outcome.succeeded
    if good is not None:
        words = f"exit {outcome.exit_code}" if outcome.exit_code is not None else "" if good else "failed"
        pieces.append((f" {'✓' if good else '✗'} {words}".rstrip(), "succeeded" if good else "failed"))
    if not body:
        return [*pieces, (" · nothing", "muted"), *_took(outcome)]
    if "\n" in body:
        count = body.count("\n") + 1
        pieces.append((f" · {count:,} lines{'+' if left_out else ''}", "muted"))
    pieces.append((f" · {size(len(body) + left_out)}", "muted"))
    pieces.extend(_took(outcome))
    found = diffs(body) if not left_out else []
    counts = change_counts(sum(diff.added for diff in found), sum(diff.removed for diff in found))
    if counts and good is not False:
        pieces += counts
        if not body[: found[0].start].removesuffix("diff:\n").removeprefix("success: true\n"):
            return pieces
    return pieces + glimpse_of(outcome.glimpse or body, last=good is False and not left_out)


def glimpse_of(body: str, *, last: bool = False) -> list[Piece]:
    """Return the first line with something on it, or the last, as the end of a headline."""
    lines = reversed(body[-4 * LONGEST :].split("\n")) if last else iter(body[: 4 * LONGEST].split("\n"))
    first = next((line for line in islice(lines, 20) if line.strip()), "")
    return [(f"  {one_line(_NUMBERED.sub('', first[:LONGEST], count=1))}", "glimpse")] if first else []


def _succeeded(value: Mapping[str, Any], code: int | None) -> bool | None:
    success, status = value.get("success"), value.get("status")
    if value.get("error") or code not in (None, 0) or success is False or status in _BAD:
        return False
    return True if code == 0 or success is True or status in _GOOD else None


def _seconds(value: Mapping[str, Any]) -> float | None:
    for key in (*_SECONDS, "duration_ms", "elapsed_ms"):
        found = value.get(key)
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1e12:
            return found / 1000 if key.endswith("_ms") else float(found)
    return None


def _took(outcome: Outcome) -> list[Piece]:
    if outcome.seconds is None:
        return []
    return [(f" · {f'{outcome.seconds:.1f}s' if outcome.seconds < 60 else duration(outcome.seconds)}", "muted")]


def _glimpse(value: Mapping[str, Any]) -> str:
    """The error, else the first text, else the first list."""
    if error := value.get("error"):
        return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)[:LONGEST]
    for key, item in value.items():
        if isinstance(item, str) and item.strip() and key not in _UNTELLING:
            return item
    for key, item in value.items():
        if isinstance(item, list):
            return f"{key}: {len(item):,}"
        if isinstance(item, dict) and item:
            return _glimpse(item)
    return ""


def _beginning(raw: str) -> Outcome:
    """A result too long to be parsed: its first string, as far as the limit, the end of it, and the exit code."""
    start = _FIRST_TEXT.match(raw)
    if start is None:
        return Outcome(raw, "stored" if raw.lstrip()[:1] in ("{", "[") else "result")
    piece = raw[start.end() : start.end() + BEGINNING]  # from its opening quote
    for back in range(7):  # an escape cut in two makes the string invalid; the longest has six characters
        try:
            text, end = _LENIENT.raw_decode(piece[: len(piece) - back] + '"')
        except ValueError:
            continue
        found = _EXIT_CODE.search(raw, max(0, len(raw) - 400))
        code = int(found[1]) if found else None
        succeeded = None if code is None else code == 0
        left_out = max(0, len(raw) - start.end() - end)
        return Outcome(text, "result", code, succeeded, left_out, end=_end(raw[-END:]))
    return Outcome(raw, "result")


def _end(raw: str) -> str:
    """The end of the string that nothing but small values stands behind."""
    behind = _BEHIND.search(raw)
    for start in range(_LONGEST_ESCAPE if behind else 0):  # it may begin inside of an escape
        try:
            text: str = _LENIENT.decode(f'"{raw[start : behind.start()]}"')  # type: ignore[union-attr]
        except ValueError:
            continue
        return text
    return ""

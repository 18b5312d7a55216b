"""What a tool was asked to do, in one line: its name, and the argument that a person would name.

Tools that are not known, and arguments that are no JSON, are told by what they hold. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hermes_sessions.text import one_line
from hermes_sessions.tui.line_styles import Change

LONGEST = 400
"""Characters of an argument that are looked at."""

_TELLING_KEYS = (
    *("command", "cmd", "pattern", "query", "goal", "path", "file_path", "filename", "file", "url", "image_url"),
    *("task", "prompt", "question", "reason", "message", "expression", "code", "script", "name", "title", "ref"),
    *("process_id", "job_id", "task_id", "entity_id", "session_id", "key", "direction", "text", "content", "body"),
)
_LISTS = ("urls", "paths", "files", "commands", "queries", "tasks", "todos", "operations", "questions", "items")
_PLACES = ("path", "directory", "workdir", "cwd", "file_glob")
_OLD = ("old_string", "old_str", "old_text")
_NEW = ("new_string", "new_str", "new_text")
_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)([^\n\t]{1,300})", re.MULTILINE)
_BROKEN = re.compile(rf'"({"|".join(_TELLING_KEYS)})"\s*:\s*("(?:[^"\\]|\\.){{1,{LONGEST}}}+)')

Piece = tuple[str, str]


def call_headline(name: str, arguments: str, value: Any, *, broken: bool) -> list[Piece]:
    """Return the line of a call. `value` is what `arguments` spell, None if that is no JSON (then it is `broken` if it
    was meant to be) or too long to look."""
    pieces = [(f"⚙ {tool_name(name)}", "tool")]
    if isinstance(value, dict):
        if telling := _telling(value):
            pieces.append((f"  {telling}", "argument"))
        pieces.extend(change_counts(*_changed_lines(value)))
        return pieces
    found = _BROKEN.search(arguments, 0, 64 * 1024) if value is None else None
    text = _lenient(found[2]) if found else arguments[:LONGEST]
    if words := one_line(text):
        pieces.append((f"  {words}", "argument"))
    if broken:
        pieces.append(("  (broken JSON)", "muted"))
    return pieces


def tool_name(name: str | None) -> str:
    """Return a tool's name on one line, "tool" for one without."""
    return one_line((name or "tool")[:80]) or "tool"


def change_counts(added: int, removed: int) -> list[Piece]:
    """Return how many lines are added and removed, as the end of a headline; nothing for no change."""
    return [(f"  +{added:,}", "more"), (f" −{removed:,}", "fewer")] if added or removed else []


def edit_changes(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the keys of a call's arguments that hold what an edit takes out and puts in, with their looks."""
    if isinstance(value, dict):
        old, new = _first(value, _OLD), _first(value, _NEW)
        if old and new:
            yield from ((old, "removed"), (new, "added"))


def changes_in(text: str, value: Mapping[str, Any]) -> list[Change]:
    """Return where the lines of an edit stand in its unfolded arguments."""
    found: list[Change] = []
    for key, look in edit_changes(value):
        item = str(value[key])
        has_lines, kept = "\n" in item.strip("\n"), item.rstrip("\n")
        start = text.find(f"{key}:\n{kept}" if has_lines else f"{key}: {kept}")
        if start < 0 or (start and text[start - 1] != "\n"):
            continue
        begin = start + len(key) + 2 if has_lines else start
        end = start + len(key) + 2 + len(kept)
        found.append(Change(begin, end, "added" if look == "added" else "removed"))
    return found


def _telling(value: Mapping[str, Any]) -> str:
    action = value.get("action")
    words = _object(value)
    if isinstance(action, str) and action:
        words = f"{action} {words}".strip()
    return one_line(words[: 2 * LONGEST]) or _pairs(value)


def _object(value: Mapping[str, Any]) -> str:
    """What the call is about."""
    if isinstance(patch := value.get("patch"), str):
        files = list(dict.fromkeys(_PATCHED.findall(patch, 0, 64 * 1024)))
        if files:
            return f"{files[0]} +{len(files) - 1} more" if len(files) > 1 else str(files[0])
    for key in _TELLING_KEYS:
        if isinstance(text := value.get(key), str) and text.strip():
            return _cut(text, key) + _where(value, key)
    for key in (*_LISTS, *value):
        if isinstance(items := value.get(key), list) and items:
            return _several(items)
    return ""


def _where(value: Mapping[str, Any], key: str) -> str:
    if key in ("pattern", "query"):
        place = next((value[name] for name in _PLACES if isinstance(value.get(name), str) and value[name]), "")
        return f" in {place[:LONGEST]}" if place else ""
    offset, limit = value.get("offset"), value.get("limit")
    if key in ("path", "file_path") and isinstance(offset, int) and isinstance(limit, int) and limit > 0:
        return f":{offset}-{offset + limit - 1}"
    content = value.get("content")
    if key in ("path", "file_path") and isinstance(content, str) and content:
        lines = content.rstrip("\n").count("\n") + 1
        return f" · {lines:,} line{'s' if lines > 1 else ''}"
    target = value.get("target")
    if key in ("message", "content") and isinstance(target, str) and target:
        return f" → {target[:80]}"
    return ""


def _cut(text: str, key: str) -> str:
    if key not in ("code", "script"):
        return text[:LONGEST]
    lines = [line for line in text[: 4 * LONGEST].split("\n") if line.strip()]
    telling = next((line for line in lines if not line.lstrip().startswith(("import ", "from ", "#", "//"))), lines[0])
    count = text.strip("\n").count("\n") + 1
    return telling[:LONGEST].strip() + (f" · {count:,} lines" if count > 1 else "")


def _several(items: Sequence[Any]) -> str:
    first = items[0]
    words = first[:LONGEST] if isinstance(first, str) else _object(first) if isinstance(first, dict) else ""
    if len(items) == 1:
        return words
    return f"{words} +{len(items) - 1} more" if isinstance(first, str) else f"{len(items)} items · {words}".rstrip("· ")


def _pairs(value: Mapping[str, Any]) -> str:
    """All arguments as `key=value`, where none of them tells more than the others."""
    pairs = []
    for key, item in list(value.items())[:12]:
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) if _is_small(item) else "…"
        pairs.append(f"{key}={text[:80]}")
    return one_line(" ".join(pairs))


def _changed_lines(value: Mapping[str, Any]) -> tuple[int, int]:
    """How many lines an edit puts in and takes out."""
    if isinstance(patch := value.get("patch"), str):
        lines = patch.split("\n")
        headers = ("+++ ", "--- ")
        return (
            sum(line.startswith("+") and not line.startswith(headers) for line in lines),
            sum(line.startswith("-") and not line.startswith(headers) for line in lines),
        )
    counts = {look: _line_count(value[key]) for key, look in edit_changes(value)}
    return counts.get("added", 0), counts.get("removed", 0)


def _line_count(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if isinstance(value.get(key), str)), None)


def _is_small(item: Any) -> bool:
    return not isinstance(item, list | dict) or len(str(item)) < LONGEST


def _lenient(quoted: str) -> str:
    """The text of a JSON string that may have been cut."""
    try:
        text = json.loads(f'{quoted}"', strict=False)
    except ValueError:
        return quoted[1:]
    return text if isinstance(text, str) else quoted[1:]

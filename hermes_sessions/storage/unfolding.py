"""Stored JSON as a transcript shows it: what a tool was asked, and what it said. Pure.

The panes draw the same (`tui.message_blocks`), with headlines and bounds of their own. Here it is only read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def shown_arguments(arguments: str) -> str:
    """The arguments of a tool call, one `key: value` a line; text that is no JSON stays as it is."""
    value = _decoded(arguments)
    return arguments if value is None else _unfolded(value)


def shown_result(content: str) -> str:
    """What a tool said without the JSON around it; text that is no JSON stays as it is."""
    value = _decoded(content)
    if not isinstance(value, dict):
        return content if value is None else _unfolded(value)
    code = value.pop("exit_code", None)
    if code is not None and (isinstance(code, bool) or not isinstance(code, int)):
        value["exit_code"] = code
    if not value.get("error"):
        value.pop("error", None)
    if len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return text
    output = value.get("output")
    if isinstance(output, str):
        del value["output"]
        return "\n".join(part for part in (output.rstrip("\n"), _unfolded(value)) if part)
    return _unfolded(value)


def _decoded(text: str) -> Any:
    """The list or object that a text spells, or None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _unfolded(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _spelt(value)
    lines = []
    for key, item in value.items():
        text = item if isinstance(item, str) else _spelt(item)
        lines.append(f"{key}:\n{text}" if "\n" in text.strip("\n") else f"{key}: {text}")
    return "\n".join(lines)


def _spelt(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, list | dict) and value else None)
    except RecursionError:
        return "…"

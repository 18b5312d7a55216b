"""Stored JSON as text for a person, as `storage.unfolding` reads it too: what is seen here is found by a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from hermes_sessions.tui.steps import Steps

_ENCODER = json.JSONEncoder(ensure_ascii=False, indent=2)
_PIECES = 2000
"""Pieces of JSON written before the work pauses."""


_DECODER = json.JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\n\r]*")


def decoded_steps(raw: str, light: int = 256 * 1024) -> Steps[Any]:
    """Return the list or object that `raw` spells, or None; one of more than `light` characters is read in steps."""
    if raw.lstrip()[:1] not in ("{", "["):
        return None
    try:
        if len(raw) <= light:
            return json.loads(raw, strict=False)
        value, end = yield from _value_steps(raw, 0)
        return value if _BLANKS.fullmatch(raw, end) else None
    except (ValueError, IndexError, RecursionError):
        return None


def _value_steps(raw: str, place: int) -> Steps[tuple[Any, int]]:
    """A value, and where it ends: objects in objects are gone into, what is in a list is read at once."""
    place = _after_blanks(raw, place)
    if raw[place] == "{":
        found: dict[str, Any] = {}
        while (place := _after_blanks(raw, place + 1)) and (raw[place] != "}" or found):
            key, place = _DECODER.raw_decode(raw, place)
            if not isinstance(key, str) or raw[place := _after_blanks(raw, place)] != ":":
                raise ValueError
            found[key], place = yield from _value_steps(raw, place + 1)
            if raw[place := _after_blanks(raw, place)] == "}":
                break
            if raw[place] != ",":
                raise ValueError
            yield
        return found, place + 1
    if raw[place] != "[":
        return _DECODER.raw_decode(raw, place)
    items: list[Any] = []
    while (place := _after_blanks(raw, place + 1)) and (raw[place] != "]" or items):
        item, place = _DECODER.raw_decode(raw, place)
        items.append(item)
        if raw[place := _after_blanks(raw, place)] == "]":
            break
        if raw[place] != ",":
            raise ValueError
        if len(items) % 100 == 0:
            yield
    return items, place + 1


def _after_blanks(raw: str, place: int) -> int:
    found = _BLANKS.match(raw, place)
    return found.end() if found else place


def unfold_steps(value: Any) -> Steps[str]:
    """Return decoded JSON as text: one `key: value` a line, long texts as the lines they are."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else (yield from _json_steps(value))
    lines = []
    for key, item in value.items():
        text = item if isinstance(item, str) else (yield from _json_steps(item))
        lines.append(f"{key}:\n{text}" if "\n" in text.strip("\n") else f"{key}: {text}")
    return "\n".join(lines)


def _json_steps(value: Any) -> Steps[str]:
    if not isinstance(value, list | dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    try:
        return (yield from _joined(_ENCODER.iterencode(value)))
    except RecursionError:
        return "…"


def _joined(pieces: Iterable[str]) -> Steps[str]:
    found = []
    remaining = iter(pieces)
    while piece := "".join(islice(remaining, _PIECES)):
        found.append(piece)
        yield
    return "".join(found)

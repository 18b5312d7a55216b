"""Stored JSON as text for a person, as `storage.unfolding` reads it too: what is seen here is found by a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from hermes_sessions.tui.steps import Steps

_ENCODER = json.JSONEncoder(ensure_ascii=False, indent=2)
_PIECES = 2000
"""Pieces of JSON written before the work pauses."""


LONGEST_UNFOLDED = 1024 * 1024
"""Characters beyond which a list, or an object in an object, stays as it is stored."""

AS_STORED: Final = object()
"""In place of a value that holds too long a list."""

_STRING_AT_ONCE = 256 * 1024
_DECODER = json.JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+')
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_LONGEST_ESCAPE = 12
"""Characters of a sign that is spelt as two halves."""


class _TooLong(Exception):
    """A list of more characters than are unfolded."""


def decoded_steps(raw: str, light: int = 256 * 1024) -> Steps[Any]:
    """Return the list or object that `raw` spells, None if it is none; one of more than `light` characters is read in
    steps, and if most of it is one list it is `AS_STORED`."""
    if raw.lstrip()[:1] not in ("{", "["):
        return None
    try:
        if len(raw) <= light:
            return json.loads(raw, strict=False)
        value, end = yield from _value_steps(raw, 0, top=True)
        return value if _BLANKS.fullmatch(raw, end) else None
    except _TooLong:
        return AS_STORED
    except (ValueError, IndexError, RecursionError):
        return None


def _value_steps(raw: str, place: int, *, top: bool = False) -> Steps[tuple[Any, int]]:
    """A value, and where it ends: objects in objects are gone into, what is in a list is read at once."""
    place = begin = _after_blanks(raw, place)
    if raw[place] == '"':
        return (yield from _string_steps(raw, place))
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
            if not top and place - begin > LONGEST_UNFOLDED:
                raise _TooLong
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
        if place - begin > LONGEST_UNFOLDED:
            raise _TooLong
        if len(items) % 100 == 0:
            yield
    return items, place + 1


def _string_steps(raw: str, place: int) -> Steps[tuple[str, int]]:
    """A string, and where it ends."""
    pieces = []
    start = place + 1
    while True:
        stop = _between_escapes(raw, start, start + _STRING_AT_ONCE)
        piece, end = _DECODER.raw_decode(f'"{raw[start:stop]}"')
        pieces.append(piece)
        if end < stop - start + 2 or stop in (start, len(raw)):
            return "".join(pieces), start + end - 1
        start = stop
        yield


def _between_escapes(raw: str, start: int, limit: int) -> int:
    """A place at or before a limit that divides no escape sequence of a string, and no pair of them."""
    stop = limit = min(limit, len(raw))
    while stop > start and (escape := raw.rfind("\\", max(start, stop - _LONGEST_ESCAPE), stop)) >= 0:
        stop = escape
    if stop > start or limit == start:
        return stop
    stop = _STRING.match(raw, start, limit).end()  # type: ignore[union-attr]  # it may match nothing
    half = _HALF.search(raw, max(start, stop - _LONGEST_ESCAPE // 2), stop)
    return half.start() if half and half.start() > start else stop


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

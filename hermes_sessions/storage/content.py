"""What Hermes put into a message's columns, decoded: plain text, lists of parts, tool calls. Pure."""

from __future__ import annotations

import json
from typing import Any

from hermes_sessions.model import ToolCall
from hermes_sessions.storage.image_header import picture_size
from hermes_sessions.storage.values import SQLValue, as_text

JSON_PREFIX = "\x00json:"
"""What Hermes writes before a list or dict (`hermes_state.SessionDB._encode_content`)."""

SUMMARY_MARKS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
"""How the text of a compaction summary begins, newer and older releases."""


def is_summary(text: str) -> bool:
    """True when a message was written by a compaction, not by a person."""
    return text.startswith(SUMMARY_MARKS)


def decode_text(value: SQLValue) -> str:
    """The text of a content column. Parts that are not text are named in brackets; what is not JSON stays raw."""
    text = as_text(value) or ""
    if not text.startswith(JSON_PREFIX):
        return text
    try:
        body = json.loads(text[len(JSON_PREFIX) :])
    except (ValueError, RecursionError):
        return text
    parts = body if isinstance(body, list) else [body]
    return "\n".join(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "image_url" in part or part.get("type") in ("image", "input_image"):
        return f"[image{_image_detail(part)}]"
    if isinstance(part.get("content"), str):
        return str(part["content"])
    if isinstance(part.get("type"), str) and part["type"] != "text":
        return f"[{part['type']}{_attachment_detail(part)}]"
    return json.dumps(part, ensure_ascii=False)


def _image_detail(part: dict[str, Any]) -> str:
    link = part.get("image_url")
    url = link.get("url") if isinstance(link, dict) else link
    if isinstance(source := part.get("source"), dict) and isinstance(source.get("data"), str):
        url = f"data:{source.get('media_type', 'image')};base64,{source['data']}"
    if not isinstance(url, str):
        return ""
    if not url.startswith("data:"):
        return f": {url}"
    kind, _, data = url[len("data:") :].partition(",")
    kind, *coding = kind.split(";")
    size = picture_size(data) if "base64" in coding else None
    sides = f"{size[0]}x{size[1]}, " if size else ""
    return f": {kind}, {sides}{_bytes(data)}"


def _attachment_detail(part: dict[str, Any]) -> str:
    """The name, the format and the size of a part that is neither text nor picture, as far as they are there."""
    body = part.get(str(part["type"]))
    body = body if isinstance(body, dict) else part
    names = [str(body[key]) for key in ("filename", "name", "format", "media_type") if isinstance(body.get(key), str)]
    data = next((body[key] for key in ("data", "file_data") if isinstance(body.get(key), str)), None)
    details = [*names[:1], *([_bytes(data.partition(",")[2] or data)] if data else [])]
    return f": {', '.join(details)}" if details else ""


def _bytes(data: str) -> str:
    """How much base64 holds: three bytes in four characters."""
    return f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes"


def decode_tool_calls(value: SQLValue) -> tuple[ToolCall, ...]:
    """The calls of an assistant message. A dict counts as one call, and what is not JSON as one call of its text."""
    text = as_text(value)
    if not text:
        return ()
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return (ToolCall(None, "?", text),)
    calls = body if isinstance(body, list) else [body]
    return tuple(_call(call) for call in calls if call is not None)


def _call(call: Any) -> ToolCall:
    if not isinstance(call, dict):
        return ToolCall(None, "?", json.dumps(call, ensure_ascii=False))
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = inner.get("name")
    arguments = inner.get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    identity = call.get("id")
    return ToolCall(identity if isinstance(identity, str) else None, name if isinstance(name, str) else "?", arguments)

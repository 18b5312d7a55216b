"""The fields that scripts were promised, in their order, and the types of their values."""

from __future__ import annotations

from typing import Any

SESSION = {
    "id": str,
    "root_id": str,
    "kind": str,
    "title": (str, type(None)),
    "preview": (str, type(None)),
    "source": str,
    "model": (str, type(None)),
    "status": str,
    "started_at": (int, float, type(None)),
    "last_active_at": (int, float, type(None)),
    "ended_at": (int, float, type(None)),
    "end_reason": (str, type(None)),
    "archived": bool,
    "live": bool,
    "message_count": int,
    "tool_call_count": int,
    "tokens": dict,
    "cost": dict,
    "cwd": (str, type(None)),
    "segments": list,
    "branched_from": (str, type(None)),
    "delegates": list,
}
TOKENS = {"input": int, "output": int, "cache_read": int, "cache_write": int, "reasoning": int}
HIT = {
    "message_id": (int, type(None)),
    "session_id": str,
    "role": (str, type(None)),
    "timestamp": (int, float, type(None)),
    "place": str,
    "snippet": str,
    "spans": list,
}
MESSAGE = {
    "id": int,
    "session_id": str,
    "role": str,
    "text": str,
    "tool_calls": list,
    "tool_name": (str, type(None)),
    "tool_call_id": (str, type(None)),
    "reasoning": (str, type(None)),
    "finish_reason": (str, type(None)),
    "timestamp": (int, float, type(None)),
    "rewound": bool,
    "compacted": bool,
    "summary": bool,
}
SUM = {
    "amount_usd": (int, float, type(None)),
    "actual_usd": (int, float, type(None)),
    "estimated_usd": (int, float, type(None)),
    "sessions": int,
    "unpriced_sessions": int,
    "included_sessions": int,
    "tokens": dict,
}
CHECK = {"name": str, "group": str, "status": str, "detail": str, "means": str, "fix": str}


def assert_shape(record: dict[str, Any], shape: dict[str, Any]) -> None:
    assert list(record) == list(shape)
    assert {key: value for key, value in record.items() if not isinstance(value, shape[key])} == {}

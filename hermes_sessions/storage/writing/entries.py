"""What is written into a store: a new message, the usage of some requests; and how their values are encoded.

The encodings are Hermes' own (`SessionDB.append_message`, release 0.17.0); `content` decodes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_sessions.model import Tokens
from hermes_sessions.storage.content import JSON_PREFIX
from hermes_sessions.storage.values import SQLValue


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to append. `content` is text, or a list of parts such as images."""

    role: str
    content: str | list[Any] | dict[str, Any] | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    """`{id, type: "function", function: {name, arguments}}` each, where `arguments` is JSON text."""
    tool_call_id: str | None = None
    tool_name: str | None = None
    timestamp: float | None = None
    """Epoch seconds; None is the time of the call."""
    finish_reason: str | None = None
    reasoning: str | None = None
    platform_message_id: str | None = None
    observed: bool = False
    """Overheard in a group chat, not addressed to the agent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What some requests to a model used and cost. Amounts are USD, None where nobody said."""

    tokens: Tokens = field(default_factory=Tokens)
    requests: int = 1
    estimated_usd: float | None = None
    actual_usd: float | None = None
    status: str | None = None
    """actual, estimated, included or unknown."""
    source: str | None = None
    pricing_version: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    billing_mode: str | None = None


MESSAGE_COLUMNS = (
    "session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason, reasoning,"
    " platform_message_id, observed"
)


def message_row(session_id: str, message: NewMessage, now: float) -> tuple[SQLValue, ...]:
    """The values of MESSAGE_COLUMNS."""
    content = message.content
    if isinstance(content, list | dict):
        content = JSON_PREFIX + json.dumps(content)
    return storable(
        session_id,
        message.role,
        content,
        message.tool_call_id,
        as_json(message.tool_calls),
        message.tool_name,
        now if message.timestamp is None else message.timestamp,
        message.finish_reason,
        message.reasoning,
        message.platform_message_id,
        int(message.observed),
    )


def as_json(value: Any) -> str | None:
    """JSON text, ASCII only; None for None and for what is empty."""
    return json.dumps(value) if value else None


def storable(*values: SQLValue) -> tuple[SQLValue, ...]:
    """The values as SQLite can hold them: half surrogates become U+FFFD, as in Hermes 0.19, and the rest is kept."""
    return tuple(_encodable(value) if isinstance(value, str) else value for value in values)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

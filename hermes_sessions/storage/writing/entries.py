"""What is written into a store: a new message, the usage of some requests; and how their values are encoded.

The encodings are Hermes' own (`SessionDB.append_message`, releases 0.17.0 and 0.19.0); `content` decodes them. Rows
name only columns the file has: what an older layout has no place for is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_sessions.model import Tokens
from hermes_sessions.storage.content import JSON_PREFIX
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to append. `content` is text, or a list of parts such as images, or a dict."""

    role: str
    content: str | list[Any] | dict[str, Any] | None = None
    tool_calls: Sequence[Any] | Mapping[str, Any] | None = None
    """`{id, type: "function", function: {name, arguments}}` each, where `arguments` is JSON text; or the objects of a
    provider's library that dump themselves so (`model_dump`). A single mapping is one call."""
    tool_call_id: str | None = None
    tool_name: str | None = None
    timestamp: float | None = None
    """Epoch seconds; None, or what is no finite number, is the time of the call."""
    finish_reason: str | None = None
    reasoning: str | None = None
    platform_message_id: str | None = None
    observed: bool = False
    """Overheard in a group chat, not addressed to the agent."""
    token_count: int | None = None
    reasoning_content: str | None = None
    reasoning_details: Any = None
    codex_reasoning_items: Any = None
    codex_message_items: Any = None
    effect_disposition: str | None = None
    """What became of a tool's effect (layouts from Hermes 0.19 on)."""
    api_content: str | None = None
    """What was sent to the model, where it differs from `content` (layouts from Hermes 0.19 on). Never shown."""

    @property
    def call_count(self) -> int:
        """How many calls Hermes counts in it."""
        if not self.tool_calls:
            return 0
        return 1 if isinstance(self.tool_calls, Mapping | str) else len(self.tool_calls)


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


def message_row(session_id: str, message: NewMessage, now: float) -> dict[str, SQLValue]:
    """The values of a message by column, as every layout together knows them."""
    timestamp = message.timestamp
    return {
        "session_id": session_id,
        "role": storable(message.role),
        "content": encoded_content(message.content),
        "tool_call_id": storable(message.tool_call_id),
        "tool_calls": as_json(message.tool_calls),
        "tool_name": storable(message.tool_name),
        "effect_disposition": storable(message.effect_disposition),
        "timestamp": now if timestamp is None or not _is_time(timestamp) else timestamp,
        "token_count": message.token_count,
        "finish_reason": storable(message.finish_reason),
        "reasoning": storable(message.reasoning),
        "reasoning_content": storable(message.reasoning_content),
        "reasoning_details": as_json(message.reasoning_details),
        "codex_reasoning_items": as_json(message.codex_reasoning_items),
        "codex_message_items": as_json(message.codex_message_items),
        "platform_message_id": storable(message.platform_message_id),
        "observed": int(message.observed),
        "api_content": storable(message.api_content),
    }


def _is_time(timestamp: float) -> bool:
    try:
        return math.isfinite(timestamp)
    except OverflowError:  # an integer that no float holds
        return False


def encoded_content(content: str | list[Any] | dict[str, Any] | None) -> str | None:
    """The content as Hermes stores it: text as it is, a list or dict as JSON behind a mark.

    Text that begins with the mark would be taken for a list when read: it becomes JSON too, which every Hermes decodes
    to the same text.
    """
    if content is None or (isinstance(content, str) and not content.startswith(JSON_PREFIX)):
        return storable(content)
    return JSON_PREFIX + _json(content)


def as_json(value: Any) -> str | None:
    """JSON text, ASCII only; None for None and for what is empty."""
    return _json(value) if value else None


def storable(text: str | None) -> str | None:
    """The text as SQLite can hold it: half surrogates become U+FFFD, as in Hermes 0.19, two halves one character."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def insert(database: Database, table: str, values: Mapping[str, SQLValue]) -> int:
    """Insert a row of the columns the table has, and return its rowid."""
    names = [name for name in values if database.has(table, name)]
    rowid = database.value(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) RETURNING rowid",
        [values[name] for name in names],
    )
    assert isinstance(rowid, int)
    return rowid


def _json(value: Any) -> str:
    """JSON text of anything. What JSON has no form for becomes its text: no message is lost for it."""
    try:
        text = json.dumps(value, default=_plain)
        if "NaN" in text or "Infinity" in text:
            text = json.dumps(json.loads(text, parse_constant=lambda _: None))
        return text
    except RecursionError:
        return json.dumps("(nested too deep to be stored)")
    except (TypeError, ValueError):  # keys that are no text, a value that holds itself
        return json.dumps(str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else str(value)

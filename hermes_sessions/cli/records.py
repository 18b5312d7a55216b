"""The JSON that scripts rely on: model values as dictionaries, field by field. No field is renamed or dropped.

Stored text goes out as it is stored; `cli.output` escapes it. Times are epoch seconds and money is USD, both null
where the store has nothing that makes sense: never NaN, never Infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_sessions.model import (
        Conversation,
        ConversationHits,
        CostLine,
        CostSummary,
        Diagnosis,
        Message,
        Overview,
        SearchHit,
        SearchResult,
        Tokens,
        ToolCall,
    )

SCHEMA_VERSION = 1
PREVIEW_CHARACTERS = 200

Record = dict[str, Any]


def list_record(store: Path, total: int, hidden: Mapping[str, int], paged: int, sessions: Sequence[Record]) -> Record:
    """The answer of `list`: total = shown + everything hidden + paged."""
    return {
        "schema_version": SCHEMA_VERSION,
        "store": str(store),
        "total": total,
        "shown": len(sessions),
        "hidden": dict(hidden),
        "paged": paged,
        "sessions": list(sessions),
    }


def session_record(conversation: Conversation, overview: Overview) -> Record:
    """A conversation as scripts know it, under the id of its tip."""
    tip = conversation.tip
    return {
        "id": conversation.id,
        "root_id": conversation.root.id,
        "kind": conversation.kind,
        "title": conversation.title,
        "preview": preview(overview),
        "source": tip.source,
        "model": next((session.model for session in reversed(conversation.sessions) if session.model), None),
        "status": overview.status,
        "started_at": number(conversation.started_at),
        "last_active_at": number(conversation.last_active_at),
        "ended_at": number(tip.ended_at),
        "end_reason": tip.end_reason,
        "archived": conversation.archived,
        "live": overview.live,
        "message_count": overview.message_count,
        "tool_call_count": overview.tool_call_count,
        "tokens": tokens_record(overview.tokens),
        "cost": {"amount_usd": number(overview.cost.amount_usd), "basis": overview.cost.basis},
        "cwd": next((session.cwd for session in reversed(conversation.sessions) if session.cwd), None),
        "segments": list(conversation.segments),
        "branched_from": conversation.branched_from,
        "delegates": list(conversation.delegates),
    }


def search_record(store: Path, result: SearchResult, overviews: Mapping[str, Overview]) -> Record:
    """The answer of `search`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "store": str(store),
        "query": result.query,
        "order": result.order,
        "complete": result.complete,
        "notice": result.notice,
        "conversations": [_found_record(found, overviews[found.conversation.id]) for found in result.conversations],
    }


def _found_record(found: ConversationHits, overview: Overview) -> Record:
    return {
        "session": session_record(found.conversation, overview),
        "hit_count": found.hit_count,
        "hits": [_hit_record(hit) for hit in found.hits],
    }


def _hit_record(hit: SearchHit) -> Record:
    return {
        "message_id": hit.message_id,
        "session_id": hit.session_id,
        "role": hit.role,
        "timestamp": number(hit.timestamp),
        "place": hit.place,
        "snippet": hit.snippet.text,
        "spans": [list(span) for span in hit.snippet.spans],
    }


def show_record(store: Path, session: Record, total: int, offset: int) -> Record:
    """The answer of `show` without its messages; `offset` of the `total` messages come before the first one."""
    return {
        "schema_version": SCHEMA_VERSION,
        "store": str(store),
        "session": session,
        "total": total,
        "offset": offset,
    }


def message_record(message: Message, *, tools: bool = True) -> Record:
    """A message of a transcript; without `tools` its calls are left out."""
    return {
        "id": message.id,
        "session_id": message.session_id,
        "role": message.role,
        "text": message.text,
        "tool_calls": [_tool_call_record(call) for call in message.tool_calls] if tools else [],
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
        "reasoning": message.reasoning,
        "finish_reason": message.finish_reason,
        "timestamp": number(message.timestamp),
        "rewound": message.rewound,
        "compacted": message.compacted,
        "summary": message.summary,
    }


def _tool_call_record(call: ToolCall) -> Record:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def cost_record(store: Path, summary: CostSummary) -> Record:
    """The answer of `cost`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "store": str(store),
        "by": summary.by,
        "total": _cost_line_record(summary.total),
        "groups": [{"key": line.key, **_cost_line_record(line)} for line in summary.groups],
    }


def _cost_line_record(line: CostLine) -> Record:
    return {
        "amount_usd": number(line.amount_usd),
        "actual_usd": number(line.actual_usd),
        "estimated_usd": number(line.estimated_usd),
        "sessions": line.sessions,
        "unpriced_sessions": line.unpriced_sessions,
        "included_sessions": line.included_sessions,
        "tokens": tokens_record(line.tokens),
    }


def doctor_record(diagnosis: Diagnosis) -> Record:
    """The answer of `doctor`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "store": diagnosis.store,
        "healthy": diagnosis.healthy,
        "sqlite": diagnosis.sqlite,
        "journal_mode": diagnosis.journal_mode,
        "stored_version": diagnosis.stored_version,
        "layout": diagnosis.layout,
        "complete": not diagnosis.stopped,
        "checks": [
            {
                "name": check.name,
                "group": check.group,
                "status": check.status,
                "detail": check.detail,
                "means": check.means,
                "fix": check.fix,
            }
            for check in diagnosis.checks
        ],
    }


def tokens_record(tokens: Tokens) -> Record:
    """Token counts by class."""
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
        "reasoning": tokens.reasoning,
    }


def preview(overview: Overview) -> str | None:
    """The beginning of what a person said first, on one line."""
    said = " ".join((overview.preview or "").split())
    if not said:
        return None
    return said if len(said) <= PREVIEW_CHARACTERS else f"{said[: PREVIEW_CHARACTERS - 1]}…"


def number(value: float | None) -> float | None:
    """The number, or None where it is none that JSON knows."""
    return value if value is not None and math.isfinite(value) else None

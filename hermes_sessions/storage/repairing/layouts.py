"""How Hermes lays out its tables, for a file that does not say so any more.

A release that finds a table of an older one adds what it lacks at the end, in the order of its own declaration. So the
order of columns depends on which releases a file has been through, and only the rows tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from hermes_sessions.storage.repairing.leaves import Value
from hermes_sessions.storage.repairing.shapes import Column, Shape, kind_of

Rows = Sequence[tuple[Value, ...]]

_DECLARED = {
    "schema_version": "6 version INTEGER NOT NULL",
    "state_meta": "9 key TEXT PRIMARY KEY; 9 value TEXT",
    "system_prompts": "25 hash TEXT PRIMARY KEY; 25 prompt TEXT NOT NULL",
    "sessions": """
        6 id TEXT PRIMARY KEY; 6 source TEXT NOT NULL; 31 created_source TEXT; 6 user_id TEXT; 17 session_key TEXT;
        17 chat_id TEXT; 17 chat_type TEXT; 17 thread_id TEXT; 19 display_name TEXT; 19 origin_json TEXT;
        19 expiry_finalized INTEGER DEFAULT 0; 6 model TEXT; 6 model_config TEXT; 6 system_prompt TEXT;
        25 system_prompt_hash TEXT; 6 parent_session_id TEXT; 6 started_at REAL NOT NULL; 6 ended_at REAL;
        6 end_reason TEXT; 6 message_count INTEGER DEFAULT 0; 6 tool_call_count INTEGER DEFAULT 0;
        6 input_tokens INTEGER DEFAULT 0; 6 output_tokens INTEGER DEFAULT 0; 6 cache_read_tokens INTEGER DEFAULT 0;
        6 cache_write_tokens INTEGER DEFAULT 0; 6 reasoning_tokens INTEGER DEFAULT 0; 14 cwd TEXT; 17 git_branch TEXT;
        17 git_repo_root TEXT; 31 git_metadata_generation INTEGER NOT NULL DEFAULT 0; 6 billing_provider TEXT;
        6 billing_base_url TEXT; 6 billing_mode TEXT; 6 estimated_cost_usd REAL; 6 actual_cost_usd REAL;
        6 cost_status TEXT; 6 cost_source TEXT; 6 pricing_version TEXT; 6 title TEXT; 31 title_source TEXT;
        31 last_activity_at REAL; 31 last_activity_description TEXT; 31 last_activity_provenance TEXT;
        8 api_call_count INTEGER DEFAULT 0; 11 handoff_state TEXT; 11 handoff_platform TEXT; 11 handoff_error TEXT;
        17 compression_failure_cooldown_until REAL; 17 compression_failure_error TEXT;
        22 compression_fallback_streak INTEGER NOT NULL DEFAULT 0;
        31 compression_ineffective_count INTEGER NOT NULL DEFAULT 0; 31 compression_recovery_deadline REAL;
        31 compression_overload_streak INTEGER NOT NULL DEFAULT 0; 22 profile_name TEXT; 31 transport_profile TEXT;
        14 rewind_count INTEGER NOT NULL DEFAULT 0; 14 archived INTEGER NOT NULL DEFAULT 0;
        31 auto_archived INTEGER NOT NULL DEFAULT 0; 31 pinned INTEGER NOT NULL DEFAULT 0;
        31 hidden INTEGER NOT NULL DEFAULT 0; 31 last_read_at REAL; 31 tool_names TEXT
    """,
    "messages": """
        6 id INTEGER PRIMARY KEY AUTOINCREMENT; 6 session_id TEXT NOT NULL REFERENCES sessions(id);
        6 role TEXT NOT NULL; 6 content TEXT; 6 tool_call_id TEXT; 6 tool_calls TEXT; 6 tool_name TEXT;
        22 effect_disposition TEXT; 6 timestamp REAL NOT NULL; 6 token_count INTEGER; 6 finish_reason TEXT;
        6 reasoning TEXT; 7 reasoning_content TEXT; 6 reasoning_details TEXT; 6 codex_reasoning_items TEXT;
        9 codex_message_items TEXT; 13 platform_message_id TEXT; 13 observed INTEGER DEFAULT 0;
        31 _compressed_summary INTEGER NOT NULL DEFAULT 0; 14 active INTEGER NOT NULL DEFAULT 1;
        17 compacted INTEGER NOT NULL DEFAULT 0; 22 api_content TEXT; 31 display_kind TEXT; 31 display_metadata TEXT;
        31 display_identity BLOB; 31 display_order INTEGER; 31 message_uid TEXT; 31 absorbed_message_uids TEXT;
        31 tool_call_uids TEXT; 31 tool_call_uid TEXT
    """,
    "session_model_usage": """
        22 session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE; 22 model TEXT NOT NULL;
        22 billing_provider TEXT NOT NULL DEFAULT ''; 22 billing_base_url TEXT NOT NULL DEFAULT '';
        22 billing_mode TEXT NOT NULL DEFAULT ''; 22 task TEXT NOT NULL DEFAULT '';
        22 api_call_count INTEGER NOT NULL DEFAULT 0; 22 input_tokens INTEGER NOT NULL DEFAULT 0;
        22 output_tokens INTEGER NOT NULL DEFAULT 0; 22 cache_read_tokens INTEGER NOT NULL DEFAULT 0;
        22 cache_write_tokens INTEGER NOT NULL DEFAULT 0; 22 reasoning_tokens INTEGER NOT NULL DEFAULT 0;
        22 estimated_cost_usd REAL NOT NULL DEFAULT 0; 22 actual_cost_usd REAL NOT NULL DEFAULT 0; 22 cost_status TEXT;
        22 cost_source TEXT; 22 first_seen REAL; 22 last_seen REAL
    """,
}
"""Columns in the order of the newest release that is known, each with the schema version that brought it."""

_CONSTRAINTS = {
    "sessions": ", FOREIGN KEY (parent_session_id) REFERENCES sessions(id)",
    "session_model_usage": ", PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task)",
}

TABLES = tuple(_DECLARED)


def likely(table: str, rows: Rows) -> str | None:
    """The CREATE text of a table of Hermes whose rows are among these; None when none of them can be."""
    fitting = []
    for order in orders(table):
        shape = _shape(table, order)
        scores = [score for row in rows if (score := shape.fit(row)) > 0]
        fitting.append((len(scores), sum(scores), -len(order), order))
    most, _, _, order = max(fitting)
    declared = {name: declaration for _, name, declaration in _columns(table)}
    columns = ", ".join(f"{name} {declared[name]}" for name in order)
    return f"CREATE TABLE {table} ({columns}{_CONSTRAINTS.get(table, '')})" if most else None


def version(columns: set[tuple[str, str]]) -> int:
    """The schema version that brought the last of these columns, given with their tables.

    Version 16 brought none; that of a file with all of 14 is said to be 16, for the step between changes rows.
    """
    brought = [since for table in TABLES for since, name, _ in _columns(table) if (table, name) in columns]
    newest = max(brought, default=16)
    return 16 if newest == 14 else newest


@cache
def orders(table: str) -> frozenset[tuple[str, ...]]:
    """Every order that the columns of a table can have: as one release made it, and as later ones added to it."""
    columns = _columns(table)
    found: set[tuple[str, ...]] = {()}
    for step in sorted({since for since, _, _ in columns}):
        new = [name for since, name, _ in columns if since <= step]
        found |= {(*order, *(name for name in new if name not in order)) for order in found}
    return frozenset(found - {()})


@cache
def _columns(table: str) -> tuple[tuple[int, str, str], ...]:
    """Since when, which name, and how it is declared."""
    parts = (column.split(maxsplit=2) for column in _DECLARED[table].split(";"))
    return tuple((int(since), name, declaration) for since, name, declaration in parts)


@cache
def _shape(table: str, order: tuple[str, ...]) -> Shape:
    return Shape(tuple(_parsed(order, _columns(table))))


def _parsed(order: tuple[str, ...], columns: tuple[tuple[int, str, str], ...]) -> Iterator[Column]:
    declared = {name: declaration for _, name, declaration in columns}
    for name in order:
        kind, _, rest = declared[name].partition(" ")
        required = rest.startswith("PRIMARY KEY") or ("NOT NULL" in rest and "DEFAULT" not in rest)
        yield Column(name, kind_of(name, kind), required, kind == "INTEGER" and rest.startswith("PRIMARY KEY"))

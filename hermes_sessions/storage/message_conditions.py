"""The conditions of a query that are asked of single messages, as SQL over a row `m` of `messages`.

Every condition names only columns that are there: one on a column that a store lacks holds for no message.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_sessions.storage.conditions import Condition
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue

_MARKED_JSON = "x'006a736f6e3a'"
"""How a content that is a list of parts begins (`content.JSON_PREFIX`). SQLite's text functions end at the NUL."""

IMAGES = ("image_url", "image", "input_image")
"""What the parts that are images are called, or hold."""

_CALLED = """
    EXISTS (
        SELECT 1 FROM json_each(CASE
            WHEN NOT json_valid(m.tool_calls) THEN '[]'
            WHEN json_type(m.tool_calls) = 'array' THEN m.tool_calls
            ELSE json_array(json(m.tool_calls)) END) call
        WHERE CASE call.type WHEN 'object' THEN instr(lower(coalesce(
            json_extract(call.value, '$.function.name'), json_extract(call.value, '$.name'))), ?) END)
    """


def where(conditions: Iterable[Condition], database: Database) -> tuple[str, list[SQLValue]]:
    """SQL that holds for the messages which fit all these conditions and may be found at all, and its parameters.

    Messages that were undone may be found only where a condition asks for them, and Hermes' own scaffolding never.
    """
    wanted = list(conditions)
    rewound = any(condition.key == "is" and not condition.negated for condition in wanted)
    parts, values = [visible(database, rewound=rewound)], list[SQLValue]()
    for condition in wanted:
        sql, parameters = _sql(condition, database)
        parts.append(f"NOT ifnull({sql}, 0)" if condition.negated else f"({sql})")
        values += parameters
    return " AND ".join(parts), values


def visible(database: Database, *, rewound: bool = False) -> str:
    """SQL for the messages that are part of a transcript, those that were undone among them if they are asked for."""
    conditions = ["m.role <> 'session_meta'"]
    if database.has("messages", "active") and not rewound:
        compacted = " OR m.compacted = 1" if database.has("messages", "compacted") else ""
        conditions.append(f"(m.active IS NOT 0{compacted})")
    if database.has("messages", "display_kind"):
        conditions.append("m.display_kind IS NOT 'hidden'")
    return " AND ".join(conditions)


def _sql(condition: Condition, database: Database) -> tuple[str, list[SQLValue]]:
    def column(name: str) -> str:
        return f"m.{name}" if database.has("messages", name) else "NULL"

    match condition.key:
        case "role":
            return f"m.role IN ({', '.join('?' * len(condition.values))})", list(condition.values)
        case "tool":
            return _of_tools(condition.values, database)
    parts = []
    for value in condition.values:
        match value:
            case "rewound":
                parts.append(f"{column('active')} IS 0 AND {column('compacted')} IS NOT 1")
            case "tools":
                parts.append(f"m.role = 'tool' OR ifnull({column('tool_calls')}, '') NOT IN ('', '[]')")
            case "reasoning":
                parts += [f"ifnull({column(name)}, '') <> ''" for name in ("reasoning", "reasoning_content")]
            case "images":
                content = "CAST(m.content AS BLOB)"
                names = " OR ".join(f"instr({content}, CAST('\"{name}\"' AS BLOB))" for name in IMAGES)
                parts.append(f"substr({content}, 1, 6) = {_MARKED_JSON} AND ({names})")
    return " OR ".join(f"({part})" for part in parts) or "0", []


def _of_tools(names: tuple[str, ...], database: Database) -> tuple[str, list[SQLValue]]:
    """A tool is named where it is called and where it answers; a part of the name is enough."""
    parts, values = [], list[SQLValue]()
    for name in names:
        if database.has("messages", "tool_name"):
            parts.append("instr(lower(m.tool_name), ?)")
            values.append(name.lower())
        if database.has("messages", "tool_calls"):
            # To look for the name anywhere in the text costs much less than to parse it.
            anywhere = "instr(lower(m.tool_calls), ?) AND " if name.isascii() else ""
            parts.append(anywhere + _CALLED)
            values += [name.lower()] * (2 if anywhere else 1)
    return " OR ".join(f"({part})" for part in parts) or "0", values

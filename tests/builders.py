"""Hermes history files, written as each release of Hermes writes them. The only way tests make rows.

A `HermesFile` is laid out by `hermes_schemas/`, and keeps ids and times deterministic: sessions start a minute apart
from a day before `NOW` on, and messages follow one another by a second. `sql` is for what no Hermes would write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import apsw

NOW: Final = 1_780_000_000.0
LAYOUTS: Final = (6, 11, 14, 16, 22, 31)
SUMMARY: Final = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below."

SCHEMAS = Path(__file__).parent / "hermes_schemas"

Json = Mapping[str, Any] | Sequence[Any]
"""A list or dict; a str is text as it is."""


class HermesFile:
    """One `state.db`, open for writing as a live Hermes has it. Close it, or use it in a `with`.

    Values go in as they are, but for `bytes`, which become TEXT of exactly these bytes (so that text which is not
    UTF-8 can be written) unless the column is a BLOB. A column this layout lacks is left out while its value is
    None, else refused with ValueError. Foreign keys are not enforced.
    """

    def __init__(self, path: Path, version: int = 22) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.version = version
        self._connection = apsw.Connection(str(path))
        self.sql("PRAGMA page_size = 4096")
        self.sql("PRAGMA journal_mode = WAL")
        self.sql("PRAGMA synchronous = OFF")
        self.sql((SCHEMAS / f"v{version:02}.sql").read_text(encoding="utf-8"))
        self.sql("INSERT INTO schema_version VALUES (?)", (version,))
        self._columns: dict[str, dict[str, str]] = {}
        self._next_start = NOW - 86_400
        self._last_time: dict[str, float] = {}

    def __enter__(self) -> HermesFile:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the last one to close takes the write-ahead log along."""
        self._connection.close()

    def sql(self, statements: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run any SQL and return its rows."""
        return list(self._connection.execute(statements, values))

    def has(self, table: str, column: str) -> bool:
        """Say whether this layout knows the column."""
        return column in self._columns_of(table)

    def insert(self, table: str, **values: Any) -> int:
        """Write one row into any table and return its rowid. A list or dict becomes JSON text."""
        columns = self._columns_of(table)
        values = {name: value for name, value in values.items() if value is not None or name in columns}
        if missing := values.keys() - columns.keys():
            raise ValueError(f"version {self.version} has no {table}.{', '.join(sorted(missing))}")
        places = [
            "CAST(? AS TEXT)" if isinstance(value, bytes) and columns[name] != "BLOB" else "?"
            for name, value in values.items()
        ]
        names = ", ".join(f'"{name}"' for name in values)
        self.sql(
            f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(places)})',
            [as_json(value) for value in values.values()],
        )
        return self._connection.last_insert_rowid()

    def session(
        self,
        id: str | None = None,
        source: str = "cli",
        title: str | bytes | None = None,
        *,
        started_at: Any = None,
        parent: str | None = None,
        end_reason: str | None = None,
        ended_at: Any = None,
        model_config: Json | str | None = None,
        **columns: Any,
    ) -> str:
        """Write a session and return its id. One with an end reason has ended after fifty seconds."""
        if started_at is None:
            started_at = self._next_start
            self._next_start += 60
        if id is None:
            (count,) = self.sql("SELECT count(*) FROM sessions")[0]
            stamp = datetime.fromtimestamp(started_at, UTC).strftime("%Y%m%d_%H%M%S")
            id = f"{stamp}_{count + 1:06x}"
        if end_reason is not None and ended_at is None:
            ended_at = started_at + 50
        self.insert(
            "sessions",
            id=id,
            source=source,
            title=title,
            started_at=started_at,
            parent_session_id=parent,
            end_reason=end_reason,
            ended_at=ended_at,
            model_config=model_config,
            **{name: value for name, value in columns.items() if value is not None},
        )
        self._last_time[id] = started_at if isinstance(started_at, int | float) else self._next_start
        return id

    def end(self, session: str, reason: str, at: float | None = None) -> None:
        """End a session, by default a second after its last message."""
        ended_at = self._tick(session) if at is None else at
        self.sql("UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?", (ended_at, reason, session))

    def message(
        self,
        session: str,
        role: str = "user",
        content: str | bytes | Json | None = "hello",
        t: Any = None,
        *,
        tool_calls: str | bytes | Json | None = None,
        **columns: Any,
    ) -> int:
        """Append a message and return its id; the counters of the session follow, as Hermes keeps them."""
        message = self.insert(
            "messages",
            session_id=session,
            role=role,
            content=stored_content(content),
            timestamp=self._tick(session) if t is None else t,
            tool_calls=tool_calls,
            **{name: value for name, value in columns.items() if value is not None},
        )
        calls = 0
        if tool_calls is not None:
            calls = len(tool_calls) if isinstance(tool_calls, list) else 1
        self.sql(
            "UPDATE sessions SET message_count = message_count + 1, tool_call_count = tool_call_count + ? WHERE id = ?",
            (calls, session),
        )
        return message

    def talk(self, session: str, *texts: str) -> list[int]:
        """Append a text of the person, one of the assistant, and so on in turn; return the ids."""
        return [self.message(session, ("user", "assistant")[turn % 2], text) for turn, text in enumerate(texts)]

    def tool_call(self, session: str, name: str, arguments: str | Json, result: str | Json) -> tuple[int, int]:
        """Append an assistant's call of a tool and its result; return both ids."""
        (count,) = self.sql("SELECT count(*) FROM messages")[0]
        call = f"call_{count + 1}"
        function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
        asked = self.message(
            session,
            "assistant",
            "",
            tool_calls=[{"id": call, "type": "function", "function": function}],
            finish_reason="tool_calls",
        )
        text = result if isinstance(result, str) else json.dumps(result)
        return asked, self.message(session, "tool", text, tool_call_id=call, tool_name=name)

    def chain(self, n: int, id: str = "chain", title: str | None = None, **columns: Any) -> list[str]:
        """Write a conversation that was compressed into a new session n - 1 times; return the ids, root first.

        Ids are `chain-1`, `chain-2` …, titles `title`, `title #2` …. Every session but the first begins with a
        summary, and each holds `question k` and `answer k`.
        """
        ids: list[str] = []
        for k in range(1, n + 1):
            parent = ids[-1] if ids else None
            numbered = f"{title} #{k}" if title and k > 1 else title
            ids.append(self.session(f"{id}-{k}", title=numbered, parent=parent, **columns))
            if k > 1:
                self.message(ids[-1], "user", SUMMARY)
            self.talk(ids[-1], f"question {k}", f"answer {k}")
            if k < n:
                self.end(ids[-1], "compression")
        return ids

    def compact_in_place(self, session: str, tail: int = 1) -> int:
        """Compact a session within itself and return the summary's id; the last `tail` rows are written again."""
        old = self.sql("SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", (session,))
        self.sql("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1", (session,))
        marked: dict[str, Any] = {"_compressed_summary": 1} if self.has("messages", "_compressed_summary") else {}
        summary = self.message(session, "user", SUMMARY, **marked)
        for row in old[len(old) - tail :]:
            self._copy_message(row, session)
        self.sql("UPDATE sessions SET message_count = ? WHERE id = ?", (tail + 1, session))
        return summary

    def branch(
        self, parent: str, id: str = "branch", *, marked: bool = True, ends_parent: bool = True, **columns: Any
    ) -> str:
        """Fork a session as `/branch` does and return the fork's id: the messages that count are copied.

        The full-screen chat leaves the parent open (`ends_parent=False`); old releases wrote no marker.
        """
        if ends_parent:
            self.end(parent, "branched")
        config = {"_branched_from": parent} if marked else None
        started_at = max(self._next_start, self._tick(parent))
        self.session(id, parent=parent, started_at=started_at, model_config=config, **columns)
        rewound = "active = 0" if self.has("messages", "active") else "0"
        for row in self.sql(f"SELECT * FROM messages WHERE session_id = ? AND NOT {rewound} ORDER BY id", (parent,)):
            self._copy_message(row, id)
        return id

    def delegate(self, parent: str, id: str = "delegate", **columns: Any) -> str:
        """Write the session of a subagent and return its id; from version 16 on it carries the marker."""
        if self.version >= 16:
            columns = {"source": "subagent", "model_config": {"_delegate_from": parent}, **columns}
        self.session(id, parent=parent, **columns)
        self.talk(id, f"task for {id}", f"result of {id}")
        return id

    def rewind(self, session: str, message: int) -> None:
        """Take back everything from `message` on, as `/undo` does."""
        self.sql("UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ?", (session, message))
        self.sql("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session,))

    def _copy_message(self, row: tuple[Any, ...], session: str) -> int:
        fresh = {
            "id",
            "session_id",
            "role",
            "content",
            "timestamp",
            "tool_calls",
            "active",
            "compacted",
            "display_order",
        }
        values = dict(zip(self._columns_of("messages"), row, strict=True))
        others = {name: value for name, value in values.items() if name not in fresh}
        calls = values["tool_calls"]
        return self.message(
            session,
            values["role"],
            values["content"],
            tool_calls=json.loads(calls) if calls else None,
            **others,
        )

    def _columns_of(self, table: str) -> dict[str, str]:
        if table not in self._columns:
            self._columns[table] = {row[1]: row[2] for row in self.sql(f'PRAGMA table_info("{table}")')}
        return self._columns[table]

    def _tick(self, session: str) -> float:
        self._last_time[session] = self._last_time.get(session, NOW) + 1
        return self._last_time[session]


def stored_content(content: str | bytes | Json | None) -> str | bytes | None:
    """Return the text Hermes stores for a message's content: a list or dict is marked JSON."""
    if content is None or isinstance(content, str | bytes):
        return content
    return "\x00json:" + json.dumps(content)


def as_json(value: Any) -> Any:
    """Return JSON text for a list or dict, any other value as it is."""
    return json.dumps(value) if isinstance(value, list | dict) else value

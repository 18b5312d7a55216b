"""What a deletion took out of a store: every row as it was, so that it can be put back exactly.

`take` removes, `put_back` restores, both inside somebody's transaction. `Removed` can be written as lines of JSON;
where these are kept, and which sessions go, is for others to say.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_sessions.errors import Refused, UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import LOCKS
from hermes_sessions.storage.values import SQLValue, as_text
from hermes_sessions.storage.writing.sessions import numbered, title_holder

FORMAT = {"format": "hermes-sessions removed rows", "version": 1}


AMONG = "IN (SELECT value FROM json_each(?))"
"""SQL behind a column, for a parameter made by `as_list`: so a statement takes any number of ids."""


class Undecodable(bytes):
    """The bytes of a TEXT value that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows that were deleted, by table, in an order in which they can be inserted; and who was whose child."""

    rows: tuple[tuple[str, dict[str, SQLValue]], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Pairs of a child and its parent: those of the removed sessions, and of children that lost their parent."""

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids of the removed sessions. Whoever deletes them may also delete their files (`sessions/<id>.json` …)."""
        return tuple(as_text(row["id"]) or "" for table, row in self.rows if table == "sessions")

    @property
    def message_count(self) -> int:
        return sum(table == "messages" for table, _ in self.rows)

    def lines(self) -> Iterator[str]:
        """One line of JSON each: first what this is and how much, then every row, then the links."""
        yield json.dumps(FORMAT | {"rows": len(self.rows), "links": len(self.links)})
        for table, row in self.rows:
            yield json.dumps({"table": table, "row": {name: _portable(value) for name, value in row.items()}})
        for child, parent in self.links:
            yield json.dumps({"child": child, "parent": parent})

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Removed:
        """What `lines` wrote. Raises UsageError when it is something else, or not whole."""
        rows: list[tuple[str, dict[str, SQLValue]]] = []
        links: list[tuple[str, str]] = []
        try:
            first, *entries = map(json.loads, lines)
            counts = {name: first.pop(name) for name in ("rows", "links")}
            if first != FORMAT:
                raise ValueError(first)
            for entry in entries:
                if "table" in entry:
                    rows.append((entry["table"], {name: _stored(value) for name, value in entry["row"].items()}))
                else:
                    links.append((entry["child"], entry["parent"]))
            if counts != {"rows": len(rows), "links": len(links)}:
                raise ValueError(counts)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                "This is no list of removed sessions, or a damaged one.", "Nothing was restored."
            ) from error
        return cls(tuple(rows), tuple(links))


def as_list(ids: Sequence[SQLValue]) -> str:
    """Ids as one parameter of a statement."""
    return json.dumps(list(ids), ensure_ascii=False, default=str)


def take(database: Database, session_ids: Sequence[str]) -> Removed:
    """Delete these sessions with all that is theirs, and return what that was. Their other children lose their parent.

    What is theirs: rows of every table that references `sessions`, locks (which are not kept), and system prompts that
    nobody uses then. `conversation_generations` and routing belong to chats, and stay.
    """
    rows: list[tuple[str, dict[str, SQLValue]]] = []
    doomed = as_list(session_ids)
    if database.has("sessions", "system_prompt_hash"):
        used = f"hash IN (SELECT system_prompt_hash FROM sessions WHERE id {AMONG})"
        rows += _rows(database, "system_prompts", used, doomed)
    rows += _rows(database, "sessions", f"id {AMONG}", doomed)
    sql = f"SELECT id, parent_session_id FROM sessions WHERE parent_session_id {AMONG}"
    links = {as_text(child) or "": as_text(parent) or "" for child, parent in database.rows(sql, (doomed,))}
    for table, row in rows:
        if table == "sessions" and row["parent_session_id"] is not None:
            links[as_text(row["id"]) or ""] = as_text(row["parent_session_id"]) or ""
    # Triggers on messages look at the session they belong to, so sessions go last.
    for table, column in _dependants(database):
        rows += _rows(database, table, f"{column} {AMONG}", doomed)
        database.execute(f'DELETE FROM "{table}" WHERE {column} {AMONG}', (doomed,))
    for table, column in LOCKS:
        if database.has(table, column):
            database.execute(f"DELETE FROM {table} WHERE {column} {AMONG}", (doomed,))
    database.execute(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id {AMONG}", (doomed,))
    database.execute(f"DELETE FROM sessions WHERE id {AMONG}", (doomed,))
    for table, row in rows:
        if table == "system_prompts":
            unused = "NOT EXISTS (SELECT 1 FROM sessions WHERE system_prompt_hash = hash)"
            database.execute(f"DELETE FROM system_prompts WHERE hash = ? AND {unused}", (row["hash"],))
    return Removed(tuple(rows), tuple(links.items()))


def put_back(database: Database, removed: Removed) -> None:
    """Insert the rows as they were, and link children to their parents again where nobody else has claimed them.

    A title that was given to another session meanwhile gets the next number. Raises Refused when one of the sessions or
    messages is there already.
    """
    _refuse_present(database, removed)
    for table, row in removed.rows:
        values = {name: value for name, value in row.items() if database.has(table, name)}
        if not values:
            continue
        if table == "sessions":
            values["parent_session_id"] = None
            title = as_text(values.get("title"))
            if title is not None and title_holder(database, title) is not None:
                values["title"] = numbered(database, title)
        # A prompt or a binding may be there again by others' doing: theirs counts.
        verb = "INSERT" if table in ("sessions", "messages") else "INSERT OR IGNORE"
        names = ", ".join(f'"{name}"' for name in values)
        places = ", ".join("CAST(? AS TEXT)" if isinstance(value, Undecodable) else "?" for value in values.values())
        database.execute(
            f'{verb} INTO "{table}" ({names}) VALUES ({places})',
            [bytes(value) if isinstance(value, Undecodable) else value for value in values.values()],
        )
    for child, parent in removed.links:
        database.execute(
            "UPDATE sessions SET parent_session_id = ? WHERE id = ? AND parent_session_id IS NULL"
            " AND EXISTS (SELECT 1 FROM sessions WHERE id = ?)",
            (parent, child, parent),
        )


def _dependants(database: Database) -> list[tuple[str, str]]:
    """Tables and columns whose rows belong to a session: messages, and whatever the layout declares to reference it."""
    rows = database.rows(
        """
        SELECT t.name, k."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) k
        WHERE t.type = 'table' AND t.name <> 'sessions' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND k."table" = 'sessions'
        """
    )
    found = {(as_text(table) or "", as_text(column) or "") for table, column in rows}
    return sorted(found | {("messages", "session_id")})


def _rows(database: Database, table: str, condition: str, parameter: SQLValue) -> list[tuple[str, dict[str, SQLValue]]]:
    """Rows exactly as stored: text that is not UTF-8 keeps its bytes."""
    names = [as_text(name) or "" for (name,) in database.rows("SELECT name FROM pragma_table_info(?)", (table,))]
    cells = ", ".join(
        f'typeof("{name}"), CASE typeof("{name}") WHEN \'text\' THEN CAST("{name}" AS BLOB) ELSE "{name}" END'
        for name in names
    )
    order = " ORDER BY id" if table == "messages" else ""
    found = database.rows(f'SELECT {cells} FROM "{table}" WHERE {condition}{order}', (parameter,))
    return [
        (table, {name: _exact(kind, value) for name, kind, value in zip(names, row[::2], row[1::2], strict=True)})
        for row in found
    ]


def _exact(kind: SQLValue, value: SQLValue) -> SQLValue:
    if kind != "text" or not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Undecodable(value)


def _portable(value: SQLValue) -> Any:
    if isinstance(value, bytes):
        kind = "text" if isinstance(value, Undecodable) else "blob"
        return {kind: base64.b64encode(value).decode()}
    return value


def _stored(value: Any) -> SQLValue:
    if isinstance(value, dict):
        ((kind, data),) = value.items()
        content = base64.b64decode(data, validate=True)
        return Undecodable(content) if kind == "text" else content
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(value)


def _refuse_present(database: Database, removed: Removed) -> None:
    for table in ("sessions", "messages"):
        ids = as_list([row["id"] for name, row in removed.rows if name == table])
        present = database.value(f"SELECT id FROM {table} WHERE id {AMONG}", (ids,))
        if present is not None:
            what = "Session" if table == "sessions" else "Message"
            raise Refused(f"{what} {as_text(present)} is there already.", "Nothing was restored.")

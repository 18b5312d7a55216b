"""The `messages` table as transcripts: the outline of a conversation, and the messages for it in batches.

The outline puts the whole chain in order with each message once; texts are fetched only for what is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hermes_sessions.model import Conversation, Message, MessageStub
from hermes_sessions.storage.content import SUMMARY_MARKS, decode_text, decode_tool_calls, is_summary
from hermes_sessions.storage.database import Database, Row
from hermes_sessions.storage.values import SQLValue, as_int, as_text, as_time

BATCH = 500
"""Messages fetched by one statement."""

FINGERPRINT_CHARACTERS = 200

UNREADABLE = "unreadable"
"""The role of what stands for messages that cannot be read."""


class MessageTable:
    """Reads `messages`. Composed by `Store` over the one `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gaps: dict[int, tuple[MessageStub, int]] = {}
        """What stands for messages that could not be read, and for how many."""

    def outline(self, conversation: Conversation, *, rewound: bool = False) -> tuple[MessageStub, ...]:
        """The transcript's messages in order, each once, without their texts.

        Compaction copies the newest messages behind its summary, into the next session of a chain or the same
        one; the copies are left out. Rewound rows are in it only when asked for. Where messages cannot be read, because
        pages of the file are damaged, one of the role `UNREADABLE` stands for all of them.
        """
        return self._with_gaps(conversation, [entry.stub for entry in self._transcript(conversation, rewound, {})])

    def undone(self, conversation: Conversation) -> int:
        """How many rewound messages `outline` leaves out unless they are asked for."""
        inactive, compacted = f"{self._column('active', '1')} IS 0", f"{self._column('compacted', '0')} IS 1"
        rows = self._database.rows(
            f"""
            SELECT count(*) FROM messages WHERE session_id IN (SELECT value FROM json_each(?))
            AND {inactive} AND NOT ({compacted}) AND {self._shown()}
            """,
            (json.dumps(conversation.segments),),
        )
        return as_int(next(iter(rows))[0])

    def copies(self, conversation: Conversation) -> dict[int, MessageStub]:
        """Ids of the messages that `outline` leaves out as copies, each with the message it repeats."""
        copies: dict[int, MessageStub] = {}
        self._transcript(conversation, False, copies)
        return copies

    def any_compacted(self, ids: Iterable[int]) -> bool:
        """Whether a compaction took any of the messages out of the live context, and may have written it again."""
        if not self._database.has("messages", "compacted"):
            return False
        sql = "SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(?)) AND compacted IS 1 LIMIT 1"
        return bool(self._database.rows(sql, (json.dumps(list(ids)),)))

    def get(self, ids: Iterable[int]) -> dict[int, Message]:
        """Messages by id; ids that are not there are left out."""
        wanted = list(ids)
        found: dict[int, Message] = {}
        for start in range(0, len(wanted), BATCH):
            rows = self._database.rows(
                f"SELECT {self._columns()} FROM messages WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(wanted[start : start + BATCH]),),
            )
            found.update((message.id, message) for message in map(_message, rows))
        found.update((id, _gap(*self._gaps[id])) for id in wanted if id in self._gaps and id not in found)
        return found

    def _with_gaps(self, conversation: Conversation, stubs: list[MessageStub]) -> tuple[MessageStub, ...]:
        if not self._database.is_partial("messages"):
            return tuple(stubs)
        lost = self._database.rows(
            "SELECT id, session_id, timestamp FROM temp.lost_messages"
            " WHERE session_id IN (SELECT value FROM json_each(?))",
            (json.dumps(conversation.segments),),
        )
        place = {id: number for number, id in enumerate(conversation.segments)}
        gaps = [MessageStub(as_int(id), as_text(session) or "", UNREADABLE, 0, as_time(t)) for id, session, t in lost]
        transcript: list[MessageStub] = []
        for stub in sorted([*stubs, *gaps], key=lambda stub: (place[stub.session_id], stub.id)):
            if stub.role != UNREADABLE:
                transcript.append(stub)
                continue
            before = transcript[-1] if transcript else stub
            if before is not stub and (before.role, before.session_id) == (UNREADABLE, stub.session_id):
                self._gaps[before.id] = (before, self._gaps[before.id][1] + 1)
            else:
                self._gaps[stub.id] = (stub, 1)
                transcript.append(stub)
        return tuple(transcript)

    def _transcript(self, conversation: Conversation, rewound: bool, copies: dict[int, MessageStub]) -> list[_Entry]:
        """Every message once. The copies that are left out are put into `copies`."""
        transcript: list[_Entry] = []
        for session in conversation.sessions:
            for batch in _between_compactions(self._entries(session.id, rewound)):
                head, tail, carried = _carried_over(transcript, batch)
                repeated = [*transcript[:head], *transcript[len(transcript) - carried :]]
                repeating = [*batch[:head], *batch[tail : tail + carried]]
                copies.update((b.stub.id, a.stub) for a, b in zip(repeated, repeating, strict=True))
                transcript += [*batch[head:tail], *batch[tail + carried :]]
        return transcript

    def _column(self, name: str, otherwise: str = "NULL") -> str:
        return name if self._database.has("messages", name) else otherwise

    def _shown(self) -> str:
        """What Hermes itself paints: `display_kind` 'hidden' and the role session_meta are scaffolding."""
        return f"role <> 'session_meta' AND {self._column('display_kind')} IS NOT 'hidden'"

    def _columns(self) -> str:
        reasoning = [self._column(name) for name in ("reasoning_content", "reasoning")]
        names = ("tool_calls", "tool_name", "tool_call_id")
        return ", ".join(
            [
                "id, session_id, role, content",
                *(self._column(name) for name in names),
                f"coalesce(nullif({reasoning[0]}, ''), {reasoning[1]})",
                self._column("finish_reason"),
                "timestamp",
                f"{self._column('active', '1')} IS 0",
                f"{self._column('compacted', '0')} IS 1",
                f"{self._column('_compressed_summary', '0')} IS 1",
            ]
        )

    def _entries(self, session_id: str, rewound: bool) -> list[_Entry]:
        column = self._column
        inactive, compacted = f"{column('active', '1')} IS 0", f"{column('compacted', '0')} IS 1"
        visible = "1" if rewound else f"NOT ({inactive} AND NOT ({compacted}))"
        summary = " OR ".join(f"substr(content, 1, {len(mark)}) = '{mark}'" for mark in SUMMARY_MARKS)
        calls = column("tool_calls")
        # The plus keeps SQLite on the session's index; ids, not times, tell the order.
        rows = self._database.rows(
            f"""
            SELECT id, role, coalesce(octet_length(content), 0) + coalesce(octet_length({calls}), 0), timestamp,
                {inactive}, {compacted}, {column("_compressed_summary", "0")} IS 1 OR {summary},
                substr(content, 1, {FINGERPRINT_CHARACTERS}), {column("tool_call_id")}
            FROM messages
            WHERE session_id = ? AND {visible} AND {self._shown()}
            ORDER BY +id
            """,
            (session_id,),
        )
        return [_entry(session_id, row) for row in rows]


class _Entry(NamedTuple):
    stub: MessageStub
    summary: bool
    fingerprint: tuple[SQLValue, ...]
    """Equal for a message and its copy, within one conversation."""


def _entry(session_id: str, row: Row) -> _Entry:
    identity, role, size, timestamp, inactive, compacted, summary, beginning, call_id = row
    stub = MessageStub(
        id=as_int(identity),
        session_id=session_id,
        role=as_text(role) or "?",
        size=as_int(size),
        timestamp=as_time(timestamp),
        rewound=bool(inactive) and not compacted,
        compacted=bool(compacted),
    )
    return _Entry(stub, bool(summary), (role, size, beginning, call_id))


def _between_compactions(entries: Sequence[_Entry]) -> Iterable[Sequence[_Entry]]:
    """Cut one session's rows where an in-place compaction wrote the live context anew."""
    start = 0
    for index in range(1, len(entries)):
        before, entry = entries[index - 1], entries[index]
        rewritten = before.stub.compacted and not entry.stub.compacted and not entry.stub.rewound
        again = entry.summary and entry.stub.compacted
        if rewritten or again:
            yield entries[start:index]
            start = index
    yield entries[start:]


def _carried_over(earlier: Sequence[_Entry], batch: Sequence[_Entry]) -> tuple[int, int, int]:
    """What a compaction carried over to the head of `batch`: `[first messages] summary [last messages]`.

    How many first messages, where the last ones begin, and how many these are. A run counts as carried only when it
    repeats the very beginning, or ends with the very last message, of what came before: a person who says "continue"
    twice keeps both.
    """
    if not earlier or not batch:
        return 0, 0, 0
    head = 0
    while head < min(len(batch), len(earlier)) and batch[head].fingerprint == earlier[head].fingerprint:
        head += 1
    tail = head
    while tail < len(batch) and batch[tail].summary:
        tail += 1
    if tail == head and head:
        # No summary behind it: nothing says that a compaction wrote this run.
        return 0, 0, 0
    last = earlier[-1].fingerprint
    carried = 0
    for length in range(1, min(len(batch) - tail, len(earlier)) + 1):
        if batch[tail + length - 1].fingerprint != last:
            continue
        run = [entry.fingerprint for entry in batch[tail : tail + length]]
        if run == [entry.fingerprint for entry in earlier[len(earlier) - length :]]:
            carried = length
    return head, tail, carried


def _gap(stub: MessageStub, count: int) -> Message:
    many = "1 message" if count == 1 else f"{count:,} messages"
    return Message(
        id=stub.id,
        session_id=stub.session_id,
        role=stub.role,
        text=f"… {many} could not be read here: damaged pages.",
        tool_calls=(),
        tool_name=None,
        tool_call_id=None,
        reasoning=None,
        finish_reason=None,
        timestamp=stub.timestamp,
        rewound=False,
        compacted=False,
        summary=False,
    )


def _message(row: Row) -> Message:
    (
        identity,
        session_id,
        role,
        content,
        tool_calls,
        tool_name,
        call_id,
        reasoning,
        finish_reason,
        timestamp,
        inactive,
        compacted,
        marked,
    ) = row
    text = decode_text(content)
    return Message(
        id=as_int(identity),
        session_id=as_text(session_id) or "",
        role=as_text(role) or "?",
        text=text,
        tool_calls=decode_tool_calls(tool_calls),
        tool_name=as_text(tool_name),
        tool_call_id=as_text(call_id),
        reasoning=as_text(reasoning) or None,
        finish_reason=as_text(finish_reason),
        timestamp=as_time(timestamp),
        rewound=bool(inactive) and not compacted,
        compacted=bool(compacted),
        summary=bool(marked) or is_summary(text),
    )

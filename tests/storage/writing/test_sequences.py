"""Whatever is done in whatever order: counters, chains, titles and links agree, and a deletion can be undone."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from hermes_sessions.errors import Refused, SessionNotFound, TitleTaken
from hermes_sessions.storage.values import as_int
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.removed import Removed
from hermes_sessions.storage.writing.titles import MAX_LENGTH, tidy
from tests.storage.writing.written import CALL, Clock, Written

MESSAGES = st.lists(
    st.builds(
        NewMessage,
        st.sampled_from(["user", "assistant", "tool"]),
        st.sampled_from(
            ["hello", "", "NUL \x00", "half \ud83d", "\x00json:[1]", None, [{"type": "text", "text": "x"}]]
        ),
        st.sampled_from([None, [CALL], [CALL, CALL], CALL]),
    ),
    max_size=3,
)
TITLES = st.sampled_from(["Cache", "Cache #2", "Login", "\x1b[31mRed\x1b[0m", "x" * 100, "  "])


@dataclass
class Known:
    """What a session must look like."""

    messages: int = 0
    calls: int = 0
    next: str | None = None
    """The session that goes on where this one was compressed."""
    workers: list[str] = field(default_factory=list)

    def said(self, messages: list[NewMessage]) -> None:
        self.messages += len(messages)
        self.calls += sum(message.call_count for message in messages)


class Sequences(RuleBasedStateMachine):
    """A store, and what is known of it."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.known: dict[str, Known] = {}
        self.made = 0

    @initialize(target=sessions, version=st.sampled_from([16, 22, 31]))
    def begin(self, version: int) -> str:
        self.written = Written(Path(self.folder.name) / "state.db", self.clock, version)
        session_id = str(self.create())
        self.append(session_id, [NewMessage("user", "go"), NewMessage("assistant", None, [CALL])])
        return session_id

    def teardown(self) -> None:
        self.written.check()
        self.written.close()
        self.folder.cleanup()

    def fresh(self) -> str:
        self.made += 1
        return f"s{self.made}"

    @rule(target=sessions)
    def create(self) -> str:
        session_id = self.written.sessions.create(self.fresh(), source="cli")
        self.known[session_id] = Known()
        return session_id

    @rule(session_id=sessions, messages=MESSAGES)
    def append(self, session_id: str, messages: list[NewMessage]) -> None:
        try:
            self.written.messages.append_all(session_id, messages)
            self.known[session_id].said(messages)
        except SessionNotFound:
            assert session_id not in self.known

    @rule(session_id=sessions, data=st.data())
    def rewind_and_restore(self, session_id: str, data: st.DataObject) -> None:
        sql = "SELECT id FROM messages WHERE session_id = ? AND role = 'user' AND active = 1"
        asked = self.written.rows(sql, (session_id,))
        if asked:
            message = as_int(data.draw(st.sampled_from(asked))[0])
            hidden = self.written.messages.rewind(session_id, message).hidden
            if data.draw(st.booleans()):
                assert self.written.messages.restore(session_id, message) >= hidden

    @rule(session_id=sessions, reason=st.sampled_from(["completed", "error"]))
    def end(self, session_id: str, reason: str) -> None:
        with suppress(SessionNotFound):
            self.written.sessions.end(session_id, reason)

    @rule(session_id=sessions)
    def reopen(self, session_id: str) -> None:
        try:
            self.written.sessions.reopen(session_id)
        except SessionNotFound:
            assert session_id not in self.known
        except Refused:
            assert self.known[session_id].next

    @rule(target=sessions, session_id=sessions, messages=MESSAGES)
    def compress(self, session_id: str, messages: list[NewMessage]) -> object:
        following = self.fresh()
        try:
            self.written.lineage.compress(session_id, following, messages=messages)
        except (SessionNotFound, Refused):
            return multiple()
        self.known[session_id].next = following
        self.known[following] = Known()
        self.known[following].said(messages)
        return following

    @rule(session_id=sessions, messages=MESSAGES)
    def compact(self, session_id: str, messages: list[NewMessage]) -> None:
        with suppress(SessionNotFound, Refused):
            self.written.lineage.compact(session_id, messages)
            self.known[session_id].messages = self.known[session_id].calls = 0
            self.known[session_id].said(messages)

    @rule(target=sessions, session_id=sessions, end_parent=st.booleans())
    def branch(self, session_id: str, end_parent: bool) -> object:
        following = self.fresh()
        try:
            self.written.lineage.branch(session_id, following, end_parent=end_parent)
        except SessionNotFound:
            return multiple()
        sql = """
            SELECT count(*), total(CASE WHEN json_type(tool_calls) = 'array' THEN json_array_length(tool_calls)
                ELSE tool_calls IS NOT NULL END)
            FROM messages WHERE session_id = ? AND active = 1
            """
        ((live, calls),) = self.written.database.rows(sql, (session_id,))
        self.known[following] = Known(as_int(live), as_int(calls))
        return following

    @rule(target=sessions, session_id=sessions)
    def delegate(self, session_id: str) -> object:
        worker = self.fresh()
        try:
            self.written.lineage.delegate(session_id, worker)
        except SessionNotFound:
            return multiple()
        self.known[session_id].workers.append(worker)
        self.known[worker] = Known()
        return worker

    @rule(session_id=sessions, title=TITLES, proposed=st.booleans())
    def title(self, session_id: str, title: str, proposed: bool) -> None:
        with suppress(SessionNotFound, TitleTaken):
            if proposed:
                assert self.written.sessions.propose_title(session_id, title) or not title.strip()
            else:
                assert self.written.sessions.set_title(session_id, title) == (tidy(title) or None)

    @rule(session_id=sessions, archived=st.booleans())
    def archive(self, session_id: str, archived: bool) -> None:
        with suppress(SessionNotFound):
            assert session_id in self.written.sessions.archive(session_id, archived, force=True)

    @rule(seconds=st.sampled_from([-50_000, 3_600]))
    def set_the_clock(self, seconds: int) -> None:
        self.clock.later(seconds)

    @rule(session_id=sessions, whole=st.booleans())
    def delete_and_restore(self, session_id: str, whole: bool) -> None:
        before = self.written.content()
        try:
            removed = self.written.removal.delete(session_id, whole=whole, force=True)
        except SessionNotFound:
            return
        self.written.removal.restore(Removed.from_lines(removed.lines()))
        assert self.written.content() == before

    @rule(session_id=consumes(sessions))
    def delete(self, session_id: str) -> None:
        if session_id not in self.known:
            return
        doomed = list(self.written.catalog().by_session[session_id].segments)
        for session in doomed:
            doomed += self.known[session].workers
            # What continues a worker carries its mark, and goes with it.
            following = self.known[session].next
            if following is not None and following not in doomed:
                doomed.append(following)
        doomed = [session for session in doomed if session in self.known]
        removed = self.written.removal.delete(session_id, force=True)
        assert set(removed.sessions) == set(doomed)
        for session in doomed:
            del self.known[session]
        for known in self.known.values():
            known.workers = [worker for worker in known.workers if worker in self.known]

    @invariant()
    def counters_agree(self) -> None:
        if hasattr(self, "written"):
            counted = self.written.rows("SELECT id, message_count, tool_call_count FROM sessions")
            assert {id: (messages, calls) for id, messages, calls in counted} == {
                id: (known.messages, known.calls) for id, known in self.known.items()
            }

    @invariant()
    def a_reader_sees_the_chains(self) -> None:
        if not hasattr(self, "written"):
            return
        continued = {known.next for known in self.known.values()}
        chains = set()
        for session_id in self.known.keys() - continued:
            chain = [session_id]
            while (following := self.known[chain[-1]].next) is not None:
                chain.append(following)
            chains.add(tuple(chain))
        assert {item.segments for item in self.written.catalog()} == chains

    @invariant()
    def titles_are_clean_and_unique_and_no_link_is_broken(self) -> None:
        if hasattr(self, "written"):
            titles = [
                str(title) for (title,) in self.written.rows("SELECT title FROM sessions WHERE title IS NOT NULL")
            ]
            assert len(titles) == len(set(titles))
            assert all(tidy(title) == title and 0 < len(title) <= MAX_LENGTH for title in titles)
            assert self.written.rows("PRAGMA foreign_key_check") == []


Sequences.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestSequences = Sequences.TestCase

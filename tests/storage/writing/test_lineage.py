"""How one session follows another, and what a reader makes of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hermes_sessions.errors import Refused, SessionLive, TitleTaken, UsageError
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.locks import EXPIRY_SECONDS
from tests.builders import SUMMARY
from tests.storage.writing.test_messages import FULL
from tests.storage.writing.written import CALL, Written

HANDED_OVER = [NewMessage("user", SUMMARY), NewMessage("assistant", "and so on", tool_calls=[CALL])]


def test_a_compressed_session_goes_on_in_a_child(any_written: Written) -> None:
    store = any_written
    store.sessions.create("a", source="cli", model="m", cwd="/src", user_id="u", model_config={"_branched_from": "x"})
    store.sessions.set_title("a", "Login loop")
    assert store.lineage.compress("a", "b") == "b"
    assert store.session("a", "end_reason") == ("compression",)
    assert store.session("b", "parent_session_id", "source", "model", "user_id", "title") == (
        *("a", "cli", "m", "u"),
        "Login loop #2",
    )
    if store.database.has("sessions", "cwd"):
        assert store.session("b", "cwd") == ("/src",)
    assert store.session("b", "model_config") == store.session("a", "model_config")
    assert store.session("a", "ended_at") == store.session("b", "started_at")
    store.talk(store.lineage.compress("b", "c"), "go on")
    (conversation,) = store.catalog()
    assert conversation.segments == ("a", "b", "c")


def test_what_was_compacted_is_handed_over_in_the_same_transaction(written: Written) -> None:
    written.begin("a", "one", "1")
    written.lineage.compress("a", "b", messages=HANDED_OVER)
    assert written.session("b", "message_count", "tool_call_count") == (2, 1)
    assert written.rows("SELECT content FROM messages WHERE session_id = 'b' ORDER BY id")[0] == (SUMMARY,)
    broken = [*HANDED_OVER, NewMessage(None, "x")]  # type: ignore[arg-type]
    before = written.content()
    with pytest.raises(Exception, match="role"):
        written.lineage.compress("b", "c", messages=broken)
    assert written.content() == before


def test_an_untitled_session_has_an_untitled_continuation(written: Written) -> None:
    written.lineage.compress(written.sessions.create(source="cli"), "b")
    assert written.session("b", "title") == (None,)


def test_a_continuation_of_a_long_title_is_titled_too(written: Written) -> None:
    written.begin("a", title="x" * 100)
    written.lineage.compress("a", "b")
    written.lineage.compress("b", "c")
    titles = [title for (title,) in written.rows("SELECT title FROM sessions ORDER BY id")]
    assert titles == ["x" * 100, "x" * 97 + " #2", "x" * 97 + " #3"]


def test_a_session_is_continued_once(written: Written) -> None:
    written.begin("a", title="Login loop")
    written.lineage.compress("a", "b")
    before = written.content()
    with pytest.raises(Refused, match="goes on in b"):
        written.lineage.compress("a", "c")
    assert written.content() == before


def test_an_ended_session_is_reopened_before_it_is_compressed(written: Written) -> None:
    written.sessions.create("a", source="cli")
    written.sessions.end("a", "cli_close")
    with pytest.raises(Refused, match="has ended \\(cli_close\\)"):
        written.lineage.compress("a", "b")
    written.sessions.reopen("a")
    written.lineage.compress("a", "b")
    assert written.catalog().by_session["a"].segments == ("a", "b")


def test_an_id_that_is_taken_is_refused(written: Written) -> None:
    for session_id in ("a", "b"):
        written.sessions.create(session_id, source="cli")
    before = written.content()
    for follow in (written.lineage.compress, written.lineage.branch, written.lineage.delegate):
        with pytest.raises(UsageError, match="There is a session b already"):
            follow("a", "b")
    assert written.content() == before


@pytest.mark.parametrize("way", ["compress", "compact"])
def test_nobody_compresses_what_somebody_else_compresses(newer: Written, way: str) -> None:
    def compress(holder: str | None = None) -> object:
        if way == "compress":
            return newer.lineage.compress("s", "next", holder=holder)
        return newer.lineage.compact("s", HANDED_OVER, holder=holder)

    newer.begin("s", "one")
    holder = newer.lineage.locks.acquire("s")
    before = newer.content()
    for other in (None, "2:2:other"):
        with pytest.raises(SessionLive, match=holder):
            compress(other)
    assert newer.content() == before
    compress(holder)
    assert newer.rows("SELECT * FROM compression_locks") == []


def test_a_lock_whose_holder_died_stands_in_nobodys_way_for_ever(written: Written) -> None:
    written.sessions.create("s", source="cli")
    written.lineage.locks.acquire("s", "1:1:dead")
    written.clock.later(EXPIRY_SECONDS + 5)
    assert written.lineage.compress("s", "next") == "next"


def test_of_many_processes_that_compress_one_session_one_does(written: Written) -> None:
    code = """
import sys
from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.lineage import LineageWriter
from hermes_sessions.storage.writing.writer import Writer
lineage = LineageWriter(Writer(Database(sys.argv[1], "owner")), lambda: 1_779_950_000.0)
sys.stdin.read()
try:
    print(lineage.compress("s", sys.argv[2], holder=lineage.locks.acquire("s")))
except SessionsError:
    print("refused")
"""
    written.begin("s", "one")
    path = str(written.path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, path, f"next-{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    answers = [process.communicate()[0].strip() for process in processes]
    assert sorted(answers)[1:] == ["refused"] * 3
    (conversation,) = written.catalog()
    assert conversation.segments == ("s", min(answers))


def test_a_session_is_compacted_within_itself_where_the_layout_can(any_written: Written) -> None:
    any_written.begin("s", "one", "1", "two", "2")
    if not any_written.database.has("messages", "compacted"):
        with pytest.raises(Refused, match="too old to compact"):
            any_written.lineage.compact("s", HANDED_OVER)
        assert any_written.session("s", "message_count") == (4,)
        return
    undone = any_written.talk("s", "undone")[0]
    any_written.messages.rewind("s", undone)
    ids = any_written.lineage.compact("s", HANDED_OVER)
    rows = any_written.rows("SELECT active, compacted FROM messages ORDER BY id")
    assert rows == [(0, 1)] * 4 + [(0, 0)] + [(1, 0)] * 2
    assert any_written.session("s", "message_count", "tool_call_count") == (2, 1)
    (conversation,) = any_written.catalog()
    stubs = any_written.reader.messages.outline(conversation)
    assert len(stubs) == 6
    assert [stub.id for stub in stubs if not stub.compacted] == ids


def test_a_branch_is_a_marked_copy(any_written: Written) -> None:
    store = any_written
    store.sessions.create("a", source="tui", model="m", model_config={"max_iterations": 90})
    store.sessions.set_title("a", "Cache")
    store.messages.append("a", NewMessage("user", "design a cache"))
    store.messages.append("a", NewMessage("assistant", "two ways", tool_calls=[CALL, CALL], reasoning="hm"))
    undone = store.messages.append("a", NewMessage("user", "no"))
    if store.database.has("messages", "active"):
        store.messages.rewind("a", undone)
    live = 2 if store.database.has("messages", "active") else 3
    assert store.lineage.branch("a", "b", title="Cache on disk") == "b"
    assert store.session("a", "end_reason") == ("branched",)
    config = json.loads(str(store.session("b", "model_config")[0]))
    assert config == {"max_iterations": 90, "_branched_from": "a"}
    assert store.session("b", "title", "message_count", "tool_call_count") == ("Cache on disk", live, 2)
    copies = store.rows("SELECT role, content, reasoning FROM messages WHERE session_id = 'b' ORDER BY id")
    assert copies[:2] == [("user", "design a cache", None), ("assistant", "two ways", "hm")]
    assert len(copies) == live
    assert store.rows("SELECT DISTINCT timestamp FROM messages WHERE session_id = 'b'") == [
        store.session("b", "started_at")
    ]
    by_session = store.catalog().by_session
    assert by_session["b"].branched_from == "a"
    assert by_session["b"].kind == "conversation"


def test_a_copy_has_all_that_the_message_had(ownable: Written) -> None:
    ownable.sessions.create("a", source="cli")
    ownable.messages.append("a", FULL)
    ownable.messages.append("a", NewMessage("user", [{"type": "text", "text": "NUL \x00"}]))
    ownable.lineage.branch("a", "b")
    own = {"id", "session_id", "timestamp", "display_order", "display_identity"}
    columns = ", ".join(sorted(ownable.database.columns("messages") - own))
    original, copy = (
        ownable.rows(f"SELECT {columns} FROM messages WHERE session_id = ? ORDER BY id", (session_id,))
        for session_id in ("a", "b")
    )
    assert copy == original


def test_a_branch_may_leave_its_parent_open(written: Written) -> None:
    written.begin("a", "one")
    written.lineage.branch("a", "b", end_parent=False)
    assert written.session("a", "ended_at", "end_reason") == (None, None)
    assert written.catalog().by_session["b"].branched_from == "a"


def test_an_ended_session_can_be_branched_and_keeps_its_reason(written: Written) -> None:
    written.begin("a", "one")
    written.sessions.end("a", "cli_close")
    written.lineage.branch("a", "b")
    assert written.session("a", "end_reason") == ("cli_close",)
    assert written.catalog().by_session["b"].branched_from == "a"


def test_a_branch_without_a_title_gets_the_next_number(written: Written) -> None:
    written.begin("a", title="Cache #4", source="tui")
    written.lineage.branch("a", "b")
    assert written.session("b", "title") == ("Cache #5",)
    with pytest.raises(TitleTaken, match="session a"):
        written.lineage.branch("b", "c", title="Cache #4")
    assert written.ids() == {"a", "b"}
    assert written.session("b", "end_reason") == (None,)


@pytest.mark.parametrize("config", ["no JSON", "[1]", '{"a": 1', None])
def test_a_configuration_that_is_no_json_is_no_obstacle(written: Written, config: str | None) -> None:
    written.begin("a", "one")
    written.database.execute("UPDATE sessions SET model_config = ?", (config,))
    written.lineage.branch("a", "b")
    assert written.session("b", "model_config") == ('{"_branched_from": "a"}',)
    written.lineage.compress("b", "c")
    written.removal.delete("a", force=True)
    assert written.ids() == {"b", "c"}


def test_calls_that_are_no_json_are_copied_and_count_as_one(written: Written) -> None:
    written.begin("a", "one", "1")
    written.database.execute("UPDATE messages SET tool_calls = 'no JSON' WHERE id = 2")
    written.lineage.branch("a", "b")
    assert written.session("b", "message_count", "tool_call_count") == (2, 1)


def test_a_branch_of_a_branch_or_of_a_worker_is_a_conversation_of_its_own(written: Written) -> None:
    written.begin("a", "one")
    written.lineage.branch("a", "b")
    written.lineage.branch("b", "c")
    assert written.catalog().by_session["c"].branched_from == "b"
    written.sessions.create("d", source="cli", parent_id="c", model_config={"_delegate_from": "c"})
    written.lineage.branch("d", "e")
    config = json.loads(str(written.session("e", "model_config")[0]))
    assert config == {"_branched_from": "d"}
    assert written.catalog().by_session["e"].kind == "conversation"


def test_a_delegate_is_folded_under_the_one_that_started_it(ownable: Written) -> None:
    ownable.begin("a", "one")
    worker = ownable.lineage.delegate("a", model="m", model_config={"max_iterations": 5}, cwd="/src")
    ownable.talk(worker, "task", "result")
    assert ownable.session(worker, "source", "parent_session_id", "model", "cwd") == ("subagent", "a", "m", "/src")
    config = json.loads(str(ownable.session(worker, "model_config")[0]))
    assert config == {"max_iterations": 5, "_delegate_from": "a"}
    by_session = ownable.catalog().by_session
    assert by_session["a"].delegates == (worker,)
    assert by_session[worker].kind == "subagent"
    assert ownable.session("a", "end_reason") == (None,)


def test_a_compressed_delegate_stays_one(written: Written) -> None:
    written.begin("a", "one")
    written.lineage.delegate("a", "worker")
    written.lineage.compress("worker", "worker-2")
    by_session = written.catalog().by_session
    assert by_session["worker-2"].segments == ("worker", "worker-2")
    assert by_session["a"].delegates == ("worker-2",)


def test_newer_layouts_carry_the_chat_over(newer: Written) -> None:
    newer.sessions.create("a", source="telegram")
    newer.database.execute("UPDATE sessions SET session_key = 'k', chat_id = '7', git_branch = 'main'")
    newer.lineage.compress("a", "b")
    assert newer.session("b", "session_key", "chat_id", "git_branch") == ("k", "7", "main")

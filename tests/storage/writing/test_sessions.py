"""Sessions, written: what each operation leaves in the tables, and what a reader sees of it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from hermes_sessions.errors import Refused, SessionLive, SessionNotFound, TitleTaken, UsageError
from hermes_sessions.storage.writing.entries import NewMessage, Usage
from tests.storage.writing.written import Written

BEGUN = 1_779_900_001.0
"""The first look at the clock of these tests."""


def test_a_session_gets_an_id_as_hermes_makes_them(written: Written) -> None:
    session_id = written.sessions.create(source="cli", model="m", cwd="/src", model_config={"max_iterations": 90})
    assert re.fullmatch(r"202605\d\d_\d{6}_[0-9a-f]{6}", session_id)
    stored = written.session(session_id, "source", "model", "cwd", "model_config", "started_at", "ended_at")
    assert stored == ("cli", "m", "/src", '{"max_iterations": 90}', BEGUN, None)


def test_an_id_that_is_there_is_left_as_it_is(written: Written) -> None:
    assert written.sessions.create("s", source="cli") == "s"
    assert written.sessions.create("s", source="tui", parent_id="gone") == "s"
    assert written.session("s", "source", "parent_session_id") == ("cli", None)


def test_half_a_surrogate_in_any_text_is_no_obstacle(written: Written) -> None:
    session_id = written.sessions.create(
        "a\ud83d", source="\ud83d", model="\ud83d", system_prompt="\ud83d", user_id="\ud83d", cwd="/\ud83d"
    )
    assert session_id == "a\ufffd"
    assert written.session(session_id, "source", "cwd") == ("\ufffd", "/\ufffd")
    written.sessions.end(session_id, "\ud83d")
    with pytest.raises(SessionNotFound):
        written.sessions.end("b\ud83d", "error")


def test_a_session_that_is_not_there_is_named(any_written: Written) -> None:
    store = any_written
    actions: list[Callable[[], object]] = [
        lambda: store.messages.append("gone", NewMessage("user", "hello")),
        lambda: store.messages.rewind("gone", 1),
        lambda: store.messages.restore("gone", 1),
        lambda: store.sessions.create("child", source="cli", parent_id="gone"),
        lambda: store.sessions.end("gone", "error"),
        lambda: store.sessions.reopen("gone"),
        lambda: store.sessions.set_title("gone", "x"),
        lambda: store.sessions.propose_title("gone", "x"),
        lambda: store.sessions.set_model("gone", "x"),
        lambda: store.sessions.set_system_prompt("gone", "x"),
        lambda: store.sessions.set_cwd("gone", "x"),
        lambda: store.sessions.archive("gone"),
        lambda: store.usage.add("gone", Usage()),
        lambda: store.usage.set("gone", Usage()),
        lambda: store.usage.set_route("gone", "p", "u"),
        lambda: store.lineage.compress("gone"),
        lambda: store.lineage.compact("gone", []),
        lambda: store.lineage.branch("gone"),
        lambda: store.lineage.delegate("gone"),
        lambda: store.lineage.locks.acquire("gone"),
        lambda: store.removal.delete("gone"),
    ]
    for action in actions:
        with pytest.raises(SessionNotFound, match="gone"):
            action()


@pytest.mark.parametrize("reason", ["completed", "error", "cli_close"])
def test_the_states_of_a_session_are_seen_by_a_reader(ownable: Written, reason: str) -> None:
    def state() -> tuple[bool, float | None, str | None, str]:
        (conversation,) = ownable.catalog()
        status = ownable.reader.sessions.overviews([conversation])[conversation.id].status
        return conversation.empty, conversation.tip.ended_at, conversation.tip.end_reason, status

    ownable.sessions.create("s", source="cli")
    assert state() == (True, None, None, "empty")
    ownable.talk("s", "go")
    assert state() == (False, None, None, "interrupted")
    ownable.messages.append("s", NewMessage("assistant", "done"))
    assert state() == (False, None, None, "complete")
    ownable.sessions.end("s", reason)
    assert state() == (False, ownable.clock.now, reason, "complete")
    ownable.sessions.reopen("s")
    assert state() == (False, None, None, "complete")


def test_compressed_branched_and_rewound_are_seen_by_a_reader(ownable: Written) -> None:
    ownable.begin("a", "one", "1")
    ownable.lineage.compress("a", "b", messages=[NewMessage("user", "so far")])
    ownable.messages.rewind("b", ownable.talk("b", "two", "2")[0])
    ownable.lineage.branch("b", "fork")
    by_session = ownable.catalog().by_session
    chain, fork = by_session["b"], by_session["fork"]
    assert [session.end_reason for session in chain.sessions] == ["compression", "branched"]
    assert (fork.branched_from, fork.tip.end_reason) == ("b", None)
    stubs = ownable.reader.messages.outline(chain, rewound=True)
    assert [stub.rewound for stub in stubs] == [False, False, False, True, True]
    assert len(ownable.reader.messages.outline(chain)) == 3


def test_the_first_reason_of_an_end_stays(written: Written) -> None:
    written.sessions.create("s", source="cli")
    assert written.sessions.end("s", "agent_close")
    assert not written.sessions.end("s", "cli_close")
    assert written.session("s", "end_reason", "ended_at") == ("agent_close", BEGUN + 1)


def test_a_reopened_session_may_end_for_another_reason(written: Written) -> None:
    written.sessions.create("s", source="cli")
    written.sessions.end("s", "error")
    written.sessions.reopen("s")
    assert written.session("s", "ended_at", "end_reason") == (None, None)
    assert written.sessions.end("s", "completed")


def test_a_session_that_goes_on_elsewhere_is_not_reopened(written: Written) -> None:
    written.sessions.create("a", source="cli")
    written.lineage.compress("a", "b")
    written.lineage.compress("b", "c")
    with pytest.raises(Refused, match="goes on in c"):
        written.sessions.reopen("a")
    assert written.catalog().by_session["a"].segments == ("a", "b", "c")


def test_a_model_a_prompt_and_a_directory_can_change(ownable: Written) -> None:
    ownable.sessions.create("p", source="cli")
    ownable.lineage.branch("p", "s")
    ownable.sessions.set_model("s", "opus")
    ownable.sessions.set_system_prompt("s", "be brief")
    ownable.sessions.set_cwd("s", "/src", git_branch="main", git_repo_root="/src")
    ownable.sessions.set_cwd("s", "/src/lib", git_branch="  ")
    assert ownable.session("s", "model", "system_prompt", "cwd") == ("opus", "be brief", "/src/lib")
    if ownable.database.has("sessions", "git_branch"):
        assert ownable.session("s", "git_branch", "git_repo_root") == ("main", "/src")


def test_a_new_configuration_keeps_the_marks_of_lineage(written: Written) -> None:
    written.sessions.create("p", source="cli", model_config={"old": 1})
    written.lineage.branch("p", "s")
    written.sessions.set_model("s", "opus", {"max_iterations": 5})
    assert written.session("s", "model_config") == ('{"max_iterations": 5, "_branched_from": "p"}',)
    assert written.catalog().by_session["s"].branched_from == "p"


def test_a_prompt_of_its_own_counts_more_than_a_shared_one(newest: Written) -> None:
    newest.sessions.create("s", source="cli")
    newest.database.execute("INSERT INTO system_prompts VALUES ('h', 'shared')")
    newest.database.execute("UPDATE sessions SET system_prompt_hash = 'h'")
    newest.sessions.set_system_prompt("s", "own")
    assert newest.session("s", "system_prompt", "system_prompt_hash") == ("own", None)


def test_a_title_is_cleaned_set_and_cleared(any_written: Written) -> None:
    any_written.sessions.create("s", source="cli")
    assert any_written.sessions.set_title("s", "  Login \t\n loop\x1b[0m ") == "Login loop"
    assert any_written.session("s", "title") == ("Login loop",)
    assert any_written.sessions.set_title("s", "\u200b  ") is None
    assert any_written.session("s", "title") == (None,)
    with pytest.raises(UsageError, match="101 characters"):
        any_written.sessions.set_title("s", "x" * 101)


def test_a_title_belongs_to_one_session_which_is_described(written: Written) -> None:
    for session_id in ("a", "b"):
        written.begin(session_id, source="telegram")
    written.sessions.set_title("a", "Login loop")
    written.sessions.archive("a")
    assert written.sessions.set_title("a", "Login loop") == "Login loop"
    with pytest.raises(TitleTaken, match=r"session a \(telegram, 2026-05-\d\d, archived\)"):
        written.sessions.set_title("b", "Login loop")
    assert written.session("b", "title") == (None,)


def test_a_title_moves_from_an_earlier_part_to_the_tip(any_written: Written) -> None:
    any_written.begin("a", title="Login loop")
    any_written.lineage.compress("a", "b")
    any_written.lineage.compress("b", "c")
    any_written.sessions.set_title("c", "Login loop")
    titles = any_written.rows("SELECT title FROM sessions ORDER BY id")
    assert titles == [(None,), ("Login loop #2",), ("Login loop",)]
    with pytest.raises(TitleTaken):
        any_written.sessions.set_title("a", "Login loop")


def test_a_title_does_not_move_from_what_a_session_branched_from(written: Written) -> None:
    written.begin("a", title="Login loop")
    written.lineage.branch("a", "b", title="Fork")
    with pytest.raises(TitleTaken):
        written.sessions.set_title("b", "Login loop")


def test_a_proposed_title_is_numbered_where_it_is_taken(written: Written) -> None:
    for session_id in ("a", "b", "c", "d"):
        written.sessions.create(session_id, source="cli")
    written.sessions.set_title("d", "Debugging #7")
    assert written.sessions.propose_title("a", "Debugging") == "Debugging"
    assert written.sessions.propose_title("b", "Debugging") == "Debugging #8"
    assert written.sessions.propose_title("c", "\x1b[1m" + "y" * 300) == "y" * 100


def test_a_proposed_title_never_replaces_one(written: Written) -> None:
    written.begin("s", title="Mine")
    assert written.sessions.propose_title("s", "Theirs") == "Mine"
    written.sessions.create("untitled", source="cli")
    assert written.sessions.propose_title("untitled", "\u200b") is None


def test_newer_layouts_are_told_who_gave_a_title(newest: Written) -> None:
    for session_id in ("a", "b"):
        newest.sessions.create(session_id, source="cli")
    newest.sessions.set_title("a", "Mine")
    newest.sessions.propose_title("b", "Made")
    assert newest.rows("SELECT title_source FROM sessions ORDER BY id") == [("user",), ("llm",)]
    newest.sessions.set_title("a", None)
    assert newest.session("a", "title_source") == (None,)


def test_the_whole_conversation_is_archived_and_nothing_else(ownable: Written) -> None:
    ownable.sessions.create("a", source="cli")
    ownable.lineage.compress("a", "b")
    ownable.lineage.delegate("b", "worker")
    ownable.lineage.compress("b", "c")
    ownable.lineage.branch("c", "fork")
    assert ownable.sessions.archive("b") == ("a", "b", "c")
    archived = "SELECT id FROM sessions WHERE archived = 1 ORDER BY id"
    assert ownable.rows(archived) == [("a",), ("b",), ("c",)]
    assert [item.archived for item in ownable.catalog() if item.id != "worker"].count(True) == 1
    ownable.sessions.archive("c", archived=False)
    assert ownable.rows(archived) == []


def test_what_an_agent_is_using_is_not_archived_unless_forced(written: Written) -> None:
    written.begin("s", "hello")
    with pytest.raises(SessionLive):
        written.sessions.archive("s")
    assert written.session("s", "archived") == (0,)
    written.sessions.archive("s", force=True)
    written.sessions.archive("s", archived=False)
    assert written.session("s", "archived") == (0,)


def test_a_layout_without_an_archive_is_said(any_written: Written) -> None:
    any_written.sessions.create("s", source="cli")
    if any_written.database.has("sessions", "archived"):
        assert any_written.sessions.archive("s") == ("s",)
    else:
        with pytest.raises(Refused, match="too old to archive"):
            any_written.sessions.archive("s")

"""What goes with a session, what stays, and that it can come back exactly."""

from __future__ import annotations

import pytest

from hermes_sessions.errors import Refused, SessionLive, SessionsError, UsageError
from hermes_sessions.model import Tokens
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import NewMessage, Usage
from hermes_sessions.storage.writing.removed import Removed
from tests.storage.writing.test_messages import FULL
from tests.storage.writing.written import Written

HOUR = 3_600


def family(written: Written) -> None:
    """A chain of three with a worker that has a worker, and two branches; all of it an hour ago."""
    written.begin("a", "one", "1", title="Login loop")
    written.usage.add("a", Usage(Tokens(10, 5), model="m", provider="p"))
    written.lineage.delegate("a", "worker")
    written.talk("worker", "task", "result")
    written.lineage.delegate("worker", "worker-of-worker")
    written.talk("worker-of-worker", "task", "result")
    written.lineage.branch("a", "early", end_parent=False)
    written.lineage.compress("a", "b")
    written.messages.append("b", FULL)
    written.lineage.compress("b", "c")
    written.talk("c", "two", "2")
    written.lineage.branch("c", "late")
    written.begin("other", "unrelated")
    written.clock.later(HOUR)


def test_a_conversation_goes_with_its_workers_and_leaves_its_branches(any_written: Written) -> None:
    family(any_written)
    removed = any_written.removal.delete("b")
    assert set(removed.sessions) == {"a", "b", "c", "worker", "worker-of-worker"}
    assert removed.message_count == 9
    assert any_written.ids() == {"early", "late", "other"}
    assert any_written.rows("SELECT DISTINCT session_id FROM messages ORDER BY 1") == [
        ("early",),
        ("late",),
        ("other",),
    ]
    assert any_written.rows("SELECT DISTINCT parent_session_id FROM sessions") == [(None,)]
    assert {item.id for item in any_written.catalog()} == {"early", "late", "other"}
    assert any_written.rows("PRAGMA foreign_key_check") == []


def test_one_session_may_go_alone_and_the_rest_is_still_listed(ownable: Written) -> None:
    family(ownable)
    removed = ownable.removal.delete("a", whole=False)
    assert set(removed.sessions) == {"a", "worker", "worker-of-worker"}
    assert ownable.catalog().by_session["c"].segments == ("b", "c")
    ownable.removal.delete("b", whole=False)
    assert ownable.catalog().by_session["c"].segments == ("c",)


def test_a_session_from_the_middle_of_a_long_chain_may_go(written: Written) -> None:
    written.begin("a", "one")
    for parent, child in (("a", "b"), ("b", "c"), ("c", "d")):
        written.lineage.compress(parent, child)
        written.talk(child, child)
    written.clock.later(HOUR)
    removed = written.removal.delete("b", whole=False)
    assert {item.segments for item in written.catalog()} == {("a",), ("c", "d")}
    written.removal.restore(removed)
    assert written.catalog().by_session["a"].segments == ("a", "b", "c", "d")


def test_workers_go_wherever_they_hang_and_cycles_are_no_trap(written: Written) -> None:
    """A worker may have lost its parent; markers of old files may point in a circle."""
    for session_id in ("a", "worker", "orphan", "untagged"):
        written.begin(session_id, "hello")
    links = [
        ("a", "worker", '{"_delegate_from": "worker"}'),
        ("worker", "a", '{"_delegate_from": "a"}'),
        ("orphan", None, '{"_delegate_from": "worker"}'),
        ("untagged", "a", '{"_delegate_from": "a"'),
    ]
    for session_id, parent, config in links:
        written.database.execute(
            "UPDATE sessions SET parent_session_id = ?, model_config = ? WHERE id = ?", (parent, config, session_id)
        )
    written.clock.later(HOUR)
    before = written.content()
    removed = written.removal.delete("a")
    assert set(removed.sessions) == {"a", "worker", "orphan"}
    assert written.session("untagged", "parent_session_id") == (None,)
    written.removal.restore(removed)
    assert written.content() == before


def test_rows_of_every_table_that_knows_the_session_go(newest: Written) -> None:
    family(newest)
    newest.database.execute("CREATE TABLE bindings (chat TEXT, session_id TEXT NOT NULL REFERENCES sessions(id))")
    newest.database.execute("INSERT INTO bindings VALUES ('chat', 'c'), ('chat 2', 'other')")
    newest.database.execute("INSERT INTO conversation_generations VALUES ('telegram', 'key', 3)")
    newest.database.execute("INSERT INTO session_turn_leases VALUES ('c', 'h', 1, 2), ('other', 'h', 1, 2)")
    newest.database.execute("INSERT INTO compression_locks VALUES ('c', 'h', 1, 2)")
    newest.database.execute("INSERT INTO system_prompts VALUES ('mine', 'x'), ('shared', 'y'), ('nobodys', 'z')")
    newest.database.execute("UPDATE sessions SET system_prompt_hash = CASE id WHEN 'a' THEN 'mine' ELSE 'shared' END")
    before = newest.content()
    removed = newest.removal.delete("c")
    assert newest.rows("SELECT * FROM bindings") == [("chat 2", "other")]
    assert newest.rows("SELECT * FROM conversation_generations") == [("telegram", "key", 3)]
    assert newest.rows("SELECT conversation_id FROM session_turn_leases") == [("other",)]
    assert newest.rows("SELECT hash FROM system_prompts ORDER BY hash") == [("nobodys",), ("shared",)]
    for table in ("compression_locks", "session_model_usage"):
        assert newest.rows(f"SELECT * FROM {table}") == []
    newest.removal.restore(removed)
    locks = {"compression_locks": [], "session_turn_leases": [("other", "h", 1, 2)]}
    assert newest.content() == before | locks


def test_what_an_agent_is_using_stays_unless_it_is_forced(ownable: Written) -> None:
    ownable.begin("talking", "hello")
    ownable.sessions.create("begun", source="cli")
    for session_id in ("locked", "idle", "parent"):
        ownable.sessions.create(session_id, source="cli")
        ownable.sessions.end(session_id, "cli_close")
    ownable.lineage.locks.acquire("locked")
    ownable.lineage.delegate("parent", "worker")
    ownable.talk("worker", "task")
    before = ownable.content()
    for session_id in ("talking", "begun", "locked", "parent"):
        with pytest.raises(SessionLive):
            ownable.removal.delete(session_id)
    assert ownable.content() == before
    for session_id in ("talking", "begun", "locked", "parent"):
        ownable.removal.delete(session_id, force=True)
    assert ownable.ids() == {"idle"}


def test_a_lease_on_a_turn_counts(newest: Written) -> None:
    newest.begin("s", "hello")
    newest.sessions.end("s", "cli_close")
    newest.database.execute(
        "INSERT INTO session_turn_leases VALUES ('s', 'h', ?, ?)", (newest.clock.now, newest.clock.now + 50)
    )
    with pytest.raises(SessionLive):
        newest.removal.delete("s")
    newest.clock.later(HOUR)
    assert newest.removal.delete("s").sessions == ("s",)


def test_deletion_and_restoration_together_change_nothing(any_written: Written) -> None:
    family(any_written)
    before = any_written.content()
    removed = any_written.removal.delete("a")
    any_written.removal.restore(Removed.from_lines(removed.lines()))
    assert any_written.content() == before
    assert any_written.catalog().by_session["a"].segments == ("a", "b", "c")


def test_text_that_is_no_text_comes_back_byte_for_byte(written: Written) -> None:
    written.begin("s", "one", "1", "two")
    written.database.execute("UPDATE messages SET content = CAST(x'66ff00fe' AS TEXT) WHERE id = 1")
    written.database.execute("UPDATE messages SET content = x'66ff', timestamp = 'noon' WHERE id = 2")
    written.database.execute("UPDATE messages SET content = 'NUL ' || char(0) || ' and \ufffd' WHERE id = 3")
    written.clock.later(HOUR)
    sql = "SELECT typeof(content), hex(content), timestamp FROM messages ORDER BY id"
    before = written.rows(sql)
    removed = written.removal.delete("s")
    written.removal.restore(Removed.from_lines(removed.lines()))
    assert written.rows(sql) == before
    assert [kind for kind, *_ in before] == ["text", "blob", "text"]


def test_search_finds_what_was_restored_and_not_what_was_deleted(written: Written) -> None:
    written.begin("s", "the rolling deploy")
    written.clock.later(HOUR)

    def hits() -> list[tuple[SQLValue, ...]]:
        return written.rows("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'rolling'")

    removed = written.removal.delete("s")
    assert hits() == []
    written.check()
    written.removal.restore(removed)
    assert hits() == [(1,)]
    written.check()


def test_nothing_is_restored_twice_or_over_something_else(written: Written) -> None:
    family(written)
    removed = written.removal.delete("a")
    written.begin("worker", "somebody else's")
    before = written.content()
    with pytest.raises(Refused, match="Session worker is there already"):
        written.removal.restore(removed)
    assert written.content() == before
    written.clock.later(HOUR)
    written.removal.delete("worker")
    written.removal.restore(removed)
    with pytest.raises(Refused, match="is there already"):
        written.removal.restore(removed)


def test_a_title_that_was_taken_meanwhile_gets_a_number(written: Written) -> None:
    family(written)
    removed = written.removal.delete("a")
    written.sessions.set_title("other", "Login loop")
    written.removal.restore(removed)
    assert written.session("other", "title") == ("Login loop",)
    assert written.session("a", "title") != ("Login loop",)
    titles = [title for (title,) in written.rows("SELECT title FROM sessions WHERE title IS NOT NULL")]
    assert len(titles) == len(set(titles)) == 6


def test_a_branch_that_went_later_comes_back_first(written: Written) -> None:
    family(written)
    before = written.content()
    first = written.removal.delete("a")
    second = written.removal.delete("late")
    for removed in (second, first):
        written.removal.restore(removed)
    assert written.content() == before


def test_a_parent_that_is_gone_for_good_leaves_a_root(written: Written) -> None:
    family(written)
    branch = written.removal.delete("late")
    written.removal.delete("a")
    written.removal.restore(branch)
    assert written.session("late", "parent_session_id") == (None,)


def test_what_is_to_be_kept_is_kept_before_it_is_gone(written: Written) -> None:
    family(written)
    before = written.content()
    kept: list[Removed] = []

    def fail(removed: Removed) -> None:
        kept.append(removed)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        written.removal.delete("a", keep=fail)
    assert written.content() == before
    assert set(kept[0].sessions) == {"a", "b", "c", "worker", "worker-of-worker"}
    again: list[Removed] = []
    assert written.removal.delete("a", keep=again.append) == again[0] == kept[0]


def test_only_what_is_empty_ended_and_not_archived_goes(any_written: Written) -> None:
    for session_id in ("empty", "open", "counted wrong", "archived", "locked", "boss"):
        any_written.sessions.create(session_id, source="tui")
    any_written.begin("full", "hello")
    any_written.begin("root")
    any_written.lineage.compress("root", "tip")
    any_written.talk("tip", "hello")
    any_written.lineage.delegate("boss", "worker")
    any_written.talk("worker", "task")
    any_written.database.execute("UPDATE sessions SET message_count = 3 WHERE id = 'counted wrong'")
    any_written.database.execute("UPDATE sessions SET message_count = 0 WHERE id = 'full'")
    for session_id in any_written.ids() - {"open"}:
        any_written.sessions.end(session_id, "tui_close")
    spared = {"open", "full", "root", "tip", "boss", "worker"}
    if any_written.database.has("sessions", "archived"):
        any_written.sessions.archive("archived")
        spared.add("archived")
    if "compression_locks" in any_written.database.tables:
        any_written.lineage.locks.acquire("locked")
        spared.add("locked")
    before = any_written.content()
    removed = any_written.removal.delete_empty()
    assert set(removed.sessions) == {"empty", "counted wrong", "archived", "locked"} - spared
    assert any_written.ids() == spared
    any_written.removal.restore(removed)
    assert any_written.content() == before


def test_nothing_empty_is_nothing_to_keep(written: Written) -> None:
    written.begin("s", "hello")

    def never(_: Removed) -> None:
        raise AssertionError

    assert written.removal.delete_empty(keep=never) == Removed()


def test_an_empty_parent_of_something_live_may_go(written: Written) -> None:
    written.begin("ghost")
    written.sessions.end("ghost", "tui_close")
    written.sessions.create("child", source="cli", parent_id="ghost")
    written.messages.append("child", NewMessage("user", "hello"))
    written.sessions.set_title("child", "A branch of old")
    assert written.removal.delete_empty().sessions == ("ghost",)
    assert written.session("child", "parent_session_id", "message_count") == (None, 1)


@pytest.mark.parametrize("lines", [["x"], []])
def test_only_what_was_removed_can_be_restored(written: Written, lines: list[str]) -> None:
    with pytest.raises(UsageError):
        written.removal.restore(Removed.from_lines(lines))
    assert issubclass(UsageError, SessionsError)

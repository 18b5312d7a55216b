"""The history files of the tests are what Hermes would have written."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from tests.builders import NOW, SUMMARY, HermesFile

Rows = list[tuple[object, ...]]


def transcript(file: HermesFile, session: str) -> Rows:
    return file.sql("SELECT role, content FROM messages WHERE session_id = ? ORDER BY id", (session,))


def test_every_layout_is_a_write_ahead_log_of_its_version(any_layout: HermesFile) -> None:
    assert any_layout.sql("SELECT version FROM schema_version") == [(any_layout.version,)]
    assert any_layout.sql("PRAGMA journal_mode") == [("wal",)]
    assert any_layout.sql("PRAGMA page_size") == [(4096,)]


def test_every_layout_finds_what_was_appended_changed_and_not_what_was_deleted(any_layout: HermesFile) -> None:
    def found(word: str) -> Rows:
        return any_layout.sql("SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?", (word,))

    session = any_layout.session()
    message = any_layout.message(session, content="fix the docker build")
    assert found("docker") == [(message,)]
    any_layout.sql("UPDATE messages SET content = 'fix the podman build' WHERE id = ?", (message,))
    assert found("docker") == []
    assert found("podman") == [(message,)]
    any_layout.sql("DELETE FROM messages WHERE id = ?", (message,))
    assert found("podman") == []
    any_layout.sql("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')")


@pytest.mark.parametrize("version, tools", [(6, 0), (11, 1), (14, 1), (16, 1), (22, 1), (31, 1)])
def test_tool_calls_are_indexed_from_version_11_on(tmp_path: Path, version: int, tools: int) -> None:
    with HermesFile(tmp_path / "state.db", version) as file:
        file.tool_call(file.session(), "terminal", {"command": "make"}, "done")
        assert file.sql("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'command'") == [(tools,)]


@pytest.mark.parametrize("version, rows", [(11, 3), (22, 3), (31, 1)])
def test_trigrams_leave_out_tools_and_subagents_in_the_newest_layout(tmp_path: Path, version: int, rows: int) -> None:
    with HermesFile(tmp_path / "state.db", version) as file:
        parent = file.session()
        file.message(parent, content="数据库迁移")
        file.message(parent, "tool", "数据库迁移")
        file.message(file.session(parent=parent, source="subagent"), content="数据库迁移")
        query = "SELECT count(*) FROM messages_fts_trigram WHERE messages_fts_trigram MATCH '数据库'"
        assert file.sql(query) == [(rows,)]


def test_ids_and_times_are_the_same_on_every_run(hermes_file: HermesFile) -> None:
    first, second = hermes_file.session(), hermes_file.session()
    hermes_file.message(first)
    hermes_file.message(first)
    assert (first, second) == ("20260527_202640_000001", "20260527_202740_000002")
    assert hermes_file.sql("SELECT timestamp FROM messages") == [(NOW - 86_399,), (NOW - 86_398,)]


def test_an_end_reason_means_an_end(hermes_file: HermesFile) -> None:
    hermes_file.session("a", end_reason="cli_close")
    hermes_file.session("b", end_reason="cli_close", ended_at=NOW)
    hermes_file.session("c")
    ended = hermes_file.sql("SELECT ended_at - started_at FROM sessions WHERE id = 'a'")
    assert ended == [(50,)]
    assert hermes_file.sql("SELECT ended_at FROM sessions WHERE id IN ('b', 'c')") == [(NOW,), (None,)]


def test_the_counters_of_a_session_follow_its_messages(hermes_file: HermesFile) -> None:
    session = hermes_file.session()
    hermes_file.message(session, "assistant", "", tool_calls=[{"id": "1"}, {"id": "2"}])
    hermes_file.message(session, "assistant", "", tool_calls={"id": "3"})
    hermes_file.message(session, "tool", "result")
    assert hermes_file.sql("SELECT message_count, tool_call_count FROM sessions") == [(3, 3)]


def test_a_list_is_stored_as_marked_json_and_text_as_it_is(hermes_file: HermesFile) -> None:
    session = hermes_file.session()
    hermes_file.message(session, content=[{"type": "text", "text": "né"}])
    hermes_file.message(session, content="plain [text]")
    hermes_file.message(session, content=None)
    stored = [content for _role, content in transcript(hermes_file, session)]
    assert stored == ['\x00json:[{"type": "text", "text": "n\\u00e9"}]', "plain [text]", None]


def test_bytes_become_text_of_just_these_bytes(hermes_file: HermesFile) -> None:
    session = hermes_file.session(title=b"caf\xe9")
    hermes_file.message(session, content=b"a\xff\x00b")
    query = "SELECT typeof(title), hex(title), typeof(content), hex(content) FROM sessions, messages"
    assert hermes_file.sql(query) == [("text", "636166E9", "text", "61FF0062")]


def test_a_column_the_layout_lacks_is_refused_unless_it_has_no_value(tmp_path: Path) -> None:
    with HermesFile(tmp_path / "state.db", 6) as file:
        session = file.session(cwd=None)
        with pytest.raises(ValueError, match=r"version 6 has no sessions\.cwd"):
            file.session(cwd="/srv")
        with pytest.raises(ValueError, match=r"version 6 has no messages\.active"):
            file.message(session, active=0)


def test_a_chain_is_rotated_by_compression(any_layout: HermesFile) -> None:
    ids = any_layout.chain(3, title="Rollout")
    assert ids == ["chain-1", "chain-2", "chain-3"]
    rows = any_layout.sql("SELECT id, parent_session_id, title, end_reason FROM sessions ORDER BY id")
    assert rows == [
        ("chain-1", None, "Rollout", "compression"),
        ("chain-2", "chain-1", "Rollout #2", "compression"),
        ("chain-3", "chain-2", "Rollout #3", None),
    ]
    late = (
        "SELECT count(*) FROM sessions c JOIN sessions p ON p.id = c.parent_session_id WHERE c.started_at < p.ended_at"
    )
    assert any_layout.sql(late) == [(0,)]
    assert transcript(any_layout, "chain-2") == [
        ("user", SUMMARY),
        ("user", "question 2"),
        ("assistant", "answer 2"),
    ]


def test_compaction_in_place_keeps_the_rows_and_counts_the_new_ones(hermes_file: HermesFile) -> None:
    session = hermes_file.session()
    hermes_file.talk(session, "one", "two", "three")
    hermes_file.compact_in_place(session)
    rows = hermes_file.sql("SELECT content, active, compacted FROM messages ORDER BY id")
    assert rows == [("one", 0, 1), ("two", 0, 1), ("three", 0, 1), (SUMMARY, 1, 0), ("three", 1, 0)]
    assert hermes_file.sql("SELECT message_count FROM sessions") == [(2,)]


def test_compaction_in_place_needs_a_layout_that_knows_it(tmp_path: Path) -> None:
    with HermesFile(tmp_path / "state.db", 16) as file, pytest.raises(apsw.SQLError):
        file.compact_in_place(file.session())


def test_a_branch_is_a_copy_that_starts_when_its_parent_ended(any_layout: HermesFile) -> None:
    parent = any_layout.session("parent")
    any_layout.talk(parent, "one", "two")
    any_layout.tool_call(parent, "terminal", {"command": "make"}, "done")
    branch = any_layout.branch(parent, title="Other way")
    assert transcript(any_layout, branch) == transcript(any_layout, parent)
    query = "SELECT message_count, tool_call_count, model_config, title FROM sessions WHERE id = ?"
    (count, calls, config, title) = any_layout.sql(query, (branch,))[0]
    assert (count, calls, json.loads(config), title) == (4, 1, {"_branched_from": "parent"}, "Other way")
    query = "SELECT p.end_reason, c.started_at >= p.ended_at FROM sessions p, sessions c WHERE p.id = ? AND c.id = ?"
    assert any_layout.sql(query, (parent, branch)) == [("branched", 1)]


def test_a_branch_may_leave_its_parent_open_or_carry_no_marker(hermes_file: HermesFile) -> None:
    parent = hermes_file.session("parent")
    hermes_file.branch(parent, "open", ends_parent=False)
    hermes_file.branch(parent, "old", marked=False)
    query = "SELECT id, model_config FROM sessions ORDER BY rowid"
    assert hermes_file.sql(query) == [("parent", None), ("open", '{"_branched_from": "parent"}'), ("old", None)]


@pytest.mark.parametrize(
    "version, row", [(14, ("cli", None)), (16, ("subagent", '{"_delegate_from": "parent"}'))], ids=["v14", "v16"]
)
def test_a_delegate_is_marked_from_version_16_on(tmp_path: Path, version: int, row: tuple[str, str | None]) -> None:
    with HermesFile(tmp_path / "state.db", version) as file:
        child = file.delegate(file.session("parent"))
        assert file.sql("SELECT source, model_config FROM sessions WHERE id = ?", (child,)) == [row]


def test_a_rewind_takes_back_everything_from_a_message_on(hermes_file: HermesFile) -> None:
    session = hermes_file.session()
    _one, _two, three, _four = hermes_file.talk(session, "one", "two", "three", "four")
    hermes_file.rewind(session, three)
    assert hermes_file.sql("SELECT content FROM messages WHERE active = 1") == [("one",), ("two",)]
    assert hermes_file.sql("SELECT rewind_count, message_count FROM sessions") == [(1, 4)]
    hermes_file.branch(session)
    assert transcript(hermes_file, "branch") == [("user", "one"), ("assistant", "two")]

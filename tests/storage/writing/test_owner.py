"""A store of our own: what its methods leave in the tables."""

from __future__ import annotations

import json
import logging
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import FileExists, SessionNotFound, StoreUnreadable, TitleTaken, UsageError
from hermes_sessions.model import Tokens
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import NewMessage, Usage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from tests.builders import NOW

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}


class Clock:
    """One second passes with each look."""

    def __init__(self) -> None:
        self.now = NOW - 1000

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OwnerStore]:
    store = create_store(tmp_path / "own" / "state.db", clock=Clock())
    yield store
    store.close()


@pytest.fixture
def database(store: OwnerStore) -> Iterator[Database]:
    database = Database(store.path)
    yield database
    database.close()


def session(database: Database, session_id: str, *columns: str) -> tuple[SQLValue, ...]:
    row = database.row(f"SELECT {', '.join(columns)} FROM sessions WHERE id = ?", (session_id,))
    assert row is not None
    return row


def talk(store: OwnerStore, session_id: str, *texts: str) -> list[int]:
    """Append texts of a person and an agent in turn."""
    roles = ("user", "assistant")
    return store.messages.append_all(session_id, [NewMessage(roles[n % 2], text) for n, text in enumerate(texts)])


# --- creation


def test_a_new_store_is_readable_by_its_owner_alone(store: OwnerStore) -> None:
    store.sessions.create("s", source="cli")
    assert store.journal_mode == "wal"
    assert store.notices == ()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store.path.parent.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"something of somebody"])
def test_nothing_that_exists_is_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(FileExists, match=re.escape(str(path))):
        create_store(path)
    assert path.read_bytes() == content


def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExists):
        create_store(path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_in_place_of_the_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreadable, match="cannot be created"):
        create_store(tmp_path / "file" / "state.db")


def test_a_store_that_could_not_be_created_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_sessions.storage.writing.schema.declaration", lambda: "CREATE TABLE a (b); NONSENSE")
    with pytest.raises(Exception, match="NONSENSE"):
        create_store(tmp_path / "own" / "state.db")
    assert list((tmp_path / "own").iterdir()) == []


def test_foreign_keys_are_enforced_and_every_commit_reaches_the_disk(store: OwnerStore) -> None:
    assert store._database.value("PRAGMA foreign_keys") == 1
    assert store._database.value("PRAGMA synchronous") == 2


def test_a_disk_that_refuses_the_log_silently_gets_a_journal(tmp_path: Path) -> None:
    """The VFS `unix-dotfile` answers "delete" when asked for WAL. The default VFS is process-wide, hence a process."""
    code = """
import logging, sys, apsw
logging.basicConfig(format="%(levelname)s %(message)s")
apsw.set_default_vfs("unix-dotfile")
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import create_store
store = create_store(sys.argv[1])
session = store.sessions.create(source="cli")
store.messages.append(session, NewMessage("user", "hello"))
store.sessions.set_title(session, "A title")
print(store.journal_mode, *store.notices)
"""
    path = tmp_path / "state.db"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"delete {path} cannot use a write-ahead log")
    assert run.stderr.count("WARNING") == 1
    store = open_store(path)
    (conversation,) = store.sessions.catalog()
    assert conversation.title == "A title"
    store.close()


def test_a_disk_that_refuses_the_log_with_an_error_gets_a_journal_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(operation: int, name: str | None, value: str | None, *_where: str | None) -> int:
        if (operation, name, value) == (apsw.SQLITE_PRAGMA, "journal_mode", "WAL"):
            raise apsw.ProtocolError("locking protocol")
        return apsw.SQLITE_OK

    monkeypatch.setattr(apsw, "connection_hooks", [lambda connection: setattr(connection, "authorizer", refuse)])
    path = tmp_path / "state.db"
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            store = create_store(path)
            assert store.journal_mode == "delete"
            assert "locking protocol" in store.notices[0]
            store.sessions.create("s", source="cli")
            store.close()
            path.unlink()
    assert [record.getMessage() for record in caplog.records] == list(store.notices)


# --- sessions


def test_a_session_gets_an_id_as_hermes_makes_them(store: OwnerStore, database: Database) -> None:
    session_id = store.sessions.create(source="cli", model="m", cwd="/src", model_config={"max_iterations": 90})
    assert re.fullmatch(r"20260528_\d{6}_[0-9a-f]{6}", session_id)
    stored = session(database, session_id, "source", "model", "cwd", "model_config", "started_at", "ended_at")
    assert stored == ("cli", "m", "/src", '{"max_iterations": 90}', NOW - 999, None)


def test_an_id_that_is_there_is_left_as_it_is(store: OwnerStore, database: Database) -> None:
    assert store.sessions.create("s", source="cli") == store.sessions.create("s", source="tui") == "s"
    assert session(database, "s", "source") == ("cli",)


def test_a_session_that_is_not_there_is_named(store: OwnerStore) -> None:
    message = NewMessage("user", "hello")
    for action in (
        lambda: store.messages.append("gone", message),
        lambda: store.sessions.end("gone", "error"),
        lambda: store.sessions.set_title("gone", "x"),
        lambda: store.usage.add("gone", Usage()),
        lambda: store.sessions.archive("gone"),
        lambda: store.lineage.compress("gone"),
        lambda: store.lineage.branch("gone"),
        lambda: store.sessions.create("child", source="cli", parent_id="gone"),
    ):
        with pytest.raises(SessionNotFound, match="gone"):
            action()


def test_the_first_reason_of_an_end_stays(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    assert store.sessions.end("s", "compression")
    assert not store.sessions.end("s", "cli_close")
    assert session(database, "s", "end_reason", "ended_at") == ("compression", NOW - 998)


# --- messages


def test_a_message_is_stored_with_all_it_has(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="discord")
    message = NewMessage(
        "assistant",
        "done",
        tool_calls=[CALL],
        tool_call_id="c",
        tool_name="t",
        timestamp=5.5,
        finish_reason="tool_calls",
        reasoning="hm",
        platform_message_id="77",
        observed=True,
    )
    store.messages.append("s", message)
    row = database.row(
        "SELECT role, content, tool_call_id, tool_name, timestamp, finish_reason, reasoning, platform_message_id,"
        " observed, active FROM messages"
    )
    assert row == ("assistant", "done", "c", "t", 5.5, "tool_calls", "hm", "77", 1, 1)
    assert json.loads(str(database.value("SELECT tool_calls FROM messages"))) == [CALL]


def test_counters_are_kept_as_hermes_keeps_them(store: OwnerStore, database: Database) -> None:
    """Rows of every role are counted, and the calls of assistant rows, not their results."""
    store.sessions.create("s", source="cli")
    store.messages.append("s", NewMessage("user", "go"))
    store.messages.append("s", NewMessage("assistant", None, tool_calls=[CALL, CALL]))
    ids = store.messages.append_all(
        "s", [NewMessage("tool", "a"), NewMessage("tool", "b"), NewMessage("assistant", "done")]
    )
    assert ids == [3, 4, 5]
    assert session(database, "s", "message_count", "tool_call_count") == (5, 2)


def test_all_messages_of_a_batch_are_stored_or_none(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    with pytest.raises(Exception, match="role"):
        store.messages.append_all("s", [NewMessage("user", "a"), NewMessage(None, "b")])  # type: ignore[arg-type]
    assert database.value("SELECT count(*) FROM messages") == 0
    assert session(database, "s", "message_count") == (0,)


def test_what_was_appended_is_read_back_as_it_was(store: OwnerStore) -> None:
    texts = ["plain", "", "NUL \x00 inside", "\x1b[31mred", "日本語 🎉", "half \ud83d here", "x" * 1_000_000]
    store.sessions.create("s", source="cli")
    ids = talk(store, "s", *texts)
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    ids.append(store.messages.append("s", NewMessage("user", parts)))
    reader = open_store(store.path)
    messages = reader.messages.get(ids)
    said = [messages[message_id].text for message_id in ids]
    assert said == [*(text.replace("\ud83d", "\ufffd") for text in texts), "look\n[image: https://example.org/a.png]"]
    reader.close()


# --- titles


def test_a_title_is_cleaned_as_by_hermes(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    assert store.sessions.set_title("s", "  Login \t\n loop\x1b\u202e\u200b ") == "Login loop"
    assert session(database, "s", "title") == ("Login loop",)
    assert store.sessions.set_title("s", "\u200b  ") is None
    assert session(database, "s", "title") == (None,)
    with pytest.raises(UsageError, match="101 characters"):
        store.sessions.set_title("s", "x" * 101)


def test_a_title_belongs_to_one_session(store: OwnerStore, database: Database) -> None:
    for session_id in ("a", "b"):
        store.sessions.create(session_id, source="cli")
    store.sessions.set_title("a", "Login loop")
    assert store.sessions.set_title("a", "Login loop") == "Login loop"
    with pytest.raises(TitleTaken, match="session a"):
        store.sessions.set_title("b", "Login loop")
    assert session(database, "b", "title") == (None,)


def test_a_title_moves_from_an_earlier_part_to_the_tip(store: OwnerStore, database: Database) -> None:
    store.sessions.create("a", source="cli")
    store.sessions.set_title("a", "Login loop")
    store.lineage.compress("a", "b")
    store.lineage.compress("b", "c")
    store.sessions.set_title("c", "Login loop")
    assert session(database, "a", "title") == (None,)
    assert session(database, "b", "title") == ("Login loop #2",)
    assert session(database, "c", "title") == ("Login loop",)
    with pytest.raises(TitleTaken):
        store.sessions.set_title("a", "Login loop")


# --- usage


def test_usage_adds_up_and_the_first_route_stays(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    store.usage.add(
        "s",
        Usage(
            Tokens(1, 2, 3, 4, 5), 1, 0.25, None, "estimated", "docs", "v1", "opus", "anthropic", "https://a", "docs"
        ),
    )
    store.usage.add("s", Usage(Tokens(10, 20, 30, 40, 50), 2, 0.5, 0.75, "actual", model="x", provider="y"))
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    assert session(database, "s", *tokens, "api_call_count") == (11, 22, 33, 44, 55, 3)
    assert session(database, "s", "estimated_cost_usd", "actual_cost_usd") == (0.75, 0.75)
    assert session(database, "s", "cost_status", "cost_source", "pricing_version") == ("actual", "docs", "v1")
    route = ("model", "billing_provider", "billing_base_url", "billing_mode")
    assert session(database, "s", *route) == ("opus", "anthropic", "https://a", "docs")


def test_an_unknown_price_is_marked_by_its_status(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    store.usage.add("s", Usage(Tokens(100, 10), status="unknown"))
    assert session(database, "s", "estimated_cost_usd", "actual_cost_usd", "cost_status") == (0.0, None, "unknown")


# --- lineage


def test_a_compressed_session_goes_on_in_a_child(store: OwnerStore, database: Database) -> None:
    store.sessions.create("a", source="cli", model="m", cwd="/src", user_id="u", model_config={"_branched_from": "x"})
    store.sessions.set_title("a", "Login loop")
    assert store.lineage.compress("a", "b") == "b"
    assert session(database, "a", "end_reason") == ("compression",)
    assert session(database, "b", "parent_session_id", "source", "model", "cwd", "user_id", "title") == (
        *("a", "cli", "m", "/src", "u"),
        "Login loop #2",
    )
    assert session(database, "b", "model_config") == session(database, "a", "model_config")
    assert session(database, "a", "ended_at") == session(database, "b", "started_at")
    talk(store, store.lineage.compress("b", "c"), "go on")
    reader = open_store(store.path)
    (conversation,) = reader.sessions.catalog()
    assert conversation.segments == ("a", "b", "c")
    reader.close()


def test_an_untitled_session_has_an_untitled_continuation(store: OwnerStore, database: Database) -> None:
    store.lineage.compress(store.sessions.create(source="cli"), "b")
    assert session(database, "b", "title") == (None,)


def test_a_branch_is_a_marked_copy(store: OwnerStore, database: Database) -> None:
    store.sessions.create("a", source="tui", model="m", model_config={"max_iterations": 90})
    store.sessions.set_title("a", "Cache")
    store.messages.append("a", NewMessage("user", "design a cache"))
    store.messages.append("a", NewMessage("assistant", "two ways", tool_calls=[CALL, CALL], reasoning="hm"))
    undone = store.messages.append("a", NewMessage("user", "no"))
    store.messages.rewind("a", undone)
    assert store.lineage.branch("a", "b", title="Cache on disk") == "b"
    assert session(database, "a", "end_reason") == ("branched",)
    config = json.loads(str(session(database, "b", "model_config")[0]))
    assert config == {"max_iterations": 90, "_branched_from": "a"}
    assert session(database, "b", "title", "message_count", "tool_call_count") == ("Cache on disk", 2, 2)
    copies = database.rows("SELECT role, content, reasoning FROM messages WHERE session_id = 'b' ORDER BY id")
    assert copies == [("user", "design a cache", None), ("assistant", "two ways", "hm")]
    assert database.rows("SELECT DISTINCT timestamp FROM messages WHERE session_id = 'b'") == [
        session(database, "b", "started_at")
    ]


def test_a_branch_without_a_title_gets_the_next_number(store: OwnerStore, database: Database) -> None:
    store.sessions.create("a", source="tui")
    store.sessions.set_title("a", "Cache #4")
    store.lineage.branch("a", "b")
    assert session(database, "b", "title") == ("Cache #5",)
    with pytest.raises(TitleTaken, match="session a"):
        store.lineage.branch("b", "c", title="Cache #4")
    assert database.value("SELECT count(*) FROM sessions") == 2
    assert session(database, "b", "end_reason") == (None,)


def test_a_rewind_hides_a_message_and_what_followed(store: OwnerStore, database: Database) -> None:
    store.sessions.create("s", source="cli")
    first, answer, second, _ = talk(store, "s", "one", "1", "two", "2")
    assert store.messages.rewind("s", second) == 2
    assert store.messages.rewind("s", second) == 0
    assert database.rows("SELECT active FROM messages ORDER BY id") == [(1,), (1,), (0,), (0,)]
    assert session(database, "s", "rewind_count", "message_count") == (2, 4)
    store.sessions.create("other", source="cli")
    for session_id, message_id in (("s", answer), ("s", 99), ("other", first)):
        with pytest.raises(UsageError, match="not one a person wrote"):
            store.messages.rewind(session_id, message_id)


def test_the_whole_conversation_is_archived_and_nothing_else(store: OwnerStore, database: Database) -> None:
    store.sessions.create("a", source="cli")
    store.lineage.compress("a", "b")
    store.lineage.compress("b", "c")
    store.lineage.branch("c", "fork")
    store.sessions.archive("b")
    archived = "SELECT id FROM sessions WHERE archived = 1 ORDER BY id"
    assert database.rows(archived) == [("a",), ("b",), ("c",)]
    store.sessions.archive("c", archived=False)
    assert database.rows(archived) == []

"""Messages, written: stored with all they hold, counted, taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_sessions.errors import Refused, UsageError
from hermes_sessions.storage.writing.entries import NewMessage
from tests.storage.writing.written import CALL, Clock, Written

FULL = NewMessage(
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
    token_count=12,
    reasoning_content="hmm",
    reasoning_details=[{"type": "summary"}],
    codex_reasoning_items=[{"id": "r"}],
    codex_message_items=[{"id": "m"}],
    effect_disposition="applied",
    api_content="done, as sent",
)


def test_a_message_is_stored_with_all_the_layout_has_a_place_for(any_written: Written) -> None:
    any_written.sessions.create("s", source="discord")
    any_written.messages.append("s", FULL)
    expected: dict[str, Any] = {
        "role": "assistant",
        "content": "done",
        "tool_calls": json.dumps([CALL]),
        "tool_call_id": "c",
        "tool_name": "t",
        "timestamp": 5.5,
        "finish_reason": "tool_calls",
        "reasoning": "hm",
        "platform_message_id": "77",
        "observed": 1,
        "token_count": 12,
        "reasoning_content": "hmm",
        "reasoning_details": '[{"type": "summary"}]',
        "codex_reasoning_items": '[{"id": "r"}]',
        "codex_message_items": '[{"id": "m"}]',
        "effect_disposition": "applied",
        "api_content": "done, as sent",
        "active": 1,
        "compacted": 0,
    }
    known = {name: value for name, value in expected.items() if any_written.database.has("messages", name)}
    assert any_written.rows(f"SELECT {', '.join(known)} FROM messages") == [tuple(known.values())]
    assert {"role", "content", "tool_calls", "token_count", "reasoning_details"} <= known.keys()


def test_counters_are_kept_as_hermes_keeps_them(any_written: Written) -> None:
    """Rows of every role are counted, and the calls of assistant rows, not their results."""
    any_written.sessions.create("s", source="cli")
    any_written.messages.append("s", NewMessage("user", "go"))
    any_written.messages.append("s", NewMessage("assistant", None, tool_calls=[CALL, CALL]))
    any_written.messages.append("s", NewMessage("assistant", None, tool_calls=CALL))
    ids = any_written.messages.append_all(
        "s", [NewMessage("tool", "a"), NewMessage("tool", "b"), NewMessage("assistant", "done")]
    )
    assert ids == [4, 5, 6]
    assert any_written.session("s", "message_count", "tool_call_count") == (6, 3)


def test_counters_that_are_null_begin_at_nought(written: Written) -> None:
    written.sessions.create("s", source="cli")
    written.database.execute("UPDATE sessions SET message_count = NULL, tool_call_count = NULL")
    written.messages.append("s", FULL)
    assert written.session("s", "message_count", "tool_call_count") == (1, 1)


def test_all_messages_of_a_batch_are_stored_or_none(written: Written) -> None:
    written.sessions.create("s", source="cli")
    with pytest.raises(Exception, match="role"):
        written.messages.append_all("s", [NewMessage("user", "a"), NewMessage(None, "b")])  # type: ignore[arg-type]
    assert written.rows("SELECT count(*) FROM messages") == [(0,)]
    assert written.session("s", "message_count") == (0,)


def test_an_empty_batch_is_no_message(written: Written) -> None:
    written.sessions.create("s", source="cli")
    assert written.messages.append_all("s", []) == []
    assert written.session("s", "message_count") == (0,)


def test_what_was_appended_is_read_back_as_it_was(ownable: Written) -> None:
    texts = [
        *("plain", "", "NUL \x00 inside", "\x00", "\x1b[31mred", "日本語 🎉", "half \ud83d here"),
        *("\x00json:[1]", "x" * 2_000_000),
    ]
    ownable.sessions.create("s", source="cli")
    ids = ownable.talk("s", *texts)
    parts = [
        {"type": "text", "text": "look \ud83d"},
        {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}},
    ]
    ids += ownable.messages.append_all(
        "s", [NewMessage("user", parts), NewMessage("user", {"text": "a dict"}), NewMessage("assistant", None)]
    )
    messages = ownable.reader.messages.get(ids)
    said = [messages[message_id].text for message_id in ids]
    expected = [text.replace("\ud83d", "\ufffd") for text in texts]
    assert said == [*expected, "look \ud83d\n[image: https://e.org/a.png]", "a dict", ""]


def test_an_ended_session_takes_a_message_and_stays_ended(written: Written) -> None:
    written.begin("s", "hello")
    written.sessions.end("s", "cli_close")
    written.messages.append("s", NewMessage("assistant", "late"))
    assert written.session("s", "end_reason", "message_count") == ("cli_close", 2)


def test_a_clock_that_was_set_back_does_not_disturb_the_order(written: Written) -> None:
    written.begin("s", "one", "1")
    written.clock.later(-5_000)
    written.talk("s", "two", "2")
    (conversation,) = written.catalog()
    stubs = written.reader.messages.outline(conversation)
    texts = written.reader.messages.get(stub.id for stub in stubs)
    assert [texts[stub.id].text for stub in stubs] == ["one", "1", "two", "2"]


def test_a_rewind_hides_a_message_and_what_followed_and_gives_its_text_back(ownable: Written) -> None:
    first, answer, second, _ = ownable.begin("s", "one", "1", "two", "2")
    rewound = ownable.messages.rewind("s", second)
    assert (rewound.hidden, rewound.text) == (2, "two")
    assert ownable.messages.rewind("s", second).hidden == 0
    assert ownable.rows("SELECT active FROM messages ORDER BY id") == [(1,), (1,), (0,), (0,)]
    assert ownable.session("s", "rewind_count", "message_count") == (2, 4)
    ownable.sessions.create("other", source="cli")
    for session_id, message_id in (("s", answer), ("s", 99), ("other", first)):
        with pytest.raises(UsageError, match="not one a person wrote"):
            ownable.messages.rewind(session_id, message_id)


def test_the_text_of_a_rewound_message_is_decoded(written: Written) -> None:
    written.sessions.create("s", source="cli")
    message = written.messages.append("s", NewMessage("user", [{"type": "text", "text": "look"}]))
    assert written.messages.rewind("s", message).text == "look"


def test_a_rewind_can_be_undone(ownable: Written) -> None:
    _, _, second, _ = ownable.begin("s", "one", "1", "two", "2")
    before = ownable.rows("SELECT * FROM messages")
    ownable.messages.rewind("s", second)
    assert ownable.messages.restore("s", second) == 2
    assert ownable.messages.restore("s", second) == 0
    assert ownable.rows("SELECT * FROM messages") == before


def test_a_null_in_active_counts_as_active(tmp_path: Path) -> None:
    """Some files that old releases migrated hold it."""
    written = Written(tmp_path / "old.db", Clock(), 11)
    written.database.execute("ALTER TABLE messages ADD COLUMN active INTEGER")
    written.database.execute("ALTER TABLE sessions ADD COLUMN rewind_count INTEGER")
    first, *_ = written.begin("s", "one", "1")
    assert written.rows("SELECT DISTINCT active FROM messages") == [(None,)]
    written.lineage.branch("s", "b")
    assert written.session("b", "message_count") == (2,)
    assert written.messages.rewind("s", first).hidden == 2
    assert written.session("s", "rewind_count") == (1,)
    written.close()


def test_what_a_compaction_put_away_is_not_restored(newer: Written) -> None:
    first, *_ = newer.begin("s", "one", "1")
    newer.lineage.compact("s", [NewMessage("user", "so far")])
    undone = newer.talk("s", "two")[0]
    newer.messages.rewind("s", undone)
    assert newer.messages.restore("s", first) == 1
    assert newer.rows("SELECT active, compacted FROM messages ORDER BY id") == [(0, 1), (0, 1), (1, 0), (1, 0)]


def test_a_layout_that_cannot_hide_messages_is_said(any_written: Written) -> None:
    message = any_written.begin("s", "one")[0]
    if any_written.database.has("messages", "active"):
        assert any_written.messages.rewind("s", message).hidden == 1
    else:
        with pytest.raises(Refused, match="too old"):
            any_written.messages.rewind("s", message)
        assert any_written.rows("SELECT count(*) FROM messages") == [(1,)]


def test_a_value_that_sqlite_cannot_hold_is_refused_in_our_own_words(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    with pytest.raises(UsageError):
        ownable.messages.append("s", NewMessage("user", "x", token_count=2**70))
    with pytest.raises(UsageError):
        ownable.messages.rewind("s", 2**70)
    assert ownable.rows("SELECT count(*) FROM messages") == [(0,)]
    ownable.messages.append("s", NewMessage("user", "x", timestamp=10**400))  # no time: then it is now

"""The catalogue, and what a list shows of each conversation."""

from __future__ import annotations

import apsw
import pytest

from hermes_sessions.model import Money, Overview, Tokens
from hermes_sessions.storage import Store, open_store
from tests.builders import NOW, SUMMARY, HermesFile


def overview(store: Store, id: str) -> Overview:
    catalog = store.sessions.catalog()
    return store.sessions.overviews([catalog.by_session[id]])[catalog.by_session[id].id]


def test_every_layout_is_listed(any_layout: HermesFile) -> None:
    chain = any_layout.chain(3, title="Login loop")
    any_layout.delegate(any_layout.session("starter"), "helper")
    any_layout.branch("starter", "fork", ends_parent=False)
    any_layout.session("empty")
    store = open_store(any_layout.path)
    catalog = store.sessions.catalog()
    assert sorted(item.id for item in catalog) == ["chain-3", "empty", "fork", "helper", "starter"]
    assert catalog.by_session["chain-1"].segments == tuple(chain)
    assert catalog.by_session["chain-1"].title == "Login loop #3"
    assert catalog.by_session["fork"].branched_from == "starter"
    assert catalog.by_session["helper"].kind == "subagent"
    assert catalog.by_session["starter"].delegates == ("helper",)
    assert catalog.by_session["empty"].empty
    store.close()


def test_only_the_fourteen_oldest_columns_are_enough(hermes_file: HermesFile) -> None:
    """Version 3 knew no title and no cost; a reader asks for what is there."""
    old = (
        "id, source, user_id, model, model_config, system_prompt, parent_session_id, started_at, ended_at, end_reason,"
        " message_count, tool_call_count, input_tokens, output_tokens"
    )
    hermes_file.sql("PRAGMA foreign_keys = OFF")
    for trigger in hermes_file.sql("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')"):
        hermes_file.sql(f"DROP TRIGGER IF EXISTS {trigger[0]}")
    hermes_file.sql("DROP TABLE sessions")
    hermes_file.sql(f"CREATE TABLE sessions ({old})")
    hermes_file.sql("DROP TABLE messages")
    hermes_file.sql(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, tool_call_id, tool_calls, tool_name,"
        " timestamp REAL, token_count)"
    )
    hermes_file.sql("INSERT INTO sessions (id, source, started_at) VALUES ('a', 'cli', ?)", (NOW,))
    hermes_file.sql("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('a', 'user', 'hi', ?)", (NOW,))
    store = open_store(hermes_file.path)
    assert overview(store, "a").preview == "hi"
    assert overview(store, "a").cost == Money(None, "unknown")
    catalog = store.sessions.catalog()
    stub = store.messages.outline(catalog.conversations[0])[0]
    assert store.messages.get([stub.id])[stub.id].text == "hi"
    store.close()


def test_columns_and_versions_of_the_future_do_no_harm(hermes_file: HermesFile) -> None:
    hermes_file.session("a", title="now")
    hermes_file.sql("ALTER TABLE sessions ADD COLUMN mood TEXT")
    hermes_file.sql("CREATE TABLE moods (x)")
    hermes_file.sql("UPDATE schema_version SET version = 999")
    store = open_store(hermes_file.path)
    assert [item.title for item in store.sessions.catalog()] == ["now"]
    store.close()


def test_the_newest_part_is_the_beginning_of_the_whole(hermes_file: HermesFile) -> None:
    for number in range(30):
        hermes_file.talk(hermes_file.session(f"s{number:02}"), "hello")
    hermes_file.chain(3)
    hermes_file.message("s00", "user", "back again", t=NOW + 500)
    store = open_store(hermes_file.path)
    whole = store.sessions.catalog()
    part = store.sessions.catalog(recent=10)
    assert whole.whole and len(whole) == 31
    assert not part.whole
    assert [item.id for item in part][:8] == [item.id for item in whole][:8]
    assert part.conversations[0].id == "s00"
    assert part.by_session["chain-3"].segments == ("chain-1", "chain-2", "chain-3")
    assert store.sessions.catalog(recent=200) == whole
    store.close()


def test_times_that_are_text_or_nonsense_are_ordered_by_what_they_mean(hermes_file: HermesFile) -> None:
    """#14399: text sorts above every number in SQLite."""
    hermes_file.session("iso", started_at="2026-04-09T12:00:00+00:00")
    hermes_file.session("number", started_at=NOW)
    hermes_file.session("digits", started_at=str(NOW - 10))
    hermes_file.session("absurd", started_at=1e300)
    hermes_file.session("active", started_at=1.0)
    hermes_file.message("active", "user", "hi", t=NOW + 1)
    hermes_file.message("active", "user", "from the future", t=9e15)
    hermes_file.session("word", started_at="soon")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    assert [item.id for item in catalog] == ["active", "number", "digits", "iso", "absurd", "word"]
    assert catalog.by_session["word"].started_at is None
    assert catalog.by_session["active"].last_active_at == NOW + 1
    store.close()


def test_values_of_a_wrong_kind_are_shown_as_text(hermes_file: HermesFile) -> None:
    hermes_file.session("a", source=7, title=b"\xff broken", model=3.5, cwd=12, model_config="{not json _branched_from")  # type: ignore[arg-type]
    hermes_file.session("b", title="fine")
    store = open_store(hermes_file.path)
    session = store.sessions.catalog().by_session["a"].tip
    assert (session.source, session.title, session.model, session.cwd) == ("7", "\ufffd broken", "3.5", "12")
    assert len(store.sessions.catalog()) == 2
    store.close()


def test_an_overview_sums_the_whole_chain(hermes_file: HermesFile) -> None:
    for id in hermes_file.chain(2, input_tokens=100, output_tokens=10, estimated_cost_usd=0.5, cost_status="estimated"):
        hermes_file.tool_call(id, "terminal", {"command": "ls"}, "ok")
    hermes_file.message("chain-2", "assistant", "done", finish_reason="stop")
    store = open_store(hermes_file.path)
    shown = overview(store, "chain-2")
    assert shown.message_count == 2 + 2 + 3 + 3
    assert shown.tool_call_count == 2
    assert shown.tokens == Tokens(input=200, output=20)
    assert shown.cost == Money(1.0, "estimated")
    assert shown.preview == "question 1"
    assert shown.status == "complete"
    store.close()


def test_rewound_rows_are_not_counted_and_compacted_ones_are(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "one", "two", "three", "four")
    hermes_file.compact_in_place("a", tail=0)
    hermes_file.rewind("a", hermes_file.message("a", "user", "oops"))
    store = open_store(hermes_file.path)
    assert overview(store, "a").message_count == 5
    store.close()


def test_an_active_flag_that_is_null_counts_as_set(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "one")
    hermes_file.sql("PRAGMA writable_schema = ON")
    hermes_file.sql("UPDATE sqlite_schema SET sql = replace(sql, 'active INTEGER NOT NULL', 'active INTEGER')")
    hermes_file.close()
    writer = apsw.Connection(str(hermes_file.path))
    writer.execute("UPDATE messages SET active = NULL")
    writer.close()
    store = open_store(hermes_file.path)
    assert overview(store, "a").message_count == 1
    assert len(store.messages.outline(store.sessions.catalog().conversations[0])) == 1
    store.close()


@pytest.mark.parametrize(
    ("role", "columns", "status"),
    [
        ("assistant", {"finish_reason": "stop"}, "complete"),
        ("assistant", {"finish_reason": "error"}, "error"),
        ("assistant", {"finish_reason": "content_filter"}, "error"),
        ("assistant", {"tool_calls": [{"function": {"name": "x"}}]}, "interrupted"),
        ("user", {}, "interrupted"),
        ("tool", {"tool_name": "terminal"}, "interrupted"),
    ],
)
def test_the_last_message_tells_how_a_session_stands(
    hermes_file: HermesFile, role: str, columns: dict[str, object], status: str
) -> None:
    hermes_file.talk(hermes_file.session("a"), "hello", "hi")
    hermes_file.message("a", role, "last", **columns)  # type: ignore[arg-type]
    store = open_store(hermes_file.path)
    assert overview(store, "a").status == status
    store.close()


def test_a_session_without_messages_is_empty(hermes_file: HermesFile) -> None:
    """Its counter may say otherwise (#3123)."""
    hermes_file.session("a", message_count=38)
    store = open_store(hermes_file.path)
    assert store.sessions.catalog().by_session["a"].empty
    assert overview(store, "a").status == "empty"
    assert overview(store, "a").message_count == 0
    store.close()


def test_the_preview_is_what_the_person_said_first(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("a"), "user", SUMMARY)
    hermes_file.message(
        "a",
        "user",
        [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
    )
    hermes_file.message(hermes_file.session("long"), "user", "word " * 100_000)
    store = open_store(hermes_file.path)
    assert overview(store, "a").preview == "look\n[image: image/png, 3 bytes]"
    assert len(overview(store, "long").preview or "") < 10_000
    store.close()


def test_a_chain_with_an_empty_root_is_previewed_from_where_it_speaks(hermes_file: HermesFile) -> None:
    hermes_file.session("r", end_reason="compression", started_at=NOW)
    hermes_file.message(hermes_file.session("t", parent="r", started_at=NOW + 100), "user", "hello from the tip")
    store = open_store(hermes_file.path)
    assert overview(store, "r").preview == "hello from the tip"
    assert overview(store, "r").status == "interrupted"
    store.close()


def test_the_last_message_is_the_one_written_last_whatever_its_time(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("a"), "user", "question", t=NOW + 9000)
    hermes_file.message("a", "assistant", "answer", t=NOW, finish_reason="stop")
    store = open_store(hermes_file.path)
    assert overview(store, "a").status == "complete"
    store.close()

"""Transcripts."""

from __future__ import annotations

from hermes_sessions.storage import Store, open_store
from tests.builders import NOW, SUMMARY, HermesFile


def transcript(store: Store, id: str, *, rewound: bool = False) -> list[str]:
    conversation = store.sessions.catalog().by_session[id]
    stubs = store.messages.outline(conversation, rewound=rewound)
    messages = store.messages.get(stub.id for stub in stubs)
    return [messages[stub.id].text for stub in stubs]


def test_a_chain_reads_as_one_text_in_order(any_layout: HermesFile) -> None:
    any_layout.chain(3)
    store = open_store(any_layout.path)
    assert transcript(store, "chain-1") == [
        "question 1",
        "answer 1",
        SUMMARY,
        "question 2",
        "answer 2",
        SUMMARY,
        "question 3",
        "answer 3",
    ]
    store.close()


def test_what_a_compaction_carries_over_is_shown_once(hermes_file: HermesFile) -> None:
    """Into the next session of a chain: the first messages, the summary, the last messages."""
    hermes_file.talk(hermes_file.session("r", started_at=NOW), "system talk", "ready", "do it", "done", "more?", "yes")
    hermes_file.end("r", "compression", at=NOW + 50)
    hermes_file.session("t", parent="r", started_at=NOW + 50)
    hermes_file.talk("t", "system talk", "ready")
    hermes_file.message("t", "user", SUMMARY)
    hermes_file.talk("t", "more?", "yes", "more?", "no")
    store = open_store(hermes_file.path)
    assert transcript(store, "t") == ["system talk", "ready", "do it", "done", "more?", "yes", SUMMARY, "more?", "no"]
    store.close()


def test_a_person_who_repeats_themselves_is_not_cut(hermes_file: HermesFile) -> None:
    """The same words as before a compaction, but not its very last message: nothing was carried over."""
    hermes_file.talk(hermes_file.session("r", started_at=NOW), "continue", "step 1", "continue", "step 2")
    hermes_file.end("r", "compression", at=NOW + 50)
    hermes_file.message(hermes_file.session("t", parent="r", started_at=NOW + 50), "user", SUMMARY)
    hermes_file.talk("t", "continue", "step 3")
    store = open_store(hermes_file.path)
    assert transcript(store, "t") == ["continue", "step 1", "continue", "step 2", SUMMARY, "continue", "step 3"]
    store.close()


def test_a_chain_that_begins_alike_without_a_summary_is_kept(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("r", started_at=NOW), "hello", "hi")
    hermes_file.end("r", "compression", at=NOW + 50)
    hermes_file.talk(hermes_file.session("t", parent="r", started_at=NOW + 50), "hello", "hi again")
    store = open_store(hermes_file.path)
    assert transcript(store, "t") == ["hello", "hi", "hello", "hi again"]
    store.close()


def test_in_place_compaction_shows_each_message_once(hermes_file: HermesFile) -> None:
    """Twice over: the first summary and its tail are compacted themselves."""
    hermes_file.talk(hermes_file.session("a"), "one", "two", "three", "four")
    hermes_file.compact_in_place("a", tail=2)
    hermes_file.talk("a", "five", "six")
    hermes_file.compact_in_place("a", tail=1)
    hermes_file.talk("a", "seven")
    store = open_store(hermes_file.path)
    assert transcript(store, "a") == ["one", "two", "three", "four", SUMMARY, "five", "six", SUMMARY, "seven"]
    store.close()


def test_a_compacted_copy_without_a_summary_is_shown_once(hermes_file: HermesFile) -> None:
    """#86366: the same text once archived and once active; #40751: undone rows stay away unless asked for."""
    hermes_file.message(hermes_file.session("a"), "user", "first")
    hermes_file.message("a", "user", "secretplan", active=0)
    hermes_file.message("a", "assistant", "third", active=0, compacted=1)
    hermes_file.message("a", "assistant", "third")
    store = open_store(hermes_file.path)
    assert transcript(store, "a") == ["first", "third"]
    assert transcript(store, "a", rewound=True) == ["first", "secretplan", "third"]
    store.close()


def test_ids_and_not_times_tell_the_order(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("a"), "user", "first", t=NOW + 100)
    hermes_file.message("a", "assistant", "second", t=NOW)
    hermes_file.message("a", "user", "third", t="nonsense")
    store = open_store(hermes_file.path)
    conversation = store.sessions.catalog().by_session["a"]
    stubs = store.messages.outline(conversation)
    assert transcript(store, "a") == ["first", "second", "third"]
    assert [stub.timestamp for stub in stubs] == [NOW + 100, NOW, None]
    store.close()


def test_scaffolding_is_not_painted(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("a"), "session_meta", "{}")
    hermes_file.message("a", "user", "seen")
    store = open_store(hermes_file.path)
    assert transcript(store, "a") == ["seen"]
    store.close()


def test_a_message_is_read_whole(hermes_file: HermesFile) -> None:
    """NUL, wrong storage classes and bad UTF-8 included; SQLite's own length() ends at the NUL."""
    hermes_file.message(
        hermes_file.session("a"), "assistant", "before\x00after", t=NOW, reasoning="because", finish_reason="stop"
    )
    hermes_file.message("a", "tool", b"caf\xe9", tool_name="terminal", tool_call_id="c1")
    big = hermes_file.message("a", "user", "x" * 2_000_000)
    store = open_store(hermes_file.path)
    conversation = store.sessions.catalog().by_session["a"]
    stubs = store.messages.outline(conversation)
    messages = store.messages.get(stub.id for stub in stubs)
    first, second, third = (messages[stub.id] for stub in stubs)
    assert (first.text, first.reasoning, first.finish_reason) == ("before\x00after", "because", "stop")
    assert (second.text, second.tool_name, second.tool_call_id) == ("caf\ufffd", "terminal", "c1")
    assert third.id == big and stubs[2].size == 2_000_000
    store.close()


def test_api_content_and_system_prompts_are_never_read(hermes_file: HermesFile) -> None:
    """They hold injected memory; no type of ours has a place for them."""
    hermes_file.message(hermes_file.session("a", system_prompt="TOP SECRET"), "user", "hi", api_content="TOP SECRET hi")
    store = open_store(hermes_file.path)
    assert transcript(store, "a") == ["hi"]
    assert "SECRET" not in repr(store.sessions.catalog())
    assert store.search.run("SECRET", store.sessions.catalog()).conversations == ()
    store.close()


def test_what_was_undone_is_counted_through_the_chain_and_what_was_compacted_is_not(any_layout: HermesFile) -> None:
    first, second = any_layout.chain(2)
    any_layout.talk(second, "kept", "kept")
    if any_layout.has("messages", "compacted"):
        any_layout.message(first, "user", "compacted", active=0, compacted=1)
    if any_layout.has("messages", "active"):
        any_layout.rewind(second, any_layout.talk(second, "wrong", "wrong")[0])
    store = open_store(any_layout.path)
    assert store.messages.undone(store.sessions.catalog().by_session[first]) == (
        2 if any_layout.has("messages", "active") else 0
    )
    store.close()


def test_ids_that_are_gone_are_left_out(hermes_file: HermesFile) -> None:
    kept = hermes_file.message(hermes_file.session("a"), "user", "hi")
    store = open_store(hermes_file.path)
    assert list(store.messages.get([kept, 999_999])) == [kept]
    store.close()


def test_thousands_of_equal_messages_around_a_compaction_are_no_trouble(hermes_file: HermesFile) -> None:
    hermes_file.sql("BEGIN")
    hermes_file.session("a")
    for _ in range(4_000):
        hermes_file.message("a", "user", "same", active=0, compacted=1)
    hermes_file.message("a", "user", SUMMARY)
    for _ in range(3_000):
        hermes_file.message("a", "user", "same")
    hermes_file.sql("COMMIT")
    store = open_store(hermes_file.path)
    assert len(transcript(store, "a")) == 4_001
    store.close()

"""Conditions on single messages, answered in SQL in every layout."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.message_conditions import where
from hermes_sessions.storage.query import parse
from tests.builders import NOW, HermesFile

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def fitting(database: Database, query: str) -> set[int]:
    read = parse(f"{query} ", NOW)
    assert len(read.of_messages) == len(read.conditions) and not read.problems
    condition, values = where(read.of_messages, database)
    return {int(str(id)) for (id,) in database.rows(f"SELECT m.id FROM messages m WHERE {condition}", values)}


def test_each_condition_finds_its_messages(any_layout: HermesFile) -> None:
    session = any_layout.session("a")
    asked = any_layout.message(session, "user", "why?")
    called, answered = any_layout.tool_call(session, "Web_Search", {"q": "terminal"}, "found")
    thought = any_layout.message(session, "assistant", "so", reasoning="because")
    shown = any_layout.message(session, "user", [{"type": "text", "text": "look"}, PICTURE])
    told = any_layout.message(session, "user", [{"type": "text", "text": "an image"}])
    ruled = any_layout.message(session, "system", "be nice")
    any_layout.message(session, "session_meta", "image reasoning")
    everything = {asked, called, answered, thought, shown, told, ruled}
    expected = {
        "role:user": {asked, shown, told},
        "role:user,tool": {asked, shown, told, answered},
        "-role:user": {called, answered, thought, ruled},
        "tool:web_search": {called, answered},
        "tool:WEB": {called, answered},
        "tool:terminal": set(),
        "-tool:web": everything - {called, answered},
        "tool:web role:tool": {answered},
        "has:tools": {called, answered},
        "has:reasoning": {thought},
        "has:images": {shown},
        "has:images,tools": {shown, called, answered},
        "has:images -role:user": set(),
        "-has:images": everything - {shown},
        "is:rewound": set(),
        "-is:rewound": everything,
    }
    with_database = Database(any_layout.path)
    assert {query: fitting(with_database, query) for query in expected} == expected
    with_database.close()


def test_undone_messages_are_there_only_for_who_asks(any_layout: HermesFile) -> None:
    kept, gone = any_layout.talk(any_layout.session("a"), "one", "two")
    if any_layout.has("messages", "active"):
        any_layout.rewind("a", gone)
    undone = {gone} if any_layout.has("messages", "active") else set()
    database = Database(any_layout.path)
    assert fitting(database, "") == {kept, gone} - undone
    assert fitting(database, "is:rewound") == undone
    assert fitting(database, "is:rewound role:user") == set()
    database.close()


def test_what_a_compaction_put_aside_is_not_undone(hermes_file: HermesFile) -> None:
    said = hermes_file.talk(hermes_file.session("a"), "one", "two")
    hermes_file.compact_in_place("a", tail=0)
    database = Database(hermes_file.path)
    assert fitting(database, "is:rewound") == set()
    assert set(said) <= fitting(database, "role:user,assistant")
    database.close()


@pytest.mark.parametrize(
    "calls",
    [
        "",
        "[]",
        "nonsense",
        '[null, 1, "x"]',
        "{}",
        '[{"function": "x"}]',
        b"\xff",
        '{"name": "terminal"}',
        '"terminal"',
    ],
)
def test_odd_tool_calls_are_no_error(hermes_file: HermesFile, calls: Any) -> None:
    message = hermes_file.message(hermes_file.session("a"), "assistant", "x", tool_calls=calls)
    database = Database(hermes_file.path)
    named = calls == '{"name": "terminal"}'
    assert fitting(database, "tool:terminal") == ({message} if named else set())
    assert fitting(database, "has:tools") == (set() if calls in ("", "[]") else {message})
    assert fitting(database, "tool:términal") == set()
    database.close()

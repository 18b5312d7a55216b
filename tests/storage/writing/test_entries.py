"""How what is written is encoded."""

from __future__ import annotations

import json
from collections import UserDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.content import JSON_PREFIX, decode_text, decode_tool_calls
from hermes_sessions.storage.writing.entries import NewMessage, as_json, encoded_content, message_row, storable
from tests.storage.writing.written import CALL

ANY_TEXT = st.text(st.characters(codec=None), max_size=30)
"""Half surrogates and NUL among the rest."""


class Dumped:
    """A tool call as a provider's library has it."""

    def model_dump(self) -> dict[str, Any]:
        return CALL


@given(ANY_TEXT)
def test_any_text_can_be_stored_and_whole_text_is_not_changed(text: str) -> None:
    stored = storable(text)
    assert stored is not None
    stored.encode()
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert stored == text


def test_half_a_surrogate_becomes_a_stand_in_and_two_halves_their_character() -> None:
    assert storable("a \ud83d b \ude00") == "a \ufffd b \ufffd"
    assert storable("\ud83d\ude00") == "\U0001f600"


def test_lists_and_dicts_are_stored_as_hermes_stores_them() -> None:
    parts = [{"type": "text", "text": "日 \ud83d"}]
    assert encoded_content(parts) == JSON_PREFIX + '[{"type": "text", "text": "\\u65e5 \\ud83d"}]'
    assert encoded_content({"k": 1}) == JSON_PREFIX + '{"k": 1}'
    assert encoded_content([]) == JSON_PREFIX + "[]"
    assert encoded_content(None) is None
    assert encoded_content("plain \x00 text") == "plain \x00 text"


@pytest.mark.parametrize("text", [JSON_PREFIX, JSON_PREFIX + "[1, 2]", JSON_PREFIX + "no JSON"])
def test_text_that_looks_like_a_stored_list_is_read_back_as_text(text: str) -> None:
    assert decode_text(encoded_content(text)) == text


@given(ANY_TEXT)
def test_text_is_read_back_as_it_was_stored(text: str) -> None:
    assert decode_text(encoded_content(text)) == storable(text)


def test_what_json_has_no_form_for_is_kept_as_its_text() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert json.loads(str(as_json([{"raw": b"x"}, UserDict(a=1)]))) == [{"raw": "b'x'"}, {"a": 1}]
    assert json.loads(str(as_json({(1, 2): 3}))) == "{(1, 2): 3}"
    assert json.loads(str(as_json(loop))) == "[[...]]"


@pytest.mark.parametrize(
    ("calls", "count", "names"),
    [
        (None, 0, []),
        ([], 0, []),
        ([CALL, CALL], 2, ["terminal", "terminal"]),
        ((CALL,), 1, ["terminal"]),
        (CALL, 1, ["terminal"]),
        ([Dumped()], 1, ["terminal"]),
    ],
)
def test_tool_calls_may_be_a_list_one_alone_or_objects(calls: Any, count: int, names: list[str]) -> None:
    message = NewMessage("assistant", tool_calls=calls)
    stored = message_row("s", message, 0.0)["tool_calls"]
    assert message.call_count == count
    assert [call.name for call in decode_tool_calls(stored)] == names


@pytest.mark.parametrize("timestamp", [None, float("nan"), float("inf")])
def test_a_time_that_is_none_is_the_time_of_the_call(timestamp: float | None) -> None:
    assert message_row("s", NewMessage("user", "x", timestamp=timestamp), 7.0)["timestamp"] == 7.0


def test_a_time_that_is_given_is_kept() -> None:
    assert message_row("s", NewMessage("user", "x", timestamp=5.5), 7.0)["timestamp"] == 5.5


def test_numbers_that_json_does_not_have_become_null() -> None:
    """Hermes' own SQLite refuses a whole list of sessions for one "NaN"."""
    assert (
        as_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": "NaN"})
        == '{"a": null, "b": [null, 1.5], "c": "NaN"}'
    )


def test_calls_that_are_text_already_count_as_one() -> None:
    assert NewMessage("assistant", None, tool_calls='[{"id": "1"}]').call_count == 1


def test_a_list_too_deep_for_json_is_stored_as_its_text() -> None:
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    assert encoded_content(deep) is not None

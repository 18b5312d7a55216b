"""Stored JSON is read as the panes draw it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Message, ToolCall
from hermes_sessions.storage.unfolding import shown_arguments, shown_result
from hermes_sessions.text import clean
from hermes_sessions.tui.message_blocks import compose

words = st.text("ab \n:é数", max_size=8)
values = st.recursive(
    words | st.none() | st.booleans() | st.integers(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
results = st.dictionaries(st.sampled_from(["output", "exit_code", "error", "success", "note"]), values, max_size=4)


def drawn(role: str, text: str, *calls: ToolCall) -> str:
    message = Message(1, "s", role, text, calls, None, None, None, None, None, False, False, False)
    return compose(message, whole=True)[-1].body.text


@given(results | values)
def test_a_result_is_read_as_it_is_drawn(result: object) -> None:
    for stored in (json.dumps(result), json.dumps(result, ensure_ascii=False), f"{result}"):
        assert drawn("tool", stored) == clean(shown_result(stored).strip("\n"))


@given(results | values)
def test_arguments_are_read_as_they_are_drawn(arguments: object) -> None:
    stored = json.dumps(arguments)
    assert drawn("assistant", "", ToolCall(None, "x", stored)) == clean(shown_arguments(stored).strip("\n"))

"""What Hermes put into a message's columns."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.content import decode_text, decode_tool_calls
from tests.builders import stored_content


@given(st.text())
def test_plain_text_stays_as_it_is(text: str) -> None:
    if not text.startswith("\x00json:"):
        assert decode_text(text) == text


def test_parts_are_read_in_order_and_images_are_named() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    stored = stored_content([{"type": "text", "text": "What plant is this?"}, image, {"type": "audio"}])
    assert decode_text(stored) == "What plant is this?\n[image: image/png, 3,000 bytes]\n[audio]"


def test_text_that_only_looks_encoded_comes_back_raw() -> None:
    assert decode_text("\x00json:not json") == "\x00json:not json"


def test_a_link_to_an_image_shows_the_link() -> None:
    stored = stored_content([{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}])
    assert decode_text(stored) == "[image: https://x.example/a.png]"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_any_json_is_some_text(value: object) -> None:
    assert isinstance(decode_text("\x00json:" + json.dumps(value)), str)
    assert isinstance(decode_tool_calls(json.dumps(value)), tuple)


def test_a_call_is_read_with_its_arguments_as_stored() -> None:
    stored = json.dumps(
        [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}]
    )
    (call,) = decode_tool_calls(stored)
    assert (call.id, call.name, call.arguments) == ("c1", "terminal", '{"command": "ls"}')


@pytest.mark.parametrize(
    ("stored", "name", "arguments"),
    [
        ('{"function": {"name": "patch", "arguments": "{broken"}}', "patch", "{broken"),
        ('[{"function": {"name": "patch", "arguments": {"path": "a"}}}]', "patch", '{"path": "a"}'),
        ('[{"name": "old"}]', "old", ""),
        ("[3]", "?", "3"),
        ("not json", "?", "not json"),
    ],
)
def test_odd_calls_are_shown_for_what_they_are(stored: str, name: str, arguments: str) -> None:
    (call,) = decode_tool_calls(stored)
    assert (call.name, call.arguments) == (name, arguments)

"""Stored JSON is read in steps as it would be at once, and shown as text for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.tui import stored_json
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.stored_json import AS_STORED, decoded_steps, unfold_steps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def at_once(raw: str) -> Any:
    if raw.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(raw, strict=False)
    except ValueError:
        return None


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_json_is_read_in_steps_as_at_once(value: Any, indent: Any) -> None:
    raw = json.dumps(value, indent=indent)
    assert finish(decoded_steps(raw, light=0)) == at_once(raw)


@given(st.text(st.sampled_from('{}[]",: \n1tfnul\\a'), max_size=30).map("{".__add__) | st.text(max_size=20))
def test_what_is_no_json_is_none_read_in_steps_or_at_once(raw: str) -> None:
    assert finish(decoded_steps(raw, light=0)) == at_once(raw)


@given(st.text(st.sampled_from('a\\\\"\\n漢😀')), st.booleans(), st.integers(14, 40))
def test_a_long_string_is_read_in_pieces_that_divide_no_escape(text: str, ascii_only: bool, step: int) -> None:
    raw = json.dumps({"output": text * 3, "code": 0}, ensure_ascii=ascii_only)
    before, stored_json._STRING_AT_ONCE = stored_json._STRING_AT_ONCE, step
    try:
        assert finish(decoded_steps(raw, light=0)) == json.loads(raw)
        assert finish(decoded_steps(raw[:-14], light=0)) is None
    finally:
        stored_json._STRING_AT_ONCE = before


@pytest.mark.parametrize("wrapped", ["{}", '{{"rows": {}, "ok": true}}', '{{"rows": {{"all": {}}}}}'])
def test_a_list_too_long_to_be_unfolded_stays_as_it_is_stored(wrapped: str) -> None:
    rows = json.dumps([{"name": "x" * 80, "place": number} for number in range(12_000)])
    assert finish(decoded_steps(wrapped.format(rows))) is AS_STORED
    assert finish(decoded_steps(wrapped.format(rows[:900_000].rsplit(", {", 1)[0] + "]"))) is not AS_STORED


def test_a_long_text_is_no_list() -> None:
    assert finish(decoded_steps(json.dumps({"output": "x" * 3_000_000}))) == {"output": "x" * 3_000_000}


@pytest.mark.parametrize("raw", ['{"a": 1} 2', '{"a": 1,}', "[1,]", "[1 2]", '{"a" 1}', "{1: 2}", "[", '{"a": ', "{,}"])
def test_broken_json_is_none(raw: str) -> None:
    assert finish(decoded_steps(raw, light=0)) is None


def test_what_is_nested_too_deeply_is_none() -> None:
    assert finish(decoded_steps('{"a":' * 5000 + "1" + "}" * 5000, light=0)) is None


def test_a_large_list_is_read_and_shown_in_many_small_steps() -> None:
    value = {"rows": [{"name": "x", "place": number} for number in range(10_000)]}
    reading, showing = decoded_steps(json.dumps(value)), unfold_steps(value)
    assert sum(1 for _ in reading) > 50
    assert sum(1 for _ in showing) > 20
    assert finish(unfold_steps(value)).startswith('rows:\n[\n  {\n    "name": "x",\n    "place": 0\n  },')

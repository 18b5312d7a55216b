"""What a stored message says to a person: unwrapped, cleaned, and bounded before it is looked at."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Message
from hermes_sessions.text import clean
from hermes_sessions.tui.message_blocks import LINE_LIMIT, TEXT_LIMIT, Block, compose
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.stored_json import unfold_steps
from tests.tui.talks import call, message


def only(message: Message, *, whole: bool = False) -> Block:
    (block,) = compose(message, whole=whole)
    return block


def headline(message: Message) -> str:
    block = only(message)
    assert block.headline is not None
    return block.headline.text


def test_a_tool_result_is_shown_without_the_json_around_it() -> None:
    block = only(message(1, "tool", json.dumps({"output": "all\ngood\n", "exit_code": 0, "error": None})))
    assert block.body.text == "all\ngood"
    assert block.headline is not None
    assert block.headline.text == "↳ terminal ✓ exit 0 · 2 lines · 8 B  all"


def test_a_failed_tool_says_so_in_words() -> None:
    assert "exit 2" in headline(message(1, "tool", json.dumps({"output": "no", "exit_code": 2})))
    assert "failed" in headline(message(1, "tool", json.dumps({"error": "no such file"})))
    assert only(message(1, "tool", json.dumps({"output": "a", "error": "b"}))).body.text == "a\nerror: b"


@pytest.mark.parametrize("text", ["plain", "{not json", '{"a": ' + "[" * 5000, "[1, 2", '"string"', "null"])
def test_what_is_no_json_object_is_shown_as_it_is(text: str) -> None:
    assert only(message(1, "tool", text)).body.text == text


def test_json_nested_too_deeply_to_be_written_is_no_fault() -> None:
    assert only(message(1, "tool", '{"a": ' + "[" * 900 + "]" * 900 + "}")).body.text


def test_other_results_are_shown_key_by_key_with_long_texts_as_lines() -> None:
    result = {"success": True, "diff": "--- a\n+++ b\n", "exit_code": "odd", "files": ["x"]}
    block = only(message(1, "tool", json.dumps(result)))
    assert block.body.text == 'success: true\ndiff:\n--- a\n+++ b\n\nfiles:\n[\n  "x"\n]\nexit_code: odd'


DIFF = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,2 @@ top\n same\n--- a comment\n-old\n+++new\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"success": True, "diff": DIFF, "files_modified": ["x.sql"]}), "+1 −2"),
        (DIFF, "+1 −2"),
        (json.dumps({"output": "diff --git a/x b/x\n" + DIFF * 2, "exit_code": 0}), "+2 −4"),
        ("@@ -1 +0,0 @@\n-x\n\\ No newline at end of file", "+0 −1"),
    ],
)
def test_a_diff_is_told_by_how_many_lines_it_adds_and_removes(text: str, expected: str) -> None:
    assert headline(message(1, "tool", text, tool_name="patch")).endswith(f" B  {expected}")


@pytest.mark.parametrize(
    "text", ["- one\n+ two", "--- a\n+++ b\n", '{"success": false, "error": "x"}', "see: --- a/x\n+++ b/x\n"]
)
def test_what_is_no_diff_is_told_by_its_first_line(text: str) -> None:
    assert "−" not in headline(message(1, "tool", text, tool_name="patch"))


def test_a_diff_that_is_not_all_there_is_not_counted() -> None:
    assert "−" not in headline(message(1, "tool", DIFF + " same\n" * TEXT_LIMIT, tool_name="patch"))


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=20), max_size=4))
def test_every_text_in_decoded_json_is_in_what_is_shown(value: dict[str, object]) -> None:
    shown = finish(unfold_steps(value))
    for key, item in value.items():
        assert key in shown
        assert not isinstance(item, str) or item in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"timeout": 60, "command": "pytest\\n  -q"}', "⚙ terminal  pytest -q"),
        ('{"path": "a.py", "pattern": "def f"}', "⚙ terminal  def f in a.py"),
        ('{"pattern": "def f", "where": 1}', "⚙ terminal  def f"),
        ('{"query": "cats", "path": "notes"}', "⚙ terminal  cats in notes"),
        ('{"n": 3}', "⚙ terminal  n=3"),
        ("{}", "⚙ terminal"),
        ("", "⚙ terminal"),
        ("{broken \x1b[31m", "⚙ terminal  {broken  (broken JSON)"),
        ("[1]", "⚙ terminal  [1]"),
    ],
)
def test_a_call_is_told_by_the_argument_that_matters(arguments: str, expected: str) -> None:
    assert headline(message(1, "assistant", "", call("terminal", arguments))) == expected


def test_the_blocks_of_a_message_come_in_reading_order() -> None:
    said = message(
        1, "assistant", "text", call("a", "{}"), call("b", "{}"), reasoning="thought", finish_reason="length"
    )
    assert [block.kind for block in compose(said)] == ["reasoning", "text", "call", "call", "note"]


def test_a_thought_is_told_by_its_first_words_without_the_signs_of_bold_text() -> None:
    assert headline(message(1, "assistant", reasoning="**Planning the fix**\n\nFirst.")).endswith("  Planning the fix")


def test_a_summary_is_folded_and_named() -> None:
    block = only(message(1, text="[CONTEXT COMPACTION] much", summary=True))
    assert block.kind == "summary"
    assert block.headline is not None
    assert block.headline.text == "≡ compaction summary · 25 B"


def test_a_long_text_is_looked_at_only_as_far_as_the_limit() -> None:
    block = only(message(1, "assistant", "abc " * 2_000_000))
    assert len(block.body.text) + block.left_out == 8_000_000
    assert len(block.body.text) <= TEXT_LIMIT
    assert only(message(1, "assistant", "abc " * 2_000_000), whole=True).left_out == 0


def test_many_lines_are_looked_at_only_as_far_as_the_limit() -> None:
    block = only(message(1, "assistant", "x\n" * 10_000))
    assert block.body.text.count("\n") == LINE_LIMIT - 1
    assert len(block.body.text) + block.left_out == 19_999


@pytest.mark.parametrize("extra", range(14))
def test_a_huge_json_result_is_unwrapped_as_far_as_it_is_shown(extra: int) -> None:
    """Wherever the limit falls, even inside of an escape."""
    output = "x" * extra + 'a"\\\né\u20ac漢' * 60_000
    block = only(message(1, "tool", json.dumps({"output": output, "exit_code": 7})))
    assert output.startswith(block.body.text[:20_000])
    assert '\\"' not in block.body.text[:20_000]
    assert block.left_out > 0
    assert block.headline is not None
    assert "exit 7" in block.headline.text


@given(
    st.lists(st.sampled_from(["word ", "\n", "\x1b[31m", "\x1b]0;t\x07", "漢", "\t", "\r\n", "x" * 999]), max_size=60)
)
def test_the_whole_text_is_what_cleaning_it_at_once_gives(pieces: list[str]) -> None:
    text = "start " + "".join(pieces)
    block = only(message(1, "assistant", text), whole=True)
    assert block.body.text == clean(text.rstrip("\n"))


def test_a_text_of_many_megabytes_is_cleaned_as_a_whole_would_be() -> None:
    text = "\x1b[31mred\x1b[0m and\ttab\r\n" * 60_000
    assert only(message(1, "assistant", text), whole=True).body.text == clean(text.strip("\n"))

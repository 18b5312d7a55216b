"""A call is told by the argument that matters, a result by how it went."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.tui.message_blocks import Block, compose
from tests.tui.talks import call, message

PATCH = "*** Begin Patch\n*** Update File: src/b.py\n@@\n-old\n+new\n+more\n*** Add File: c.py\n+x\n*** End Patch"


def told(name: str, arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    (block,) = compose(message(1, "assistant", "", call(name, text)))
    assert block.headline is not None
    return block.headline.text.removeprefix(f"⚙ {name}").strip()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("terminal", {"command": "make test", "timeout": 9, "workdir": "/x"}, "make test"),
        ("read_file", {"path": "a.py", "offset": 10, "limit": 20}, "a.py:10-29"),
        ("write_file", {"path": "a.py", "content": "x\ny\n"}, "a.py · 2 lines"),
        ("search_files", {"pattern": "def f", "path": "src", "limit": 5}, "def f in src"),
        ("patch", {"mode": "replace", "path": "a.py", "old_string": "x\n", "new_string": "y\nz\n"}, "a.py  +2 −1"),
        ("patch", {"mode": "patch", "patch": PATCH}, "src/b.py +1 more  +3 −1"),
        ("web_search", {"query": "tomllib"}, "tomllib"),
        ("web_extract", {"urls": ["https://a.b", "https://c.d", "https://e.f"]}, "https://a.b +2 more"),
        ("browser_navigate", {"url": "https://a.b"}, "https://a.b"),
        ("execute_code", {"code": "import os\n\nprint(1)\n"}, "print(1) · 3 lines"),
        ("delegate_task", {"goal": "Look", "context": "long"}, "Look"),
        ("delegate_task", {"tasks": [{"goal": "One"}, {"goal": "Two"}]}, "2 items · One"),
        ("todo", {"todos": [{"id": "1", "content": "Write", "status": "x"}]}, "Write"),
        ("memory", {"action": "add", "target": "user", "content": "Likes tea"}, "add Likes tea → user"),
        ("process", {"action": "poll", "session_id": "proc_1"}, "poll proc_1"),
        ("cronjob", {"action": "list"}, "list"),
        ("x_new_tool", {"foo": "bar", "count": 3, "deep": {"a": 1}}, 'foo=bar count=3 deep={"a": 1}'),
        ("terminal", '{"timeout": 3, "command": "ls \\"a b\\" && ec', 'ls "a b" && ec  (broken JSON)'),
        ("terminal", "just words", "just words"),
        ("clarify", {}, ""),
        ("clarify", "null", "null"),
    ],
)
def test_a_call_is_told_by_the_argument_that_matters(name: str, arguments: Any, expected: str) -> None:
    assert told(name, arguments) == expected


@given(st.text(max_size=40) | st.recursive(st.none() | st.text(max_size=9) | st.integers(), st.lists).map(json.dumps))
def test_no_arguments_are_a_fault(arguments: str) -> None:
    assert "\n" not in told("tool", arguments)


def test_arguments_of_megabytes_are_told_by_their_beginning() -> None:
    arguments = json.dumps({"path": "a.py", "content": "x\n" * 1_000_000})
    assert told("write_file", arguments) == "a.py"


def test_what_an_edit_takes_out_and_puts_in_is_coloured() -> None:
    arguments = {"path": "a", "old_string": "one", "replace_all": False, "new_string": "two\nthree\n"}
    (block,) = compose(message(1, "assistant", "", call("patch", json.dumps(arguments))))
    lines = block.body.text.split("\n")
    looks, place = {}, 0
    for line in lines:
        looks[line] = [run.look.split()[-1] for run in block.body.runs(place, place + len(line))][:1]
        place += len(line) + 1
    assert looks["old_string: one"] == ["removed"]
    assert looks["two"] == looks["three"] == ["added"]
    assert looks["path: a"] == looks["replace_all: false"] == ["key"]


def result(value: Any, name: str = "terminal") -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    (block,) = compose(message(1, "tool", text, tool_name=name))
    assert block.headline is not None
    return block.headline.text.removeprefix(f"↳ {name}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"output": "a\nb\n", "exit_code": 0}, " ✓ exit 0 · 2 lines · 3 B  a"),
        ({"output": "boom\nError: x\n", "exit_code": 2}, " ✗ exit 2 · 2 lines · 13 B  Error: x"),
        ({"output": "", "exit_code": -1, "error": "interrupted"}, " ✗ exit -1 · 18 B  interrupted"),
        ({"success": False, "error": "no such file"}, " ✗ failed · 2 lines · 34 B  no such file"),
        ({"success": True, "data": {"web": [1, 2]}}, " ✓ · 8 lines · 51 B  web: 2"),
        ({"status": "success", "output": "3\n", "duration_seconds": 0.42}, " ✓ · 3 lines · 40 B · 0.4s  3"),
        ({"matches": [{"path": "a"}], "total_count": 1}, " · 7 lines · 51 B  matches: 1"),
        ({"content": "1|import os\n2|x", "total_lines": 2}, " · 4 lines · 39 B  import os"),
        ("Error executing tool: no", " ✗ failed · 24 B  Error executing tool: no"),
        ("errors are fine", " · 15 B  errors are fine"),
        ("[1, 2]", " · 4 lines · 12 B  2 items"),
        ("", " · nothing"),
    ],
)
def test_a_result_is_told_by_how_it_went(value: Any, expected: str) -> None:
    assert result(value) == expected


def test_the_colour_codes_of_an_output_are_gone() -> None:
    assert result({"output": "\x1b[1;31mred\x1b[0m", "exit_code": 0}) == " ✓ exit 0 · 3 B  red"


def body(block: Block) -> list[str]:
    return block.body.text.split("\n")


def test_a_diff_in_json_is_counted_and_its_end_is_known() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
    value = {"success": True, "diff": diff, "files_modified": ["x"], "note": "- no change"}
    assert result(value, "patch").endswith("  +1 −1")

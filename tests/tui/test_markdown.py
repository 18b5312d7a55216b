"""Messages as Markdown, and the code in them: nothing that was said can break out of its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.tui.markdown import code_blocks, fenced, looks_like_diff, markdown_steps
from hermes_sessions.tui.steps import finish
from tests.tui.talks import call, message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no code", []),
        ("a\n```python\nx = 1\n\ny\n```\nb\n~~~\nz\n~~~", ["x = 1\n\ny", "z"]),
        ("````\n```\ninner\n```\n````", ["```\ninner\n```"]),
        ("```\nnever ended", ["never ended"]),
        ("```\n\n```", []),
        ("a ``` b\n    ```\n", []),
        ("```a`b\nno fence", []),
        ("  ```\ncode\n   ```", ["code"]),
    ],
)
def test_code_is_what_commonmark_fences(text: str, found: list[str]) -> None:
    assert code_blocks(text) == found


@given(st.text(alphabet="`~a \n", max_size=60).filter(str.strip))
def test_any_text_comes_back_out_of_its_fence(text: str) -> None:
    assert code_blocks(fenced(text)) == [text]


def test_a_message_is_a_heading_what_was_said_and_what_was_called() -> None:
    said = message(1, "assistant", "Done.", call("terminal", '{"command": "make\\nall"}'), reasoning="First\n\nthen")
    lines = finish(markdown_steps(said, 12)).split("\n")
    assert lines[0].startswith("## 12 · agent · ")
    assert "Done." in lines
    assert lines[lines.index("> First") :][:3] == ["> First", ">", "> then"]
    assert "make" in lines[lines.index("```") :]


def test_a_result_is_fenced_and_out_of_its_json() -> None:
    result = message(2, "tool", '{"output": "## no heading\\n```\\nx", "exit_code": 1}')
    text = finish(markdown_steps(result))
    assert text.startswith("## tool · ")
    assert "exit 1" in text
    assert "````\n## no heading\n```\nx\n````" in text


def test_a_message_that_was_undone_says_so_and_is_safe() -> None:
    text = finish(markdown_steps(message(1, text="\x1b[2Jred", rewound=True)))
    assert "undone" in text.split("\n")[0]
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("text", "is_diff"),
    [
        ("diff --git a/x b/x\n", True),
        ("--- a\n+++ b\n@@ -1 +1 @@\n", True),
        ("@@ -1 +1 @@\n", True),
        ("--- a rule", False),
        ("text", False),
    ],
)
def test_a_diff_is_known_by_its_beginning(text: str, is_diff: bool) -> None:
    assert looks_like_diff(text) is is_diff

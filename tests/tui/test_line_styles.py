"""Markdown, code, diffs and tracebacks are coloured where they stand; no character is moved or lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.text import wrap
from hermes_sessions.tui.code_colours import colours
from hermes_sessions.tui.line_styles import HIDDEN, Headline, SourceText, TextKind
from hermes_sessions.tui.markdown_lines import BAR, BULLET, GAP
from hermes_sessions.tui.message_painter import LOOKS

KINDS = st.sampled_from(["text", "reasoning", "result", "fields"])
MARKDOWN = st.text(st.sampled_from("ab #*_`~>-+=@[]()|1.\\\n://https"), max_size=200)
DRAWN_FOR = {BULLET: "-*+", BAR: ">", "─": "-*_ ", " ": "]"}
"""The signs that are drawn for others."""


def looks(text: str, kind: TextKind = "text") -> dict[str, str]:
    """The look of every piece."""
    source = SourceText(text, kind)
    return {run.text: run.look for span in wrap(text, 1000) for run in source.runs(*span)}


@given(MARKDOWN, KINDS, st.integers(1, 50))
def test_what_is_drawn_is_the_text_or_signs_in_its_place(text: str, kind: TextKind, width: int) -> None:
    source = SourceText(text, kind)
    for start, stop in wrap(text, width):
        runs = list(source.runs(start, stop))
        assert sum(len(run.text) for run in runs) == stop - start
        place = start
        for run in runs:
            assert run.at == place
            place += len(run.text)
            for char, written in zip(run.text, text[run.at : place], strict=True):
                assert char == written or written in DRAWN_FOR[char]


@given(MARKDOWN)
def test_nothing_but_marks_is_hidden(text: str) -> None:
    source = SourceText(text, "text")
    for line in wrap(text, 1000):
        for run in source.runs(*line):
            if run.look == HIDDEN and not source.is_code(line[0]):
                assert re.fullmatch(r"[^ab1]+|\]\(.*\)", run.text)


@given(MARKDOWN, KINDS)
def test_every_look_has_words_for_its_style(text: str, kind: TextKind) -> None:
    for look in looks(text, kind).values():
        assert look == HIDDEN or set(look.split()) <= LOOKS.keys()


def drawn(text: str) -> str:
    """What is seen of one line."""
    return "".join(run.text for run in SourceText(text, "text").runs(0, len(text)) if run.look != HIDDEN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A *b* **c** `d`", "A b c `d`"),
        ("## A", "A"),
        ("### A", "### A"),
        ("**`a.py`**: 2 ** 3", "`a.py`: 2 ** 3"),
        ("#hash ** not bold ** `**code**`", "#hash ** not bold ** `**code**`"),
        ("- **a** [b](c)", "• a b (c)"),
        ("~~old~~ and _new_, ***both***", "old and new, both"),
        ("<https://a.b/c> and [https://a.b](https://a.b)", "https://a.b/c and https://a.b"),
        (r"snake\_case and \*not italic\*", "snake_case and *not italic*"),
        ("- [ ] to do", "[ ] to do"),
        ("12. twelve", "12. twelve"),
        ("> > a", "▎ ▎ a"),
        ("> - a", "▎ • a"),
        ("***", "───"),
        ("![a chart](x.png)", "a chart (x.png)"),
        ("[image: image/png, 3 KB]", "image: image/png, 3 KB"),
    ],
)
def test_the_signs_of_what_can_be_seen_are_not_drawn(text: str, expected: str) -> None:
    assert drawn(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("2 * 3 * 4 = 24", "*.py and *.txt", "a*b*c", "snake_case_name and __init__", "/usr/*/bin/*", "_private"),
        *("~/x and ~/y", "C:\\dir\\file", "a [b] (c)", "-5 degrees", "1.5 times", "#42 and # 42x"[:3], "*"),
        *("--flag", "-", "x ` y", "**", "a < b > c", "f(*args, **kwargs)", "[x]", "[link]()"),
    ],
)
def test_signs_that_are_meant_as_they_are_written_are_drawn(text: str) -> None:
    assert drawn(text) == text


def test_nothing_is_hidden_in_code_and_in_output() -> None:
    assert looks("```\n# a **b**\n```")["# a **b**"] == "block"
    assert looks("    # a **b**")["    # a **b**"] == "block"
    assert HIDDEN not in looks("# a **b**", "result").values()


def test_markdown_is_coloured() -> None:
    found = looks("# Title\n- item with `code` and **strong**\n> quote\nsee https://example.org/a, or [x](y)\n---")
    assert found["Title"] == "heading1"
    assert found[f"{BULLET} "] == "bullet"
    assert found["code"] == "code"
    assert found["strong"] == "strong"
    assert found["quote"] == "quote"
    assert found["https://example.org/a"] == "link"
    assert (found["x"], found[" "], found["(y)"]) == ("link", GAP, "target")
    assert found["───"] == "rule"


def test_the_levels_of_headings_are_told_apart_without_colour() -> None:
    """The first is underlined, the second is not, the others show their signs."""
    found = looks("# One\n## Two\n### Three\n#### Four")
    assert "underline" in LOOKS[found["One"]]
    assert "underline" not in LOOKS[found["Two"]]
    assert found["### "] == found["#### "] == "muted"


def test_a_line_with_a_line_of_equals_signs_below_is_a_heading() -> None:
    found = looks("Title\n=====\ntext")
    assert (found["Title"], found["====="], found["text"]) == ("heading1", HIDDEN, "")


def test_fenced_code_is_no_markdown_and_ends_with_its_own_fence() -> None:
    found = looks("````md\n# not a heading\n```\nstill code\n````\n# heading")
    assert found["# not a heading"] == found["still code"] == "block"
    assert found["heading"] == "heading1"


def test_a_fence_that_never_ends_goes_to_the_end() -> None:
    assert looks("text\n```\ncode")["code"] == "block"
    assert looks("text\n```\ncode\nmore")["code"] == "block"


@pytest.mark.parametrize("text", ["1. item\n\n    goes on", "word\n    goes on", "- a\n\n    b\n\n    c"])
def test_what_stands_in_under_words_or_an_item_is_no_code(text: str) -> None:
    assert "block" not in looks(text).values()


def test_code_may_stand_in_under_an_item_with_its_fences() -> None:
    assert looks("1. item\n    ```\n    # a\n    ```\ntext")["    # a"] == "block"


@pytest.mark.parametrize("kind", ["text", "result"])
def test_a_diff_is_coloured_in_fences_and_in_results(kind: TextKind) -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n same"
    found = looks(f"```diff\n{diff}\n```" if kind == "text" else f"ok\n{diff}\n- no part of it", kind)
    ends = {text: look.split()[-1] for text, look in found.items() if look != HIDDEN}
    assert (ends["-old"], ends["+new"], ends["@@ -1,2 +1,2 @@"]) == ("removed", "added", "place")
    assert ends["--- a/x"] == "file"
    assert ends.get("- no part of it", "result") == "result"


def test_a_patch_of_an_agent_is_coloured() -> None:
    found = looks("*** Begin Patch\n*** Update File: a.py\n@@ def x():\n-old\n+new\n*** End Patch\n- after", "result")
    assert [look.split()[-1] for look in found.values()] == [
        *["file"] * 2,
        "place",
        "removed",
        "added",
        "file",
        "result",
    ]


def test_a_list_in_a_result_is_no_diff() -> None:
    assert looks("- one\n+ two", "result") == {"- one": "result", "+ two": "result"}


def test_a_traceback_is_readable_in_a_result() -> None:
    found = looks('Traceback (most recent call last):\n  File "x.py", line 3, in f\nx.y.ValueError: no\nfine', "result")
    assert [look.split()[-1] for look in found.values()] == ["error", "place", "error", "result"]


def test_keys_are_told_from_what_they_name() -> None:
    found = looks('total: 3\nfiles:\n[\n  "name": "x"', "fields")
    assert [text for text, look in found.items() if look.endswith("key")] == ["total:", "files:", '  "name":']


def test_the_numbers_of_lines_are_told_from_the_lines() -> None:
    found = looks("  9|x = 1\n 10| y", "result")
    assert [text for text, look in found.items() if look.endswith("muted")] == ["  9|", " 10| "]


CODE = 'def f(x: int = 1):\n    """Text."""\n    return "a" + str(x)  # why'


def coloured(text: str) -> SourceText:
    source = SourceText(text, "text")
    for block in list(source.waiting):
        source.colour(block, colours(text[block.first : block.last], block.language))
    return source


def test_code_has_the_colours_of_its_language() -> None:
    text = f"x\n```python\n{CODE}\n```"
    source = coloured(text)
    found = {run.text: f" {run.look}".split(" ")[-1] for span in wrap(text, 100) for run in source.runs(*span)}
    assert (found["def"], found["f"], found["int"], found["1"]) == ("keyword", "name", "type", "number")
    assert (found['"a"'], found["# why"], found['"""Text."""']) == ("string", "comment", "string")


@given(st.text(st.sampled_from("ab1 \"'#\n{}:=.é漢"), max_size=80), st.sampled_from(["py", "json", "sh", "js", "sql"]))
def test_colours_lose_no_character_of_any_code(code: str, language: str) -> None:
    text = f"```{language}\n{code}\n```"
    source = coloured(text)
    for start, stop in wrap(text, 20):
        assert sum(len(run.text) for run in source.runs(start, stop)) == stop - start
        for run in source.runs(start, stop):
            assert text[run.at : run.at + len(run.text)] == run.text
    assert not source.waiting


@pytest.mark.parametrize("language", ["", "text", "x" * 99])
def test_code_of_no_language_waits_for_no_colours(language: str) -> None:
    assert not SourceText(f"```{language}\ncode\n```", "text").waiting or language.startswith("x")


def test_a_language_nobody_knows_has_no_colours() -> None:
    assert colours("code", "klingon") is None


def test_huge_code_is_drawn_plain() -> None:
    assert not SourceText("```python\n" + "x = 1\n" * 20_000 + "```", "text").waiting
    assert not SourceText("```python\n" + "x" * 3_000 + "\n```", "text").waiting


PIECES = [
    "`",
    "**",
    "[",
    "[a](",
    "a.",
    "https://",
    "#",
    "- ",
    "A.b",
    "_",
    "``x",
    "*a",
    "~~x",
    "\\*",
    "> ",
    "_a",
    "***a",
]


@pytest.mark.parametrize("piece", PIECES)
def test_no_line_takes_more_than_linear_time(piece: str) -> None:
    """The longest line that is styled, made of what a pattern could backtrack over, in every visual line of it."""
    text = (piece * 2000)[:2000]
    source = SourceText(text, "text")
    before = time.process_time()
    for span in wrap(text, 80):
        list(source.runs(*span))
    assert time.process_time() - before < 0.5


def test_a_line_too_long_to_be_prose_is_plain_and_still_whole() -> None:
    text = "**x** " * 100_000
    source = SourceText(text, "text")
    assert [run.text for run in source.runs(300_000, 300_080)] == [text[300_000:300_080]]


def test_a_headline_gives_its_pieces_and_knows_where_the_glimpse_begins() -> None:
    headline = Headline(("name", "tool"), (" · 3 B", "muted"), ("  first line", "glimpse"))
    assert headline.text[: headline.stem] == "name · 3 B"
    assert [run.text for run in headline.runs(2, 12)] == ["me", " · 3 B", "  "]
    assert re.match("name", headline.text)

"""Markdown, diffs and tracebacks are coloured where they stand; no character is moved or lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.text import wrap
from hermes_sessions.tui.line_styles import HIDDEN, Headline, SourceText, TextKind
from hermes_sessions.tui.message_painter import LOOKS

MARKDOWN = st.text(st.sampled_from("ab #*_`~>-+@[]()|1.\n://https"), max_size=200)


def looks(text: str, kind: TextKind = "text") -> dict[str, str]:
    """The look of every piece."""
    source = SourceText(text, kind)
    return {run.text: run.look for span in wrap(text, 1000) for run in source.runs(*span)}


@given(MARKDOWN, st.sampled_from(["text", "reasoning", "result"]), st.integers(1, 50))
def test_the_runs_of_a_line_are_the_line(text: str, kind: TextKind, width: int) -> None:
    source = SourceText(text, kind)
    for start, stop in wrap(text, width):
        assert "".join(run.text for run in source.runs(start, stop)) == text[start:stop]


@given(MARKDOWN, st.sampled_from(["text", "reasoning", "result"]))
def test_every_look_has_words_for_its_style(text: str, kind: TextKind) -> None:
    for look in looks(text, kind).values():
        assert look == HIDDEN or set(look.split()) <= LOOKS.keys()


def drawn(text: str) -> str:
    """What is seen of one line."""
    return "".join(run.text for run in SourceText(text, "text").runs(0, len(text)) if run.look != HIDDEN)


@given(MARKDOWN, st.sampled_from(["text", "reasoning", "result"]), st.integers(1, 50))
def test_every_run_knows_where_it_stands_in_the_text(text: str, kind: TextKind, width: int) -> None:
    source = SourceText(text, kind)
    for start, stop in wrap(text, width):
        for run in source.runs(start, stop):
            assert text[run.at : run.at + len(run.text)] == run.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## A *b* **c** `d`", "A *b* c `d`"),
        ("**`a.py`**: 2 ** 3", "`a.py`: 2 ** 3"),
        ("#hash ** not bold ** `**code**`", "#hash ** not bold ** `**code**`"),
        ("- **a** [b](c)", "- a [b](c)"),
    ],
)
def test_the_signs_of_headings_and_of_bold_text_are_not_drawn(text: str, expected: str) -> None:
    assert drawn(text) == expected


def test_nothing_is_hidden_in_code_and_in_output() -> None:
    for text, kind in (("```\n# a **b**\n```", "text"), ("# a **b**", "result")):
        assert HIDDEN not in looks(text, kind).values()  # type: ignore[arg-type]


def test_markdown_is_coloured() -> None:
    found = looks("# Title\n- item with `code` and **strong**\n> quote\nsee https://example.org/a, or [x](y)\n---")
    assert found["Title"] == "heading"
    assert found["- "] == "bullet"
    assert found["code"] == "code"
    assert found["strong"] == "strong"
    assert found["> quote"] == "quote"
    assert found["https://example.org/a,"] == "link"
    assert found["[x](y)"] == "link"
    assert found["---"] == "rule"


def test_fenced_code_is_no_markdown_and_ends_with_its_own_fence() -> None:
    found = looks("````md\n# not a heading\n```\nstill code\n````\n# heading")
    assert found["# not a heading"] == found["still code"] == "block"
    assert found["heading"] == "heading"


def test_a_fence_that_never_ends_goes_to_the_end() -> None:
    assert looks("text\n```\ncode")["code"] == "fence"
    assert looks("text\n```\ncode\nmore")["code"] == "block"


@pytest.mark.parametrize("kind", ["text", "result"])
def test_a_diff_is_coloured_in_fences_and_in_results(kind: TextKind) -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"
    found = looks(f"```diff\n{diff}\n```" if kind == "text" else f"ok\n{diff}", kind)
    ends = {text: look.split()[-1] for text, look in found.items()}
    assert (ends["-old"], ends["+new"], ends["@@ -1 +1 @@"]) == ("removed", "added", "place")
    assert ends["--- a/x"] == "strong"


def test_a_list_in_a_result_is_no_diff() -> None:
    assert looks("- one\n+ two", "result") == {"- one": "result", "+ two": "result"}


def test_a_traceback_is_readable_in_a_result() -> None:
    found = looks('Traceback (most recent call last):\n  File "x.py", line 3, in f\nx.y.ValueError: no\nfine', "result")
    assert [look.split()[-1] for look in found.values()] == ["error", "place", "error", "result"]


@pytest.mark.parametrize("piece", ["`", "**", "[", "[a](", "a.", "https://", "#", "- ", "A.b", "_", "``x"])
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

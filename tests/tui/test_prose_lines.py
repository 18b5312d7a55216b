"""Prose is wrapped as it is seen: items hang under their items, quotes keep their bar, code stands in a block."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Message
from hermes_sessions.text import cell_width, clean
from hermes_sessions.tui.line_styles import HIDDEN
from hermes_sessions.tui.lines import Line
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.transcript import Transcript
from tests.tui.talks import message, stub_of

PIECES = [
    "word ",
    "long" * 9,
    "漢字",
    "**b** ",
    "`c` ",
    "[l](http://x.y/z) ",
    "- ",
    "1. ",
    "> ",
    "# ",
    "- [x] ",
    "    ",
]
BREAKS = ["\n", "\n\n", "\n```py\n", "\n~~~\n", "\n---\n", "\\*", "~~s~~ ", "*e* ", "⚠️ ", "e\u0301", "👨‍👩‍👧 "]
MARKDOWN = st.lists(st.sampled_from(PIECES + BREAKS), max_size=40).map("".join)
WIDTHS = st.integers(8, 60)


def transcript_of(text: str, width: int, **fields: object) -> Transcript:
    said: Message = message(1, "assistant", text, **fields)
    transcript = Transcript([stub_of(said)], width)
    transcript.put(0, finish(transcript.layout_steps(0, said)))
    transcript.settle(0, 0, 1000)
    return transcript


def lines_of(text: str, width: int) -> list[Line]:
    transcript = transcript_of(text, width)
    lines = [transcript.line(0, row) for row in range(transcript.heights[0])]
    return [line for line in lines if line.kind == "body"]


def drawn(text: str, width: int) -> list[str]:
    return [line.lead.text + "".join(run.text for run in line.runs()) for line in lines_of(text, width)]


def test_items_hang_under_their_text_and_quotes_keep_their_bar() -> None:
    text = "- one two three four\n  10. five six seven\n> eight nine ten\n> - eleven twelve\n- [ ] do this and that"
    assert drawn(text, 12) == [
        *("• one two", "  three four", "  10. five", "      six", "      seven", "▎ eight nine", "▎ ten"),
        *("▎ • eleven", "▎   twelve", "[ ] do this", "    and that"),
    ]


def test_a_line_is_as_long_as_what_is_seen_of_it() -> None:
    assert drawn("**aaaa** **bbbb** `cc` [d](http://e.f) tail", 14) == ["aaaa bbbb `cc`", "d (http://e.f)", "tail"]


def test_a_break_at_the_gap_of_a_link_leaves_no_blank() -> None:
    assert drawn("aaa [bbbb](http://c.d) e", 8) == ["aaa bbbb", "(http://", "c.d) e"]


def test_code_stands_in_a_block_under_the_name_of_its_language() -> None:
    assert drawn("see\n```python\nx = 1\n```\nend", 40) == ["see", "  python", "  x = 1", "  ", "end"]


def test_a_long_line_of_code_says_that_it_goes_on() -> None:
    assert drawn("```\n" + "x" * 25 + "\n```", 12) == ["  ", "  xxxxxxxxxx", "┆ xxxxxxxxxx", "┆ xxxxx", "  "]


def test_an_indent_wider_than_half_of_the_line_is_given_up() -> None:
    assert drawn("- a\n" + " " * 9 + "- one two three", 16) == ["• a", " " * 9 + "• one", "two three"]


@given(MARKDOWN, WIDTHS)
def test_every_visible_character_is_on_one_line_and_nothing_is_wider_than_the_width(text: str, width: int) -> None:
    text = clean(text)
    source = next((line.source for line in lines_of(text, width)), None)
    if source is None:
        return
    whole = source.text
    seen: list[int] = []
    for line in lines_of(text, width):
        runs = line.runs()
        words = line.lead.text + "".join(run.text for run in runs)
        assert cell_width(words) <= width
        seen += (run.at + offset for run in runs for offset in range(len(run.text)) if run.at >= 0)
    assert seen == sorted(set(seen))
    hidden: set[int] = set()
    start = 0
    for part in whole.split("\n"):
        for run in source.runs(start, start + len(part)):
            if run.look == HIDDEN:
                hidden.update(range(run.at, run.at + len(run.text)))
        start += len(part) + 1
    left_out = set(range(len(whole))) - set(seen) - hidden
    assert {whole[place] for place in left_out} <= set(" \n]\ufe0f|-:")


@given(MARKDOWN, WIDTHS)
def test_lines_are_in_the_order_of_the_text_and_leave_out_only_blanks(text: str, width: int) -> None:
    lines = [line for line in lines_of(clean(text), width) if not line.table]
    for before, after in pairwise(lines):
        between = after.source.text[before.stop : after.start]
        assert before.stop <= after.start
        assert between in ("", " ", "\n") or "|" in between


@given(MARKDOWN.filter(lambda text: "[" not in text), WIDTHS)
def test_all_of_a_message_is_copied_but_for_the_signs_that_are_not_drawn(text: str, width: int) -> None:
    text = clean(text).strip("\n")
    copied = text_between(transcript_of(text, width), (0, 0, 0), (1, 0, 0))
    for word in ("word", "漢字", "long", "b", "e\u0301", "⚠️"):
        assert copied.count(word) >= text.count(word)


@pytest.mark.parametrize("line", ["x" * 3000, "- " + "word " * 600, "`x" * 1250, "> " * 1500])
def test_a_line_too_long_to_be_prose_is_wrapped_plainly(line: str) -> None:
    assert all(not text.lead.text for text in lines_of(line, 40))


def test_a_place_in_the_text_is_found_on_the_line_that_shows_it() -> None:
    text = "- " + " ".join(f"**w{number}**" for number in range(40)) + "\n```\n" + "y" * 99 + " target\n```"
    transcript = transcript_of(text, 20)
    for word in ("w0", "w17", "w39", "target"):
        place = text.index(word)
        row = transcript.row_of(0, Matcher([word]), 0, place)
        assert row is not None
        assert word in "".join(run.text for run in transcript.line(0, row).runs())

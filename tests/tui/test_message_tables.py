"""Markdown tables stand in straight columns, whatever is in them and however narrow the pane is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.text import cell_width, clean, wrap
from hermes_sessions.tui.line_styles import SourceText
from hermes_sessions.tui.lines import Line, Mark
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.message_painter import CUT, GUTTER, Look, MessagePainter
from hermes_sessions.tui.message_tables import TableLine, tables
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.stretches import lines_of as stretch_lines
from hermes_sessions.tui.transcript import Transcript
from tests.tui.talks import Library, ViewApp, call, message, stub_of

TABLE = """Before:

| cause | tests |
|:--|--:|
| two **looks** at the clock | 7 |
| 漢字 and ⚠️ | 12 |

after"""

CELLS = st.lists(
    st.sampled_from(
        ["a", "word", " ", "漢字", "👨‍👩‍👧‍👦", "⚠️", "👍🏽", "e\u0301", "**b c**", "`d`", "\\|", "🇩🇪", "long" * 9]
    ),
    max_size=9,
).map("".join)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=6)
WIDTHS = st.integers(20, 140)


def lines_of(text: str, width: int) -> list[Line]:
    source = SourceText(clean(text), "text")
    return [
        Line("body", source, span[0], span[1], 0, 0, span if isinstance(span, TableLine) else None)
        for span in stretch_lines(source, width)
    ]


def drawn(text: str, width: int) -> list[str]:
    return ["".join(run.text for run in line.runs()).rstrip() for line in lines_of(text, width)]


def table(rows: list[list[str]]) -> str:
    dashes = "|" + "---|" * len(rows[0])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], dashes, *lines[1:]])


def transcript_of(text: str, width: int) -> Transcript:
    said = message(1, text=text)
    transcript = Transcript([stub_of(said)], width)
    transcript.put(0, finish(transcript.layout_steps(0, said)))
    transcript.settle(0, 0, 1000)
    return transcript


def row_with(transcript: Transcript, text: str) -> int:
    for row in range(transcript.heights[0]):
        if text in "".join(run.text for run in transcript.line(0, row).runs()):
            return row
    raise AssertionError(text)


def test_the_columns_of_a_table_are_aligned_as_its_dashes_say() -> None:
    assert drawn(TABLE, 60) == [
        "Before:",
        "",
        "cause                  │ tests",
        "───────────────────────┼──────",
        "two looks at the clock │     7",
        "漢字 and ⚠             │    12",
        "",
        "after",
    ]


def test_a_table_wider_than_the_pane_has_its_widest_cells_wrapped() -> None:
    text = table([["a", "what it is"], ["1", "a long sentence about nothing"], ["2", "short"]])
    assert drawn(text, 20) == [
        "a │ what it is",
        "──┼─────────────────",
        "1 │ a long sentence",
        "  │ about nothing",
        "2 │ short",
    ]


def test_a_word_is_broken_only_if_there_is_no_room_for_it() -> None:
    text = table([["here we have a lot of words", "Europe/Stockholm"]])
    assert drawn(text, 30)[0] == "here we     │ Europe/Stockholm"
    assert "Europe/Sto" not in drawn(text, 20)[0]


@given(ROWS, WIDTHS)
def test_no_line_of_a_table_is_wider_than_the_pane_and_bars_are_above_one_another(
    rows: list[list[str]], width: int
) -> None:
    lines = lines_of(table(rows), width)
    assert all(sum(cell_width(run.text) for run in line.runs()) <= width for line in lines)
    bars = [_bars(line) for line in lines if line.table]
    assert all(found <= bars[1] for found in bars)
    assert all(found == bars[1] for found in bars if len(found) == len(bars[0]))


def _bars(line: Line) -> set[int]:
    """The cells at which columns are divided on a line."""
    bars, cells = set(), 0
    for run in line.runs():
        if run.at < 0:
            bars |= {cells + place for place, char in enumerate(run.text) if char in "│┼"}
        cells += cell_width(run.text)
    return bars


@given(ROWS, WIDTHS)
def test_every_character_of_a_cell_is_on_one_line_where_it_is_found_again(rows: list[list[str]], width: int) -> None:
    text = clean(table(rows))
    lines = lines_of(text, width)
    starts = [line.start for line in lines]
    assert starts == sorted(set(starts))
    seen = [place for line in lines for run in line.runs() for place in _places(run.at, run.text)]
    assert len(seen) == len(set(seen))
    if any(line.table for line in lines):
        for word in ("word", "漢字", "a"):
            expected = sum(row.count(word) for row in map(" ".join, rows))
            assert expected <= sum(text[place] == word[0] for place in seen)


def _places(at: int, text: str) -> range:
    return range(at, at + len(text)) if at >= 0 else range(0)


@given(st.text(st.sampled_from("|-: a\\\n`#漢"), max_size=200), WIDTHS)
def test_what_looks_a_little_like_a_table_is_no_fault_and_loses_nothing(text: str, width: int) -> None:
    text = clean(text)
    seen = {place for line in lines_of(text, width) for run in line.runs() for place in _places(run.at, run.text)}
    assert {place for place, char in enumerate(text) if char in "a漢"} <= seen


@pytest.mark.parametrize(
    "text",
    ["| a | b |\n|---|", "|---|---|\n| a | b |", "a\n--- b", "| a |\n\n|---|", "a\n|---|"],
)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert drawn(text, 40) == text.split("\n")


def test_a_table_whose_columns_do_not_fit_in_stays_as_it_is() -> None:
    text = table([["name"] * 9])
    assert [line.table for line in lines_of(text, 30)] == [None] * len(wrap(text, 30))


def test_a_bar_behind_a_backslash_divides_nothing_and_cells_too_many_belong_to_the_last() -> None:
    assert drawn("| a | b |\n|---|---|\n| x \\| y | 1 | 2 |\n| z |", 40)[2:] == ["x | y │ 1 | 2", "z     │"]


def test_two_tables_and_a_table_at_the_end_are_each_found() -> None:
    text = table([["a"], ["b"]]) + "\n\n" + table([["c", "d"]])
    assert [len(found.rows) for found in tables(SourceText(text, "text"), 0, len(text))] == [2, 1]
    assert drawn(text + "\n", 40)[-1] == ""


def test_a_table_of_ten_thousand_rows_stays_as_it_is_and_takes_no_time() -> None:
    text = table([["a", "b"]] * 10_000)
    before = time.process_time()
    assert not any(line.table for line in lines_of(text, 40))
    assert time.process_time() - before < 1


@pytest.mark.parametrize("piece", ["|", "-", "|-", "| :-", " ", "\\|", "a|b\n-|-\n", "|-\n", ":-:|"])
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    text = (piece * 60_000)[:60_000]
    before = time.process_time()
    stretch_lines(SourceText(text, "text"), 80)
    assert time.process_time() - before < 2


@given(ROWS, WIDTHS)
def test_a_word_in_a_table_is_found_on_the_line_that_shows_it(rows: list[list[str]], width: int) -> None:
    transcript = transcript_of(table([["head", "needle"], *rows, ["x " * 30 + "needle", "y"]]), width)
    for start, stop in Matcher(["needle"]).spans(transcript.line(0, transcript.heights[0] - 1).source.text):
        row = transcript.row_of(0, Matcher(["needle"]), 0, start)
        assert row is not None
        runs = transcript.line(0, row).runs()
        assert any(run.at <= start < run.at + len(run.text) for run in runs if run.at >= 0), (start, stop)


def test_copying_gives_rows_as_they_were_written_but_one_cell_as_it_is_seen() -> None:
    transcript = transcript_of(TABLE, 60)
    first = row_with(transcript, "two looks")
    assert text_between(transcript, (0, first, 4), (0, first + 1, 3)) == "\n".join(TABLE.split("\n")[4:6])
    assert text_between(transcript, (0, first, 4), (0, first, 9)) == "looks"
    assert text_between(transcript, (0, first, 4), (0, first, 30)) == TABLE.split("\n")[4]
    assert text_between(transcript, (0, first - 3, 0), (0, first, 0)).endswith("|:--|--:|")
    assert text_between(transcript, (0, 0, 0), (1, 0, 0)).endswith(TABLE)


def test_a_row_on_several_lines_is_copied_once() -> None:
    transcript = transcript_of(TABLE, 20)
    first = row_with(transcript, "two")
    assert text_between(transcript, (0, first + 1, 0), (0, first + 3, 9)) == "\n".join(TABLE.split("\n")[4:6])


async def test_a_hit_in_a_table_is_marked_where_it_is_drawn() -> None:
    app = ViewApp(Library([message(1, text=TABLE)]), at=1, words=["clock", "12"])
    async with app.run_test(size=(60, 20)):
        for text, row in (("clock", "two looks"), ("12", "漢字")):
            y = next(y for y, line in enumerate(app.lines) if row in line)
            assert text in [segment.text for segment in app.view.render_line(y)]


SIGNS = [
    "**b ",
    "c** ",
    "`d`",
    "## ",
    "- ",
    "> ",
    "1. ",
    "- [x] ",
    "*e* ",
    "[l](http://x.y) ",
    "\n---\n",
    "\n```py\n",
    "\t",
    "\n",
    "\n```\n",
    "\n| a | b |\n|---|--:|\n| c | 漢 |\n",
]
LETTERS = ["word ", "long" * 9, "漢字", "👨‍👩‍👧‍👦", "⚠️", "👍🏽", "🇩🇪", "مرحبا", "e\u0301", "\u0301", "\u200d", "\ufe0f"]
MARKDOWN = st.lists(st.sampled_from(SIGNS + LETTERS), max_size=30).map("".join)


async def test_no_line_is_drawn_wider_or_narrower_than_the_pane_whatever_is_in_it() -> None:
    """Nor is a line cut, unless it is a headline."""
    app = ViewApp()
    async with app.run_test(size=(80, 24)):
        painter = MessagePainter(app.view)

        @given(MARKDOWN, MARKDOWN, WIDTHS, st.integers(0, 30), st.integers(0, 30))
        def check(text: str, said: str, width: int, start: int, length: int) -> None:
            messages = [message(1, text=text), message(2, "assistant", said, call("x", said)), message(3, "tool", said)]
            transcript = Transcript(list(map(stub_of, messages)), width - GUTTER)
            for index, each in enumerate(messages):
                transcript.put(index, finish(transcript.layout_steps(index, each)))
            transcript.settle(0, 0, 1000)
            for index in range(len(messages)):
                for row in range(transcript.heights[index]):
                    line = transcript.line(index, row)
                    look = Look(
                        False, 0, [Mark(line.start + start, line.start + start + length, "hit")], (start, length)
                    )
                    for shown in (look, Look(True)):
                        strip = painter.strip(line, transcript.stub(index), width, shown, row)
                        assert cell_width(strip.text) <= strip.cell_length == width
                    assert line.kind != "body" or CUT not in strip.text

        check()

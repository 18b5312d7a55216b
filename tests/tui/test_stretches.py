"""The lines of a long text: the same in whatever order they are needed, counted only where they are needed."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_sessions.text import cell_width, clean, wrap
from hermes_sessions.tui import stretches
from hermes_sessions.tui.line_styles import SourceText, TextKind
from hermes_sessions.tui.message_tables import TableLine
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.stretches import Cuts, Span, Stretches, lines_of

TABLE = "| a | b |\n|---|---|\n| c | d |\n"
PIECES = [
    "word ",
    "x" * 30,
    "漢字",
    "é",
    "👨‍👩‍👧",
    "\n",
    "\n\n",
    "| a | b |\n|---|---|\n| c | d |\n",
    "```\n",
    "- **b** ",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join).map(clean)
KINDS: list[TextKind] = ["text", "result", "stored"]


@pytest.fixture(scope="module", autouse=True)
def short_stretches() -> object:
    """Stretches of a few lines, so that short texts have many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("STRETCH", 200), ("WIDE", 150), ("MARKED", 100), ("SLOW", 60), ("_REACH", 20)):
            patch.setattr(stretches, name, size)
        yield


def made(text: str, kind: TextKind = "text", width: int = 20) -> Stretches:
    source = SourceText(text, kind)
    return Stretches(source, width, finish(Cuts.steps(source)))


def lines(found: Stretches) -> list[Span]:
    return [found.line(row) for row in found.rows(0)]


@settings(deadline=None)
@given(TEXTS, st.sampled_from(KINDS), st.integers(8, 40))
def test_every_character_is_on_one_line_or_stood_between_two(text: str, kind: TextKind, width: int) -> None:
    found = [line for line in lines(made(text, kind, width)) if not isinstance(line, TableLine)]
    for before, after in pairwise(found):
        assert before[1] <= after[0]
        assert text[before[1] : after[0]] in ("", " ", "\n", " \n") or "|" in text[before[1] : after[0]]


@settings(deadline=None)
@given(TEXTS, st.sampled_from(KINDS), st.data())
def test_lines_are_the_same_in_whatever_order_they_are_needed(text: str, kind: TextKind, data: st.DataObject) -> None:
    whole = made(text, kind)
    rows = list(whole.rows(0))
    expected = lines(whole)
    assert rows == sorted(set(rows))
    jumping = made(text, kind)
    for place in data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)):
        jumping.settle(rows[place], data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9)))
        assert jumping.line(rows[place]) == expected[place]
    assert lines(jumping) == expected
    finish(jumping.settle_steps())
    assert jumping.exact
    assert jumping.height == len(rows)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 500), st.integers(1, 30), st.integers(1, 30))
def test_what_is_counted_around_a_line_has_its_numbers_without_gaps(text: str, at: int, above: int, below: int) -> None:
    rows = list(made(text).rows(0))
    number = min(at, len(rows) - 1)
    found = made(text)
    found.settle(rows[number], above, below)
    here = found.above(rows[number])
    for near in range(max(0, number - above), min(len(rows), number + below + 1)):
        assert found.above(rows[near]) == here + near - number
        assert found.row(here + near - number) == rows[near]


@settings(deadline=None)
@given(TEXTS, st.sampled_from(KINDS), st.data())
def test_a_place_in_the_text_is_found_on_its_line(text: str, kind: TextKind, data: st.DataObject) -> None:
    found = made(text, kind)
    offset = data.draw(st.integers(0, max(0, len(text) - 1)))
    line = found.line(found.row_at(offset))
    if not isinstance(line, TableLine) and text[offset : offset + 1].strip("\n |"):
        assert line[0] <= offset < line[1]


@pytest.mark.parametrize("word", ["word ", "x", "漢", "e\u0301", "👨‍👩‍👧"])
def test_a_line_without_an_end_is_divided_between_words_and_clusters_only(word: str) -> None:
    text = word * 400
    found = lines(made(text, "result"))
    clusters = {len(word) * number for number in range(401)} | {len(text), *range(4, len(text), 5)}
    assert all(edge in clusters for line in found for edge in line[:2])
    assert all(cell_width(text[start:stop]) <= 20 for start, stop, *_ in found)
    short = [line for line in found[:-1] if cell_width(text[line[0] : line[1]]) < 15]
    assert len(short) <= len(text) // 60 + 1


def test_no_table_is_divided() -> None:
    rows = "".join(f"| row {number} | text |\n" for number in range(4))
    text = "".join(f"Table {number}:\n| a | b |\n|---|---|\n{rows}" for number in range(20))
    drawn = [line for line in lines(made(text, "text", 40)) if isinstance(line, TableLine)]
    assert len(drawn) == 20 * 6


def test_json_shown_as_it_is_stored_has_an_item_on_each_line() -> None:
    text = json.dumps({"rows": [{"n": number, "of": [1, {"a": 2}]} for number in range(40)]})
    found = [text[start:stop] for start, stop, *_ in lines(made(text, "stored", 60))]
    assert found[1] == '{"n": 1, "of": [1, {"a": 2}]},'
    assert found[-1] == '{"n": 39, "of": [1, {"a": 2}]}]}'
    assert len(found) == 40


def test_only_what_is_near_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def watched(source: SourceText, width: int, start: int = 0, stop: int | None = None) -> object:
        asked.append(start)
        return lines_of(source, width, start, stop)

    monkeypatch.setattr(stretches, "lines_of", watched)
    found = made("a line of words\n" * 10_000, "result")
    found.settle(80_000, 10, 20)
    assert len(asked) <= 5
    assert min(asked) > 79_000
    assert 9_000 < found.height < 12_000


def test_the_lines_of_a_text_that_is_not_divided_are_those_of_the_whole() -> None:
    text = "one two three four five\n\nsix " * 3
    assert list(lines_of(SourceText(text, "result"), 9)) == wrap(text, 9)

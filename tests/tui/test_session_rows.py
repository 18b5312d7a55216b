"""Rows of the list: exactly as wide as they are told, safe, and the match always in sight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Money, SearchHit, Snippet
from hermes_sessions.text import cell_width
from hermes_sessions.tui.session_rows import AGE, COST, Columns, _marked, _money, short_age
from tests.builders import NOW

DAY = 86_400.0


@given(st.integers(0, 300))
def test_the_columns_of_a_row_fill_it(width: int) -> None:
    columns = Columns.of(width)
    gaps = sum(1 for size in columns[1:] if size)
    assert sum(columns) + gaps + 2 == max(width, 2)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (NOW, "now"),
        (NOW - 180, "3m"),
        (NOW - 7_200, "2h"),
        (NOW - 1.2 * DAY, "1d"),
        (NOW - 6 * DAY, "6d"),
        (NOW - 20 * DAY, "08 May"),
        (NOW - 400 * DAY, "2025-04"),
        (NOW + DAY, "?"),
        (None, "?"),
    ],
)
def test_ages_are_short(when: float | None, words: str) -> None:
    assert short_age(when, NOW) == words
    assert len(words) <= AGE


@pytest.mark.parametrize(
    ("money", "words", "kind"),
    [
        (Money(0.42, "actual"), "$0.42", "actual"),
        (Money(0.42, "estimated"), "~$0.42", "estimated"),
        (Money(12_345.678, "mixed"), "~$12,345", "estimated"),
        (Money(0.0, "included"), "included", "included"),
        (Money(None, "unknown"), "?", "unpriced"),
    ],
)
def test_an_amount_fits_its_column_and_says_what_it_rests_on(money: Money, words: str, kind: str) -> None:
    assert _money(money) == (words, kind)
    assert len(words) <= COST


def hit(text: str, *spans: tuple[int, int]) -> SearchHit:
    return SearchHit(1, "s", "user", None, "content", Snippet(text, spans))


def test_the_match_is_in_sight_whatever_stands_before_it() -> None:
    text = "far away " * 20 + "docker" + " and more" * 20
    start = text.index("docker")
    pieces = _marked(hit(text, (start, start + 6)), 40)
    assert ("docker", "hit") in pieces
    assert cell_width("".join(text for text, _ in pieces)) <= 40


def test_every_match_is_marked() -> None:
    assert _marked(hit("a b a", (0, 1), (4, 5)), 40) == [("a", "hit"), (" b ", "muted"), ("a", "hit")]


@given(st.text(max_size=60), st.lists(st.integers(0, 60), min_size=2, max_size=6), st.integers(0, 50))
def test_a_snippet_of_anything_stays_in_its_room_and_is_safe(text: str, edges: list[int], room: int) -> None:
    edges = sorted(edges)
    spans = tuple(zip(edges[::2], edges[1::2], strict=False))
    drawn = "".join(piece for piece, _ in _marked(hit(text, *spans), room))
    assert cell_width(drawn) <= max(room, 0)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in drawn)

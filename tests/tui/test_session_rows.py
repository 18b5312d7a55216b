"""Rows of the list: exactly as wide as they are told, safe, and the match always in sight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Conversation, Money, Overview, SearchHit, Snippet, Tokens
from hermes_sessions.text import cell_width
from hermes_sessions.tui.session_rows import (
    AGE,
    COST,
    MESSAGES,
    Columns,
    RowPainter,
    RowState,
    _count,
    _marked,
    _money,
    short_age,
)
from tests.builders import NOW
from tests.tui.conversations import ListApp, conversation, settled

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


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (1_204, "1,204"), (12_345, "12345"), (123_456, "123K"), (17_600_000, "17.6M"), (999_949, "999K")],
)
def test_a_number_fits_its_column_uncut(number: int, words: str) -> None:
    assert _count(number) == words
    assert len(words) <= MESSAGES


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


def test_columns_go_in_a_fixed_order_as_it_narrows() -> None:
    seen = [Columns.of(width)._asdict() for width in range(160, 20, -1)]
    order = list(dict.fromkeys(name for columns in seen for name, size in columns.items() if size == 0))
    assert order == ["model", "directory", "source", "messages", "cost", "age"]


def test_what_stands_on_the_second_line_is_no_column() -> None:
    roomy, short = Columns.of(140), Columns.of(140, facts=False)
    assert roomy.directory
    assert (short.directory, short.model) == (0, 0)
    assert short.title - roomy.title == roomy.directory + roomy.model + 2


HOSTILE = [
    "plain",
    "整理论文和更新README #4",
    "👨‍👩‍👧‍👦 family" * 9,
    "🇸🇪🇳🇴" * 30,
    "e\u0301" * 80,
    "مرحبا بالعالم",
    "\x1b[31mred\x1b[0m\u202etxt.exe",
    "❤️ 👍🏽 1️⃣",
    "\u200d\ufe0f",
]
STATES = [RowState(), RowState(True, True), RowState(depth=3, fold="▸2"), RowState(True, False, 40, "▾1,234")]


@pytest.mark.parametrize("text", HOSTILE)
async def test_a_row_of_anything_fills_its_width_exactly(text: str) -> None:
    item: Conversation = conversation("id", title=text, cwd=f"/home/{text}", model=text, source=text)
    untitled = conversation(text or "id", kind="subagent", branched_from="x", archived=True)
    known = Overview(text * 3, "error", True, 12_345, 0, Tokens(10**9), Money(12_345.6, "mixed"), text)
    app = ListApp(catalog=ListApp.NOTHING)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        painter: RowPainter = app.sessions.painter
        for width in (1, 2, 9, 24, 40, 58, 78, 118, 200):
            for state in STATES:
                for one, overview in ((item, known), (item, None), (untitled, known), (untitled, None)):
                    for strip in (
                        painter.row(one, overview, width, state),
                        painter.second(one, overview, None, width, state),
                        painter.heading(text, 12, known.cost, width),
                    ):
                        assert cell_width(strip.text) == strip.cell_length == width
                        assert not any(ord(char) < 32 or char in "\u202e\x9b" for char in strip.text)


async def test_the_second_line_goes_on_where_the_first_was_cut() -> None:
    app = ListApp(catalog=ListApp.NOTHING)
    words = " ".join(f"word{number}" for number in range(14))
    item, known = conversation("x", model="m"), Overview(words, "complete", False, 1, 0, Tokens(), Money(1.0, "actual"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        first = app.sessions.painter.row(item, known, 78, RowState()).text
        second = app.sessions.painter.second(item, known, None, 78, RowState()).text
        shown = first[2 : first.index("…")]
        rest = second[second.index("…") + 1 :].split("  m")[0].rstrip(" …")
        assert words.startswith(shown.rstrip() + " " + rest if shown.endswith(" ") else shown + rest)
        assert rest
        titled = conversation("x", title="Title")
        assert app.sessions.painter.second(titled, known, None, 200, RowState()).text.strip() == words

"""Numbers and times as a person reads them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Money
from hermes_sessions.services import wording

NOW = 1_780_000_000.0
"""2026-05-28 20:26:40 UTC, a Thursday."""


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move the process to another zone, as C and SQLite see it too."""

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (60, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (86_399, "23h"),
        (86_400, "yesterday"),
        (172_799, "yesterday"),
        (172_800, "2d"),
        (604_799, "6d"),
    ],
)
def test_an_age_steps_as_hermes_steps(seconds: float, words: str) -> None:
    assert wording.age(NOW - seconds, NOW) == words


def test_an_age_of_a_week_is_the_local_date(in_zone: Callable[[str], None]) -> None:
    in_zone("Pacific/Auckland")
    assert wording.age(NOW - 7 * wording.DAY, NOW) == "2026-05-22"
    in_zone("America/Los_Angeles")
    assert wording.age(NOW - 7 * wording.DAY, NOW) == "2026-05-21"


def test_a_clock_slightly_ahead_of_ours_is_now_and_the_future_is_unknown() -> None:
    assert wording.age(NOW + 5, NOW) == "just now"
    assert wording.age(NOW + 3_600, NOW) == "?"


@pytest.mark.parametrize("when", [None, math.nan, math.inf, -math.inf, 1e300, -1e300, -1.0, 0.0, 2e12])
def test_an_absurd_time_is_a_question_mark_everywhere(when: float | None) -> None:
    answers = {
        wording.age(when, NOW),
        wording.date(when),
        wording.clock(when),
        wording.moment(when),
        wording.day(when),
    }
    assert answers == {"?"}


@given(st.one_of(st.none(), st.floats(), st.integers()))
def test_no_time_raises(when: float | None) -> None:
    for words in (wording.age(when, NOW), wording.moment(when), wording.day(when), wording.duration(when)):
        assert words and words.isascii()


def test_dates_and_times_are_local_with_24_hours(in_zone: Callable[[str], None]) -> None:
    in_zone("America/Los_Angeles")
    assert wording.date(NOW) == "2026-05-28"
    assert wording.clock(NOW) == "13:26"
    assert wording.moment(NOW) == "2026-05-28 13:26"
    assert wording.day(NOW) == "Thu 2026-05-28"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Pacific/Auckland", "NZST (UTC+12:00)"),
        ("America/Los_Angeles", "PDT (UTC-07:00)"),
        ("Asia/Kathmandu", "UTC+05:45"),
        ("UTC", "UTC (UTC+00:00)"),
    ],
)
def test_the_zone_is_named_with_its_offset(in_zone: Callable[[str], None], name: str, words: str) -> None:
    in_zone(name)
    assert wording.zone(NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3_600, "1h"),
        (11_100, "3h 5m"),
        (86_400, "1d"),
        (183_600, "2d 3h"),
        (None, "?"),
        (-1, "?"),
        (math.nan, "?"),
        (math.inf, "?"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float | None, words: str) -> None:
    assert wording.duration(seconds) == words


def test_counts_have_their_thousands_set_apart() -> None:
    assert [wording.count(number) for number in (0, 999, 1_204, None)] == ["0", "999", "1,204", "?"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0K"),
        (999_949, "999.9K"),
        (999_950, "1.0M"),
        (5_600_000_000, "5.6B"),
        (-1, "?"),
    ],
)
def test_tokens_are_short(number: int, words: str) -> None:
    assert wording.tokens(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (1_023, "1023 B"), (3_482, "3.4 KB"), (1_048_575, "1.0 MB"), (4_201_320_448, "3.9 GB"), (None, "?")],
)
def test_sizes_count_in_1024(number: int | None, words: str) -> None:
    assert wording.size(number) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (Money(0.42, "actual"), "$0.42"),
        (Money(0.42, "estimated"), "~$0.42"),
        (Money(0.42, "mixed"), "~$0.42"),
        (Money(1234.5, "actual"), "$1,234.50"),
        (Money(0.0, "actual"), "$0.00"),
        (Money(0.0011, "actual"), "$0.0011"),
        (Money(0.00001, "estimated"), "~<$0.0001"),
        (Money(0.0, "included"), "included"),
        (Money(None, "unknown"), "?"),
        (Money(math.nan, "actual"), "?"),
        (Money(math.inf, "actual"), "?"),
    ],
)
def test_money_says_what_it_rests_on(amount: Money, words: str) -> None:
    assert wording.money(amount) == words

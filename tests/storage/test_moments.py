"""Durations, dates and numbers as a person writes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import BadFilter
from hermes_sessions.services import wording
from hermes_sessions.storage.moments import parse_duration, parse_moment, parse_number
from tests.builders import NOW

DAY = 86_400


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("45s", 45),
        ("30m", 1_800),
        ("5h", 18_000),
        ("2d", 2 * DAY),
        ("1w", 7 * DAY),
        ("3mo", 90 * DAY),
        ("1y", 365 * DAY),
        ("3h 5m", 11_100),
        ("1d12h", 1.5 * DAY),
        (" 2 D ", 2 * DAY),
        ("0.5h", 1_800),
    ],
)
def test_a_duration_is_numbers_with_units(words: str, seconds: float) -> None:
    assert parse_duration(words) == seconds
    assert parse_moment(words, NOW) == NOW - seconds


@given(st.integers(0, 10_000 * DAY))
def test_a_duration_that_was_shown_can_be_typed(seconds: int) -> None:
    shown = wording.duration(seconds)
    read = parse_duration(shown)
    unit = DAY // 24 if seconds >= DAY else 60 if seconds >= 60 else 1
    assert read <= seconds < read + unit
    assert wording.duration(read) == shown


@pytest.mark.parametrize(
    "words",
    ["", " ", "2x", "d", "-2d", "2d3", "two days", "1e9d", "9" * 400 + "d", "٢d", "99999y", "nan", "inf", "2 d d"],
)
def test_what_is_no_duration_is_refused(words: str) -> None:
    with pytest.raises(BadFilter):
        parse_duration(words)


def test_a_number_alone_is_days() -> None:
    assert parse_moment("90", NOW) == NOW - 90 * DAY
    assert parse_moment("0.5", NOW) == NOW - DAY / 2


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_dates_are_local(in_zone: Callable[[str], None], zone: str) -> None:
    in_zone(zone)

    def local(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> float:
        return time.mktime((year, month, day, hour, minute, 0, 0, 0, -1))

    today = time.localtime(NOW)
    assert parse_moment("today", NOW) == local(today.tm_year, today.tm_mon, today.tm_mday)
    assert parse_moment("Yesterday", NOW) == local(today.tm_year, today.tm_mon, today.tm_mday - 1)
    assert parse_moment("2026-05-01", NOW) == local(2026, 5, 1)
    assert parse_moment("20260501", NOW) == local(2026, 5, 1)
    assert parse_moment("2026-05", NOW) == local(2026, 5, 1)
    assert parse_moment("2026-05-01 14:03", NOW) == local(2026, 5, 1, 14, 3)
    assert parse_moment("2026-05-01t14:03", NOW) == local(2026, 5, 1, 14, 3)
    assert parse_moment("2026-05-01T00:00:00Z", NOW) == 1_777_593_600
    assert parse_moment("2026-05-01T00:00:00+02:00", NOW) == 1_777_586_400


def test_yesterday_begins_at_midnight_though_the_clocks_changed(in_zone: Callable[[str], None]) -> None:
    in_zone("America/Los_Angeles")
    noon = time.mktime((2026, 3, 9, 12, 0, 0, 0, 0, -1))
    assert parse_moment("today", noon) - parse_moment("yesterday", noon) == 23 * 3_600


@pytest.mark.parametrize("words", ["", "soon", "2026-13-01", "2026-02-30", "99999", "-1", "0001-01-01", "1e5", "12:00"])
def test_what_is_no_time_is_refused_with_what_would_be_right(words: str) -> None:
    with pytest.raises(BadFilter) as caught:
        parse_moment(words, NOW)
    assert repr(words) in caught.value.message
    assert "2026-05-01" in caught.value.hint


@given(st.text())
def test_any_other_words_are_refused_or_read(words: str) -> None:
    for parse in (parse_duration, parse_number, lambda text: parse_moment(text, NOW)):
        try:
            assert isinstance(parse(words), float | int)
        except BadFilter as error:
            assert error.hint


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("10", 10),
        ("2.50", 2.5),
        ("$0.5", 0.5),
        (".5", 0.5),
        ("1,204", 1_204),
        ("1.5k", 1_500),
        ("2M", 2e6),
        ("1b", 1e9),
    ],
)
def test_a_number_may_be_short(words: str, number: float) -> None:
    assert parse_number(words) == number


@pytest.mark.parametrize("words", ["", "ten", "1.2.3", "-1", "1e3", "k", "inf", "nan", "1_000"])
def test_what_is_no_number_is_refused(words: str) -> None:
    with pytest.raises(BadFilter):
        parse_number(words)

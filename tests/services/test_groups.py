"""Groups by day and directory: nothing is lost, and a day is the local one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Conversation, Session
from hermes_sessions.services.groups import by_day, by_directory, day_words

DAY = 86_400.0


def at(when: float | None, id: str = "s", cwd: str | None = None) -> Conversation:
    row = Session(id, "cli", None, None, cwd, None, None, None, None, when, None, None, False, False, None, True)
    return Conversation((row,))


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(words: str) -> float:
    return time.mktime(time.strptime(words, "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("2026-03-30 00:00", "Today"),
        ("2026-03-29 23:59", "Yesterday"),
        ("2026-03-29 00:00", "Yesterday"),
        ("2026-03-28 23:59", "Saturday"),
        ("2026-03-24 08:00", "Tuesday"),
        ("2026-03-23 08:00", "Mon 2026-03-23"),
        ("2025-12-31 08:00", "Wed 2025-12-31"),
        ("2026-03-31 00:01", "Tue 2026-03-31"),
    ],
)
def test_days_are_said_as_people_say_them_whatever_the_clocks_do(berlin: None, when: str, words: str) -> None:
    assert day_words(local(when), local("2026-03-30 00:30")) == words
    assert day_words(local(when), local("2026-03-30 23:30")) == words


def test_a_day_of_23_hours_is_one_group(berlin: None) -> None:
    times = ["2026-03-30 00:00", "2026-03-29 23:30", "2026-03-29 04:00", "2026-03-29 00:10", "2026-03-28 23:50"]
    groups = by_day([at(local(when)) for when in times], "started", local("2026-03-30 12:00"))
    assert [(group.words, len(group.conversations)) for group in groups] == [
        ("Today", 1),
        ("Yesterday", 3),
        ("Saturday", 1),
    ]


def test_what_has_no_date_says_so() -> None:
    groups = by_day([at(DAY * 400), at(None), at(-5.0), at(1e300)], "started", DAY * 401)
    assert [(group.words, len(group.conversations)) for group in groups][1:] == [("No date", 3)]


@given(st.lists(st.none() | st.floats(-1e9, 5e9), max_size=30), st.floats(1, 4e9))
def test_every_conversation_is_in_one_group_of_its_day(times: list[float | None], now: float) -> None:
    items = [at(when) for when in times]
    groups = by_day(items, "started", now)
    assert [item for group in groups for item in group.conversations] == items
    assert all(group.conversations for group in groups)
    assert all(one.words != next_one.words for one, next_one in pairwise(groups))
    for group in groups:
        assert {day_words(item.started_at, now) for item in group.conversations} == {group.words}


def test_directories_come_in_the_order_of_their_first_conversation(home: Path) -> None:
    items = [at(3.0, cwd="/b"), at(2.0, cwd=str(home / "src")), at(1.0), at(0.5, cwd="/b")]
    groups = by_directory(items)
    assert [(group.words, len(group.conversations)) for group in groups] == [
        ("/b", 2),
        ("~/src", 1),
        ("No directory", 1),
    ]

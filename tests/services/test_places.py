"""A place in a conversation is found by number, part or time; what makes no sense is said with what would."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hermes_sessions.errors import UsageError
from hermes_sessions.model import MessageStub
from hermes_sessions.services.places import index_of

START = datetime(2026, 5, 3, 23, 0)
NOW = datetime(2026, 5, 5, 12, 0).timestamp()
STUBS = [
    MessageStub(number, "s", "user", 1, (START + timedelta(minutes=10 * number)).timestamp()) for number in range(100)
]
"""A message every ten minutes, from 23:00 on the 3rd to 15:30 on the 4th."""


def index(words: str, near: int = 0) -> int:
    return index_of(words, STUBS, near, NOW)


@pytest.mark.parametrize(
    ("words", "found"),
    [("1", 0), ("100", 99), ("#12", 11), (" 12 ", 11), ("-1", 99), ("-100", 0), ("0%", 0), ("50%", 50), ("100%", 99)],
)
def test_a_number_counts_from_1_and_a_part_is_of_the_whole(words: str, found: int) -> None:
    assert index(words) == found


@pytest.mark.parametrize(
    ("words", "near", "found"),
    [
        ("23:05", 0, 1),
        ("9:00", 50, 60),
        ("09:00:01", 50, 61),
        ("yesterday 9:00", 0, 60),
        ("yesterday", 0, 6),
        ("2026-05-04", 0, 6),
        ("2026-05-03", 99, 0),
        ("2026-05-04 09:00", 0, 60),
        ("2026-05-04T09:00", 0, 60),
        ("1d", 0, 78),
    ],
)
def test_a_time_is_the_first_message_from_then_on(words: str, near: int, found: int) -> None:
    assert index(words, near) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "no place"),
        ("x", "no place"),
        ("25:00", "no place"),
        ("[/] 9:00", "no place"),
        ("101", "100 messages"),
        ("0", "100 messages"),
        ("101%", "100%"),
        ("today", "2026-05-04 15:30"),
        ("9999-12-31", "2026-05-04 15:30"),
        ("99999999999", "100 messages"),
    ],
)
def test_what_is_no_place_here_is_said(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        index(words)


def test_messages_without_a_time_are_never_the_one() -> None:
    stubs = [stub._replace(timestamp=None) for stub in STUBS[:3]] + STUBS[3:5]
    assert index_of("2026-05-03", stubs, 0, NOW) == 3
    with pytest.raises(UsageError, match="\\?"):
        index_of("2026-05-03", stubs[:3], 0, NOW)


def test_without_messages_there_is_no_place() -> None:
    with pytest.raises(UsageError):
        index_of("1", (), 0, NOW)

"""Conversations in groups: by the day, by the directory. Pure; the order inside of a group is the one they came in."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hermes_sessions.model import Conversation, Money
from hermes_sessions.services import wording
from hermes_sessions.services.sorting import SORTS_BY_TIME
from hermes_sessions.storage.costs import add_money

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_MOMENT = 1e-6
"""What is not after this is no time."""

NO_DATE, NO_DIRECTORY = "No date", "No directory"


class Group(NamedTuple):
    """Conversations that belong together, and what they have in common: words to be made safe like any stored text."""

    words: str
    conversations: Sequence[Conversation]


def by_day(conversations: Iterable[Conversation], sort: str, now: float) -> list[Group]:
    """Groups of the same local day, one after the other as they come. `sort` is one of `SORTS_BY_TIME`."""
    moment = SORTS_BY_TIME[sort]
    groups: list[Group] = []
    start = end = float("inf")  # of the day of the last group, so that a calendar is asked once a day
    items: list[Conversation] = []
    for item in conversations:  # up to 20,000, while a person waits
        when = moment(item)
        if when is None or not start <= when < end:
            start, end = _day_around(when)
            words = day_words(when, now)
            if not groups or groups[-1].words != words:
                items = []
                groups.append(Group(words, items))
        items.append(item)
    return groups


def by_directory(conversations: Iterable[Conversation]) -> list[Group]:
    """Groups of the same working directory, in the order of their first conversations."""
    groups: dict[str | None, list[Conversation]] = {}
    for item in conversations:
        groups.setdefault(item.cwd, []).append(item)
    return [Group(NO_DIRECTORY if path is None else wording.homely(path), items) for path, items in groups.items()]


def day_words(when: float | None, now: float) -> str:
    """A day as people say it: Today, Yesterday, a day of the week within the last seven, else with its date."""
    day, today = _calendar(when), _calendar(now)
    if day is None or when is None:
        return NO_DATE
    if today is not None:
        noon = _noon(today)
        ago = round((noon - _noon(day)) / wording.DAY)
        if 0 <= ago < 2:
            return ("Today", "Yesterday")[ago]
        if 0 < ago < 7:
            return WEEKDAYS[day.tm_wday]
    return wording.day(when)


def cost_of(costs: Iterable[Money]) -> Money:
    """What a group costs; what it rests on is that of its parts."""
    return add_money(costs)


def _calendar(when: float | None) -> time.struct_time | None:
    if when is None or not FIRST_MOMENT <= when < wording.LAST_MOMENT:
        return None
    try:
        return time.localtime(when)
    except (ValueError, OverflowError, OSError):
        return None


def _noon(day: time.struct_time) -> float:
    """Noon of a day: a whole number of days lies between two, whatever the clocks did meanwhile."""
    return time.mktime((day.tm_year, day.tm_mon, day.tm_mday, 12, 0, 0, 0, 0, -1))


def _day_around(when: float | None) -> tuple[float, float]:
    """The first moment of the local day, and that of the next. Nothing lies in the day of what is no time."""
    if (day := _calendar(when)) is None:
        return float("inf"), float("inf")
    start, end = (time.mktime((day.tm_year, day.tm_mon, day.tm_mday + ahead, 0, 0, 0, 0, 0, -1)) for ahead in (0, 1))
    return max(start, FIRST_MOMENT), min(end, wording.LAST_MOMENT)

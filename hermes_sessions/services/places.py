"""A place in a conversation as a person writes it: the number of a message, a part of the whole, or a time. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hermes_sessions.errors import BadFilter, UsageError
from hermes_sessions.model import MessageStub
from hermes_sessions.services import wording
from hermes_sessions.storage.moments import parse_moment

HINT = "120 · -10 from the end · 50% · 14:30 · yesterday 9:00 · 2026-05-03 · 2d"

_NUMBER = re.compile(r"#?(-?)([0-9][0-9,]{0,11})")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%")
_CLOCK = re.compile(r"(?:(.+?)[ t]+)?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


def index_of(words: str, stubs: Sequence[MessageStub], near: int, now: float) -> int:
    """Return the index of the message that `words` name; a time of day alone is one of the day of message `near`.

    A time stands for the first message that is not older. Raises UsageError, with what would be right, if the words
    name no place or one behind the last message.
    """
    text = words.strip().lower()
    if not stubs:
        raise UsageError("There are no messages.")
    if number := _NUMBER.fullmatch(text):
        return _by_number(int(number[2].replace(",", "")), bool(number[1]), len(stubs))
    if percent := _PERCENT.fullmatch(text):
        if float(percent[1]) > 100:
            raise UsageError("The whole is 100%.", HINT)
        return min(len(stubs) - 1, int(len(stubs) * float(percent[1]) / 100))
    moment = _moment(text, stubs[near].timestamp, now)
    found = next((index for index, stub in enumerate(stubs) if _is_from(stub, moment)), None)
    if found is None:
        last = max((stub.timestamp for stub in stubs if stub.timestamp is not None), default=None)
        raise UsageError(f"The last message is of {wording.moment(last)}.", HINT)
    return found


def _by_number(number: int, from_the_end: bool, count: int) -> int:
    if not 1 <= number <= count:
        raise UsageError(f"There are {wording.count(count)} messages.", HINT)
    return count - number if from_the_end else number - 1


def _moment(text: str, here: float | None, now: float) -> float:
    """Epoch seconds of a moment, or of a time on a day; without a day it is that of the moment `here`."""
    clock = _CLOCK.fullmatch(text)
    try:
        if clock is None:
            return parse_moment(text, now)
        day = datetime.fromtimestamp(parse_moment(clock[1], now) if clock[1] else now if here is None else here)
        hour, minute, second = (int(part or 0) for part in clock.groups()[1:])
        return day.replace(hour=hour, minute=minute, second=second, microsecond=0).timestamp()
    except (BadFilter, ValueError, OverflowError, OSError):
        raise UsageError("That is no place.", HINT) from None


def _is_from(stub: MessageStub, moment: float) -> bool:
    return stub.timestamp is not None and stub.timestamp >= moment

"""The compression lock."""

from __future__ import annotations

import os
import re

import pytest

from hermes_sessions.errors import Refused, SessionLive
from hermes_sessions.storage.writing.locks import EXPIRY_SECONDS, new_holder
from tests.storage.writing.written import Written


def test_one_holds_the_lock_and_others_are_told_who(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    locks = ownable.lineage.locks
    assert locks.holder("s") is None
    holder = locks.acquire("s")
    assert re.fullmatch(rf"{os.getpid()}:\d+:[0-9a-f]{{8}}", holder)
    assert locks.holder("s") == holder
    with pytest.raises(SessionLive, match=holder):
        locks.acquire("s")
    assert ownable.reader.liveness.live_sessions(ownable.clock.now) == {"s"}
    locks.release("s", "somebody:else:1")
    assert locks.holder("s") == holder
    locks.release("s", holder)
    assert locks.holder("s") is None


def test_a_lock_lasts_five_minutes_and_longer_when_it_is_refreshed(written: Written) -> None:
    written.sessions.create("s", source="cli")
    locks = written.lineage.locks
    holder = locks.acquire("s")
    assert written.rows("SELECT expires_at - acquired_at FROM compression_locks") == [(EXPIRY_SECONDS,)]
    written.clock.later(EXPIRY_SECONDS - 10)
    assert locks.refresh("s", holder)
    written.clock.later(EXPIRY_SECONDS - 10)
    assert locks.holder("s") == holder
    assert not locks.refresh("s", "somebody:else:1")
    written.clock.later(20)
    assert locks.holder("s") is None
    assert not locks.refresh("s", holder)


def test_an_expired_lock_is_taken_over(written: Written) -> None:
    written.sessions.create("s", source="cli")
    written.lineage.locks.acquire("s", "1:1:dead")
    written.clock.later(EXPIRY_SECONDS + 5)
    assert written.lineage.locks.acquire("s", "2:2:alive") == "2:2:alive"
    assert written.rows("SELECT holder, acquired_at FROM compression_locks") == [("2:2:alive", written.clock.now)]


def test_its_holder_may_take_a_lock_again(written: Written) -> None:
    written.sessions.create("s", source="cli")
    holder = written.lineage.locks.acquire("s")
    acquired = written.clock.now
    assert written.lineage.locks.acquire("s", holder) == holder
    stored = written.rows("SELECT acquired_at, expires_at FROM compression_locks")
    assert stored == [(acquired, written.clock.now + EXPIRY_SECONDS)]


def test_a_layout_without_locks_is_said(any_written: Written) -> None:
    any_written.sessions.create("s", source="cli")
    locks = any_written.lineage.locks
    if "compression_locks" in any_written.database.tables:
        assert locks.acquire("s")
    else:
        with pytest.raises(Refused, match="too old to lock"):
            locks.acquire("s")
        assert locks.holder("s") is None
        assert not locks.refresh("s", "1:1:a")
        locks.release("s", "1:1:a")


def test_two_holders_have_two_names() -> None:
    assert new_holder() != new_holder()

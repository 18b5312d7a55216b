"""Writers are killed in the middle: what they were told is stored is there, and nothing is half there."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal

import apsw
import pytest

from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from tests.appending import TURNS, Appender
from tests.storage.writing.test_many_writers import assert_sound, in_session

KILLED_AT_ONCE = 2
LONGEST_LIFE_SECONDS = 0.15
MESSAGES = 400
"""More than can be written in that time."""


def prove_killed_writers(
    path: Path,
    rounds: int,
    journal: Literal["wal", "delete"],
    *,
    uniform: Callable[[float, float], float] = random.uniform,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """In each round let processes append to one store, kill them all at a random moment, and look at what is there.

    Return what was seen, in words.
    """
    create_store(path).close()
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("journal_mode", journal) == journal
    acknowledged = unheard = 0
    for number in range(rounds):
        sessions = [f"round {number} writer {writer}" for writer in range(KILLED_AT_ONCE)]
        with closing(OwnerStore(Database(path, "owner"))) as store:
            for session in sessions:
                store.sessions.create(session, source="cli")
        with ExitStack() as stack:
            appenders = [stack.enter_context(Appender(path, session, MESSAGES, batches=True)) for session in sessions]
            for appender in appenders:
                appender.wait_ready()
            for appender in appenders:
                appender.go()
            sleep(uniform(0, LONGEST_LIFE_SECONDS))
            told = [appender.kill() for appender in appenders]
        # The next to open the file is one that writes, as any is; there is no step between.
        with closing(OwnerStore(Database(path, "owner"))) as store:
            for session in sessions:
                store.messages.append(session, NewMessage("user", "and on"))
        with closing(Database(path)) as database:
            assert_sound(database)
            for appender, heard in zip(appenders, told, strict=True):
                *stored, last = in_session(database, appender.session)
                assert last.content == "and on"
                assert stored == appender.expected(len(stored))
                assert len(stored) in appender.ends()
                # One call may have been stored and not acknowledged yet.
                assert 0 <= len(stored) - heard <= max(TURNS)
                acknowledged += heard
                unheard += len(stored) - heard
    with closing(OwnerStore(Database(path, "owner"))) as store:
        assert store.journal_mode == journal
        store.index.check()
    with closing(open_store(path)) as reader:
        assert len(reader.sessions.catalog()) == rounds * KILLED_AT_ONCE
    return (
        f"{rounds} rounds ({journal}): {acknowledged} acknowledged messages are all there, {unheard} more were stored"
        " before the word of it came through; none is half there"
    )


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_what_was_acknowledged_outlives_the_writer_and_nothing_is_half_there(
    tmp_path: Path, journal: Literal["wal", "delete"]
) -> None:
    """`python -m tests.benchmarks.proofs` does so many more times."""
    prove_killed_writers(tmp_path / "state.db", 6, journal)

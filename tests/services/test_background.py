"""`StoreThread`: one call after another on a thread of its own, and cancelling touches only the call it means."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_sessions.errors import Interrupted, StoreMissing
from hermes_sessions.services.background import StoreThread
from hermes_sessions.storage.database import Database
from tests.builders import HermesFile

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
TIMEOUT = 10.0


@pytest.fixture
def thread(hermes_file: HermesFile) -> Iterator[StoreThread[Database]]:
    thread = StoreThread(lambda: Database(hermes_file.path))
    yield thread
    thread.close()


class Running:
    """An endless query, and the moment from which on it runs."""

    def __init__(self) -> None:
        self.started = threading.Event()

    def __call__(self, database: Database) -> object:
        self.started.set()
        return database.value(ENDLESS)


def one(database: Database) -> object:
    return database.value("SELECT 1")


def test_a_call_works_before_there_is_an_event_loop(thread: StoreThread[Database]) -> None:
    assert thread.submit(one).result(TIMEOUT) == 1


async def test_a_call_is_awaited(thread: StoreThread[Database]) -> None:
    assert await thread.call(one) == 1


async def test_the_store_lives_on_one_thread_that_is_not_the_callers(thread: StoreThread[Database]) -> None:
    idents = {await thread.call(lambda _: threading.get_ident()) for _ in range(3)}
    assert len(idents) == 1
    assert threading.get_ident() not in idents


async def test_an_error_is_raised_where_it_is_awaited_and_the_next_call_works(thread: StoreThread[Database]) -> None:
    with pytest.raises(ZeroDivisionError):
        await thread.call(lambda _: 1 // 0)
    assert await thread.call(one) == 1


async def test_a_store_that_cannot_be_opened_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "later" / "state.db"
    thread = StoreThread(lambda: Database(path))
    with pytest.raises(StoreMissing):
        await thread.call(one)
    HermesFile(path).close()
    assert await thread.call(one) == 1
    thread.close()


async def test_a_cancelled_running_call_is_interrupted_and_no_other(thread: StoreThread[Database]) -> None:
    running = Running()
    call = thread.submit(running)
    after = thread.submit(one)
    assert running.started.wait(TIMEOUT)
    assert not call.cancel()
    assert isinstance(call.exception(TIMEOUT), Interrupted)
    assert after.result(TIMEOUT) == 1


async def test_cancelling_the_task_that_awaits_a_call_interrupts_it(thread: StoreThread[Database]) -> None:
    running = Running()
    task = asyncio.create_task(thread.call(running))
    await asyncio.to_thread(running.started.wait, TIMEOUT)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await thread.call(one) == 1


def test_a_cancelled_waiting_call_never_runs(thread: StoreThread[Database]) -> None:
    running, ran = Running(), threading.Event()
    first = thread.submit(running)
    assert running.started.wait(TIMEOUT)
    waiting = thread.submit(lambda _: ran.set())
    assert waiting.cancel()
    first.cancel()
    assert thread.submit(one).result(TIMEOUT) == 1
    assert not ran.is_set()


def test_cancelling_a_call_that_is_over_interrupts_nobody(thread: StoreThread[Database]) -> None:
    over = thread.submit(one)
    assert over.result(TIMEOUT) == 1
    running = Running()
    call = thread.submit(running)
    assert running.started.wait(TIMEOUT)
    assert not over.cancel()
    assert not call.done()
    call.cancel()


async def test_of_many_calls_only_the_cancelled_ones_are_interrupted(thread: StoreThread[Database]) -> None:
    def counted(database: Database) -> object:
        return database.value(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT max(x) FROM n"
        )

    wanted = []
    for _ in range(50):
        wanted.append(thread.submit(counted))
        unwanted = Running()
        call = thread.submit(unwanted)
        assert await asyncio.to_thread(unwanted.started.wait, TIMEOUT)
        call.cancel()
    assert [call.result(TIMEOUT) for call in wanted] == [2000] * 50


@pytest.mark.parametrize("statements", [1, 3], ids=["one statement", "several"])
def test_closing_is_quick_while_a_query_runs(hermes_file: HermesFile, statements: int) -> None:
    thread = StoreThread(lambda: Database(hermes_file.path))
    started = threading.Event()

    def stubborn(database: Database) -> None:
        for _ in range(statements):
            started.set()
            try:
                database.value(ENDLESS)
            except Interrupted:
                continue

    call = thread.submit(stubborn)
    waiting = thread.submit(one)
    assert started.wait(TIMEOUT)
    before = time.monotonic()
    thread.close()
    assert time.monotonic() - before < 1.0
    assert call.done()
    assert waiting.cancelled()


def test_a_closed_thread_takes_no_more_calls(thread: StoreThread[Database]) -> None:
    thread.close()
    assert thread.submit(one).cancelled()


def test_closing_closes_the_store_in_its_own_thread() -> None:
    where: list[int] = []

    class Door:
        replaced = False

        def interrupt(self) -> None: ...

        def close(self) -> None:
            where.append(threading.get_ident())

    thread = StoreThread(Door)
    owner: Callable[[Door], int] = lambda _: threading.get_ident()  # noqa: E731
    ident = thread.submit(owner).result(TIMEOUT)
    thread.close()
    assert where == [ident]

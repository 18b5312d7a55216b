"""Writing beside other writers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_sessions.errors import SessionsError, StoreBusy
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from hermes_sessions.storage.writing.writer import (
    FIRST_PAUSE_SECONDS,
    LAST_PAUSE_SECONDS,
    LONG_PAUSE_SECONDS,
    LONGEST_WAIT_SECONDS,
    PATIENCE_SECONDS,
    QUEUE_SECONDS,
    SHORTEST_WAIT_SECONDS,
    WRITES_PER_CHECKPOINT,
    Writer,
)

HOLD_THE_LOCK = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE; INSERT INTO state_meta VALUES ('holder', 'was here')").fetchall()
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT").fetchall()
print("released", flush=True)
"""


class Patience:
    """Time that passes only by waiting. `until` is called after each wait.

    `pauses` are the waits of a transaction that goes on asking, `rests` those between two attempts, when it has let go.
    """

    def __init__(self, until: Callable[[Patience], object] = lambda patience: None) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.rests: list[float] = []
        self._until = until
        self._waits = self.pauses

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._waits.append(seconds)
        self._until(self)

    def uniform(self, shortest: float, longest: float) -> float:
        self._waits = (
            self.rests if (shortest, longest) == (SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS) else self.pauses
        )
        return (shortest + longest) / 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    create_store(path).close()
    return path


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    database = Database(path, "owner")
    yield database
    database.close()


@pytest.fixture
def other(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


def patient(database: Database, patience: Patience, **limits: Any) -> Writer:
    return Writer(database, clock=patience.clock, sleep=patience.sleep, uniform=patience.uniform, **limits)


def put(key: str) -> Callable[[Database], str]:
    def insert(database: Database) -> str:
        database.execute("INSERT INTO state_meta VALUES (?, 'value')", (key,))
        return key

    return insert


def merged(connection: apsw.Connection) -> float:
    """The share of the log that is in the database."""
    connection.execute("SELECT * FROM schema_version").fetchall()  # it has to know that there is a log
    pages, merged = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return merged / pages


def keys(database: Database) -> list[Any]:
    return [key for (key,) in database.rows("SELECT key FROM state_meta ORDER BY key")]


def test_what_a_function_wrote_is_there_for_others_when_it_has_run(database: Database, other: apsw.Connection) -> None:
    assert Writer(database).run(put("a")) == "a"
    assert other.execute("SELECT key FROM state_meta").fetchall() == [("a",)]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_half_written_when_a_function_fails(database: Database, fault: type[BaseException]) -> None:
    def fail(database: Database) -> None:
        put("half")(database)
        raise fault

    writer = Writer(database)
    with pytest.raises(fault):
        writer.run(fail)
    assert keys(database) == []
    writer.run(put("next"))
    assert keys(database) == ["next"]


def test_a_fault_in_a_statement_is_not_tried_again(database: Database) -> None:
    runs = []

    def fail(database: Database) -> None:
        runs.append(1)
        put("half")(database)
        database.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(SessionsError, match="nowhere"):
        patient(database, Patience()).run(fail)
    assert (len(runs), keys(database)) == (1, [])


def test_a_writer_waits_for_another_and_then_writes(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE; INSERT INTO state_meta VALUES ('first', '')").fetchall()
    patience = Patience(lambda patience: other.execute("COMMIT").fetchall() if len(patience.pauses) == 3 else None)
    patient(database, patience).run(put("second"))
    assert keys(database) == ["first", "second"]
    assert (len(patience.pauses), patience.rests) == (3, [])


def test_in_a_queue_a_writer_asks_the_sooner_the_longer_it_has_waited(
    database: Database, other: apsw.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    patience = Patience(lambda patience: patience.now < QUEUE_SECONDS - 0.02 or other.execute("ROLLBACK").fetchall())
    patient(database, patience).run(put("at last"))
    assert patience.pauses == sorted(patience.pauses, reverse=True)
    assert patience.pauses[0] == pytest.approx(FIRST_PAUSE_SECONDS)
    assert patience.pauses[-1] == pytest.approx(LAST_PAUSE_SECONDS)
    assert keys(database) == ["at last"]


def test_beside_a_long_write_a_writer_asks_seldom(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    patience = Patience()
    with pytest.raises(StoreBusy):
        patient(database, patience, budget=10).run(put("never"))
    # The queue it seemed to be comes once, not with each attempt.
    assert sum(pause < LONG_PAUSE_SECONDS for pause in patience.pauses) * LAST_PAUSE_SECONDS < QUEUE_SECONDS
    assert len(patience.pauses) < 1_000
    assert len(patience.rests) == pytest.approx(10 / (PATIENCE_SECONDS + 0.1), abs=2)


def test_no_two_waits_need_be_alike(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    ranges = []

    def uniform(shortest: float, longest: float) -> float:
        ranges.append(longest / shortest)
        return longest

    patience = Patience()
    with pytest.raises(StoreBusy):
        Writer(database, attempts=2, clock=patience.clock, sleep=patience.sleep, uniform=uniform).run(put("never"))
    assert min(ranges) >= 3 - 1e-9


def test_a_writer_that_waits_for_long_lets_go_of_what_it_holds(path: Path, other: apsw.Connection) -> None:
    """Without a write-ahead log a reader is in the way of a commit, and the commit in the way of new readers."""
    other.execute("PRAGMA journal_mode=DELETE").fetchall()
    database = Database(path, "owner")
    newcomer = apsw.Connection(str(path))
    reader = other.cursor()
    reader.execute("BEGIN; SELECT * FROM schema_version").fetchall()
    runs = []
    answers = set()

    def look(patience: Patience) -> None:
        try:
            newcomer.execute("SELECT * FROM schema_version").fetchall()
            answers.add((len(patience.rests), "read"))
        except apsw.BusyError:
            answers.add((len(patience.rests), "busy"))
        if len(patience.rests) == 2 and other.in_transaction:
            reader.execute("COMMIT").fetchall()

    def count(database: Database) -> None:
        runs.append(database.value("SELECT count(*) FROM state_meta"))
        put(f"run {len(runs)}")(database)

    patient(database, Patience(look)).run(count)
    assert runs == [0, 0, 0]
    assert keys(database) == ["run 3"]
    assert answers == {(0, "busy"), (1, "read"), (1, "busy"), (2, "read")}
    newcomer.close()
    database.close()


@pytest.mark.parametrize(
    "code",
    [
        apsw.SQLITE_BUSY,
        apsw.SQLITE_BUSY_RECOVERY,
        apsw.SQLITE_BUSY_SNAPSHOT,
        apsw.SQLITE_BUSY_TIMEOUT,
        apsw.SQLITE_LOCKED,
        apsw.SQLITE_LOCKED_SHAREDCACHE,
        apsw.SQLITE_PROTOCOL,
    ],
)
def test_the_whole_function_runs_again_whatever_the_code_for_a_lock_is(database: Database, code: int) -> None:
    runs: list[int] = []

    def refuse_twice(*_nothing: object) -> None:
        if len(runs) < 3:
            raise apsw.exception_for(code)

    def fail(database: Database) -> None:
        runs.append(1)
        put(f"run {len(runs)}")(database)
        database.execute("SELECT refuse_twice()")

    database.connection.create_scalar_function("refuse_twice", refuse_twice)
    patience = Patience()
    patient(database, patience).run(fail)
    assert keys(database) == ["run 3"]
    assert len(patience.rests) == 2


def test_a_writer_gives_up_when_its_time_is_used_up(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    patience = Patience()
    runs: list[Database] = []
    with pytest.raises(StoreBusy, match=r"was locked by .* for 5\.\d s; nothing was written") as raised:
        patient(database, patience, budget=5.0).run(runs.append)
    assert runs == []
    assert raised.value.hint
    assert 5.0 <= patience.now < 5.0 + LONGEST_WAIT_SECONDS


def test_attempts_may_be_capped(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    patience = Patience()
    writer = patient(database, patience, attempts=4)
    with pytest.raises(StoreBusy):
        writer.run(put("never"))
    assert len(patience.rests) == 3
    other.execute("ROLLBACK").fetchall()
    writer.run(put("later"))
    assert keys(database) == ["later"]


def test_a_person_may_interrupt_the_waiting(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()

    def interrupt(patience: Patience) -> None:
        raise KeyboardInterrupt

    writer = patient(database, Patience(interrupt))
    with pytest.raises(KeyboardInterrupt):
        writer.run(put("never"))
    other.execute("ROLLBACK").fetchall()
    writer.run(put("later"))
    assert keys(database) == ["later"]


def test_the_log_is_merged_after_every_so_many_writes(database: Database, other: apsw.Connection) -> None:
    database.execute("PRAGMA wal_autocheckpoint=0")
    writer = Writer(database)
    for number in range(WRITES_PER_CHECKPOINT - 1):
        writer.run(put(f"{number}"))
    assert merged(other) == 0
    writer.run(put("last"))
    assert merged(other) == 1
    writer.run(put("one more"))
    assert merged(other) == 0
    writer.checkpoint()
    assert merged(other) == 1


def test_merging_waits_for_nobody(database: Database, other: apsw.Connection) -> None:
    """A reader that stays in the middle of its rows keeps the log from being merged; that is for the next one, then."""
    reader = other.execute("SELECT type FROM sqlite_schema")
    patience = Patience()
    writer = patient(database, patience)
    for number in range(WRITES_PER_CHECKPOINT):
        writer.run(put(f"{number}"))
    assert (patience.pauses, patience.rests) == ([], [])
    assert merged(database.connection) < 1
    reader.close()
    writer.checkpoint()
    assert merged(database.connection) == 1


def test_a_log_that_became_long_is_cut_back(
    database: Database, other: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_sessions.storage.writing.writer.LARGEST_IDLE_WAL", 100_000)
    writer = Writer(database)
    reader = other.execute("SELECT type FROM sqlite_schema")
    log = Path(f"{database.path}-wal")
    for number in range(60):
        writer.run(put(f"{number}" + "x" * 8_000))
    assert log.stat().st_size > 500_000
    reader.close()
    writer.checkpoint()
    writer.run(put("next"))
    assert log.stat().st_size <= 100_000
    assert len(keys(database)) == 61


def test_a_write_inside_a_write_is_a_mistake(database: Database) -> None:
    writer = Writer(database)
    with pytest.raises(RuntimeError, match="inside another"):
        writer.run(lambda _: writer.run(put("inner")))
    assert keys(database) == []


@contextmanager
def lock_holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has written and not committed. A line to it makes it commit and end."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        yield holder
        holder.kill()


def test_a_lock_held_by_another_process_delays_and_loses_nothing(path: Path) -> None:
    """Upstream number 2914: a session begun while another process writes is all there, and what is said later, too."""
    with lock_holder(path) as holder:

        def release(patience: Patience) -> None:
            if patience.now > 5 and holder.poll() is None:
                holder.communicate("\n")

        patience = Patience(release)
        database = Database(path, "owner")
        store = OwnerStore(database, writer=patient(database, patience))
        store.sessions.create("a", source="cli")
        store.messages.append("a", NewMessage("user", "hi"))
        assert patience.now > 5
        assert keys(database) == ["holder"]
    store.messages.append("a", NewMessage("user", "later"))
    assert database.rows("SELECT content FROM messages ORDER BY id") == [("hi",), ("later",)]
    store.close()


def test_a_lock_held_for_ever_ends_within_the_budget_and_names_who_holds_it(database: Database) -> None:
    writer = Writer(database, budget=0.2)
    with lock_holder(database.path) as holder:
        started = time.monotonic()
        with pytest.raises(StoreBusy) as raised:
            writer.run(put("never"))
        # What is above the budget is a busy machine's: the time to give up itself is proven without a clock.
        assert 0.2 <= time.monotonic() - started < 5
        assert (f"(process {holder.pid}," if sys.platform == "linux" else "another program") in raised.value.message
    writer.run(put("later"))
    assert keys(database) == ["later"]

"""Writing beside other writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_sessions.errors import SessionsError, StoreBusy
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.owner import create_store
from hermes_sessions.storage.writing.writer import LONGEST_WAIT_SECONDS, SHORTEST_WAIT_SECONDS, Writer

HOLD_THE_LOCK = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE; INSERT INTO state_meta VALUES ('holder', 'was here')").fetchall()
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT").fetchall()
print("released", flush=True)
"""

APPEND_FOR_EVER = """
import sys
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore
store = OwnerStore(Database(sys.argv[1], "owner"))
number = 0
while True:
    number += 1
    print(store.messages.append("s", NewMessage("user", f"message {number} " + "x" * (number % 700))), flush=True)
"""


class Patience:
    """Time that passes only by waiting. `until` is called after each wait with the number of waits so far."""

    def __init__(self, until: Callable[[int], object] = lambda waits: None) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self._until = until

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)
        self._until(len(self.waits))

    def uniform(self, shortest: float, longest: float) -> float:
        assert (shortest, longest) == (SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
        return (shortest + longest) / 2 + len(self.waits) / 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    create_store(path).close()
    return path


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    database = Database(path, "owner", busy_timeout_ms=0)
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
    patience = Patience(lambda waits: other.execute("COMMIT").fetchall() if waits == 3 else None)
    patient(database, patience).run(put("second"))
    assert keys(database) == ["first", "second"]
    assert patience.waits == pytest.approx([0.085, 0.086, 0.087])


def test_the_whole_function_runs_again_when_the_commit_was_refused(path: Path, other: apsw.Connection) -> None:
    """Without a write-ahead log a reader is in the way of a commit."""
    other.execute("PRAGMA journal_mode=DELETE").fetchall()
    database = Database(path, "owner", busy_timeout_ms=0)
    reader = other.cursor()
    reader.execute("BEGIN; SELECT * FROM schema_version").fetchall()
    runs = []

    def count(database: Database) -> None:
        runs.append(database.value("SELECT count(*) FROM state_meta"))
        put(f"run {len(runs)}")(database)

    patient(database, Patience(lambda waits: reader.execute("COMMIT").fetchall() if waits == 2 else None)).run(count)
    assert runs == [0, 0, 0]
    assert keys(database) == ["run 3"]
    database.close()


def test_a_writer_gives_up_when_its_time_is_used_up(database: Database, other: apsw.Connection) -> None:
    other.execute("BEGIN IMMEDIATE").fetchall()
    patience = Patience()
    runs: list[Database] = []
    with pytest.raises(StoreBusy, match=r"locked by another program for 5\.\d s; nothing was written") as raised:
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
    assert len(patience.waits) == 3
    other.execute("ROLLBACK").fetchall()
    writer.run(put("later"))
    assert keys(database) == ["later"]


def test_a_write_inside_a_write_is_a_mistake(database: Database) -> None:
    writer = Writer(database)
    with pytest.raises(RuntimeError, match="inside another"):
        writer.run(lambda _: writer.run(put("inner")))
    assert keys(database) == []


def test_a_lock_held_by_another_process_delays_and_loses_nothing(database: Database) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(database.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin and holder.stdout
    assert holder.stdout.readline() == "locked\n"

    def release(waits: int) -> None:
        if waits == 2:
            holder.communicate("\n")

    patience = Patience(release)
    patient(database, patience).run(put("waited"))
    assert keys(database) == ["holder", "waited"]
    assert len(patience.waits) == 2
    assert holder.wait() == 0


def test_what_was_acknowledged_is_there_after_the_writer_was_killed(path: Path) -> None:
    database = Database(path, "owner")
    database.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1.0)")
    database.close()
    with subprocess.Popen(
        [sys.executable, "-c", APPEND_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
    database = Database(path, "owner")
    stored = [row[0] for row in database.rows("SELECT id FROM messages ORDER BY id")]
    assert stored[: len(acknowledged)] == acknowledged
    # The last append may have been stored and not yet acknowledged.
    assert len(stored) - len(acknowledged) in (0, 1)
    assert database.value("SELECT message_count FROM sessions") == len(stored)
    assert database.value("PRAGMA integrity_check") == "ok"
    schema.check_index(database)
    database.close()

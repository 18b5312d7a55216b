"""Who holds a lock is named when the kernel tells, and nobody else ever is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import StoreBusy
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.lock_holder import WAL_LOCK_BYTES, _duration, _locked, lock_holder

if sys.platform != "linux":
    pytest.skip("only Linux tells who holds a lock", allow_module_level=True)

HOLD = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
cursor = connection.cursor()
for statement in sys.argv[2:]:
    cursor.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""
READ = ("BEGIN", "SELECT * FROM facts")


@contextmanager
def held(path: Path, *statements: str) -> Iterator[int]:
    """The number of another process, which has run the statements and reads no more of their rows."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *statements], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.kill()


@pytest.fixture(params=["wal", "delete"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A database that this process has open, too, and with two rows."""
    path = tmp_path / "state.db"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", request.param)
    connection.execute("CREATE TABLE facts (fact); INSERT INTO facts VALUES (1), (2)").fetchall()
    yield path
    connection.close()


def test_whoever_is_writing_holds_the_lock(path: Path) -> None:
    with held(path, "BEGIN IMMEDIATE") as pid:
        answer = lock_holder(path, clock=lambda: time.time() + 7_200)
        assert answer is not None
        assert answer.endswith(f"(process {pid}, running for 2 h)")
        assert lock_holder(path.parent / "nothing.db") is None
    assert lock_holder(path) is None


def test_whoever_shuts_out_everyone_holds_the_lock(path: Path) -> None:
    with held(path, "BEGIN EXCLUSIVE", "INSERT INTO facts VALUES (3)") as pid:
        assert f"process {pid}" in (lock_holder(path) or "")


def test_a_link_leads_to_who_holds_the_lock(path: Path) -> None:
    link = path.parent / "link.db"
    link.symlink_to(path)
    with held(path, "BEGIN IMMEDIATE") as pid:
        assert f"process {pid}" in (lock_holder(link) or "")


@pytest.mark.parametrize("path", ["wal"], indirect=True)
def test_beside_a_log_a_reader_holds_nobody_up(path: Path) -> None:
    with held(path, *READ):
        assert lock_holder(path) is None


@pytest.mark.parametrize("path", ["delete"], indirect=True)
def test_without_a_log_a_reader_holds_writers_up(path: Path) -> None:
    with held(path, *READ) as pid:
        assert f"process {pid}" in (lock_holder(path) or "")


@pytest.mark.parametrize("path", ["delete"], indirect=True)
def test_whoever_wants_to_read_and_may_not_is_told_who_writes(path: Path) -> None:
    with (
        held(path, "BEGIN EXCLUSIVE") as pid,
        pytest.raises(StoreBusy, match=rf"stayed locked by .* \(process {pid}, running for \d+ s\)\.$"),
    ):
        Database(path, busy_timeout_ms=0)


def test_this_program_may_hold_the_lock_itself(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE").fetchall()
    assert lock_holder(path) == f"process {os.getpid()}, this program itself"
    connection.close()


def test_to_look_takes_no_lock_away(path: Path) -> None:
    """To open and close the file would (fcntl(2))."""
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE").fetchall()
    lock_holder(path)
    again = subprocess.run([sys.executable, "-c", HOLD, str(path), "BEGIN IMMEDIATE"], capture_output=True, text=True)
    assert "BusyError" in again.stderr
    connection.close()


@pytest.mark.parametrize("path", ["wal"], indirect=True)
def test_lines_that_are_about_something_else_name_nobody(path: Path) -> None:
    shared_memory = Path(f"{path}-shm")
    inode = shared_memory.stat().st_ino
    mine = f"1: POSIX ADVISORY WRITE {os.getpid()} 00:99:{inode} 120 120"
    others = [
        f"2: POSIX ADVISORY WRITE 1 00:99:{inode} 120 120",  # another device's file of that number
        f"3: -> POSIX ADVISORY WRITE {os.getpid()} 00:99:{inode} 120 120",  # who waits
        f"4: POSIX ADVISORY READ {os.getpid()} 00:99:{inode} 120 120",
        f"5: POSIX ADVISORY WRITE {os.getpid()} 00:99:{inode} 121 121",  # who merges the log
        f"6: POSIX ADVISORY WRITE {os.getpid()} 00:99:{inode + 1} 120 120",
        f"7: OFDLCK ADVISORY WRITE -1 00:99:{inode} 120 120",
        "nonsense",
    ]
    # The device is not the one of `stat`, as on Btrfs.
    assert list(_locked([*others, mine], shared_memory, WAL_LOCK_BYTES, {"WRITE"})) == [os.getpid()]
    assert list(_locked(others, shared_memory, WAL_LOCK_BYTES, {"WRITE"})) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7_199, "120 min"),
        (7_200, "2 h"),
        (172_800, "2 days"),
    ],
)
def test_how_long_it_has_been_running_is_said_in_few_words(seconds: float, words: str) -> None:
    assert _duration(seconds) == words

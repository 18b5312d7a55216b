"""Which leases hold, by files as Hermes and others write them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_sessions.storage.lease_registry import LARGEST_FILE, NAME, OWN_NAME, PROGRAM, Registry, read_leases
from hermes_sessions.storage.processes import Processes, Running
from tests.builders import NOW

ME = os.getpid()
MY_START = psutil.Process().create_time()
BOOT = "c0ffee00-0000-4000-8000-000000000000"


class Fake(Processes):
    """Every process runs since the same moment."""

    def __init__(self, running: Running | None) -> None:
        self.running = running

    def find(self, pid: int) -> Running | None:
        return self.running


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "runtime"
    path.mkdir()
    return path


def write(directory: Path, content: Any, name: str = NAME) -> Path:
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def entry(session: str, pid: Any = ME, started: Any = MY_START, **more: Any) -> dict[str, Any]:
    id = session.encode().hex().zfill(32)
    times = {"started_at": NOW, "updated_at": NOW + 1}
    return {"lease_id": id, "session_id": session, "pid": pid, "process_start_time": started, **times, **more}


def sessions(registry: Registry) -> list[str]:
    return [lease.session_id for lease in registry.leases]


def a_dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_without_a_file_there_are_no_leases(runtime: Path) -> None:
    assert read_leases(runtime / "none") == Registry()
    assert list(runtime.iterdir()) == []


def test_a_lease_says_what_its_entry_says(runtime: Path) -> None:
    write(runtime, {"entries": [entry("s", surface="cli", metadata={"a": 1})]})
    (lease,) = read_leases(runtime).leases
    assert lease == (b"s".hex().zfill(32), "s", "cli", ME, NOW, NOW + 1, {"a": 1})


def test_a_lease_holds_while_the_same_process_lives(runtime: Path) -> None:
    entries = [
        entry("mine", surface="cli"),
        entry("mine too"),
        entry("unknown start", started=None),
        entry("start is text", started="a while ago"),
        entry("number used again", started=MY_START - 3_600),
        entry("dead", pid=a_dead_pid()),
        entry("first process", pid=1, started=None),
    ]
    write(runtime, {"entries": entries})
    assert sessions(read_leases(runtime)) == ["mine", "mine too", "unknown start", "start is text", "first process"]
    assert read_leases(runtime).dropped == 2


def test_a_zombie_holds_nothing(runtime: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    write(runtime, [entry("zombie", pid=child.pid, started=None)])
    assert sessions(read_leases(runtime)) == []
    child.wait()


@pytest.mark.parametrize(("difference", "holds"), [(0.0009, True), (-0.0009, True), (0.0011, False), (-0.0011, False)])
def test_two_readings_of_a_start_may_differ_as_in_hermes(runtime: Path, difference: float, holds: bool) -> None:
    write(runtime, [entry("s", started=1000.0 + difference)])
    assert bool(read_leases(runtime, Fake(Running(1000.0))).leases) == holds


@pytest.mark.parametrize("step", [-3600.0, -1.0, 90.0])
def test_a_clock_that_was_set_takes_no_lease_from_the_living(runtime: Path, step: float) -> None:
    """Linux: the start of a process in epoch seconds moves with the clock, its ticks since the boot do not."""
    ours = entry("ours", started=1000.0, process_start_ticks=77, boot_id=BOOT)
    write(runtime, [ours, entry("newer Hermes", started=77), entry("used again", started=1000.0)])
    assert sessions(read_leases(runtime, Fake(Running(1000.0 + step, 77, BOOT)))) == ["ours", "newer Hermes"]


@pytest.mark.parametrize("running", [Running(1000.0, 78, BOOT), Running(1000.0, 77, "another boot")])
def test_a_process_of_another_tick_or_boot_is_another_one(runtime: Path, running: Running) -> None:
    write(runtime, [entry("ours", started=1000.0, process_start_ticks=77, boot_id=BOOT)])
    assert sessions(read_leases(runtime, Fake(running))) == []


def test_a_process_about_which_nothing_can_be_found_out_holds_its_lease(runtime: Path) -> None:
    write(runtime, [entry("theirs"), entry("ours", process_start_ticks=77, boot_id=BOOT)])
    assert sessions(read_leases(runtime, Fake(Running()))) == ["theirs", "ours"]


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        [],
        {},
        {"session_id": "a"},
        entry("a", pid="1"),
        entry("a", pid=True),
        entry("a", pid=1.5),
        entry("a", pid=None),
        entry("a", pid=[ME]),
    ],
)
def test_an_entry_that_names_no_process_holds_nothing_and_is_left_as_it_is(runtime: Path, bad: Any) -> None:
    write(runtime, [bad, entry("good")])
    registry = read_leases(runtime)
    assert sessions(registry) == ["good"]
    assert registry.entries == (bad, entry("good"))


@pytest.mark.parametrize(
    "bad",
    [
        entry("a", pid=-1),
        entry("a", pid=0),
        entry("a", pid=10**30),
        entry("a", started=10**400),
        entry("a", started=float("nan")),
        entry("a", started=float("inf")),
    ],
)
def test_an_entry_of_an_impossible_process_is_dropped(runtime: Path, bad: Any) -> None:
    write(runtime, [bad, entry("good")])
    assert read_leases(runtime).entries == (entry("good"),)


def test_wrong_types_in_a_lease_become_nothing(runtime: Path) -> None:
    bad = {"lease_id": 7, "session_id": [], "surface": {}, "metadata": "x", "started_at": "y", "updated_at": 10**400}
    write(runtime, [{**bad, "pid": ME}])
    assert read_leases(runtime).leases == (("", "", "", ME, None, None, {}),)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"null", b"7", b'{"entries": {}}', b"[" * 100_000, b" " * (LARGEST_FILE + 1)],
    ids=["empty", "cut", "not utf-8", "null", "number", "no list", "deep", "large"],
)
def test_a_damaged_file_is_said_and_left_alone(runtime: Path, content: bytes) -> None:
    path = write(runtime, content)
    registry = read_leases(runtime)
    assert registry.leases == ()
    assert str(path) in registry.notice
    assert path.read_bytes() == content
    assert list(runtime.iterdir()) == [path]


@pytest.mark.parametrize("damage", ["cut", "goes on", "zeroes at the end", "too large"])
def test_whole_entries_of_a_damaged_file_still_count(runtime: Path, damage: str) -> None:
    text = json.dumps(
        {"entries": [entry("a"), entry("b", metadata={"deep": [{"lease_id": "no"}]}), entry("c")]}
    ).encode()
    whole = {
        "cut": text[:-40],
        "goes on": text + b'}]} {"x',
        "zeroes at the end": text[:-40].ljust(len(text), b"\0"),
        "too large": text + b" " * LARGEST_FILE,
    }[damage]
    write(runtime, whole)
    registry = read_leases(runtime)
    assert registry.notice
    assert sessions(registry) == (["a", "b", "c"] if damage in ("goes on", "too large") else ["a", "b"])


def test_what_is_wrong_in_every_place_ends_soon(runtime: Path) -> None:
    """Each of the many beginnings would be read to the end of the file."""
    write(runtime, b'{"a":[' * 300_000)
    assert read_leases(runtime).leases == ()


def test_our_own_leases_count_when_the_registry_forgot_them(runtime: Path) -> None:
    ours = [entry("moved", program=PROGRAM), entry("forgotten", program=PROGRAM), entry("dead", -1, program=PROGRAM)]
    write(runtime, {"entries": [*ours, entry("of Hermes")]}, OWN_NAME)
    for content in (b"rubbish", b"[]"):
        write(runtime, content)
        assert sessions(read_leases(runtime)) == ["moved", "forgotten"]
    write(runtime, [{**ours[0], "session_id": "moved on"}])
    assert sessions(read_leases(runtime)) == ["moved on", "forgotten"]


@pytest.mark.parametrize("name", [NAME, OWN_NAME])
def test_a_file_that_cannot_be_read_is_said(runtime: Path, name: str) -> None:
    (runtime / name).mkdir()
    registry = read_leases(runtime)
    assert registry.leases == ()
    assert name in registry.notice


def test_reading_imports_nothing_heavy_before_there_is_a_lease() -> None:
    code = """
import sys, pathlib
from hermes_sessions.storage.lease_registry import read_leases
read_leases(pathlib.Path("/nowhere"))
assert not {"psutil", "uuid", "random", "logging", "tempfile"} & set(sys.modules) - before
"""
    start = "import sys, hermes_sessions.storage; before = set(sys.modules)"
    subprocess.run([sys.executable, "-c", start + code], check=True)

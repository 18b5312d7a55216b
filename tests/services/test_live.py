"""Which sessions are in use, by the store and by Hermes' lease file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_sessions.services.live import LARGEST_FILE, Leases, leases_of, live_sessions
from hermes_sessions.storage import open_store
from tests.builders import NOW, HermesFile

ME = os.getpid()
MY_START = psutil.Process().create_time()


def write(home: Path, content: Any) -> Path:
    path = home / "runtime" / "active_sessions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def entry(session: str, pid: Any = ME, started: Any = MY_START, **more: Any) -> dict[str, Any]:
    times = {"started_at": NOW, "updated_at": NOW}
    return {"lease_id": "0" * 32, "session_id": session, "pid": pid, "process_start_time": started, **times, **more}


def a_dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_without_a_file_there_are_no_leases(tmp_path: Path) -> None:
    assert leases_of(tmp_path) == Leases()
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]


def test_a_lease_holds_while_the_same_process_lives(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "entries": [
                entry("mine", surface="cli", metadata={"x": 1}),
                entry("mine-too"),
                entry("unknown start", started=None),
                entry("clock was set", started=MY_START + 0.9),
                entry("pid used again", started=MY_START - 3_600),
                entry("dead", pid=a_dead_pid()),
                entry("first process", pid=1, started=None),
            ]
        },
    )
    expected = {"mine", "mine-too", "unknown start", "clock was set", "first process"}
    assert leases_of(tmp_path) == Leases(frozenset(expected))


def test_a_zombie_holds_nothing(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    write(tmp_path, [entry("zombie", pid=child.pid, started=None)])
    assert leases_of(tmp_path) == Leases()
    child.stdout.close()
    child.wait()


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        [],
        {},
        entry("a", pid="1"),
        entry("a", pid=True),
        entry("a", pid=-1),
        entry("a", pid=0),
        entry("a", pid=10**30),
        entry("a", pid=1.5),
        entry("a", started=10**400),
        entry("a", started=float("nan")),
        {**entry("a"), "session_id": None},
        {"session_id": "a"},
    ],
)
def test_a_bad_entry_holds_nothing_and_hides_no_other(tmp_path: Path, bad: Any) -> None:
    write(tmp_path, [bad, entry("good")])
    assert leases_of(tmp_path) == Leases(frozenset({"good"}))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"null", b"7", b'{"entries": {}}', b"[" * 100_000, b" " * (LARGEST_FILE + 1)],
    ids=["empty", "cut", "not utf-8", "null", "number", "no list", "deep", "large"],
)
def test_a_damaged_file_is_said_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    leases = leases_of(tmp_path)
    assert leases.session_ids == frozenset()
    assert str(path) in leases.notice
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_directory_in_place_of_the_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "runtime" / "active_sessions.json").mkdir(parents=True)
    assert "active_sessions.json" in leases_of(tmp_path).notice


def test_every_sign_of_life_counts(hermes_file: HermesFile) -> None:
    for id in ("leased", "compressing", "talking", "idle"):
        hermes_file.session(id)
    hermes_file.message("talking", t=NOW - 5)
    hermes_file.insert("compression_locks", session_id="compressing", holder="x", acquired_at=NOW, expires_at=NOW + 300)
    write(hermes_file.path.parent, {"entries": [entry("leased")]})
    store = open_store(hermes_file.path)
    assert live_sessions(store, NOW) == {"leased", "compressing", "talking"}
    store.close()


def test_psutil_is_imported_only_for_a_lease() -> None:
    code = "import sys, pathlib, hermes_sessions.services.live as live; live.leases_of(pathlib.Path('/nowhere'));"
    subprocess.run([sys.executable, "-c", f"{code} assert 'psutil' not in sys.modules"], check=True)

"""Leases among real processes that race, die and fork, and files that get damaged between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_sessions.errors import LimitReached
from hermes_sessions.storage.lease_registry import NAME, OWN_NAME, read_leases
from hermes_sessions.storage.leases import Leases

ME = os.getpid()

RACE = """
import os, random, sys, time, traceback
from hermes_sessions.errors import LimitReached
from hermes_sessions.storage.leases import Leases

directory, log_path, processes, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def run(number):
    leases = Leases(directory, limit=limit, budget=60)
    while True:
        try:
            lease = leases.acquire(f"session {number}", "race")
            break
        except LimitReached as error:
            assert len(error.leases) == limit
            time.sleep(random.uniform(0.005, 0.05))
    os.write(log, b"+")
    while os.fstat(log).st_size < limit:
        time.sleep(0.01)  # at the beginning as many hold one as may, so that it is a race
    assert lease in leases.list()
    os.write(log, b"-")
    assert leases.release(lease)

children = []
for number in range(processes):
    child = os.fork()
    if not child:
        try:
            run(number)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""

HOLD = """
import sys
from hermes_sessions.storage.leases import Leases
leases = Leases(sys.argv[1])
leases.acquire(sys.argv[2], "cli")
print(flush=True)
input()
"""


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    return tmp_path / "runtime"


def entries(runtime: Path, name: str = NAME) -> list[Any]:
    content = json.loads((runtime / name).read_text(encoding="utf-8"))
    assert isinstance(content["entries"], list)
    return content["entries"]


def put(runtime: Path, content: object) -> None:
    runtime.mkdir(exist_ok=True)
    (runtime / NAME).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def theirs(session: str, **more: Any) -> dict[str, Any]:
    """An entry of this process as Hermes would have written it."""
    started = psutil.Process().create_time()
    return {"lease_id": f"id of {session}", "session_id": session, "pid": ME, "process_start_time": started, **more}


def sessions(leases: Leases) -> list[str]:
    return [lease.session_id for lease in leases.list()]


def a_holder(runtime: Path, session: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(runtime), session], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"\n"
    return child


def kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


def test_sixty_four_processes_race_for_five_leases(runtime: Path, tmp_path: Path) -> None:
    """Never more than five hold one, each gets one, and all are given back. (About 3 s: 64 real processes.)"""
    log = tmp_path / "log"
    race = subprocess.run(
        [sys.executable, "-c", RACE, str(runtime), str(log), "64", "5"], capture_output=True, text=True, check=False
    )
    assert (race.returncode, race.stderr) == (0, "")
    held = list(accumulate(1 if step == "+" else -1 for step in log.read_text(encoding="ascii")))
    assert len(held) == 128
    assert max(held) == 5
    assert held[-1] == 0
    assert entries(runtime) == []
    assert entries(runtime, OWN_NAME) == []
    assert not list(runtime.glob("*.tmp"))


def test_leases_of_killed_processes_are_taken_over_even_while_they_are_zombies(runtime: Path) -> None:
    holders = [a_holder(runtime, f"s{number}") for number in range(3)]
    leases = Leases(runtime, limit=3)
    with pytest.raises(LimitReached):
        leases.acquire("new", "cli")
    for holder in holders:
        holder.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    for number in range(3):
        leases.acquire(f"new{number}", "cli")
    assert sessions(leases) == ["new0", "new1", "new2"]
    for holder in holders:
        holder.communicate()


def test_readers_never_see_half_a_file(runtime: Path) -> None:
    code = """
import sys
from hermes_sessions.storage.leases import Leases
leases = Leases(sys.argv[1])
first = leases.acquire("first", "cli")
for number in range(100):
    with leases.hold("second", "cli", {"text": "x" * 1_000 * number}):
        pass
"""
    runtime.mkdir()
    counts = set()
    with subprocess.Popen([sys.executable, "-c", code, str(runtime)]) as writer:
        while writer.poll() is None:
            found = read_leases(runtime)
            assert found.notice == ""
            counts.add(len(found.leases))
    assert writer.returncode == 0
    assert counts == {0, 1, 2}


def test_a_child_gives_back_its_own_leases_and_not_its_parents(runtime: Path) -> None:
    code = """
import os, sys
from hermes_sessions.errors import LeaseLost
from hermes_sessions.storage.leases import Leases
leases = Leases(sys.argv[1])
def names():
    return sorted(lease.session_id for lease in leases.list())
with leases, leases.hold("held", "cli") as held:
    lease = leases.acquire("parent's", "cli")
    child = os.fork()
    if not child:
        assert not leases.release(lease)
        try:
            leases.refresh(lease)
        except LeaseLost:
            leases.acquire("child's", "cli")
        assert names() == ["child's", "held", "parent's"]
    else:
        assert os.waitpid(child, 0)[1] == 0
        assert names() == ["held", "parent's"]
if child:
    assert names() == []
"""
    subprocess.run([sys.executable, "-c", code, str(runtime)], check=True)


DAMAGE = [b"", b"rubbish", b'{"entries": [', b"null", b'{"entries": 7}', b"\0" * 500]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_registry_is_set_aside_and_loses_no_lease_of_ours(runtime: Path, damage: bytes) -> None:
    other = a_holder(runtime, "another process")
    leases = Leases(runtime, limit=3)
    leases.acquire("this process", "cli")
    put(runtime, damage)
    assert sessions(leases) == ["another process", "this process"]
    assert (runtime / NAME).read_bytes() == damage
    leases.acquire("next", "cli")
    with pytest.raises(LimitReached):
        leases.acquire("one too many", "cli")
    assert [entry["session_id"] for entry in entries(runtime)] == ["another process", "this process", "next"]
    (aside,) = runtime.glob(f"{NAME}.damaged-*")
    assert aside.read_bytes() == damage
    assert len(leases.notices) == 1
    assert aside.name in leases.notices[0]
    kill(other)


def test_whole_leases_of_hermes_in_a_damaged_registry_still_count(runtime: Path) -> None:
    text = json.dumps({"entries": [theirs("a"), theirs("b"), theirs("cut off")]}).encode()
    put(runtime, text[:-30])
    leases = Leases(runtime, limit=3)
    leases.acquire("c", "cli")
    with pytest.raises(LimitReached):
        leases.acquire("d", "cli")
    assert [entry["session_id"] for entry in entries(runtime)] == ["a", "b", "c"]


def test_a_registry_that_hermes_began_anew_has_our_leases_again_after_the_next_change(runtime: Path) -> None:
    other = a_holder(runtime, "ours")
    put(runtime, {"entries": [theirs("of Hermes")]})
    leases = Leases(runtime, limit=2)
    with pytest.raises(LimitReached):
        leases.acquire("one too many", "cli")
    Leases(runtime, limit=3).acquire("next", "cli")
    assert [entry["session_id"] for entry in entries(runtime)] == ["of Hermes", "ours", "next"]
    kill(other)


def test_a_lease_survives_the_loss_of_both_files_while_its_holder_refreshes_it(runtime: Path) -> None:
    leases = Leases(runtime)
    lease = leases.acquire("s", "cli")
    (runtime / NAME).unlink()
    (runtime / OWN_NAME).write_bytes(b"rubbish")
    assert leases.refresh(lease).id == lease.id
    assert [entry["session_id"] for entry in entries(runtime)] == ["s"]
    assert [entry["session_id"] for entry in entries(runtime, OWN_NAME)] == ["s"]

"""Which processes live, told from real ones."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from hermes_sessions.storage.processes import LARGEST_PID, Processes, Running


def test_this_process_is_found_with_its_start() -> None:
    me = Processes().find(os.getpid())
    assert me is not None
    assert me.started_at == psutil.Process().create_time()


def test_two_readings_of_one_process_are_alike_and_two_processes_are_not() -> None:
    me = Processes().find(os.getpid())
    assert Processes().find(os.getpid()) == me
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert Processes().find(child.pid) not in (None, me)


def test_the_name_of_a_program_does_not_move_the_field_of_its_start() -> None:
    name = "a) (b 1 2"
    code = f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0); print(flush=True); input()"
    if sys.platform != "linux":
        code = "print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        me, found = Processes().find(os.getpid()), Processes().find(child.pid)
        assert me is not None and found is not None
        assert found.boot == me.boot
        assert (found.ticks is None) == (me.ticks is None)
        assert found.ticks is None or me.ticks is None or found.ticks > me.ticks


def test_a_process_that_has_ended_is_not_found() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert Processes().find(child.pid) is None


def test_a_zombie_is_not_found_though_its_number_is_taken() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.pid_exists(child.pid)
    assert Processes().find(child.pid) is None
    child.wait()


@pytest.mark.parametrize("pid", [0, -1, LARGEST_PID + 1, 10**30])
def test_a_number_that_no_process_can_have_is_not_found(pid: int) -> None:
    assert Processes().find(pid) is None


@pytest.mark.parametrize("denied", ["status", "create_time"])
def test_a_process_that_may_not_be_looked_at_lives(monkeypatch: pytest.MonkeyPatch, denied: str) -> None:
    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, denied, refuse)
    assert Processes().find(os.getpid()) is not None


def test_a_process_that_the_system_hides_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `hidepid` another user's process is not in /proc, but signals to it are refused, not lost."""

    def unseen(pid: int) -> None:
        raise psutil.NoSuchProcess(pid)

    def refuse(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(psutil, "Process", unseen)
    assert Processes().find(12345678) is None
    monkeypatch.setattr(os, "kill", refuse)
    assert Processes().find(12345678) == Running()

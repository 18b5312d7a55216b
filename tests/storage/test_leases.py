"""Taking, moving and giving back leases, in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_sessions.errors import LeaseLost, LimitReached, SessionLive, StoreBusy, StoreUnreadable, UsageError
from hermes_sessions.storage.lease_file import LeaseFile
from hermes_sessions.storage.lease_registry import NAME, OWN_NAME, PROGRAM, read_leases
from hermes_sessions.storage.leases import Leases, session_limit
from hermes_sessions.storage.processes import Processes, Running
from tests.builders import NOW

ME = os.getpid()


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


def test_a_lease_is_written_as_hermes_writes_it_and_given_back(runtime: Path) -> None:
    leases = Leases(runtime, limit=2, clock=lambda: NOW)
    lease = leases.acquire("s", "cli", {"cwd": "/x"})
    (entry,) = entries(runtime)
    assert {key: entry[key] for key in ("session_id", "surface", "pid", "started_at", "updated_at", "metadata")} == {
        "session_id": "s",
        "surface": "cli",
        "pid": ME,
        "started_at": NOW,
        "updated_at": NOW,
        "metadata": {"cwd": "/x"},
    }
    assert entry["process_start_time"] == psutil.Process().create_time()
    assert len(bytes.fromhex(entry["lease_id"])) == 16
    assert list(entry) == sorted(entry)
    assert leases.list() == (lease,)
    assert leases.release(lease)
    assert not leases.release(lease)
    assert entries(runtime) == []
    assert entries(runtime, OWN_NAME) == []


def test_at_the_limit_the_refusal_names_the_holders_and_writes_nothing(runtime: Path) -> None:
    put(runtime, [theirs("z", surface="tui", started_at=NOW - 180)])
    leases = Leases(runtime, limit=2, clock=lambda: NOW)
    leases.acquire("y", "cli")
    before = (runtime / NAME).read_bytes()
    with pytest.raises(LimitReached) as caught:
        leases.acquire("x", "cli")
    assert [lease.session_id for lease in caught.value.leases] == ["z", "y"]
    assert caught.value.message == "Of at most 2 sessions at a time, 2 are in use."
    assert f"z (tui, process {ME}, for 3 min), y (cli, process {ME}, for 0 min)" in caught.value.hint
    assert (runtime / NAME).read_bytes() == before


def test_a_refusal_names_a_few_of_many(runtime: Path) -> None:
    put(runtime, [theirs(f"s{number}") for number in range(8)])
    with pytest.raises(LimitReached, match="8 are in use") as caught:
        Leases(runtime, limit=3).acquire("x", "cli")
    assert caught.value.hint.endswith(f"s4 (, process {ME}) and 3 more.")


@pytest.mark.parametrize(
    "value", [None, 0, -1, True, False, "", "x", "0", 1.5, float("nan"), float("inf"), [], {}, b"5"]
)
def test_what_is_no_positive_whole_number_is_no_limit(value: object) -> None:
    assert session_limit(value) is None


@pytest.mark.parametrize("value", [5, 5.0, "5", " 5 ", "+5"])
def test_a_positive_whole_number_is_a_limit_in_every_spelling(value: object) -> None:
    assert session_limit(value) == 5


def test_without_a_limit_a_lease_is_seen_all_the_same(runtime: Path) -> None:
    with Leases(runtime).hold("s", "cli") as lease:
        assert read_leases(runtime).leases == (lease,)
    assert read_leases(runtime).leases == ()


def test_one_session_may_have_several_leases_unless_one_asks_to_be_alone(runtime: Path) -> None:
    put(runtime, [theirs("z", pid=1, process_start_time=None, surface="cli", started_at=NOW - 7_200)])
    leases = Leases(runtime, clock=lambda: NOW)
    leases.acquire("y", "cli", exclusive=True)
    with pytest.raises(SessionLive, match=r"z \(cli, process 1, for 120 min\)"):
        leases.acquire("z", "tui", exclusive=True)
    leases.acquire("z", "tui")
    assert sessions(leases) == ["z", "y", "z"]


def test_refreshing_keeps_the_lease_and_notes_the_time(runtime: Path) -> None:
    now = NOW
    leases = Leases(runtime, clock=lambda: now)
    lease = leases.acquire("s", "cli", {"a": 1})
    now += 60
    again = leases.refresh(lease)
    assert again == lease._replace(refreshed_at=NOW + 60)
    assert leases.list() == (again,)


def test_transferring_keeps_the_place_and_what_others_wrote_into_the_entry(runtime: Path) -> None:
    leases = Leases(runtime, limit=1)
    lease = leases.acquire("s1", "cli", {"a": 1})
    (entry,) = entries(runtime)
    put(runtime, {"entries": [{**entry, "theirs": [1]}]})
    moved = leases.transfer(lease, "s2")
    assert (moved.id, moved.session_id, moved.metadata) == (lease.id, "s2", {"a": 1})
    assert leases.transfer(lease, "s3", {"b": 2}).metadata == {"b": 2}
    (entry,) = entries(runtime)
    assert (entry["session_id"], entry["theirs"]) == ("s3", [1])
    assert leases.release(lease)
    assert entries(runtime) == []


def test_a_lease_that_was_given_back_can_be_neither_refreshed_nor_moved(runtime: Path) -> None:
    leases = Leases(runtime)
    lease = leases.acquire("s", "cli")
    leases.release(lease)
    with pytest.raises(LeaseLost):
        leases.refresh(lease)
    with pytest.raises(LeaseLost):
        leases.transfer(lease, "t")
    assert leases.list() == ()


def test_a_process_can_drop_leases_that_another_part_of_it_forgot(runtime: Path) -> None:
    put(runtime, [theirs("used"), theirs("closed"), theirs("closed too")])
    leases = Leases(runtime, limit=3)
    with pytest.raises(LimitReached):
        leases.acquire("new", "cli")
    assert [leases.release(lease) for lease in leases.list() if lease.session_id != "used"] == [True, True]
    leases.acquire("new", "cli")
    assert sessions(leases) == ["used", "new"]


def test_what_other_programs_wrote_is_kept_as_it_is(runtime: Path) -> None:
    strange = [None, 7, ["x"], {"who": "?"}, theirs("theirs", surface=3, unknown={"deep": ["\ud800", 1e400]})]
    put(runtime, {"entries": strange, "version": 9})
    leases = Leases(runtime)
    leases.release(leases.acquire("ours", "cli"))
    assert json.loads((runtime / NAME).read_text(encoding="utf-8")) == {"entries": strange, "version": 9}


def test_dead_entries_go_with_the_next_change_or_when_asked(runtime: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    leases = Leases(runtime, limit=1)
    assert leases.prune() == 0
    assert not runtime.exists()
    put(runtime, [theirs("dead", pid=dead.pid), theirs("used again", process_start_time=1.0)])
    assert leases.prune() == 2
    assert entries(runtime) == []
    put(runtime, [theirs("dead", pid=dead.pid)])
    leases.acquire("s", "cli")
    assert [entry["session_id"] for entry in entries(runtime)] == ["s"]


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_a_registry_that_the_system_does_not_let_us_read_is_not_taken_for_empty(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    put(runtime, {"entries": [theirs("s")]})
    before = (runtime / NAME).read_bytes()

    def refuse(path: Path, mode: str) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        leases = Leases(runtime, limit=1)
        for act in (leases.list, leases.prune, lambda: leases.acquire("t", "cli")):
            with pytest.raises(StoreUnreadable, match=str(error.strerror)):
                act()
    assert (runtime / NAME).read_bytes() == before


def test_a_clock_that_was_set_loses_no_lease_of_ours(runtime: Path) -> None:
    """Linux: the start of a process in epoch seconds moves with the clock; so Hermes may drop a lease of ours, too."""

    class Stepped(Processes):
        step = 0.0

        def find(self, pid: int) -> Running | None:
            return Running(NOW + self.step, 77, "boot")

    processes = Stepped()
    leases = Leases(runtime, processes=processes, clock=lambda: NOW + processes.step)
    lease = leases.acquire("s", "cli")
    processes.step = -90.0
    assert Leases(runtime, processes=processes).list() == (lease,)
    assert leases.prune() == 0
    assert leases.refresh(lease).refreshed_at == NOW - 90
    (entry,) = entries(runtime)
    assert entry["process_start_time"] == NOW - 90


def test_a_lease_is_given_back_where_it_was_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    leases = Leases("runtime")
    lease = leases.acquire("s", "cli")
    monkeypatch.chdir(tmp_path / "b")
    assert leases.release(lease)
    assert entries(tmp_path / "a" / "runtime") == []
    assert list((tmp_path / "b").iterdir()) == []


def test_a_directory_that_is_gone_took_the_leases_with_it(runtime: Path) -> None:
    leases = Leases(runtime)
    lease = leases.acquire("s", "cli")
    for path in runtime.iterdir():
        path.unlink()
    runtime.rmdir()
    with pytest.raises(StoreUnreadable):
        leases.refresh(lease)
    assert not leases.release(lease)
    assert not runtime.exists()


def test_a_lock_that_stays_taken_takes_and_gives_back_nothing(runtime: Path) -> None:
    leases = Leases(runtime, budget=0)
    lease = leases.acquire("s", "cli")
    with LeaseFile(runtime).locked():
        for act in (lambda: leases.acquire("t", "cli"), lambda: leases.release(lease), leases.close):
            with pytest.raises(StoreBusy):
                act()
    assert leases.list() == (lease,)
    leases.close()
    assert leases.list() == ()


def test_metadata_that_is_not_fit_for_json_takes_no_lease(runtime: Path) -> None:
    leases = Leases(runtime)
    with pytest.raises(UsageError):
        leases.acquire("s", "cli", {"path": runtime})
    assert leases.list() == ()
    assert not (runtime / NAME).exists()


def test_a_lease_whose_entry_was_spoilt_can_still_be_given_back(runtime: Path) -> None:
    leases = Leases(runtime)
    lease = leases.acquire("s", "cli")
    put(runtime, [{"lease_id": lease.id}])
    assert leases.list() == ((lease.id, "", "", 0, None, None, {}),)
    assert leases.release(lease)
    assert entries(runtime) == []


def test_our_entries_say_whose_they_are(runtime: Path) -> None:
    Leases(runtime).acquire("s", "cli")
    assert [entry["program"] for entry in entries(runtime)] == [PROGRAM]


def test_metadata_is_what_json_can_hold(runtime: Path) -> None:
    leases = Leases(runtime)
    assert leases.acquire("s", "cli", {1: 1, "a": 2}).metadata == {"1": 1, "a": 2}  # type: ignore[dict-item]
    with pytest.raises(UsageError):
        leases.acquire("t", "cli", {"a": object()})
    assert sessions(leases) == ["s"]


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_directory_that_can_be_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Leases(tmp_path / name)

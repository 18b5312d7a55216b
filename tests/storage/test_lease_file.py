"""How the files of the leases are locked, replaced and kept, with real locks and real crashes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_sessions.errors import StoreBusy, StoreUnreadable
from hermes_sessions.storage.lease_file import DAMAGED_KEPT, LOCK_NAME, LeaseFile
from hermes_sessions.storage.lease_registry import NAME, OWN_NAME
from tests.builders import NOW


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "runtime"
    path.mkdir()
    return path


@contextmanager
def locked_elsewhere(runtime: Path) -> Iterator[None]:
    """The lock of `flock` belongs to an opened file: a second one in this process is like another process."""
    with (runtime / LOCK_NAME).open("a+b") as other:
        fcntl.flock(other.fileno(), fcntl.LOCK_EX)
        yield


class Timer:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds

    def read(self) -> float:
        return self.now


def test_a_lock_that_stays_taken_ends_in_store_busy_within_the_budget(runtime: Path) -> None:
    timer = Timer()
    file = LeaseFile(runtime, budget=1.0, timer=timer.read, sleep=timer.sleep)
    with locked_elsewhere(runtime), pytest.raises(StoreBusy, match=LOCK_NAME), file.locked():
        raise AssertionError("two hold the lock")
    assert 1.0 <= timer.now < 1.05
    assert len(set(timer.sleeps)) > 10


def test_a_lock_that_is_given_back_is_taken(runtime: Path) -> None:
    with (runtime / LOCK_NAME).open("a+b") as other:
        fcntl.flock(other.fileno(), fcntl.LOCK_EX)
        file = LeaseFile(runtime, sleep=lambda seconds: fcntl.flock(other.fileno(), fcntl.LOCK_UN))
        with file.locked():
            pass


def test_nobody_else_has_the_lock_until_it_is_given_back_and_its_file_stays(runtime: Path) -> None:
    with LeaseFile(runtime).locked(), (runtime / LOCK_NAME).open("a+b") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        inode = os.fstat(other.fileno()).st_ino
    with locked_elsewhere(runtime):
        assert (runtime / LOCK_NAME).stat().st_ino == inode


def test_a_child_that_was_forked_under_the_lock_does_not_keep_it(runtime: Path) -> None:
    code = f"""
import os, pathlib, time
from hermes_sessions.storage.lease_file import LeaseFile
file = LeaseFile(pathlib.Path({str(runtime)!r}), budget=0)
lock = file.locked()
lock.__enter__()
child = os.fork()
if not child:
    time.sleep(60)
lock.__exit__(None, None, None)
with file.locked():
    print("free")
os.kill(child, 9)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"free\n"


def test_files_are_for_their_owner_only_and_so_is_a_new_directory(tmp_path: Path) -> None:
    file = LeaseFile(tmp_path / "a" / "runtime")
    old = os.umask(0)
    try:
        with file.locked(make=True):
            file.write([], {})
            file.write_own([])
    finally:
        os.umask(old)
    assert {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "a").rglob("*")} == {
        "runtime": 0o700,
        LOCK_NAME: 0o600,
        NAME: 0o600,
        OWN_NAME: 0o600,
    }


def test_a_file_that_others_may_read_stays_so(runtime: Path) -> None:
    """Hermes takes a registry that it may not read for an empty one."""
    (runtime / NAME).write_text("[]", encoding="utf-8")
    (runtime / NAME).chmod(0o640)
    file = LeaseFile(runtime)
    with file.locked():
        file.write([], {})
    assert (runtime / NAME).stat().st_mode & 0o777 == 0o640


def test_what_root_makes_belongs_to_the_owner_of_the_directory(runtime: Path) -> None:
    if os.geteuid() == 0:
        os.chown(runtime, 12345, 12345)
    file = LeaseFile(runtime)
    with file.locked():
        file.write([], {})
        file.write_own([])
    assert {path.stat().st_uid for path in runtime.iterdir()} == {runtime.stat().st_uid}


def test_a_crash_before_the_new_file_is_in_its_place_changes_nothing(runtime: Path) -> None:
    file = LeaseFile(runtime)
    with file.locked():
        file.write(["before"], {})
    code = f"""
import os, pathlib
from hermes_sessions.storage.lease_file import LeaseFile
file = LeaseFile(pathlib.Path({str(runtime)!r}))
os.replace = lambda *paths: os.kill(os.getpid(), 9)
with file.locked():
    file.write(["after"], {{}})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert json.loads((runtime / NAME).read_text(encoding="utf-8")) == {"entries": ["before"]}
    assert len(list(runtime.iterdir())) == 3
    with LeaseFile(runtime, budget=0).locked():
        file.write(["next"], {})
    assert {path.name for path in runtime.iterdir()} == {NAME, LOCK_NAME}


def test_only_files_that_are_named_as_temporary_ones_are_swept(runtime: Path) -> None:
    left = [f"{NAME}.{number}.{number:032x}.tmp" for number in range(50)] + [f"{OWN_NAME}.1.{'a' * 32}.tmp"]
    kept = [f"{NAME}.1.{'a' * 31}.tmp", f"{NAME}.{'a' * 32}.tmp", f"x{left[0]}", f"{left[0]}~", "state.db.tmp"]
    for name in left + kept:
        (runtime / name).touch()
    file = LeaseFile(runtime)
    with file.locked():
        file.write([], {})
    assert {path.name for path in runtime.iterdir()} == {*kept, NAME, LOCK_NAME}


def test_a_full_disk_changes_nothing_and_leaves_nothing_behind(runtime: Path) -> None:
    file = LeaseFile(runtime)
    with file.locked():
        file.write(["before"], {})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        with pytest.raises(StoreUnreadable, match=os.strerror(errno.EFBIG)), file.locked():
            file.write(["after"], {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert json.loads((runtime / NAME).read_text(encoding="utf-8")) == {"entries": ["before"]}
    assert {path.name for path in runtime.iterdir()} == {NAME, LOCK_NAME}


def test_without_make_a_missing_directory_stays_missing(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable), LeaseFile(tmp_path / "gone").locked():
        pass
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_damaged_registry_is_kept_and_so_are_the_newest_few(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(path: Path, target: Path) -> None:
            raise PermissionError

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    now = NOW
    file = LeaseFile(runtime, clock=lambda: now)
    for number in range(DAMAGED_KEPT + 2):
        now += 1
        (runtime / NAME).write_text(f"damage {number}", encoding="utf-8")
        with file.locked():
            aside = file.set_aside()
            file.write([], {})
        assert aside.read_text(encoding="utf-8") == f"damage {number}"
    kept = sorted(runtime.glob(f"{NAME}.damaged-*"))
    assert [path.read_text(encoding="utf-8") for path in kept] == [f"damage {n}" for n in range(2, DAMAGED_KEPT + 2)]

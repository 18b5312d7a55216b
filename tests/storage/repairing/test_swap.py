"""How a repaired file takes the place of the store, and what happens to whoever comes meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_sessions.errors import Refused, StoreUnreadable
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing import guard
from hermes_sessions.storage.repairing.backups import backups
from hermes_sessions.storage.repairing.repair import repair
from tests.builders import NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import contents, page_of

LEAF = page_of("messages", "leaf", 0.5, damages.flip)
WRITER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(30_000)
print("open", flush=True)
try:
    connection.execute("INSERT INTO state_meta VALUES ('late', 'x')")
    print("written", flush=True)
except apsw.Error as error:
    print(type(error).__name__, flush=True)
sys.stdin.read()
connection.close()
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of our own, to be copied."""
    return damages.our_store(tmp_path_factory.mktemp("whole") / "state.db")


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A store of our own, to be damaged, alone in its folder."""
    (tmp_path / "store").mkdir()
    return Path(shutil.copy(whole, tmp_path / "store" / "state.db"))


class Latecomer:
    """A program that opens the store and writes to it as soon as it may."""

    def __init__(self, path: Path) -> None:
        self._command = [sys.executable, "-c", WRITER, str(path)]
        self._process: subprocess.Popen[str] | None = None

    def come(self) -> None:
        """Open it, and wait in the queue of writers."""
        if self._process is None:
            streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(self._command, **streams)  # type: ignore[call-overload]
            assert self._line() == "open"

    def went(self) -> str:
        """How its writing went."""
        return self._line()

    def _line(self) -> str:
        assert self._process and self._process.stdout
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        if self._process:
            self._process.communicate()


@contextmanager
def latecomer(path: Path) -> Iterator[Latecomer]:
    program = Latecomer(path)
    try:
        yield program
    finally:
        program.end()


def files(path: Path) -> list[str]:
    """What is in the folder of the store, but for what SQLite leaves where it only looked."""
    there = (file for file in path.parent.iterdir() if not file.name.endswith("-shm"))
    return sorted(file.name for file in there if file.stat().st_size or not file.name.endswith("-wal"))


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("damage", [damages.doubled, LEAF])
def test_who_opens_the_store_just_before_it_is_replaced_cannot_write_beside_the_new_one(
    store: Path, damage: Callable[[Path], None], journal: str
) -> None:
    damages.run(store, f"PRAGMA journal_mode = {journal}")
    damage(store)
    with latecomer(store) as other:

        def clock() -> float:
            # Asked for the name of the backup: nobody is looked for any more.
            other.come()
            return NOW

        done = repair(store, clock=clock)
        assert other.went() == "NotADBError"
    assert [name for name in files(store) if name.endswith(("-wal", "-journal"))] == []
    assert done.steps
    assert "late" not in str(contents(store)["state_meta"])
    assert diagnose(store, clock=lambda: NOW).healthy


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_who_comes_while_it_is_repaired_is_named_and_the_store_stays_and_can_be_written(
    store: Path, journal: str
) -> None:
    damages.run(store, f"PRAGMA journal_mode = {journal}")
    damages.garbled_index(store)
    damaged = store.read_bytes()
    with latecomer(store) as other:

        def show(what: str, share: float | None) -> None:
            if what == "Rebuilding the search index":
                other.come()

        with pytest.raises(Refused, match=r"is open in python.* \(process \d+\)"):
            repair(store, show=show)
        assert store.read_bytes()[100:] == damaged[100:]
        assert backups(store) == []
        assert other.went() == "written"
    assert "late" in str(contents(store)["state_meta"])


def test_a_store_that_is_replaced_by_another_meanwhile_is_left_alone(store: Path, whole: Path) -> None:
    """As by a program that sets a broken file aside and begins a new one."""
    damages.overwrite(store, 0, b"SQLite format 4\0")
    aside = store.with_name("aside")

    def show(what: str, share: float | None) -> None:
        if what == "Looking at the new file" and not aside.exists():
            store.rename(aside)
            shutil.copy(whole, store)

    with pytest.raises(Refused, match="meanwhile"):
        repair(store, show=show)
    assert store.read_bytes() == whole.read_bytes()
    assert files(store) == ["aside", "state.db", "state.db.repair.lock"]


def test_what_cannot_be_put_in_place_leaves_the_store_with_its_log(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Path(f"{store}-wal")
    damages.overwrite(store, 0, b"SQLite format 4\0")
    log.write_bytes(b"precious" * 1_000)
    before = {name: store.with_name(name).read_bytes() for name in ("state.db", "state.db-wal")}
    rename = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if target == store:
            raise OSError(16, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreUnreadable, match="Device or resource busy"):
        repair(store)
    assert {name: store.with_name(name).read_bytes() for name in before} == before


def test_another_name_of_the_file_keeps_what_it_had_and_that_is_said(store: Path) -> None:
    damages.doubled(store)
    damaged = store.read_bytes()
    other = store.with_name("yesterday.db")
    os.link(store, other)
    done = repair(store)
    assert done.notes == ("The file had other names (hard links): those still are the store as it was.",)
    assert other.read_bytes() == damaged
    assert repair(store).healthy


def test_a_file_that_is_mounted_by_itself_is_refused_at_once(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.parent.rename(tmp_path / "a store")
    store = folder / "state.db"
    damages.doubled(store)
    damaged = store.read_bytes()
    mounts = tmp_path / "mountinfo"
    place = str(store).replace(" ", r"\040")
    mounts.write_text(f"42 27 254:0 /real.db {place} rw,relatime - ext4 /dev/vda rw\n")
    monkeypatch.setattr(guard, "MOUNTS", mounts)
    with pytest.raises(Refused, match="mounted by itself"):
        repair(store)
    assert store.read_bytes() == damaged
    assert files(store) == ["state.db", "state.db.repair.lock"]


def test_an_old_copy_that_cannot_be_deleted_does_not_undo_the_repair(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, newest: Path) -> None:
        raise PermissionError(13, "Permission denied")

    damages.doubled(store)
    monkeypatch.setattr("hermes_sessions.storage.repairing.repair.forget_old", refuse)
    done = repair(store)
    assert done.notes == ("An older copy beside the store could not be deleted: Permission denied.",)
    assert repair(store).healthy

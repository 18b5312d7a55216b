"""A repair that is stopped, killed, or runs out of room: the store is as it was, and the next one succeeds."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_sessions.errors import StoreUnreadable
from hermes_sessions.storage.repairing import watch
from hermes_sessions.storage.repairing.backups import backups
from hermes_sessions.storage.repairing.repair import repair
from hermes_sessions.storage.repairing.watch import Show
from tests.builders import NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import contents, page_of

ROOT = Path(__file__).parents[3]
LEAF = page_of("messages", "leaf", 0.5, damages.flip)
DAMAGES = {"the catalogue": damages.doubled, "a search index": damages.garbled_index, "a page of messages": LEAF}
POINTS = 14
WAITING = "Writing it to the disk"
"""What is said as often as the disk takes time, and not counted here."""


class Enough(BaseException):
    """What a person who waits may raise."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of our own, to be copied."""
    return damages.our_store(tmp_path_factory.mktemp("whole") / "state.db")


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Path:
    """A damaged store, alone in its folder."""
    (tmp_path / "store").mkdir()
    path = Path(shutil.copy(whole, tmp_path / "store" / "state.db"))
    DAMAGES[request.param](path)
    return path


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.endswith(("-shm", "-wal")))


def looks_of(path: Path) -> list[str]:
    """What a repair says that it does, each time it does; the store is repaired then."""
    said: list[str] = []

    def show(what: str, share: float | None) -> None:
        if what != WAITING:
            said.append(what)

    repair(path, clock=lambda: NOW, show=show)
    return said


def at_look(point: int, end: Callable[[], object]) -> Show:
    """A `show` that ends the repair when something is said for this time, from 0 on."""
    left = point

    def show(what: str, share: float | None) -> None:
        nonlocal left
        if what != WAITING:
            left -= 1
            if left < 0:
                end()

    return show


def enough() -> None:
    raise Enough


def spread(count: int) -> list[int]:
    """Points spread over so many, with the first and the last."""
    return sorted({round(point * (count - 1) / (POINTS - 1)) for point in range(POINTS)})


def test_what_is_said_goes_from_copying_to_the_last_step_and_shares_grow(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.0)
    shares: dict[str, list[float]] = {}
    said = []

    def show(what: str, share: float | None) -> None:
        said.append(what)
        if share is not None:
            shares.setdefault(what, []).append(share)

    repair(damaged, show=show)
    order = list(dict.fromkeys(said))
    assert order.index("Copying the store") < order.index("Reading the copy again") < len(order) - 1
    assert order[-1] == "Putting it in the place of the store"
    assert shares["Copying the store"][-1] == 1.0
    assert all(values == sorted(values) for what, values in shares.items() if what.startswith("Copying the store"))


def test_stopped_anywhere_the_store_is_as_it_was_and_no_copy_is_left(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "INSTRUCTIONS", 500)
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.0)
    aside = Path(shutil.copy(damaged, damaged.parent.parent / "aside.db"))
    before = damaged.read_bytes()
    count = len(looks_of(aside))
    assert count > POINTS
    for point in spread(count):
        with pytest.raises(Enough):
            repair(damaged, clock=lambda: NOW, show=at_look(point, enough))
        assert damaged.read_bytes() == before
        assert left_in(damaged.parent) == ["state.db", "state.db.repair.lock"]
    assert repair(damaged, clock=lambda: NOW).steps
    assert contents(damaged) == contents(aside)


def killed_at(path: Path, point: int) -> None:
    child = os.fork()
    if child == 0:
        try:
            repair(path, clock=lambda: NOW, show=at_look(point, lambda: os.kill(os.getpid(), signal.SIGKILL)))
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_killed_in_the_middle_of_a_statement_the_store_is_as_it_was_and_the_next_repair_succeeds(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements are too many to be killed in each: here at points spread over all that a repair does. At each
    step that it takes among files it is killed in `test_repair`."""
    monkeypatch.setattr(watch, "INSTRUCTIONS", 500)
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.0)
    folder = damaged.parent
    kept = Path(shutil.copytree(folder, folder.parent / "kept"))
    before = damaged.read_bytes()
    said = looks_of(damaged)
    repaired = contents(damaged)
    at = [said[point] for point in spread(len(said))]
    assert len(set(at)) >= 4
    for point in spread(len(said)):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        killed_at(damaged, point)
        assert damaged.read_bytes() == before
        assert repair(damaged, clock=lambda: NOW).steps
        assert contents(damaged) == repaired
        assert [name for name in left_in(folder) if "scratch" in name] == []


REPAIR_IN_A_SMALL_PLACE = """
import resource, sys
from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.repairing.repair import repair
path, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    print("done", repair(path).steps)
except SessionsError as error:
    print(type(error).__name__, error.message, error.hint)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of files")
@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_where_files_cannot_grow_a_repair_says_so_and_leaves_all_as_it_was(damaged: Path, share: float) -> None:
    """As on a disk that is full before the repair has ended."""
    before = damaged.read_bytes()
    limit = int(len(before) * share)
    command = [sys.executable, "-c", REPAIR_IN_A_SMALL_PLACE, str(damaged), str(limit)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    if share < 1.0:
        assert ran.stdout.startswith(f"StoreUnreadable There is no room to repair {damaged}. Nothing was changed.")
    if not ran.stdout.startswith("done"):
        assert "othing was changed" in ran.stdout
        assert damaged.read_bytes() == before
        assert left_in(damaged.parent) == ["state.db", "state.db.repair.lock"]
    assert ran.stderr == ""
    again: Callable[[], object] = lambda: repair(damaged)  # noqa: E731
    again()
    assert repair(damaged).healthy


def test_a_dry_run_that_is_stopped_leaves_no_copy_behind(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    def show(what: str, share: float | None) -> None:
        if what.startswith("Looking"):
            raise Enough

    with pytest.raises(Enough):
        repair(damaged, dry_run=True, show=show)
    assert list(temporary.iterdir()) == []
    assert left_in(damaged.parent) == ["state.db"]


def test_no_room_is_said_before_anything_is_copied(damaged: Path) -> None:
    said: list[str] = []
    with pytest.raises(StoreUnreadable, match="bytes"):
        repair(damaged, free=lambda _: 1_000_000, show=lambda what, share: said.append(what))
    assert "Copying the store" not in said
    assert backups(damaged) == []

"""What SQLite would finish as soon as it opens a store is finished on a copy, and the store as it was is kept."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import Refused, StoreDamaged
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.repair import repair
from hermes_sessions.storage.repairing.unfinished import (
    CUT_LOG,
    CUT_PAGE,
    FOREIGN_JOURNAL,
    HALF_A_CHANGE,
    NO_BEGINNING,
    unreachable,
)
from tests.builders import NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import PAGE, connect, contents, page_of
from tests.storage.repairing.test_repair import killed_at
from tests.storage.repairing.test_swap import latecomer

SALVAGED = "Copied what can be read into a new file."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of our own without a write-ahead log, to be copied."""
    path = damages.our_store(tmp_path_factory.mktemp("whole") / "state.db")
    damages.run(path, "PRAGMA journal_mode = delete")
    return path


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A store of our own, to be damaged."""
    (tmp_path / "store").mkdir()
    return Path(shutil.copy(whole, tmp_path / "store" / "state.db"))


def half_a_change(path: Path, *, only_its_journal: bool = False) -> None:
    """Leave a store as after a power cut in the middle of a change of every message."""
    left = Path(shutil.copy(path, f"{path}.left"))
    with closing(connect(path)) as connection:
        connection.pragma("cache_size", 1)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE messages SET content = content || 'half of it'")
        if not only_its_journal:
            shutil.copy(path, left)
        shutil.copy(f"{path}-journal", f"{left}-journal")
        connection.execute("ROLLBACK")
    left.replace(path)
    Path(f"{left}-journal").replace(f"{path}-journal")


def files(path: Path) -> dict[str, bytes]:
    return {side: Path(f"{path}{side}").read_bytes() for side in ("", "-journal") if Path(f"{path}{side}").exists()}


def test_half_a_change_is_taken_back_and_kept_as_it_was(store: Path) -> None:
    before = contents(store)
    half_a_change(store)
    torn = files(store)
    assert b"half of it" in torn[""]
    plan = repair(store, dry_run=True)
    assert files(store) == torn
    done = repair(store)
    assert (done.damage, done.steps) == ((HALF_A_CHANGE.words,), (HALF_A_CHANGE.step,))
    assert {table.lost for table in done.tables} == {0}
    assert (plan.damage, plan.steps, plan.tables) == (done.damage, done.steps, done.tables)
    assert contents(store) == before
    assert files(Path(str(done.backup))) == torn
    assert "-journal" not in files(store)
    assert repair(store).healthy


def test_half_a_change_of_a_damaged_store_is_taken_back_and_what_can_be_read_is_kept(store: Path) -> None:
    damages.garbled_index(store)
    before = contents(store)
    half_a_change(store)
    torn = files(store)
    done = repair(store)
    assert done.steps[0] == HALF_A_CHANGE.step
    assert len(done.steps) == 2
    assert contents(store) == before
    assert files(Path(str(done.backup))) == torn


@pytest.mark.parametrize("damaged", [False, True])
def test_a_journal_that_would_ruin_the_file_is_left_aside(store: Path, damaged: bool) -> None:
    """As from an older copy of the store: with it back in its place, pages would be of two times."""
    half_a_change(store, only_its_journal=True)
    journal = Path(f"{store}-journal").rename(store.with_name("journal"))
    damages.run(store, *("INSERT INTO messages SELECT NULL, " + others(store) + " FROM messages" for _ in range(2)))
    before = contents(store)
    if damaged:
        page_of("idx_messages_session", "leaf", 0.5, damages.flip)(store)
    journal.rename(f"{store}-journal")
    strange = files(store)
    done = repair(store)
    assert done.steps == (FOREIGN_JOURNAL.step, *([SALVAGED] if damaged else []))
    assert contents(store) == before
    assert files(Path(str(done.backup))) == strange
    assert repair(store).healthy


def others(path: Path) -> str:
    """The columns of a message besides its id."""
    with closing(connect(path)) as connection:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info('messages')")]
    return ", ".join(names[1:])


def test_who_comes_just_before_the_file_is_replaced_cannot_write_to_the_torn_one(store: Path) -> None:
    before = contents(store)
    half_a_change(store)
    with latecomer(store) as other:

        def clock() -> float:
            other.come()
            return NOW

        repair(store, clock=clock)
        assert other.went() == "NotADBError"
    assert contents(store) == before
    assert "-journal" not in files(store)


def test_killed_anywhere_the_next_repair_takes_half_a_change_back(store: Path) -> None:
    before = contents(store)
    half_a_change(store)
    folder = store.parent
    torn = files(store)
    kept = Path(shutil.copytree(folder, folder.parent / "torn"))
    whole = 0
    for step in range(1, 200):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        if not killed_at(store, step):
            break
        whole += files(store) == torn
        repair(store)
        assert contents(store) == before
        assert [file.name for file in folder.iterdir() if "scratch" in file.name] == []
    assert 20 < whole < step - 1


def test_a_repair_that_fails_takes_nothing_back(store: Path) -> None:
    half_a_change(store)
    store.write_bytes(b"\7" * store.stat().st_size)
    journal = Path(f"{store}-journal")
    journal.write_bytes(journal.read_bytes()[:600])
    hopeless = files(store)
    with pytest.raises(StoreDamaged):
        repair(store)
    assert files(store) == hopeless


def test_a_change_that_goes_on_is_not_half_a_change(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(store)
    monkeypatch.setattr("hermes_sessions.storage.repairing.guard.openers", lambda path: [])
    child_ready, ready = os.pipe()
    end, end_child = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            connection = connect(store)
            connection.pragma("cache_size", 1)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE messages SET content = content || '!'")
            os.write(ready, b"x")
            os.close(end_child)
            os.read(end, 1)
        finally:
            os._exit(0)
    os.read(child_ready, 1)
    written = files(store)
    assert "-journal" in written
    with pytest.raises(Refused, match="in use by another program"):
        repair(store)
    assert files(store) == written
    os.close(end_child)
    os.waitpid(child, 0)
    for descriptor in (child_ready, ready, end):
        os.close(descriptor)
    assert repair(store).steps == (HALF_A_CHANGE.step,)
    assert contents(store) == before


def test_a_last_page_that_was_cut_off_is_filled_up_and_said(store: Path) -> None:
    before = contents(store)
    os.truncate(store, store.stat().st_size - 1)
    assert [check.name for check in diagnose(store, clock=lambda: NOW).checks if check.status == "fail"] == ["header"]
    done = repair(store)
    assert (done.damage, done.steps) == ((CUT_PAGE.words,), (CUT_PAGE.step,))
    assert {table.name for table in done.tables if table.lost is None} == {"sessions", "messages"}
    assert store.stat().st_size % PAGE == 0
    assert set(contents(store)) == set(before)
    assert diagnose(store, clock=lambda: NOW).healthy
    assert repair(store).healthy


def test_what_is_in_a_log_after_a_damaged_page_is_said_and_kept(store: Path, tmp_path: Path) -> None:
    left = tmp_path / "left.db"
    damages.run(store, "PRAGMA journal_mode = wal")
    with closing(connect(store)) as connection:
        connection.pragma("wal_autocheckpoint", 0)
        for number in range(20):
            connection.execute("INSERT INTO state_meta VALUES (?, 'x')", (f"late {number}",))
        for side in ("", "-wal"):
            shutil.copy(f"{store}{side}", f"{left}{side}")
    assert unreachable(left) == 0
    log = Path(f"{left}-wal")
    pages = (log.stat().st_size - 32) // (24 + PAGE)
    damages.overwrite(log, 32 + (pages // 2) * (24 + PAGE) + 1_000, b"rubbish")
    damaged = log.read_bytes()
    (check,) = [check for check in diagnose(left, clock=lambda: NOW).checks if check.name == "wal"]
    assert (check.status, check.detail.split()[0]) == ("warn", str(pages - pages // 2))
    assert log.read_bytes() == damaged
    done = repair(left)
    assert (done.damage, done.steps) == ((CUT_LOG.words,), (CUT_LOG.step,))
    assert {table.name for table in done.tables if table.lost is None} == {"sessions", "messages"}
    assert Path(f"{done.backup}-wal").read_bytes() == damaged
    assert str(contents(left)["state_meta"]).count("late") == 10
    assert repair(left).healthy


def test_what_a_log_had_before_it_was_begun_anew_and_what_was_rolled_back_is_no_loss(store: Path) -> None:
    damages.run(store, "PRAGMA journal_mode = wal")
    with closing(connect(store)) as connection:
        connection.execute("UPDATE messages SET content = content || '!'")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        connection.execute("INSERT INTO state_meta VALUES ('late', 'x')")
        connection.pragma("cache_size", 1)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE messages SET content = content || '?' WHERE id < 20")
        connection.execute("ROLLBACK")
        assert Path(f"{store}-wal").stat().st_size > 20 * PAGE
        assert unreachable(store) == 0


def test_a_first_page_that_only_the_log_has_is_brought_back_and_the_log_is_kept(store: Path, tmp_path: Path) -> None:
    left = tmp_path / "left.db"
    damages.run(store, "PRAGMA journal_mode = wal")
    with closing(connect(store)) as connection:
        connection.execute("CREATE TABLE more (text)")
        for side in ("", "-wal"):
            shutil.copy(f"{store}{side}", f"{left}{side}")
    before = contents(store)
    damages.overwrite(left, 0, bytes(PAGE))
    log = Path(f"{left}-wal").read_bytes()
    done = repair(left)
    assert (done.damage, done.steps) == ((NO_BEGINNING.words,), (NO_BEGINNING.step,))
    assert Path(f"{done.backup}-wal").read_bytes() == log
    assert contents(left) == before
    assert diagnose(left, clock=lambda: NOW).healthy

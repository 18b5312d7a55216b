"""How a large store is looked at: in a moment unless asked for all of it, in nobody's way, until one has enough."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import Interrupted
from hermes_sessions.model import Check, Diagnosis
from hermes_sessions.storage.diagnosing import pages
from hermes_sessions.storage.diagnosing import visit as visiting
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.diagnosis import diagnose
from tests.builders import NOW, HermesFile
from tests.storage.repairing import damages


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store that counts as a large one."""
    monkeypatch.setattr(visiting, "SMALL", 0)
    path = damages.hermes_store(tmp_path / "state.db", 22)
    path.chmod(0o600)
    yield path


def look(
    path: Path, *, full: bool = False, show: Callable[[str, float | None], None] = lambda what, share: None
) -> Diagnosis:
    return diagnose(path, clock=lambda: NOW, full=full, show=show, asked=lambda _: None)


def found(looked: Diagnosis, name: str) -> Check:
    return next(check for check in looked.checks if check.name == name)


def test_a_large_store_is_read_in_part_and_says_which(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SECONDS", -1.0)
    monkeypatch.setattr(pages, "STEP", 50)
    looked = look(large)
    assert looked.healthy
    assert found(looked, "pages").detail == (
        "50 of 60 sessions, 50 of 183 messages read, the newest; `--full` reads all pages"
    )
    assert "entries" not in {check.name for check in looked.checks}
    assert found(looked, "sizes").detail.startswith("about search index")


def test_damage_among_the_newest_messages_of_a_large_store_is_found(large: Path) -> None:
    damages.page_of("messages", "leaf", 1.0, damages.zero)(large)
    assert found(look(large), "pages").status == "fail"


def test_in_full_a_large_store_is_read_from_end_to_end(large: Path) -> None:
    looked = look(large, full=True)
    assert found(looked, "pages").detail.startswith("all ")
    assert found(looked, "entries").status == "ok"
    damages.page_of("messages_fts_trigram_data", "leaf", 0.5, damages.flip)(large)
    assert look(large).healthy
    assert not look(large, full=True).healthy


def test_in_full_a_reading_gives_way_to_who_writes_and_goes_on_in_steps(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as the log has grown; every row is read all the same, and the log can be emptied meanwhile."""
    monkeypatch.setattr(visiting, "LOG_GROWTH", 0)
    monkeypatch.setattr(pages, "STEP", 20)
    emptied: list[bool] = []
    with closing(apsw.Connection(str(large))) as writer:
        writer.pragma("wal_autocheckpoint", 0)

        def write(what: str, share: float | None) -> None:
            if what == "pages":
                writer.execute("UPDATE sessions SET end_reason = ? WHERE id = 's001'", (f"{len(emptied)}",))
                with suppress(apsw.BusyError):
                    pages, merged = writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    emptied.append(pages == merged)

        looked = look(large, full=True, show=write)
    assert found(looked, "pages").detail == ("all 60 sessions, all 183 messages read, row by row, since others write")
    assert emptied.count(True) > 10
    assert looked.healthy


def test_no_transaction_is_left_between_two_checks(hermes_file: HermesFile) -> None:
    """Else no log could be emptied: here each checkpoint between two of them gets to its end."""
    hermes_file.talk(hermes_file.session(), "hello", "hi")
    merged = []
    before = ""

    def checkpoint(what: str, share: float | None) -> None:
        nonlocal before
        if what != before:
            before = what
            hermes_file.sql("UPDATE sessions SET end_reason = hex(randomblob(8))")
            merged.append(hermes_file.sql("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0)

    hermes_file.path.chmod(0o600)
    assert look(hermes_file.path, show=checkpoint).healthy
    assert len(merged) > 15
    assert all(merged)


def test_ctrl_c_ends_it_with_what_was_found_so_far(large: Path) -> None:
    def enough(what: str, share: float | None) -> None:
        if what == "titles":
            raise KeyboardInterrupt

    looked = look(large, show=enough)
    assert looked.stopped == "interrupted"
    names = [check.name for check in looked.checks]
    assert "catalogue" in names
    assert "titles" not in names


def test_ctrl_c_gets_through_to_a_long_statement(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visiting, "INSTRUCTIONS", 10)
    calls = count()

    def enough(what: str, share: float | None) -> None:
        if what == "pages" and next(calls) == 20:
            raise KeyboardInterrupt

    assert look(large, full=True, show=enough).stopped == "interrupted"


def test_a_statement_that_takes_too_long_is_ended(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visiting, "INSTRUCTIONS", 10)
    ticks = count()
    visit = Visit(large, lambda: NOW, tick=lambda: float(next(ticks)))
    with visit.opened() as database:
        with pytest.raises(Interrupted), visit.limited(5.0):
            database.rows("SELECT * FROM messages")
        assert len(database.rows("SELECT id FROM messages")) == 183


def test_how_far_it_is_is_told(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visiting, "INSTRUCTIONS", 50)
    shares: list[float] = []

    def note(what: str, share: float | None) -> None:
        if what == "pages" and share is not None:
            shares.append(share)

    look(large, full=True, show=note)
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


def test_what_is_known_of_a_program_that_has_it_open(large: Path) -> None:
    """It is named, and that it reads all the time is what keeps a large log from being emptied."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN');"
        "c.execute('SELECT count(*) FROM messages').fetchall(); print('ready', flush=True); sys.stdin.read()"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(large)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert reader.stdout
        assert reader.stdout.readline() == "ready\n"
        with pytest.MonkeyPatch.context() as patch, closing(apsw.Connection(str(large))) as writer:
            patch.setattr("hermes_sessions.storage.diagnosing.log.LARGE_LOG", 1_000)
            writer.execute("UPDATE sessions SET end_reason = hex(randomblob(8))")
            looked = look(large)
        if sys.platform == "linux":
            assert f"process {reader.pid}" in found(looked, "open in").detail
            log = found(looked, "wal")
            assert log.status == "warn"
            assert f"process {reader.pid}" in log.means
            assert "not yet written back" in log.detail
    finally:
        reader.communicate()

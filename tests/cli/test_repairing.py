"""What `repair` says, and how it ends."""

from __future__ import annotations

import io
import signal
import sys
from pathlib import Path

import pytest

from hermes_sessions.cli import doctor, repairing
from hermes_sessions.storage.repairing.backups import forget_old
from tests.cli.conftest import Run
from tests.storage.repairing import damages

WHOLE = "No damage found: nothing to repair, and nothing was changed."
COMMAND = "hermes-sessions repair --db "


def test_a_whole_store_has_nothing_to_repair(history: Path, run: Run) -> None:
    ended = run("repair")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Store: {history}\n{WHOLE}\n"


def test_a_damaged_store_is_repaired_and_the_copy_named(history: Path, run: Run) -> None:
    damages.doubled(history)
    assert run("list").code in (0, 5)
    ended = run("repair")
    (backup,) = history.parent.glob("state.db.repair-backup-*")
    assert ended.code == 0
    assert "The catalogue has more than one messages_fts." in ended.out
    assert "\nRepaired: 7 sessions and " in ended.out and ", and nothing is lost.\n" in ended.out
    assert f"\nThe store as it was: {backup}\nKeep that file until you have seen that all is well." in ended.out
    assert run("repair").out == f"Store: {history}\n{WHOLE}\n"
    assert run("search", "secretplan").code in (0, 1)


def test_a_dry_run_changes_nothing(history: Path, run: Run) -> None:
    damages.emptied_index(history)
    before = history.read_bytes()
    ended = run("repair", "--dry-run")
    assert ended.code == 0
    assert "Tried on a copy\n  Rebuilt the search index from its text.\n" in ended.out
    assert ended.out.endswith(f"Nothing was changed. To repair it, close every Hermes and run:\n  {COMMAND}{history}\n")
    assert history.read_bytes() == before
    assert list(history.parent.glob("state.db.repair*")) == []


def test_rows_that_could_not_be_read_are_counted(history: Path, run: Run) -> None:
    damages.page_of("sessions", "leaf", 0, damages.zero)(history)
    tried, ended = run("repair", "--dry-run"), run("repair")
    assert (tried.code, ended.code) == (0, 0)
    lost = "Left out, since it cannot be read\n  7 of 7 sessions\nTo know\n"
    for out in (tried.out, ended.out):
        assert "  Copied what can be read into a new file.\n" in out
        assert lost in out
    assert "Keep that file since what could not be read is still in it." in ended.out
    assert ", all that can be read.\n" in ended.out


def test_json_has_the_promised_fields(history: Path, run: Run) -> None:
    damages.doubled(history)
    count = len(damages.contents(history)["messages"])
    record = run("repair", "--json").json
    assert (record["schema_version"], record["store"], record["dry_run"], record["healthy"]) == (
        1,
        str(history),
        False,
        False,
    )
    assert record["damage"] == ["The catalogue has more than one messages_fts."]
    assert record["steps"] == ["Removed what the catalogue had twice."]
    assert Path(record["backup"]).is_file()
    assert {"name": "messages", "before": count, "after": count, "lost": 0} in record["tables"]


@pytest.mark.parametrize(
    ("content", "code", "kind"), [(b"no database " * 100, 5, "store_damaged"), (None, 3, "store_missing")]
)
def test_what_cannot_be_repaired_ends_with_its_own_code(
    home: Path, run: Run, content: bytes | None, code: int, kind: str
) -> None:
    path = home / "state.db"
    if content is not None:
        path.write_bytes(content)
    ended = run("repair", "--db", str(path), "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (code, kind)
    assert content is None or path.read_bytes() == content


def test_a_directory_is_refused(home: Path, run: Run) -> None:
    assert run("repair", "--db", str(home)).code == 4


def told_to_end(number: int) -> type[doctor.Progress]:
    """A progress that meets a signal twice, whatever is being done."""

    class Told(doctor.Progress):
        def show(self, what: str, share: float | None) -> None:
            signal.raise_signal(number)
            signal.raise_signal(number)

    return Told


@pytest.mark.parametrize("name", repairing.ENDING)
def test_told_to_end_it_stops_as_interrupted_and_leaves_no_copy(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    number = getattr(signal, name)
    damages.doubled(history)
    before = history.read_bytes()
    handler = signal.getsignal(number)
    monkeypatch.setattr(repairing, "Progress", told_to_end(number))
    ended = run("repair")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "hermes-sessions: Stopped. The store is as it was, and the copies are gone.\n"
    assert run("repair", "--json").json["error"]["kind"] == "interrupted"
    assert history.read_bytes() == before
    assert [file.name for file in history.parent.iterdir() if "scratch" in file.name or "backup" in file.name] == []
    assert signal.getsignal(number) is handler


def test_ctrl_c_in_the_last_moment_is_too_late_and_all_is_told(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    damages.doubled(history)

    def forget(path: Path, newest: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        forget_old(path, newest)

    monkeypatch.setattr("hermes_sessions.storage.repairing.repair.forget_old", forget)
    ended = run("repair")
    assert (ended.code, ended.err) == (0, "")
    assert "The store as it was: " in ended.out


def test_a_signal_that_is_ignored_stays_so(history: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under nohup."""
    damages.doubled(history)
    monkeypatch.setattr(repairing, "Progress", told_to_end(signal.SIGHUP))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run("repair").code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("words", [["repair"], ["repair", "--dry-run"], ["repair", "--json"]])
def test_a_person_at_a_terminal_sees_how_far_it_is_and_nobody_else(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    damages.page_of("messages", "leaf", 0, damages.zero)(history)
    monkeypatch.setattr(doctor, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(doctor, "BEAT_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    ended = run(*words)
    assert ended.code == 0
    if "--json" in words:
        assert terminal.getvalue() == ""
        return
    lines = terminal.getvalue().split("\r\x1b[K")
    for said in (
        "Copying the store [########################] 99 %",
        "Looking at every page ",
        "Copying the table messages ",
        "Making the search index messages_fts ",
    ):
        assert any(line.startswith(said) for line in lines), said
    assert lines[-1] == ""
    assert "\n" not in terminal.getvalue()

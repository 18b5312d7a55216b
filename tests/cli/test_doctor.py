"""The doctor as a person and a script meet it: what is printed, how it ends, what Ctrl+C leaves."""

from __future__ import annotations

import io
import shlex
import signal
from pathlib import Path

import apsw
import pytest

from hermes_sessions import text
from hermes_sessions.cli import doctor as doctor_command
from hermes_sessions.cli.doctor import Progress
from hermes_sessions.cli.output import Output
from hermes_sessions.storage.diagnosing import engines, files
from tests.builders import HermesFile
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def no_hermes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed on the machine of the tests."""
    monkeypatch.setenv("PATH", "/nowhere")


def test_a_whole_store_takes_a_line_for_each_check(history: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = run("doctor")
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines[0] == f"Store: {history}"
    assert lines[-1].startswith("No damage found: ")
    assert [line for line in lines[1:] if text.cell_width(line) > 80] == []
    for heading in ("File", "Layout", "Messages", "Search", "Use", "Programs"):
        assert heading in lines
    assert any(line.split()[:2] == ["ok", "counters"] for line in lines)


def test_what_is_wrong_is_told_with_what_it_means_and_the_command_on_a_line_of_its_own(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with history.open("r+b") as file:
        file.truncate(8_192)
    ended = run("doctor")
    assert ended.code == 5
    lines = ended.out.splitlines()
    (command,) = [line.strip() for line in lines if line.strip().startswith("$ ")]
    assert shlex.split(command) == ["$", "hermes-sessions", "repair", "--db", str(history)]
    assert lines[-1].startswith("1 of ")
    assert "cut off" in " ".join(line.strip() for line in lines)
    assert [line for line in lines[1:] if text.cell_width(line) > 60 and "$" not in line] == []


def test_json_has_the_same_facts(history: Path, run: Run) -> None:
    with history.open("r+b") as file:
        file.truncate(8_192)
    ended = run("doctor", "--json")
    assert (ended.code, ended.err) == (5, "")
    (header,) = [check for check in ended.json["checks"] if check["status"] == "fail"]
    assert header == {
        "name": "header",
        "group": "File",
        "status": "fail",
        "detail": header["detail"],
        "means": header["means"],
        "fix": f"hermes-sessions repair --db {history}",
    }
    assert header["detail"].startswith("It ends after 2 of ")
    assert ended.json["complete"] is True


def test_the_words_say_the_same_without_colours(history: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LITTLE_SPACE", 1 << 62)
    plain, painted = run("doctor"), run("doctor", "--color", "always")
    assert "\x1b[33mwarn\x1b[0m" in painted.out
    assert "  warn  disk" in plain.out
    assert plain.code == painted.code == 0


@pytest.mark.parametrize("words", [["doctor"], ["doctor", "--json"]])
def test_ctrl_c_ends_it_with_what_was_found(
    history: Path, run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(engines, "own_check", lambda: signal.raise_signal(signal.SIGINT))
    ended = run(*words)
    assert ended.code == 130
    if "--json" in words:
        assert ended.json["complete"] is False
        assert len(ended.json["checks"]) > 10
    else:
        assert ended.out.splitlines()[-1].startswith("Stopped: ")


def test_a_locked_store_ends_as_busy(hermes_file: HermesFile, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_sessions.storage.diagnosing.visit.BUSY_TIMEOUT_MS", 10)
    hermes_file.sql("PRAGMA journal_mode = DELETE")
    hermes_file.close()
    other = apsw.Connection(str(hermes_file.path))
    other.execute("BEGIN EXCLUSIVE")
    ended = run("doctor")
    other.close()
    assert ended.code == 7
    assert "Not finished, as the store is locked" in ended.out


def test_full_reads_on(history: Path, run: Run) -> None:
    assert run("doctor", "--full").code == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_a_person_at_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_command, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(doctor_command, "BEAT_SECONDS", 0.0)

    def shown(stderr: io.StringIO, as_json: bool = False) -> str:
        output = Output(io.StringIO(), stderr, environ={"TERM": "xterm"}, as_json=as_json)
        progress = Progress(output)
        progress.show("pages", 0.5)
        progress.show("pages\x1b[31m", None)
        output.passing("")
        return stderr.getvalue()

    told = shown(Terminal())
    assert "pages [############............] 50 %" in told
    assert told.endswith("\r\x1b[K")
    assert "\x1b[31m" not in told
    assert shown(Terminal(), as_json=True) == ""
    assert shown(io.StringIO()) == ""

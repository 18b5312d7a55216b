"""The program as a process: encodings, pipes that close, many at once, what it loads, how it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.builders import HermesFile
from tests.cli.conftest import finish, start

TITLES = ("✓ 中 ❤️", "整理论文", "─│…", "plain")


@pytest.fixture
def long_history(home: Path) -> Path:
    """More rows than a pipe holds."""
    path = home / ".hermes" / "state.db"
    with HermesFile(path) as file:
        for number in range(400):
            file.talk(
                file.session(f"long-{number}", title=f"{TITLES[number % 4]} {number} {'x' * 150}"), "question", "answer"
            )
    return path


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX"},
    ],
)
def test_no_encoding_stops_the_output(history: Path, environ: Mapping[str, str]) -> None:
    with HermesFile(history.parent / "other.db") as file:
        for title in TITLES:
            session = file.session(title=title)
            file.talk(session, f"{title} docker", title)
    for words in (["list"], ["search", "docker"], ["show", "last"]):
        ended = finish(start(*words, "--db", str(history.parent / "other.db"), environ=environ))
        assert (ended.code, "Traceback" in ended.err) == (0, False)
    failed = finish(start("show", "nothing like “中”", environ=environ))
    assert failed.code == 3 and failed.err.startswith("hermes-sessions: ")


@pytest.mark.parametrize("words", [["list", "--limit", "0"], ["list", "--limit", "0", "--json"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_failure(long_history: Path, words: list[str], unbuffered: str) -> None:
    process = start(*words, environ={"PYTHONUNBUFFERED": unbuffered})
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    process.stdout = None
    ended = finish(process)
    assert (ended.code, ended.err) == (141, "")


def test_help_for_a_reader_that_went_away_is_quiet_too() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = finish(start("--help", stdout=writer))
    os.close(writer)
    assert (ended.code, ended.err) == (141, "")


def closed(descriptor: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    """A run whose standard stream is not there at all."""
    command = f'exec "$0" -m hermes_sessions "$@" {descriptor}>&-'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *words], env=environment, capture_output=True, timeout=60, check=False
    )


def test_closed_streams_are_quiet(history: Path) -> None:
    for words in (["list"], ["list", "--json"], ["show", "tools"]):
        ended = closed(1, *words)
        assert (ended.returncode, ended.stderr) == (141, b"")
    ended = closed(2, "list")
    assert ended.returncode == 0 and b"Fix the login" in ended.stdout
    assert closed(2, "show", "nosuch").returncode == 3


def test_a_file_gets_no_colours(history: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    with target.open("wb") as file:
        assert finish(start("list", stdout=file, environ={"TERM": "xterm"})).code == 0
    assert b"\x1b" not in target.read_bytes() and b"Fix the login" in target.read_bytes()


def test_sixteen_at_once_see_the_same_after_a_writer_was_killed(home: Path) -> None:
    path = home / ".hermes" / "state.db"
    writer = f"""
import os, pathlib
from tests.builders import HermesFile
file = HermesFile(pathlib.Path({str(path)!r}))
file.sql("PRAGMA wal_autocheckpoint = 0")
for number in range(40):
    file.talk(file.session(f"s-{{number}}"), "question " * 300, "answer " * 300)
os._exit(9)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.run([sys.executable, "-c", writer], env=environment, check=False).returncode == 9
    assert Path(f"{path}-wal").stat().st_size > 500_000
    processes = [start("list", "--limit", "0", "--json") for _ in range(16)]
    ends = [finish(process) for process in processes]
    assert {ended.code for ended in ends} == {0}
    assert {ended.out for ended in ends} == {ends[0].out}
    assert ends[0].json["shown"] == 40


@pytest.mark.parametrize("words", [["list"], ["search", "docker"], ["show", "tools"], ["cost"], ["browse", "--plain"]])
def test_only_the_full_screen_loads_textual(history: Path, words: list[str]) -> None:
    code = "import sys; from hermes_sessions.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    loaded = set(ended.stderr.split())
    assert "hermes_sessions.storage.store" in loaded
    assert not {"textual", "rich.console", "asyncio", "shtab", "platformdirs", "psutil"} & loaded


def test_a_fault_of_ours_is_one_line_and_a_traceback_on_request(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hermes_sessions.cli import commands, main

    def broken(*_: object) -> None:
        raise KeyError("oops\x1b[31m")

    monkeypatch.setattr(commands, "run", broken)
    assert main(["list"]) == 70
    said = capsys.readouterr().err
    assert (
        said.startswith("hermes-sessions: Unexpected KeyError") and len(said.splitlines()) == 2 and "\x1b" not in said
    )
    assert main(["list", "--debug"]) == 70
    assert "Traceback" in capsys.readouterr().err
    assert main(["list", "--json"]) == 70
    assert '"kind": "our_fault"' in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_stops_a_query_that_runs(history: Path) -> None:
    code = """
import os, signal, sys, threading
from hermes_sessions.cli import main
from hermes_sessions.storage.search import Search

def endless(self, *_args, **_options):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    self._database.rows("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")

Search.run = endless
sys.exit(main(["search", "x"]))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (130, b"")
    assert b"Traceback" not in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_at_the_prompt_is_130(history: Path) -> None:
    process = start("browse", "--plain", stdin=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended.code, "Traceback" in ended.err) == (130, False)

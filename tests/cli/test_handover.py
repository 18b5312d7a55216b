"""Going on in Hermes: the process becomes its command, with the very session, home and directory."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.builders import HermesFile
from tests.cli.conftest import ROOT, Run, finish, start

STUB = """#!{python}
import json, os, sys
here = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "home": os.environ.get("HERMES_HOME"), "pid": os.getpid()}}
here["animations"] = os.environ.get("TEXTUAL_ANIMATIONS")
with open(os.environ["STUB_RECORD"], "w") as file:
    json.dump(here, file)
sys.exit(23)
"""


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `hermes` first on the path that writes down how it was started, here."""
    folder = tmp_path / "bin"
    folder.mkdir()
    stub = folder / "hermes"
    stub.write_text(STUB.format(python=sys.executable))
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "record.json"
    monkeypatch.setenv("STUB_RECORD", str(path))
    return path


def recorded(path: Path) -> Any:
    return json.loads(path.read_text())


def test_resume_becomes_hermes_with_the_tip_in_its_directory(history: Path, record: Path, tmp_path: Path) -> None:
    work = tmp_path / "work with blanks"
    work.mkdir()
    with HermesFile(history.parent / "other" / "state.db") as file:
        file.chain(2, title="Elsewhere", cwd=str(work))
    process = start("resume", "chain-1", "--home", str(history.parent / "other"))
    assert finish(process).code == 23
    started = recorded(record)
    assert started["argv"][-2:] == ["--resume", "chain-2"]
    assert (started["cwd"], started["pid"]) == (str(work), process.pid)
    assert started["home"] == str(history.parent / "other")


@pytest.mark.parametrize("name", ["--version", "with blanks", "$(touch x); `x`", "title with 'quotes'"])
def test_a_strange_id_or_title_stays_one_word(hermes_file: HermesFile, record: Path, name: str) -> None:
    hermes_file.talk(hermes_file.session(name, title=f"Title {name}"), "hello")
    for words in (("resume", "--", name), ("resume", f"Title {name}")):
        assert finish(start(*words)).code == 23
        argv = recorded(record)["argv"]
        assert argv[-2:] == ["--resume", name] or argv[-1] == f"--resume={name}"


def test_a_number_in_the_plain_list_resumes(history: Path, record: Path) -> None:
    ended = finish(start("browse", "--plain", stdin=subprocess.PIPE), b"1\n")
    assert ended.code == 23
    assert recorded(record)["argv"][-2:] == ["--resume", "tools"]


def test_print_runs_nothing(history: Path, record: Path, run: Run) -> None:
    ended = run("resume", "tools", "--print")
    assert ended.code == 0 and not record.exists()
    words = shlex.split(ended.out)
    assert words[-2:] == ["--resume", "tools"]


def test_last_is_the_last_active(history: Path, run: Run, record: Path) -> None:
    newest = run("list", "--json").json["sessions"][0]["id"]
    assert run("resume", "last", "--print").out.split()[-1] == newest


def test_an_empty_session_is_resumed_and_none_is_made_up(history: Path, record: Path) -> None:
    assert finish(start("resume", "empty")).code == 23
    assert recorded(record)["argv"][-2:] == ["--resume", "empty"]
    record.unlink()
    assert finish(start("resume", "nosuch")).code == 3
    assert not record.exists()


def test_without_hermes_the_command_to_copy_is_told(history: Path, tmp_path: Path) -> None:
    ended = finish(start("resume", "tools", environ={"PATH": str(tmp_path)}))
    assert (ended.code, ended.out) == (3, "")
    assert "--resume tools" in ended.err


def test_a_command_is_printed_wherever_it_may_be_meant_for(hermes_file: HermesFile, run: Run, tmp_path: Path) -> None:
    hermes_file.talk(hermes_file.session("moved", cwd="/gone/for/good"), "hello")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        ended = run("resume", "moved", "--print")
    assert ended.code == 0 and shlex.split(ended.out)[-2:] == ["--resume", "moved"]


def on_the_full_screen(keys: bytes, *words: str) -> tuple[int, bytes, bytes]:
    """A run on a terminal of 100 by 30, keys typed once the screen is there: exit code, what it wrote to standard
    output, which is a pipe for `--pick`, and what was drawn."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    own = "import fcntl, os, runpy, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{own}runpy.run_module('hermes_sessions', run_name='__main__')", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=subprocess.PIPE if "--pick" in words else theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    drawn = b""
    try:
        while True:
            if not select.select([ours], [], [], 30)[0]:
                process.kill()
            drawn += os.read(ours, 65_536)
            if b"Fix the login" in drawn and keys:
                os.write(ours, keys)
                keys = b""
    except OSError:
        # The other end of a terminal that nobody has open any more.
        pass
    finally:
        os.close(ours)
    out, _ = process.communicate(timeout=30)
    return process.returncode, out or b"", drawn


def test_a_pick_on_the_full_screen_is_all_of_standard_output(history: Path) -> None:
    code, out, drawn = on_the_full_screen(b"\r", "browse", "--pick")
    assert (code, out) == (0, b"tools\n")
    assert drawn.rfind(b"\x1b[?1049l") > drawn.rfind(b"\x1b[?1049h") >= 0


def test_resuming_from_the_full_screen_becomes_hermes(history: Path, record: Path) -> None:
    code, _, drawn = on_the_full_screen(b"R", "browse")
    assert code == 23 and drawn.rfind(b"\x1b[?1049l") > drawn.rfind(b"\x1b[?1049h")
    started = recorded(record)
    assert started["argv"][-2:] == ["--resume", "tools"] and started["animations"] is None


def test_no_store_is_told_on_a_terminal_too(home: Path) -> None:
    code, out, drawn = on_the_full_screen(b"", "browse", "--pick")
    assert (code, out) == (3, b"")
    assert b"browse --demo" in drawn and b"1049h" not in drawn


def test_a_directory_that_is_gone_is_told_before_anything_starts(hermes_file: HermesFile, record: Path) -> None:
    hermes_file.talk(hermes_file.session("moved", cwd="/gone/for/good"), "hello")
    ended = finish(start("resume", "moved"))
    assert ended.code == 3 and "/gone/for/good" in ended.err and "--resume moved" in ended.err
    assert not record.exists()


def test_the_sample_is_written_once_and_never_over_anything(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "sample"
    ended = run("demo", str(target))
    assert (ended.code, ended.out) == (0, f"{target / 'state.db'}\n")
    assert run("list", "--home", str(target), "--json").json["shown"] > 10
    before = (target / "state.db").read_bytes()
    assert run("demo", str(target)).code == 4
    assert (target / "state.db").read_bytes() == before


def test_the_sample_can_be_browsed_and_not_resumed(record: Path, tmp_path: Path) -> None:
    ended = finish(start("browse", "--demo", "--plain", stdin=subprocess.PIPE), b"1\n")
    assert ended.code == 3 and "cannot be resumed" in ended.err and not record.exists()

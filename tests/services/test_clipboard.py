"""The programs that keep a clipboard, and the file for what none of them takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_sessions.errors import Refused
from hermes_sessions.services.clipboard import feed, programs, save

if sys.platform == "win32":
    pytest.skip("The programs of these tests are scripts.", allow_module_level=True)

ALL = ("tmux", "wl-copy", "xclip", "xsel", "pbcopy")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory of programs that write what they are given into a file beside them."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ALL:
        program = folder / name
        program.write_text(f"#!/bin/sh\n/bin/cat > {folder}/{name}.out\n")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("environ", "platform", "names"),
    [
        ({}, "linux", []),
        ({"TMUX": "x"}, "linux", ["tmux"]),
        ({"DISPLAY": ":0"}, "linux", ["xclip"]),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "linux", ["wl-copy"]),
        ({"TMUX": "x", "DISPLAY": ":0"}, "linux", ["tmux", "xclip"]),
        ({}, "darwin", ["pbcopy"]),
        ({"SSH_CONNECTION": "a b"}, "darwin", []),
    ],
)
def test_only_a_clipboard_that_the_person_can_reach_is_used(
    path: Path, environ: Mapping[str, str], platform: str, names: list[str]
) -> None:
    assert [command[0] for command in programs({"PATH": str(path), **environ}, platform)] == names


def test_a_program_that_is_not_there_is_not_used(path: Path) -> None:
    (path / "xclip").unlink()
    assert programs({"PATH": str(path), "DISPLAY": ":0"}, "linux")[0][0] == "xsel"


async def test_the_program_gets_the_text(path: Path) -> None:
    assert await feed([str(path / "xclip")], "two\nlines 日本")
    assert (path / "xclip.out").read_text() == "two\nlines 日本"


async def test_a_program_that_fails_or_is_gone_took_nothing(path: Path) -> None:
    (path / "xclip").write_text("#!/bin/sh\n/bin/cat > /dev/null\nexit 1\n")
    assert not await feed([str(path / "xclip")], "text")
    assert not await feed([str(path / "gone")], "text")


def test_a_saved_copy_is_whole_new_and_private(tmp_path: Path) -> None:
    first, second = save("text 日本 \ud800", folder=tmp_path / "own"), save("text", folder=tmp_path / "own")
    assert first != second
    assert first.read_text() == "text 日本 ?"
    assert (first.stat().st_mode & 0o777, first.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_where_nothing_can_be_saved_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot be saved"):
        save("text", folder=tmp_path / "file")

"""Which program a text is opened with, and what is left of the copy: nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_sessions.errors import CommandMissing
from hermes_sessions.services.editing import Shown, editor, show

if sys.platform == "win32":
    pytest.skip("The programs of these tests are scripts.", allow_module_level=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory of programs: ed, vi, less and more."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("ed", "vi", "less", "more"):
        program = folder / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({"VISUAL": "vi", "EDITOR": "ed", "PAGER": "less"}, ["vi"]),
        ({"EDITOR": "ed -p '> '", "PAGER": "less"}, ["ed", "-p", "> "]),
        ({"VISUAL": "", "EDITOR": " ", "PAGER": "more"}, ["more"]),
        ({"PAGER": "cat"}, ["less"]),
        ({}, ["less"]),
    ],
)
def test_the_persons_own_program_comes_first(path: Path, environ: Mapping[str, str], command: list[str]) -> None:
    found = editor({"PATH": str(path), **environ})
    assert [Path(found[0]).name, *found[1:]] == command


def test_without_less_it_is_more(path: Path) -> None:
    (path / "less").unlink()
    assert editor({"PATH": str(path)}) == (str(path / "more"),)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"EDITOR": "emacs -nw"}, "'emacs', which \\$EDITOR names"),
        ({"VISUAL": "vi 'half"}, "\\$VISUAL is no command"),
        ({"PATH": "/nowhere"}, "no editor and no pager"),
    ],
)
def test_what_cannot_be_started_is_named(path: Path, environ: Mapping[str, str], said: str) -> None:
    with pytest.raises(CommandMissing, match=said):
        editor({"PATH": str(path), **environ})


def test_no_shell_reads_the_command(path: Path) -> None:
    with pytest.raises(CommandMissing, match="vi;touch"):
        editor({"PATH": str(path), "EDITOR": f"vi;touch {path}/owned"})


def run(code: str, text: str, suffix: str = ".txt") -> Shown:
    """Show a text with a Python program that finds the file's path in `path`."""
    return show(
        [sys.executable, "-c", f"import pathlib, sys; path = pathlib.Path(sys.argv[1]); {code}"], text, "a", suffix
    )


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("pass", Shown(0, False)),
        ("sys.exit(2)", Shown(2, False)),
        ("path.write_text('other')", Shown(0, True)),
        ("path.unlink()", Shown(0, False)),
    ],
)
def test_how_it_ended_is_told(code: str, shown: Shown) -> None:
    assert run(code, "text") == shown


@pytest.mark.parametrize(
    ("text", "seen"), [("日本語", "日本語\n"), ("half \ud800", "half ?\n"), ("", "\n"), ("a\n", "a\n")]
)
def test_any_text_can_be_shown_and_ends_with_a_line_break(text: str, seen: str) -> None:
    assert run(f"sys.exit(path.read_text('utf-8') != {seen!r})", text) == Shown(0, False)


@pytest.mark.parametrize("suffix", [".md", ".diff"])
def test_a_file_that_has_room_for_it_says_that_it_is_a_copy(suffix: str) -> None:
    assert run("sys.exit('copy' not in path.read_text().split('\\n')[0])", "text", suffix).code == 0


def test_a_program_that_is_gone_is_said() -> None:
    with pytest.raises(CommandMissing, match="cannot be started"):
        show(["/nowhere/vi"], "text", "a", ".txt")

"""The terminal lent to an editor, and the mouse left to the terminal: on a real one, with an editor of the test."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("There is no pty here.", allow_module_level=True)

import json
import termios

from tests.tui.pty_screen import Screen

EDITOR = """
import json, os, pathlib, signal, stat, sys, termios
path = pathlib.Path(sys.argv[-1])
seen = {
    "arguments": sys.argv[1:-1],
    "name": path.name,
    "text": path.read_text(),
    "mode": stat.S_IMODE(path.stat().st_mode),
    "folder": stat.S_IMODE(path.parent.stat().st_mode),
    "path": str(path),
    "echoes": bool(termios.tcgetattr(0)[3] & termios.ECHO),
    "interrupts": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
}
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(seen))
print("EDITING", flush=True)
try:
    answer = input()
except KeyboardInterrupt:
    answer = "interrupted"
if answer == "change":
    path.write_text("changed")
sys.exit(3 if answer == "fail" else 0)
"""


class Editor:
    """A program that stands for the person's editor, and what it saw."""

    def __init__(self, folder: Path) -> None:
        script = folder / "editor.py"
        script.write_text(EDITOR)
        self.command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} --wait 'two words'"
        self.file = folder / "seen.json"

    @property
    def seen(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.file.read_text())
        return found


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    return Editor(tmp_path)


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    screens: list[Screen] = []
    yield screens
    for screen in screens:
        screen.close()


@pytest.fixture
def screen(demo: Path, screens: list[Screen], editor: Editor) -> Screen:
    screen = Screen(str(demo), VISUAL=editor.command, SEEN=str(editor.file))
    screens.append(screen)
    screen.wait_for(b"quit")
    return screen


def edit(screen: Screen, keys: bytes) -> None:
    screen.send(keys)
    screen.wait_for(b"EDITING")


def answer(screen: Screen, words: bytes, said: bytes = b"quit") -> None:
    """Type into the editor, and wait until the screen is ours again and says something."""
    start = len(screen.output)
    screen.send(words)
    screen.wait_for(b"\x1b[?1049h", start)
    screen.wait_for(said, start)


def test_the_editor_gets_a_private_copy_and_the_terminal_and_gives_both_back(screen: Screen, editor: Editor) -> None:
    edit(screen, b"e")
    seen = editor.seen
    assert seen["arguments"] == ["--wait", "two words"]
    assert seen["name"] == "conversation-copy.md"
    assert "what is changed here is not kept" in str(seen["text"])
    assert (seen["mode"], seen["folder"]) == (0o600, 0o700)
    assert seen["echoes"]
    assert seen["interrupts"]
    answer(screen, b"\n")
    assert not Path(str(seen["path"])).parent.exists()
    assert not termios.tcgetattr(screen.fd)[3] & termios.ECHO
    screen.send(b"q")
    assert screen.end() == 0


def test_the_message_under_the_cursor_is_opened_from_the_messages(screen: Screen, editor: Editor) -> None:
    screen.send(b"3")
    screen.wait_for(b"unfold")
    edit(screen, b"e")
    assert editor.seen["name"] == "message-copy.md"
    assert str(editor.seen["text"]).count("\n## ") == 1
    answer(screen, b"\n")


def test_what_was_changed_is_said_to_be_lost(screen: Screen) -> None:
    edit(screen, b"e")
    answer(screen, b"change\n", b"not kept")


def test_an_editor_that_fails_is_named_with_its_code(screen: Screen) -> None:
    edit(screen, b"e")
    answer(screen, b"fail\n", b"code 3")


def test_ctrl_c_is_the_editors_and_ends_only_that(screen: Screen) -> None:
    edit(screen, b"e")
    answer(screen, b"\x03")
    screen.send(b"q")
    assert screen.end() == 0


def test_what_ends_the_program_ends_the_editor_too(screen: Screen, editor: Editor) -> None:
    edit(screen, b"e")
    os.kill(screen.pid, signal.SIGTERM)
    assert screen.end() == 128 + signal.SIGTERM
    assert not Path(str(editor.seen["path"])).exists()


def test_a_command_that_is_not_there_is_said(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), VISUAL="no-such-editor -w")
    screens.append(screen)
    screen.wait_for(b"quit")
    screen.send(b"e")
    screen.wait_for(b"no-such-editor")
    screen.send(b"q")
    assert screen.end() == 0


def test_the_mouse_is_left_to_the_terminal_and_taken_back(screen: Screen, editor: Editor) -> None:
    on, off = b"\x1b[?1003h", b"\x1b[?1003l"
    assert screen.output.rfind(on) > screen.output.rfind(off)
    screen.send(b"M")
    screen.wait_for(b"takes the mouse back")
    assert screen.output.rfind(off) > screen.output.rfind(on)
    edit(screen, b"e")
    start = len(screen.output)
    screen.send(b"\n")
    screen.wait_for(on, start)
    screen.wait_for(off, start + screen.output[start:].index(on))  # an editor may have wanted it; now it is free again
    start = len(screen.output)
    screen.send(b"M")
    screen.wait_for(on, start)

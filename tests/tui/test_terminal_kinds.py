"""The program on terminals of several kinds, as processes of their own: each is shown what it can show."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("There is no pty here.", allow_module_level=True)

from tests.tui.pty_screen import Screen

QUESTION = b"\x1b]11;?\x07"
LIGHT_ANSWER, DARK_ANSWER = b"\x1b]11;rgb:fbfb/fafa/f7f7\x07", b"\x1b]11;rgb:0000/0000/0000\x1b\\"
LIGHT_GROUND, DARK_GROUND = b"48;2;251;250;247", b"48;2;20;23;28"


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    screens: list[Screen] = []
    yield screens
    for screen in screens:
        screen.close()


def parameters(output: bytes) -> set[bytes]:
    """Every number that changes how text looks."""
    return {number for codes in re.findall(rb"\x1b\[([0-9;:]*)m", output) for number in re.split(rb"[;:]", codes)}


def test_a_light_terminal_is_followed_and_its_answer_is_not_typed(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), COLORTERM="truecolor")
    screens.append(screen)
    screen.wait_for(QUESTION)
    assert DARK_GROUND in screen.output
    screen.send(b"/do" + LIGHT_ANSWER + b"cker")
    screen.wait_for(LIGHT_GROUND)
    since = screen.output.rfind(LIGHT_GROUND)
    screen.wait_for(b"docker", since)
    assert b"rgb" not in screen.output
    screen.send(b"\x03")
    assert screen.end() == 130


def test_a_dark_terminal_changes_nothing(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), COLORTERM="truecolor")
    screens.append(screen)
    screen.wait_for(QUESTION)
    screen.send(DARK_ANSWER + b"q")
    assert screen.end() == 0
    assert LIGHT_GROUND not in screen.output


@pytest.mark.parametrize("environ", [{"TERM": "xterm"}, {"TERM": "linux"}, {"NO_COLOR": "1"}], ids=str)
def test_terminals_that_cannot_show_shades_are_not_asked_for_them(
    demo: Path, screens: list[Screen], environ: dict[str, str]
) -> None:
    screen = Screen(str(demo), **environ)
    screens.append(screen)
    screen.wait_for(b"quit")
    screen.send(b"q")
    assert screen.end() == 0
    assert b"7" in parameters(screen.output)
    assert not parameters(screen.output) & {b"38", b"48"}
    assert QUESTION not in screen.output


@pytest.mark.parametrize("environ", [{"TERM": "linux"}, {"LANG": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "1"}], ids=str)
def test_where_there_may_be_nothing_else_the_frames_are_ascii(
    demo: Path, screens: list[Screen], environ: dict[str, str]
) -> None:
    screen = Screen(str(demo), **environ)
    screens.append(screen)
    screen.wait_for(b"quit")
    screen.send(b"q")
    screen.end()
    drawn = re.sub(r"\x1b\[[0-9;:?]*[a-zA-Z]", "", screen.output.decode("utf-8", "replace"))
    assert "+-" in drawn
    assert not set("╭╮╰╯│─✓❯…") & set(drawn)

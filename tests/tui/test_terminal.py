"""The terminal around the screen, in a process of its own on a real terminal: as before, however the program ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_sessions.tui import terminal

if sys.platform == "win32":
    pytest.skip("There is no pty here.", allow_module_level=True)

import fcntl
import re
import struct
import termios

from tests.tui.pty_screen import Screen

ON_AND_OFF = [(b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?1000h", b"\x1b[?1000l"), (b"\x1b[?25l", b"\x1b[?25h")]


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    screens: list[Screen] = []
    yield screens
    for screen in screens:
        screen.close()


def is_restored(screen: Screen) -> bool:
    attributes = termios.tcgetattr(screen.fd)
    return attributes[:4] == screen.before[:4] and all(
        screen.output.rfind(off) > screen.output.rfind(on) for on, off in ON_AND_OFF
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (b"q", 0),
        (b"\x03", 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGQUIT, 131),
        (signal.SIGINT, 130),
    ],
    ids=["q", "Ctrl+C", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"],
)
def test_the_terminal_is_as_before_after(
    demo: Path, screens: list[Screen], ending: bytes | signal.Signals, code: int
) -> None:
    screen = Screen(str(demo))
    screens.append(screen)
    screen.wait_for(b"quit")
    if isinstance(ending, bytes):
        os.write(screen.fd, ending)
    else:
        os.kill(screen.pid, ending)
    assert screen.end() == code
    assert is_restored(screen)
    assert b"LEFT" in screen.output


def test_a_signal_ends_it_though_it_hangs_and_the_terminal_is_as_before(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), "--hanging")
    screens.append(screen)
    screen.wait_for(b"HANGING")
    os.kill(screen.pid, signal.SIGTERM)
    assert screen.end() == 143
    assert is_restored(screen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_the_middle_of_more_keys_than_it_can_answer(
    demo: Path, screens: list[Screen], number: signal.Signals
) -> None:
    screen = Screen(str(demo))
    screens.append(screen)
    screen.wait_for(b"quit")
    for _ in range(4):
        screen.send(b"j" * 1000)
    os.kill(screen.pid, number)
    assert screen.end() == 128 + number
    assert is_restored(screen)


def test_bytes_that_are_no_text_end_nothing(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo))
    screens.append(screen)
    screen.wait_for(b"quit")
    screen.send(b"/\xff\xfedocker\xc3")
    screen.wait_for("��docker".encode())
    screen.send(b"\x03")
    assert screen.end() == 130
    assert is_restored(screen)


def test_a_bug_ends_with_the_terminal_restored_and_nothing_that_was_said(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), "--broken")
    screens.append(screen)
    assert screen.end() == 70
    assert is_restored(screen)
    assert b"FAULT" in screen.output
    assert b"Traceback" not in screen.output
    assert b"what was said" not in screen.output.rpartition(b"\x1b[?1049l")[2]


def test_the_size_is_the_terminals_and_not_the_environments(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo))
    screens.append(screen)
    screen.wait_for(b"quit")
    assert b"Too small" not in screen.output
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 30, 0, 0))
    os.kill(screen.pid, signal.SIGWINCH)
    screen.wait_for(b"Too small")


def test_without_colour_there_is_none(demo: Path, screens: list[Screen]) -> None:
    screen = Screen(str(demo), "docker", NO_COLOR="1")
    screens.append(screen)
    screen.wait_for(b"quit")
    parameters = {number for codes in re.findall(rb"\x1b\[([0-9;]*)m", screen.output) for number in codes.split(b";")}
    assert b"7" in parameters
    assert not parameters & {
        b"38",
        b"48",
        *(b"%d" % code for code in [*range(30, 38), *range(40, 48), *range(90, 108)]),
    }


def test_what_would_mislead_textual_is_taken_away() -> None:
    environ = {
        "COLUMNS": "10",
        "LINES": "5",
        "TEXTUAL_DRIVER": "os:system",
        "SSH_CONNECTION": "here there",
        "HOME": "/",
    }
    terminal.prepare(environ)
    assert environ == {
        "SSH_CONNECTION": "here there",
        "HOME": "/",
        "TEXTUAL_ANIMATIONS": "none",
        "TEXTUAL_FPS": terminal.SLOW_FPS,
    }

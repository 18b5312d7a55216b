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
import pty
import re
import select
import struct
import termios
import time

PATIENCE_SECONDS = 30.0

MAIN = """
import sys
from hermes_sessions.services.history import History
from hermes_sessions.tui import run_browser

class Broken(History):
    async def outline(self, conversation, rewound=False):
        secret = "what was said"
        raise RuntimeError("a bug")

kind = Broken if "--broken" in sys.argv else History
with kind(sys.argv[1]) as history:
    try:
        result, code = run_browser(history)
    except RuntimeError as error:
        print("FAULT", error)
        sys.exit(70)
print("LEFT")
sys.exit(code)
"""

ON_AND_OFF = [(b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?1000h", b"\x1b[?1000l"), (b"\x1b[?25l", b"\x1b[?25h")]


class Screen:
    """The program on a pty of its own."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "20", "LINES": "5", **environ}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", MAIN, *arguments], environ)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.fd)
        self.output = b""

    def wait_for(self, words: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words not in self.output:
            assert time.monotonic() < deadline, self.output
            self._read()

    def end(self) -> int:
        """Wait until the program has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            assert time.monotonic() < deadline, self.output
            self._read()
        self.pid = 0
        while self._read():
            pass
        return os.waitstatus_to_exitcode(ended[1])

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], 0.02)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)


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

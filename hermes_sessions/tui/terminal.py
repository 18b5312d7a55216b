"""The terminal around the full screen: prepared before Textual is imported, watched while it runs, restored after.

Textual alone leaves a raw terminal behind when it is told to terminate, spins when its terminal goes away, and shows
old lines after `fg`. All of it holds on Unix; on Windows only what exists there is done.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

if sys.platform != "win32":
    import termios

RESET = (
    b"\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?2004l\x1b[?1004l\x1b[?2048l"
    b"\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"
)
"""Ends everything that Textual turns on: synchronised output, mouse, paste, focus, keyboard protocol, second screen."""

ENDING_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
HARD_END_SECONDS = 3.0
WATCH_SECONDS = 3.0
RESET_TRIES = 20
"""How often we try to write to a terminal that takes nothing, 50 ms apart."""
SLOW_FPS = "30"

_attributes: list[Any] | None = None
"""How the terminal was before, by termios."""

LARGEST_COPY = 56_000
"""Bytes of text that any terminal takes by OSC 52: xterm and its like drop more than 74,994 of base64."""


def prepare(environ: MutableMapping[str, str]) -> None:
    """Take what would mislead Textual out of the environment. For use before Textual is imported.

    With COLUMNS and LINES it would never notice another size; TEXTUAL_DRIVER would run any class.
    """
    for name in ("COLUMNS", "LINES", "TEXTUAL_DRIVER"):
        environ.pop(name, None)
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    if environ.get("SSH_CONNECTION"):
        environ.setdefault("TEXTUAL_FPS", SLOW_FPS)


@contextmanager
def restored() -> Iterator[None]:
    """Leave the terminal as it was, whatever happens in between, also for a program that replaces this one."""
    global _attributes
    handlers = {number: signal.getsignal(number) or signal.SIG_DFL for number in _ending_signals()}
    if sys.platform != "win32":
        with suppress(termios.error, OSError):
            _attributes = termios.tcgetattr(0)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if sys.platform != "win32":
            if _attributes is not None:
                with suppress(termios.error, OSError):
                    termios.tcsetattr(0, termios.TCSADRAIN, _attributes)
            for stop in (signal.SIGTSTP, signal.SIGCONT):  # Textual leaves its handlers behind
                signal.signal(stop, signal.SIG_DFL)


def watch(app: App[Any]) -> None:
    """End `app` cleanly on a signal or when its terminal is gone, and repaint it after `fg`. For use on its loop."""
    import asyncio

    loop = asyncio.get_running_loop()

    def end(number: int, _frame: FrameType | None) -> None:
        timer = threading.Timer(HARD_END_SECONDS, end_hard, (128 + number,))
        timer.daemon = True
        timer.start()
        loop.call_soon_threadsafe(partial(app.exit, return_code=128 + number))

    # By Python, not by the loop: that loses signals while keys come faster than it answers them, as its pipe is full.
    for number in _ending_signals():
        signal.signal(number, end)
    app.app_resume_signal.subscribe(app, lambda _: app.refresh(layout=True))
    app.set_interval(WATCH_SECONDS, lambda: _watch_terminal(app))


def _ending_signals() -> list[signal.Signals]:
    return [signal.Signals[name] for name in ENDING_SIGNALS if hasattr(signal, name)]


def end_hard(code: int) -> None:
    """End the process at once: the loop hangs, perhaps on a terminal that takes no more output."""
    _reset()
    time.sleep(0.1)  # what is not read yet is lost where the terminal ends with us
    _reset()  # what hung may have gone on meanwhile
    os._exit(code)


def _reset() -> None:
    left = RESET
    with suppress(OSError):
        os.set_blocking(2, False)
        for _ in range(RESET_TRIES):
            with suppress(BlockingIOError):
                left = left[os.write(2, left) :]
            if not left:
                break
            time.sleep(0.05)
    if sys.platform != "win32" and _attributes is not None:
        with suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSANOW, _attributes)


def _watch_terminal(app: App[Any]) -> None:
    if sys.platform == "win32" or app.is_headless:
        return
    try:
        termios.tcgetattr(0)
    except (termios.error, OSError):
        os._exit(129)


async def copy(app: App[Any], text: str, environ: Mapping[str, str]) -> list[str]:
    """Put `text` on every clipboard there is, and return what these are called; none if nothing took it.

    OSC 52, the terminal's own way, is lost when it is too long, and in a tmux with its default settings: there the
    text goes to tmux, and to whatever program keeps the clipboard of this machine.
    """
    from hermes_sessions.services.clipboard import feed, programs

    ways: list[str] = []
    if len(text) <= LARGEST_COPY and len(text.encode("utf-8", "replace")) <= LARGEST_COPY:
        app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        ways.append("clipboard")
    if not app.is_headless:
        taken = [command[0] for command in programs(environ) if await feed(command, text, environ)]
        ways += ["tmux buffer" if name == "tmux" else name for name in taken]
    return ways

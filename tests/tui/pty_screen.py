"""The program on a real terminal, in a process of its own: what it writes, what it is sent, how it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
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

class Hanging(History):
    async def outline(self, conversation, rewound=False):
        import time
        print("HANGING", file=sys.__stderr__, flush=True)
        time.sleep(60)

kind = Broken if "--broken" in sys.argv else Hanging if "--hanging" in sys.argv else History
with kind(sys.argv[1]) as history:
    try:
        result, code = run_browser(history)
    except RuntimeError as error:
        print("FAULT", error)
        sys.exit(70)
print("LEFT")
sys.exit(code)
"""


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

    def wait_for(self, words: bytes, since: int = 0) -> None:
        """Wait until it has written this, behind the first `since` bytes."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words not in self.output[since:]:
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

    def settle(self) -> None:
        """Wait until it has written nothing for a while."""
        quiet = 0
        while quiet < 10:
            quiet = 0 if self._read() else quiet + 1

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], 0.02)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self.fd, keys)

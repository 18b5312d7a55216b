"""A program on a pseudo-terminal, and the time until something shows on it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class Terminal:
    """Runs a command on a terminal of its own and collects what it writes. Times are seconds since the start."""

    def __init__(self, command: Sequence[str], *, columns: int = 120, rows: int = 36, environ: Mapping[str, str] = {}):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **environ}
        self.written = b""
        self._started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)

    def wait_for(self, pattern: bytes, timeout: float = 20.0, *, after: int = 0) -> float:
        """Seconds since the start when `pattern` had been written behind offset `after`. Raises TimeoutError."""
        deadline = time.perf_counter() + timeout
        while pattern not in self.written[after:]:
            if time.perf_counter() > deadline or not self._read(0.05):
                raise TimeoutError(f"{pattern!r} never showed; the last bytes were {self.written[-300:]!r}")
        return time.perf_counter() - self._started

    def press(self, keys: bytes, pattern: bytes, timeout: float = 10.0) -> float:
        """Seconds from sending the keys until `pattern` is written."""
        mark = len(self.written)
        pressed = time.perf_counter() - self._started
        os.write(self._fd, keys)
        return self.wait_for(pattern, timeout, after=mark) - pressed

    def settle(self, quiet: float = 0.3) -> None:
        """Read until nothing was written for `quiet` seconds."""
        while select.select([self._fd], [], [], quiet)[0] and self._read(quiet):
            pass

    def resident_mebibytes(self) -> float:
        """Memory of the program that is in use now (Linux)."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        """End the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _read(self, timeout: float) -> bool:
        """Read what is there within `timeout`; False when the program has ended."""
        if not select.select([self._fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self._fd, 65_536)
        except OSError:
            return False
        self.written += data
        if b"\x1b[?2026$p" in data:  # a modern terminal: frames are shown whole
            os.write(self._fd, b"\x1b[?2026;2$y")
        return bool(data)

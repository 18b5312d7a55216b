"""Which processes live, and what tells one from a later one that was given the same number.

psutil is imported where it is first asked: that takes longer than most commands. What a process holds is for
`leases`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

LARGEST_PID = 2**31 - 1


class Running(NamedTuple):
    """A living process. None stands for what could not be found out."""

    started_at: float | None = None
    """Epoch seconds. On Linux this moves when the clock is set, since the kernel counts from the boot."""
    ticks: int | None = None
    """Linux: the start in clock ticks since the boot. No clock moves it; Hermes' gateway tells processes by it too."""
    boot: str | None = None
    """Linux: the id of the boot that the ticks count from."""


class Processes:
    """The processes of this machine, as far as this user and PID namespace can see them."""

    def find(self, pid: int) -> Running | None:
        """The process of this number, or None when there is none or only a zombie, which can do nothing any more.

        A process that may not be looked at, as another user's, is there all the same.
        """
        import psutil

        if not 0 < pid <= LARGEST_PID:
            return None
        started_at = None
        try:
            process = psutil.Process(pid)
            with suppress(psutil.AccessDenied):
                if process.status() == psutil.STATUS_ZOMBIE:
                    return None
            with suppress(psutil.AccessDenied):
                started_at = process.create_time()
        except psutil.NoSuchProcess:
            return Running() if _is_hidden(pid) else None
        except psutil.Error:
            return Running()
        return Running(started_at, *_since_boot(pid))


def _is_hidden(pid: int) -> bool:
    """Whether the process is there although /proc does not show it (mount option `hidepid`)."""
    if os.name != "posix":  # elsewhere signal 0 would be a real one
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _since_boot(pid: int) -> tuple[int | None, str | None]:
    """Field 22 of /proc/PID/stat (proc_pid_stat(5)) and the boot it belongs to; elsewhere than on Linux nothing."""
    try:
        # The second field is the program's name in brackets, and may itself hold blanks and brackets.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[19]), _boot_id()
    except (OSError, ValueError, IndexError):
        return None, None

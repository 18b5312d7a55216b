"""Which SQLite this program and Hermes have, against the bug that can damage a store with a write-ahead log.

Python's own SQLite is that of the system, and often old. The interpreter of a Hermes is asked, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import which

import apsw

from hermes_sessions.model import Check
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.repairing.guard import openers

FIRST_FAULTY = (3, 7, 0)
FIRST_SOUND = (3, 51, 3)
ALSO_SOUND = ((3, 50, 7), (3, 44, 6))
"""Releases with the WAL-reset bug, and the older ones that got the fix (https://sqlite.org/wal.html#walresetbug)."""

ASK = "import sqlite3; print(sqlite3.sqlite_version)"
PATIENCE_SECONDS = 3.0

Asked = Callable[[Visit], tuple[str, str] | None]
"""Which SQLite a Hermes has, and which Hermes that is; None when it cannot be known."""


def own_check() -> Check:
    """The SQLite that this program brings."""
    version = apsw.sqlite_lib_version()
    if is_faulty(version):
        means = (
            "Two programs that write at once can damage the store (WAL-reset bug). Use a newer one before you write."
        )
        return Check("sqlite", "warn", f"This program has SQLite {version}.", "pip install --upgrade apsw", means)
    return Check("sqlite", "ok", f"{version} here, without the WAL-reset bug")


def hermes_check(visit: Visit, asked: Asked) -> Check | None:
    """The SQLite of the Hermes that has the store open, or else of the one that is installed."""
    answer = asked(visit)
    if answer is None:
        return None
    version, whose = answer
    if is_faulty(version):
        means = (
            "Two of its processes that write at once can, rarely, damage the store (WAL-reset bug, SQLite 3.7.0 to"
            " 3.51.2). Give Hermes a Python with SQLite 3.51.3 or newer, and keep backups until then."
        )
        return Check("hermes sqlite", "warn", f"{whose} has SQLite {version}.", "", means)
    return Check("hermes sqlite", "ok", f"{version} in {whose}, without the WAL-reset bug")


def is_faulty(version: str) -> bool:
    """Whether a release of SQLite has the WAL-reset bug."""
    try:
        number = tuple(int(part) for part in version.split(".")[:3])
    except ValueError:
        return False
    mended = any(number[:2] == sound[:2] and number >= sound for sound in ALSO_SOUND)
    return FIRST_FAULTY <= number < FIRST_SOUND and not mended


def hermes_sqlite(visit: Visit) -> tuple[str, str] | None:
    """Ask the Python of this user's process that has the store open, else of the installed command `hermes`."""
    import psutil

    for pid in openers(visit.path):
        with suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            # Never start what another user chose.
            if os.name == "posix" and process.uids().real != os.geteuid():
                continue
            if version := _ask(process.exe()):
                return version, f"process {pid}, which has the store open,"
    if command := which("hermes"):
        with suppress(OSError, ValueError):
            with Path(command).open("rb") as script:
                first = script.readline(512).decode()
            if first.startswith("#!") and (version := _ask(first[2:].strip())):
                return version, "the installed Hermes"
    return None


def _ask(interpreter: str) -> str | None:
    if not Path(interpreter).name.startswith("python"):
        return None
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(
            [interpreter, "-I", "-c", ASK], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
        )
        return answer.stdout.strip()
    return None

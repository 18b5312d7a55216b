"""Which sessions are in use: what the store shows, and what Hermes' lease file beside it says. Read only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_sessions.storage import Store

LEASES = Path("runtime") / "active_sessions.json"
"""Below the home of a store (Hermes 0.17 and later, and only where it was needed)."""

START_TOLERANCE = 1.0
"""Seconds by which the start of a process may differ: the clock may have been set since the lease was written."""

LARGEST_FILE = 4_000_000
LARGEST_PID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Leases:
    """Ids of the sessions that a process still holds, and why the file could not be read, if it could not."""

    session_ids: frozenset[str] = frozenset()
    notice: str = ""


def live_sessions(store: Store, now: float) -> frozenset[str]:
    """Ids of the sessions of this store that are in use, by any sign there is. Absence is no proof of idleness."""
    return store.liveness.live_sessions(now) | leases_of(store.path.parent).session_ids


def leases_of(home: Path) -> Leases:
    """The leases in a Hermes home whose processes live. No file means no leases; never raises.

    A lease holds while its process exists, is no zombie and, where the lease says when it started, is the same one:
    process ids are used again. What cannot be found out about a process counts for the lease (as in Hermes).
    """
    path = home / LEASES
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
        if len(text) > LARGEST_FILE:
            return Leases(notice=f"{path} is too large to be a list of leases.")
        content = json.loads(text)
    except FileNotFoundError:
        return Leases()
    except OSError as error:
        return Leases(notice=f"{path} cannot be read: {error.strerror}.")
    except (ValueError, RecursionError):
        return Leases(notice=f"{path} is damaged: it is no JSON.")
    entries = content.get("entries") if isinstance(content, dict) else content
    if not isinstance(entries, list):
        return Leases(notice=f"{path} is damaged: it holds no list of leases.")
    return Leases(frozenset(entry["session_id"] for entry in entries if _holds(entry)))


def _holds(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("session_id"), str):
        return False
    pid, started = entry.get("pid"), entry.get("process_start_time")
    if type(pid) is not int or not 0 < pid <= LARGEST_PID:
        return False
    return _runs(pid, started if type(started) in (int, float) else None)


def _runs(pid: int, started: float | None) -> bool:
    """Whether this process lives, and began at `started`, if that is known."""
    import psutil  # here, since it takes longer to import than most lists take to show

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        # A number no float can hold is no time of a start.
        return started is None or abs(process.create_time() - started) < START_TOLERANCE
    except (psutil.NoSuchProcess, OverflowError):
        return False
    except psutil.Error:
        return True

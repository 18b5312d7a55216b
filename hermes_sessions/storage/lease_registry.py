"""Which leases hold: `runtime/active_sessions.json` under a Hermes home, read without a lock and never changed.

Hermes (0.17 and later) owns the format: an object with a list of `entries`, or the bare list. An entry is good while
the process that is named in it lives, and that process is told from a later one with the same number by when it
started. Taking and giving back is for `leases`; which processes live is for `processes`.

Hermes takes a registry that it cannot understand for an empty one and writes over it. The leases of this program are
therefore kept a second time, in a file of its own, and count from there too. Those of Hermes are not: only Hermes
knows which of them it has given back since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hermes_sessions.errors import SessionsError, StoreUnreadable
from hermes_sessions.model import Lease
from hermes_sessions.storage.processes import Processes, Running
from hermes_sessions.storage.values import as_time

NAME = "active_sessions.json"
OWN_NAME = "active_sessions.hermes-sessions.json"

PROGRAM = "hermes-sessions"
"""The field `program` of this program's entries. Hermes keeps fields it does not know."""

START_TOLERANCE = 0.001
"""Seconds by which two readings of one process's start may differ (Hermes 0.17)."""

LARGEST_FILE = 16_000_000
MOST_BROKEN_ENTRIES = 100
MOST_READINGS = 5


class Content(NamedTuple):
    """What a file of leases holds: its entries as they were written, and whatever else is in it."""

    entries: tuple[Any, ...] = ()
    rest: Mapping[str, Any] = {}
    damage: str = ""
    """What is wrong with the file. `entries` are then those that could still be made out."""


class Registry(NamedTuple):
    """What is known of the leases of a directory, without those of dead processes."""

    leases: tuple[Lease, ...] = ()
    """Those that hold, in the order of the file."""
    notice: str = ""
    """What is wrong with the file."""
    entries: tuple[Any, ...] = ()
    """As the file should have them next: those of `leases`, and what names no process one could look for."""
    rest: Mapping[str, Any] = {}
    own: tuple[Any, ...] = ()
    """What this program's own file holds now."""
    dropped: int = 0
    """How many entries of dead processes were left out."""


def read_leases(directory: Path, processes: Processes | None = None) -> Registry:
    """The leases in a runtime directory. No file is no leases. Never raises: what was wrong is the notice."""
    try:
        return registry(directory, {}, processes or Processes())
    except SessionsError as error:
        return Registry(notice=error.message)


def registry(directory: Path, held: Mapping[str, dict[str, Any]], processes: Processes) -> Registry:
    """Bring together what the files and the asking process know. `held` are entries that this process holds, by lease.

    Raises StoreUnreadable when a file is there but the system does not let it be read: that is not "empty".
    """
    for _ in range(MOST_READINGS):
        content = _read(directory / NAME)
        own = tuple(entry for entry in _read(directory / OWN_NAME).entries if is_ours(entry))
        known = {lease_id(entry) for entry in content.entries}
        # A lease that only our own file has may have been taken between the two readings, for one given back.
        if known.issuperset(map(lease_id, own)) or _read(directory / NAME) == content:
            break
    guarded = {lease_id(entry): entry for entry in (*own, *held.values())}
    find = cache(processes.find)  # a gateway holds many leases
    entries, leases, dropped = [], [], 0
    for entry in (*content.entries, *(entry for id, entry in guarded.items() if id not in known)):
        holds = lease_id(entry) in held or _holds(entry, find)
        if holds is False:
            dropped += 1
            continue
        entries.append(entry)
        if holds:
            leases.append(lease_of(entry))
    return Registry(tuple(leases), content.damage, tuple(entries), content.rest, own, dropped)


def lease_of(entry: Mapping[str, Any]) -> Lease:
    """The lease that an entry is. What is not of its type is empty or None."""
    session_id, surface, metadata = entry.get("session_id"), entry.get("surface"), entry.get("metadata")
    pid = entry.get("pid")
    return Lease(
        lease_id(entry),
        session_id if isinstance(session_id, str) else "",
        surface if isinstance(surface, str) else "",
        pid if type(pid) is int else 0,
        as_time(_number(entry.get("started_at"))),
        as_time(_number(entry.get("updated_at"))),
        metadata if isinstance(metadata, dict) else {},
    )


def lease_id(entry: Any) -> str:
    """The id in an entry, empty where there is none."""
    id = entry.get("lease_id") if isinstance(entry, dict) else None
    return id if isinstance(id, str) else ""


def is_ours(entry: Any) -> bool:
    """Whether this program wrote the entry."""
    return isinstance(entry, dict) and entry.get("program") == PROGRAM


def _holds(entry: Any, find: Callable[[int], Running | None]) -> bool | None:
    """Whether the process of this entry lives; None when it names none that one could look for."""
    pid = entry.get("pid") if isinstance(entry, dict) else None
    if type(pid) is not int:
        return None
    running = find(pid)
    return running is not None and _is_same(entry, running)


def _is_same(entry: Mapping[str, Any], running: Running) -> bool:
    """Whether this is the process that took the lease. What cannot be found out counts for the lease, as in Hermes."""
    ticks, started = entry.get("process_start_ticks"), _number(entry.get("process_start_time"))
    if type(ticks) is int and running.ticks is not None:
        return (ticks, entry.get("boot_id")) == (running.ticks, running.boot)
    if started is None or running.started_at is None:
        return True
    try:
        # Newer releases may write the ticks here (pull request 105720).
        return abs(running.started_at - started) < START_TOLERANCE or (
            type(started) is int and started == running.ticks
        )
    except OverflowError:
        return False


def _number(value: Any) -> int | float | None:
    return value if type(value) in (int, float) else None


def _read(path: Path) -> Content:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        return Content()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise StoreUnreadable(message, "Nothing was changed. Check who owns the file.") from error
    if len(text) > LARGEST_FILE:
        return Content(_salvaged(text), damage=f"{path} is too large to be a list of leases.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return Content(_salvaged(text), damage=f"{path} is damaged: it is no JSON.")
    rest = content if isinstance(content, dict) else {"entries": content}
    if not isinstance(rest.get("entries"), list):
        return Content(damage=f"{path} is damaged: it holds no list of leases.")
    return Content(tuple(rest.pop("entries")), rest)


def _salvaged(text: bytes) -> tuple[Any, ...]:
    """The whole entries in a text that is cut off, or goes on after its end."""
    decoder = json.JSONDecoder()
    decoded = text.decode("utf-8", "replace")
    found: list[Any] = []
    end = failures = 0
    for start in (match.start() for match in re.finditer(r'\{\s*"', decoded)):
        if start < end:
            continue
        try:
            value, end = decoder.raw_decode(decoded, start)
        except (ValueError, RecursionError):
            failures += 1
            if failures > MOST_BROKEN_ENTRIES:
                break
            continue
        inner = value.get("entries")
        found += inner if isinstance(inner, list) else [value]
    return tuple(entry for entry in found if lease_id(entry))

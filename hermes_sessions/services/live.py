"""Which sessions are in use: what the store shows, and what the leases beside it say. Read only."""

from __future__ import annotations

from pathlib import Path

from hermes_sessions.storage import Store
from hermes_sessions.storage.lease_registry import Registry, read_leases

RUNTIME = "runtime"
"""The directory of the leases, below the home of a store (Hermes 0.17 and later, and only where it was needed)."""


def live_sessions(store: Store, now: float) -> frozenset[str]:
    """Ids of the sessions of this store that are in use, by any sign there is. Absence is no proof of idleness."""
    leased = (lease.session_id for lease in leases_of(store.path.parent).leases)
    return store.liveness.live_sessions(now) | frozenset(leased)


def leases_of(home: Path) -> Registry:
    """The leases in a Hermes home whose processes live. No file means no leases; never raises."""
    return read_leases(home / RUNTIME)

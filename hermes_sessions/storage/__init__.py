"""The storage core: SQLite and nothing else.

`open_store` reads a store of any Hermes version and changes nothing. `own_store` makes, brings up to date and writes a
store of one's own; any number of processes may do both with the same file at the same time.

The side that writes is loaded when it is first asked for: no list and no transcript should wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hermes_sessions.storage.store import Store, open_store

if TYPE_CHECKING:
    from hermes_sessions.storage.writing.entries import NewMessage, Usage
    from hermes_sessions.storage.writing.owner import OwnerStore, create_store, own_store

__all__ = ["NewMessage", "OwnerStore", "Store", "Usage", "create_store", "open_store", "own_store"]

_WRITING = {
    "NewMessage": "entries",
    "Usage": "entries",
    "OwnerStore": "owner",
    "create_store": "owner",
    "own_store": "owner",
}


def __getattr__(name: str) -> Any:
    if name not in _WRITING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.writing.{_WRITING[name]}"), name)

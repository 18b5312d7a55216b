"""The storage core: SQLite and nothing else. `open_store` reads a store of any Hermes version."""

from hermes_sessions.storage.store import Store, open_store

__all__ = ["Store", "open_store"]

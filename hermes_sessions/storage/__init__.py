"""The storage core: SQLite and nothing else.

`open_store` reads a store of any Hermes version and changes nothing. A store of our own is made and written through
`hermes_sessions.storage.writing.owner`, which readers need not load.
"""

from hermes_sessions.storage.store import Store, open_store

__all__ = ["Store", "open_store"]

"""The storage core: SQLite and nothing else.

`open_store` reads a store of any Hermes version and changes nothing. `create_store` makes one of our own, which any
number of processes may write.
"""

from hermes_sessions.storage.entries import NewMessage, Usage
from hermes_sessions.storage.owner import OwnerStore, create_store
from hermes_sessions.storage.store import Store, open_store

__all__ = ["NewMessage", "OwnerStore", "Store", "Usage", "create_store", "open_store"]

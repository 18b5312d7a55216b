"""The doorway to a session store: one connection, and the tables that read it."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.costs import CostTable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import Liveness
from hermes_sessions.storage.messages import MessageTable
from hermes_sessions.storage.sessions import SessionTable

if TYPE_CHECKING:
    from hermes_sessions.storage.facts import FactTable
    from hermes_sessions.storage.rare_words import RareWords
    from hermes_sessions.storage.search import Search


class Store:
    """A session store opened for reading. One thread owns it; only `interrupt` may be called from others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.costs = CostTable(database)
        self.sessions = SessionTable(database, self.costs)
        self.messages = MessageTable(database)
        self.liveness = Liveness(database)

    @cached_property
    def facts(self) -> FactTable:
        """What conditions ask of many sessions at once. Loaded by the first one that asks."""
        from hermes_sessions.storage.facts import FactTable

        return FactTable(self._database, self.sessions, self.costs)

    @cached_property
    def search(self) -> Search:
        """Full-text search. Loaded by the first query: no list and no transcript should wait for it."""
        from hermes_sessions.storage.search import Search

        return Search(self._database)

    @cached_property
    def rare_words(self) -> RareWords:
        """Search by a pasted text. Loaded by the first one."""
        from hermes_sessions.storage.rare_words import RareWords

        return RareWords(self._database)

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know about how the file could be opened."""
        return tuple(self._database.notices)

    @property
    def losses(self) -> tuple[str, ...]:
        """What of a damaged file could not be read, as far as it was asked for. Any thread may ask."""
        return tuple(self._database.losses.values())

    @property
    def replaced(self) -> bool:
        """Whether the path names another file now: what is open is no longer the history."""
        return self._database.replaced

    def data_version(self) -> int:
        """A number that changes when another program has written to the store, and for another file at its path."""
        return self._database.data_version()

    def interrupt(self) -> None:
        """Make the running question raise Interrupted. May be called from any thread."""
        self._database.interrupt()

    def close(self) -> None:
        self._database.close()


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open any version's store for reading: nothing in it is changed. Of a damaged one, all that can be read is there.

    Raises StoreMissing, StoreUnreadable, StoreDamaged (also for a database that is no session store), StoreBusy.
    """
    database = Database(path, partial=True)
    missing = {"sessions", "messages"} - database.tables.keys()
    if len(missing) == 1 and not database.has_whole_catalogue:
        database.make_up(missing.pop())
    # A file without any table is a store that nothing was written to yet.
    if missing and database.tables:
        database.close()
        raise StoreDamaged(
            f"{database.path} is a database, but no session store: it has no table {' and no '.join(sorted(missing))}.",
            "Name the file that Hermes writes, usually state.db, with --db.",
        )
    return Store(database)

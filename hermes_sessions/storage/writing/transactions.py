"""What the operations ask of whoever runs them: that a function becomes one write transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from hermes_sessions.storage.database import Database

T = TypeVar("T")


class Transactions(Protocol):
    """A `Writer`, or the guard of the search index around one."""

    def run(self, fn: Callable[[Database], T]) -> T:
        """Return what `fn` returned once its transaction is committed. `fn` may be run several times."""
        ...

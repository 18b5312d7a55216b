"""Keeps up with a store that others write: asks whether it has changed, and how much of it to read again.

What is read is given to the screen. How a change is noticed is `services.history`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog
from hermes_sessions.services.history import History

REST_FACTOR = 10.0
"""The whole store is left alone for this many times as long as reading it took."""


class StoreFollower:
    """Reads the whole store, then what is new in it, for as long as `run` runs; `look` is called now and then."""

    def __init__(
        self,
        history: History,
        take: Callable[[Catalog], None],
        fail: Callable[[SessionsError], None],
        look: Callable[[], None],
        stopwatch: Callable[[], float],
        poll_seconds: float,
    ) -> None:
        self.catalog = Catalog((), whole=False)
        """What is known of the store."""
        self._history = history
        self._take = take
        self._fail = fail
        self._look = look
        self._stopwatch = stopwatch
        self._poll_seconds = poll_seconds
        self._rest_until = stopwatch()

    async def start(self) -> None:
        """Know the newest part, which was read before there was a screen."""
        try:
            self.catalog = await self._history.recent()
        except SessionsError as error:
            self._fail(error)

    async def run(self) -> None:
        """Never ends: cancel it. A change shows at once in the newest part, and by and by in the whole."""
        behind = trouble = True
        while True:
            try:
                changed = await self._history.changed() or trouble
                behind = behind or changed
                if behind and self._stopwatch() >= self._rest_until:
                    await self._read_whole()
                    behind = not self.catalog.whole
                elif changed:
                    self._know(await self._history.renewed(self.catalog))
                trouble = False
            except SessionsError as error:
                trouble = True
                self._fail(error)
            self._look()
            await asyncio.sleep(self._poll_seconds)

    async def read_now(self) -> None:
        """Read the whole store, whatever is known of it."""
        try:
            await self._read_whole()
        except SessionsError as error:
            self._fail(error)

    async def _read_whole(self) -> None:
        started = self._stopwatch()
        self._know(await self._history.catalog())
        now = self._stopwatch()
        self._rest_until = now + REST_FACTOR * (now - started)

    def _know(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._take(catalog)

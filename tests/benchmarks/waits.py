"""How long an event loop was busy at a stretch."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

TICK = 0.001
"""Seconds after which what is waited for is looked at again; a busy loop would keep the store's threads waiting."""


class Waits:
    """Watches the event loop for the longest time, in seconds, that it was busy at a stretch."""

    def __init__(self) -> None:
        self.longest = 0.0

    @contextlib.asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        self.longest = 0.0
        task = asyncio.create_task(self._tick())
        await asyncio.sleep(0)
        try:
            yield
        finally:
            await asyncio.sleep(0)
            task.cancel()

    async def _tick(self) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            self.longest, before = max(self.longest, now - before - TICK), now

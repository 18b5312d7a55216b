"""Memory that large texts took goes back to the system once they are gone. Only glibc has to be asked for that."""

from __future__ import annotations

import asyncio
from contextlib import suppress

LARGE = 4 * 1024 * 1024
"""Bytes of texts from which on it is worth the time."""


_AFTER_SECONDS = 1.0
"""Until then nobody works on the texts any more."""


async def give_back() -> None:
    """Give back soon what is free then. Takes a few milliseconds of another thread."""
    await asyncio.sleep(_AFTER_SECONDS)
    await asyncio.to_thread(_trim)


def _trim() -> None:
    import ctypes

    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)

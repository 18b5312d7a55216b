"""Work that pauses every few milliseconds, so that keys are answered meanwhile."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that pauses; its return value is the result. `reading.Slices` does it on the event loop."""


def finish(steps: Steps[T]) -> T:
    """Do all of the work at once and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result

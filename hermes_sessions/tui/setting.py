"""What the screen is given from outside, so that tests can give something else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from hermes_sessions.services.past_searches import PastSearches


class Setting(NamedTuple):
    """How the browser starts, and what it measures time with."""

    query: str = ""
    pick: bool = False
    directory: str | None = None
    clock: Callable[[], float] = time.time
    stopwatch: Callable[[], float] = time.perf_counter
    poll_seconds: float = 1.0
    """How often we ask whether the store has changed."""
    past_searches: Callable[[], PastSearches] = PastSearches

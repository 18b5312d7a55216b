"""What the screen is given from outside, so that tests can give something else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from hermes_sessions.services.past_searches import PastSearches
from hermes_sessions.services.settings import Settings
from hermes_sessions.services.state import State
from hermes_sessions.tui.keys import KEYS, Key


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
    settings: Settings = Settings()
    """How everything begins: by the configuration, and where it does not say, as the person left it."""
    keys: tuple[Key, ...] = KEYS
    """The table of keys as the person has bound them."""
    state: State | None = None
    """What is remembered of this run; with None nothing is."""
    problems: tuple[str, ...] = ()
    """What is wrong with the configuration."""

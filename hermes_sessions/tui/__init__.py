"""The full screen. `run_browser` is its only door; Textual is imported behind it, not before."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.model import BrowseResult, Conversation
    from hermes_sessions.services.history import History
    from hermes_sessions.services.past_searches import PastSearches
    from hermes_sessions.services.resuming import ResumePlan
    from hermes_sessions.services.state import State

SWITCH_SECONDS = 0.0005
"""How long a thread that reads the store may keep a key waiting at each turn; Python's own 5 ms add up to a stutter."""


def run_browser(
    history: History,
    *,
    resume: Callable[[Conversation], ResumePlan] | None = None,
    query: str = "",
    pick: bool = False,
    directory: str | None = None,
    clock: Callable[[], float] = time.time,
    past_searches: Callable[[], PastSearches] | None = None,
    config: Callable[[], tuple[Path, bool]] | None = None,
    state: Callable[[], State] | None = None,
    theme: str | None = None,
    mouse: bool = True,
) -> tuple[BrowseResult | None, int]:
    """Show the history until the person leaves, and return what they left with and the exit code.

    `resume` says how a conversation would be resumed and raises an error of the tree when it cannot be; by default the
    store's own Hermes is asked. `directory` is the one to call "here"; by default where we are. `past_searches`
    gives what ↑ in the search line goes back to, when it is first asked for; by default nothing but this run's.
    `config` gives the file with the person's settings, and whether they named it; `state` how they left the screen
    last time; by default there are neither. `theme` wins over both, and without `mouse` there is none. Raises
    UsageError for a theme that does not exist.

    The terminal is as before when this returns or raises: an error of the tree when the store cannot be read at all,
    anything else when the program has a bug.
    """
    from hermes_sessions.tui import terminal

    terminal.prepare(os.environ)
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.disable()  # imports make nothing but what stays; the app enables it after the first screen
    try:
        from hermes_sessions.services.resuming import resume_command
        from hermes_sessions.services.state import State
        from hermes_sessions.tui.app import BrowserApp
        from hermes_sessions.tui.background import expect_answer
        from hermes_sessions.tui.preparing import begun, checked_theme, configured
        from hermes_sessions.tui.setting import Setting

        history.ready()
        setting = Setting(query, pick, directory or _working_directory(), clock)
        kept = state() if state is not None else State()
        settings = setting.settings
        if config is not None:
            path, named = config()
            read, keys = configured(path, named=named)
            settings = begun(read, kept)
            setting = setting._replace(keys=keys, problems=tuple(read.problems))
        setting = setting._replace(settings=settings._replace(mouse=settings.mouse and mouse), state=kept)
        if past_searches is not None:
            setting = setting._replace(past_searches=past_searches)
        app = BrowserApp(
            history,
            setting,
            resume=resume or (lambda item: resume_command(item, history.path)),
            theme=checked_theme(theme),
        )
        expect_answer()
        with terminal.restored():
            result = app.run()
    finally:
        gc.enable()
        sys.setswitchinterval(switch_seconds)
    if app.fault is not None:
        raise app.fault
    return result, app.return_code or 0


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a Path would be of no use
    except OSError:  # it was deleted
        return None

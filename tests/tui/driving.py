"""How tests look at the screen and wait for it: until what was asked for is there, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.browser import BrowserScreen

PATIENCE_SECONDS = 20.0


def browser(pilot: Pilot[BrowseResult]) -> BrowserScreen:
    """The screen with the panes, also under a dialog."""
    return next(screen for screen in pilot.app.screen_stack if isinstance(screen, BrowserScreen))


def focus(pilot: Pilot[BrowseResult]) -> Widget | None:
    """The widget that has the focus."""
    return browser(pilot).focused


def lines(pilot: Pilot[BrowseResult]) -> list[str]:
    """The screen as text, line by line."""
    strips = pilot.app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def text(pilot: Pilot[BrowseResult]) -> str:
    """The screen as text."""
    return "\n".join(lines(pilot))


async def until(pilot: Pilot[BrowseResult], condition: Callable[[], object]) -> None:
    """Let the app work until `condition` holds; fail when it never does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, text(pilot)
        await pilot.pause(0.005)
    await pilot.pause()


async def settle(pilot: Pilot[BrowseResult]) -> None:
    """Wait until every pane shows what it was asked to show."""

    def settled() -> bool:
        screen = browser(pilot)
        sessions = screen.sessions
        return (
            screen._store.catalog.whole
            and screen._search.text == screen.search_bar.text
            and not screen._search.waiting
            and screen._search._finished
            and not sessions._arranging
            and sessions.settled
            and not screen.panes.costs.waiting
            and screen.messages._built.is_set()
            and not screen.messages.waiting
            and not screen.messages.view.reading.transcript.inexact
        )

    await pilot.pause()
    await until(pilot, settled)


async def press(pilot: Pilot[BrowseResult], *keys: str) -> None:
    """Press keys and wait for what they did."""
    await pilot.press(*keys)
    await settle(pilot)


def at_once(pilot: Pilot[BrowseResult], *keys: str) -> None:
    """Keys that come all at once, as over a slow line or from a program; `press` waits after each."""
    driver = pilot.app._driver
    assert driver is not None
    for key in keys:
        char = key if len(key) == 1 else " " if key == "space" else None
        driver.process_message(events.Key(_character_to_key(key) if char == key else key, char))


async def type_text(pilot: Pilot[BrowseResult], words: str) -> None:
    """Type into whatever has the focus."""
    await press(pilot, *(" " if char == " " else char for char in words))


def app_of(pilot: Pilot[BrowseResult]) -> BrowserApp:
    """The app, by its type."""
    assert isinstance(pilot.app, BrowserApp)
    return pilot.app

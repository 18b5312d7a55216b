"""Conversations in memory for the tests of the list, and a small app around a list of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from hermes_sessions.model import (
    Catalog,
    Conversation,
    Kind,
    Money,
    Overview,
    Session,
    SessionFacts,
    Tokens,
)
from hermes_sessions.services.history import History
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.listing import Listing
from hermes_sessions.tui.session_list import SessionList
from hermes_sessions.tui.themes import DARK, THEMES, role_colours
from tests.builders import NOW

PATIENCE_SECONDS = 20.0

_PLAIN = Session("", "cli", None, None, None, None, None, None, None, NOW, None, None, False, False, NOW, True)


def session(id: str, **fields: Any) -> Session:
    """A session with one message, now; `fields` as in `model.Session`."""
    return _PLAIN._replace(id=id, **fields)


def conversation(*ids: str, kind: Kind = "conversation", delegates: Iterable[str] = (), **fields: Any) -> Conversation:
    """A chain of sessions with these ids, root first, all with the same `fields`."""
    branched_from = fields.get("branched_from")
    return Conversation(tuple(session(id, **fields) for id in ids), kind, branched_from, tuple(delegates))


class Archive:
    """Answers like a `History` would, from memory; a digit in an id is the number of its messages."""

    async def overviews(self, conversations: Iterable[Conversation]) -> Mapping[str, Overview]:
        """What the list shows of these, one turn of the loop later."""
        await asyncio.sleep(0)
        return {item.id: overview(item) for item in conversations}

    async def facts(self, conversations: Iterable[Conversation]) -> Mapping[str, SessionFacts]:
        """What it is sorted by."""
        await asyncio.sleep(0)
        found = {item.id: overview(item) for item in conversations}
        return {
            id: SessionFacts(None, None, None, known.message_count, 0, known.tokens, known.cost)
            for id, known in found.items()
        }


def overview(item: Conversation) -> Overview:
    """Numbers that differ from one conversation to another."""
    number = sum(map(ord, item.id)) % 97
    return Overview("hello", "complete", False, number, 0, Tokens(number * 1_000), Money(number / 10, "actual"), "main")


class ListApp(App[None]):
    """Nothing but the list, and what it told."""

    NOTHING = Catalog(())
    BINDINGS = bindings("everywhere", of_app=True)
    CSS = "#list { border: round white; overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }"

    def __init__(self, catalog: Catalog, listing: Listing = Listing()) -> None:  # noqa: B008 - a value
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK
        self.catalog = catalog
        self.sessions = SessionList(cast(History, Archive()), lambda: NOW, "/src", listing, id="list")
        self.summed: list[SessionList.Changed] = []
        self.failed: list[Failed] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return role_colours(self.current_theme) | {"frame": "round"}

    def compose(self) -> ComposeResult:
        yield self.sessions

    def on_mount(self) -> None:
        self.sessions.focus()
        self.sessions.show(self.catalog)

    def on_session_list_changed(self, event: SessionList.Changed) -> None:
        self.summed.append(event)

    def on_failed(self, event: Failed) -> None:
        self.failed.append(event)

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without the blanks at the ends of the lines."""
        height = self.sessions.scrollable_content_region.height
        return [self.sessions.render_line(y).text.rstrip() for y in range(height)]


async def settled(pilot: Pilot[None]) -> None:
    """Wait until all that was asked for is on the screen."""
    app = cast(ListApp, pilot.app)
    await pilot.pause(0)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not app.sessions.settled:
        assert time.monotonic() < deadline
        await pilot.pause(0)
    await pilot.pause(0)

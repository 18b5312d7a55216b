"""Whoever presses any keys, clicks anywhere and resizes as they like meets no fault, and Escape always leads back.

A run on purpose raises `STEPS` and `SEEDS`; 1,000 steps take a minute or two.
"""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_sessions.model import BrowseResult
from hermes_sessions.services.state import State
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.keys import KEYS
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, press, settle, text

STEPS = 50
SEEDS = (1, 2)

LEAVING = ("quit", "interrupt", "suspend", "resume", "messages.edit", "edit", "save_screen")
"""Commands that leave the app for another program or write files."""
WALKED = sorted({name for key in KEYS if key.id not in LEAVING for name in key.keys.split(",")} - {"q", "R", "e"})

WORDS = ("docker", "source:cli ", "is:archived ", '"no end', "-", " OR ", "漢字", "e\u0301", "[/]", "*", "tool:", "zzz")
SIZES = ((120, 36), (80, 24), (50, 15), (250, 70), (100, 20), (40, 10), (30, 8))
MOST_LAYERS = 12


class Walk:
    """One person who does not know what they are doing. What they did last is told when something is wrong."""

    def __init__(self, pilot: Pilot[BrowseResult], seed: int) -> None:
        self._pilot = pilot
        self._random = Random(seed)
        self._told: list[str] = [f"seed {seed}"]

    async def go(self, steps: int) -> None:
        """Take so many steps, and look around after each."""
        for _ in range(steps):
            before = self._selected
            stays = await self._step()
            self._look(before if stays else None)

    async def come_home(self) -> None:
        """Whatever is open, Escape closes it, and the list has the focus in the end."""
        await self._pilot.resize_terminal(120, 36)
        for _ in range(MOST_LAYERS):
            await press(self._pilot, "escape")
        screen = browser(self._pilot)
        assert self._pilot.app.screen is screen, self._story
        assert screen.focused is screen.sessions, self._story
        assert (screen.search_bar.text, screen.panes.zoomed, screen.panes.large_costs) == ("", False, False), (
            self._story
        )
        assert not self._selected or self._selected in text(self._pilot) or screen.sessions.conversation, self._story

    @property
    def _selected(self) -> str | None:
        conversation = browser(self._pilot).sessions.conversation
        return conversation.id if conversation is not None else None

    @property
    def _story(self) -> str:
        return " ".join(self._told[:1] + self._told[-30:]) + "\n" + text(self._pilot)

    async def _step(self) -> bool:
        """Do anything, and say whether the selection must be the same afterwards."""
        chance = self._random.random()
        if chance < 0.08:
            return await self._resize()
        if chance < 0.2:
            return await self._click()
        if chance < 0.3 or (isinstance(self._pilot.app.screen.focused, Input) and chance < 0.5):
            return await self._type()
        key = self._random.choice(WALKED)
        self._told.append(key)
        await self._pilot.press(key)
        return False

    async def _resize(self) -> bool:
        size = self._random.choice(SIZES)
        self._told.append(f"{size[0]}×{size[1]}")
        await self._pilot.pause()
        settled = not browser(self._pilot)._search.waiting
        await self._pilot.resize_terminal(*size)
        return settled

    async def _click(self) -> bool:
        width, height = self._pilot.app.size
        x, y, times = self._random.randrange(width), self._random.randrange(height), self._random.choice((1, 1, 2))
        self._told.append(f"click({x},{y})×{times}")
        if self._random.random() < 0.3:
            kind = self._random.choice((events.MouseScrollDown, events.MouseScrollUp))
            await self._pilot._post_mouse_events([kind], offset=(x, y))
        else:
            await self._pilot.click(offset=(x, y), times=times)
        return False

    async def _type(self) -> bool:
        words = self._random.choice(WORDS)
        self._told.append(repr(words))
        await self._pilot.press(*(" " if char == " " else char for char in words))
        return False

    def _look(self, before: str | None) -> None:
        app, screen = self._pilot.app, browser(self._pilot)
        sessions = screen.sessions
        assert app._exception is None, self._story
        assert screen._search.error is None, self._story
        errors = [notice.message for notice in app._notifications if notice.severity == "error"]
        assert not errors, f"{errors} {self._story}"
        assert not sessions.listed.conversations or self._selected is not None, self._story
        assert before is None or self._selected == before, self._story


@pytest.fixture
def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A click on a key in the footer must not end the walk."""
    monkeypatch.setattr(BrowserApp, "exit", lambda *args, **others: None)
    monkeypatch.setattr(BrowserApp, "action_suspend_process", lambda self: None)


@pytest.fixture
def mixed(hermes_file: HermesFile) -> Path:
    """Few sessions of every kind, with texts of every kind."""
    hermes_file.chain(3, "long", "A chain")
    hermes_file.talk(
        hermes_file.session("branched", title="[/] \x1b[31mred \u202e 漢字 👨‍👩‍👧"),
        "e\u0301",
        "**bold**\n```py\nx = 1\n```",
    )
    hermes_file.branch("branched", "fork")
    hermes_file.session("parent", title="Parent")
    hermes_file.delegate("parent", "child")
    hermes_file.session("empty")
    hermes_file.tool_call(hermes_file.session("tools", cwd="/home/mara"), "terminal", {"command": "ls"}, "out\n" * 50)
    taken_back = hermes_file.session("back")
    ids = hermes_file.talk(taken_back, "one", "two", "three", "four")
    hermes_file.rewind(taken_back, ids[2])
    for number in range(40):
        hermes_file.talk(hermes_file.session(f"s{number:02}", source="cli"), f"docker {number}", "line\n" * number)
    return hermes_file.path


async def walk(app: BrowserApp, seed: int, steps: int) -> None:
    """Walk over an app from its first screen, and home."""
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        person = Walk(pilot, seed)
        await person.go(steps)
        await person.come_home()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("store", ["demo", "mixed"])
@pytest.mark.usefixtures("nobody_leaves")
async def test_a_random_walk(
    request: pytest.FixtureRequest, open_browser: OpenBrowser, caplog: pytest.LogCaptureFixture, store: str, seed: int
) -> None:
    app = open_browser(request.getfixturevalue(store), state=State(), hermes=False)
    await walk(app, seed, STEPS)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.usefixtures("nobody_leaves")
async def test_a_random_walk_where_there_is_nothing(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    await walk(open_browser(hermes_file.path), 1, STEPS)

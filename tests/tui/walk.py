"""Random walks over the full screen: any keys, any mouse, any text, any size; `python -m tests.tui.walk STORE ...`.

Whoever knows nothing must meet no fault: no crash, nothing in the log, nothing selected that was not there, nothing
lost that was, and Escape leads home. `test_walks` takes a few steps on every run; by hand it is a thousand or more.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random

from textual import events
from textual.driver import Driver
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_sessions.errors import CommandMissing
from hermes_sessions.model import BrowseResult, Conversation
from hermes_sessions.services.history import History
from hermes_sessions.services.resuming import ResumePlan
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.keys import KEYS
from hermes_sessions.tui.setting import Setting
from tests.tui.driving import at_once, browser, press, settle, text

KEPT = {
    *("cost", "zoom", "notices", "refresh", "pane_list", "pane_messages", "pane_costs", "next_pane", "previous_pane"),
    *("help", "palette", "save_screen", "mouse", "copy", "edit", "resume", "quit", "interrupt", "suspend", "search"),
    *("list.open", "list.sort", "list.group", "list.two_lines", "list.lineage"),
    *(key.id for key in KEYS if key.pane in ("messages", "costs")),
}
"""Commands that leave the cursor of the list where it is."""

WALKED = sorted({name for key in KEYS for name in key.keys.split(",")})
EDITING = (
    "backspace",
    "delete",
    "left",
    "right",
    "shift+left",
    "ctrl+a",
    "ctrl+w",
    "ctrl+k",
    "ctrl+x",
    "ctrl+v",
    "ctrl+e",
)
ANSWERS = (*"acimnoprst123456", "enter", "enter", "escape", "down", "up", "pagedown", "end")
"""Keys of dialogs."""

WORDS = (
    *("docker", "source:cli ", "is:archived ", '"no end', "-", " OR ", "漢字", "e\u0301", "[/]", "*", "tool:", "zzz"),
    *(
        "-error ",
        "re*",
        "cost:>1 ",
        "after:yesterday ",
        "model:",
        "cwd:. ",
        "(",
        "👨‍👩‍👧",
        "\u202e",
        "#2",
        "12",
        "11:30",
        "C++",
    ),
)
SIZES = ((120, 36), (80, 24), (50, 15), (250, 70), (100, 20), (40, 10), (30, 8), (20, 5), (99, 19), (60, 50))
LARGEST = (250, 70)
MOST_LAYERS = 12
STORY = 30
"""Steps that are told when something is wrong."""


class Walk:
    """One person who does not know what they are doing. What they did last is told when something is wrong."""

    def __init__(self, pilot: Pilot[BrowseResult], seed: int) -> None:
        self._pilot = pilot
        self._random = Random(seed)
        self._told: list[str] = [f"seed {seed}"]

    async def go(self, steps: int) -> None:
        """Take so many steps, and look around after each."""
        for number in range(steps):
            self._told.append(f"{number}:")
            before = self._selected
            stays = await self._step()
            self._look(before if stays else None)

    async def come_home(self) -> None:
        """Whatever is open, Escape closes it, and the list has the focus in the end."""
        await self._pilot.resize_terminal(120, 36)
        for _ in range(MOST_LAYERS):
            await press(self._pilot, "escape")
        screen = browser(self._pilot)
        assert self._pilot.app.screen is screen, self.story
        assert screen.focused is screen.sessions, self.story
        left = (screen.search_bar.text, screen.panes.zoomed, screen.panes.large_costs, screen.sessions.marked)
        assert left == ("", False, False, ()), self.story

    @property
    def story(self) -> str:
        """The last steps, and what is on the screen."""
        return " ".join([self._told[0], *self._told[1:][-2 * STORY :]]) + "\n" + text(self._pilot)

    @property
    def _driver(self) -> Driver:
        assert self._pilot.app._driver is not None
        return self._pilot.app._driver

    @property
    def _selected(self) -> Conversation | None:
        return browser(self._pilot).sessions.conversation

    @property
    def _typing(self) -> bool:
        return isinstance(self._pilot.app.screen.focused, Input)

    async def _step(self) -> bool:
        """Do anything, and say whether the selection must be the same afterwards."""
        chance = self._random.random()
        if chance < 0.08:
            return await self._resize()
        if chance < 0.2:
            return await self._mouse()
        if chance < 0.3 or (self._typing and chance < 0.5):
            return await self._type()
        return await self._press()

    async def _press(self) -> bool:
        names: Sequence[str] = WALKED
        if self._pilot.app.screen is not browser(self._pilot) and self._random.random() < 0.5:
            names = ANSWERS
        elif self._typing and self._random.random() < 0.4:
            names = EDITING
        if self._random.random() < 0.15:
            return await self._press_at_once(self._random.choices(names, k=self._random.randint(2, 5)))
        name = self._random.choice(names)
        self._told.append(name)
        bound = None if self._typing else self._pilot.app.screen.active_bindings.get(name)
        stays = bound is not None and bound.binding.id in KEPT
        if stays:
            await self._rest()
            stays = self._settled
        await self._pilot.press(name)
        return stays

    async def _press_at_once(self, names: Sequence[str]) -> bool:
        """Press keys faster than the screen follows."""
        self._told.append("+".join(names))
        at_once(self._pilot, *names)
        await self._pilot.pause()
        return False

    async def _resize(self) -> bool:
        size = self._random.choice(SIZES)
        if self._random.random() < 0.3:
            size = (self._random.randint(20, LARGEST[0]), self._random.randint(5, LARGEST[1]))
        self._told.append(f"{size[0]}×{size[1]}")
        await self._rest()
        settled = self._settled
        await self._pilot.resize_terminal(*size)
        return settled

    async def _mouse(self) -> bool:
        """Click once, twice or thrice, turn the wheel, or draw over the screen."""
        x, y = self._anywhere()
        chance = self._random.random()
        if chance < 0.3:
            turns = self._random.randint(1, 6)
            kind = self._random.choice((events.MouseScrollDown, events.MouseScrollUp))
            self._told.append(f"{kind.__name__}({x},{y})×{turns}")
            await self._send(*[kind] * turns, at=(x, y))
        elif chance < 0.6:
            end = self._anywhere()
            self._told.append(f"drag({x},{y})→{end}")
            await self._send(events.MouseMove, events.MouseDown, at=(x, y), button=1)
            await self._send(events.MouseMove, at=((x + end[0]) // 2, (y + end[1]) // 2), button=1)
            await self._send(events.MouseMove, events.MouseUp, at=end, button=1)
        else:
            times = self._random.choice((1, 1, 2, 3))
            self._told.append(f"click({x},{y})×{times}")
            await self._send(events.MouseMove, at=(x, y))
            await self._send(*[events.MouseDown, events.MouseUp] * times, at=(x, y), button=1)
        return False

    def _anywhere(self) -> tuple[int, int]:
        width, height = self._pilot.app.size
        return self._random.randrange(width), self._random.randrange(height)

    async def _send(self, *kinds: type[events.MouseEvent], at: tuple[int, int], button: int = 0) -> None:
        """Tell of the mouse as the terminal does."""
        for kind in kinds:
            self._driver.process_message(kind(None, *at, 0, 0, button, False, False, False, *at))
            await self._pilot.pause()

    async def _type(self) -> bool:
        words = self._random.choice(WORDS)
        self._told.append(repr(words))
        if self._random.random() < 0.1:
            self._driver.process_message(events.Paste(words + "\n" + words))
            await self._rest()
        else:
            await self._pilot.press(*words)
        return False

    async def _rest(self) -> None:
        """Let what was done before have its effect: an answer of a dialog goes through several hands."""
        for _ in range(3):
            await self._pilot.pause()

    @property
    def _settled(self) -> bool:
        """Whether nothing is on its way that may move the cursor."""
        screen = browser(self._pilot)
        sought = screen.sessions._sought is not None or screen._open_when_found is not None
        answered = screen._search._finished and screen._search.text == screen.search_bar.text
        return answered and not (screen.sessions._arranging or sought)

    def _look(self, before: Conversation | None) -> None:
        app, screen = self._pilot.app, browser(self._pilot)
        sessions = screen.sessions
        assert app._exception is None, self.story
        assert screen._search.error is None, self.story
        errors = [notice.message for notice in app._notifications if notice.severity == "error"]
        assert not errors, f"{errors} {self.story}"
        now = self._selected
        assert not sessions.listed.conversations or now is not None, self.story
        if before is not None:
            assert now is not None and now.id == before.id, f"{before.id} is now {now and now.id}: {self.story}"


def no_hermes(conversation: Conversation) -> ResumePlan:
    """Nobody resumes in a walk."""
    raise CommandMissing("There is no command 'hermes' on the PATH.", f"hermes --resume {conversation.id}")


def nobody_leaves(app: BrowserApp) -> None:
    """Have nothing end the app. The terminal is lent, though there is none, to an editor that does nothing."""
    app._environ = {"VISUAL": "true", "PATH": os.environ["PATH"]}
    for name, instead in (("exit", nothing), ("action_suspend_process", nothing), ("suspend", nullcontext)):
        setattr(app, name, instead)


def nothing(*_args: object, **_others: object) -> None:
    """Do nothing."""


async def walk(app: BrowserApp, seed: int, steps: int) -> None:
    """Walk over an app from its first screen, and home. Raises AssertionError with the story when a fault was met."""
    nobody_leaves(app)
    story = ""
    try:
        async with app.run_test(size=(120, 36)) as pilot:
            await settle(pilot)
            person = Walk(pilot, seed)
            try:
                await person.go(steps)
                await person.come_home()
            finally:
                story = person.story
            del app.exit
            app.exit()
    except Exception as error:
        raise AssertionError(story) from error


class Log(logging.Handler):
    """All that is said to be wrong."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk over a store with each seed. Returns how many walks met a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.tui.walk", description="Walks at random over a store.")
    parser.add_argument("store", type=Path)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    options = parser.parse_args(arguments)
    store = options.store.absolute()
    log = Log()
    logging.getLogger().addHandler(log)
    warnings.simplefilter("error")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:  # for the pictures of the screen
        os.chdir(folder)
        os.environ["XDG_STATE_HOME"] = os.environ["HOME"] = folder
        for seed in options.seeds:
            faults += not _walked(store, seed, options.steps, log, time.perf_counter)
    return faults


def _walked(store: Path, seed: int, steps: int, log: Log, stopwatch: Callable[[], float]) -> bool:
    """Walk once, and print what came of it."""
    start, said = stopwatch(), len(log.records)
    fault = ""
    with History(store) as history:
        history.ready()
        try:
            asyncio.run(walk(BrowserApp(history, Setting(), resume=no_hermes), seed, steps))
        except AssertionError as error:
            fault = "".join(traceback.format_exception(error.__cause__)) + str(error)
    fault = "\n".join([fault, *log.records[said:]]).strip()
    print(f"{store.name} seed {seed}: {fault or 'well'} ({steps} steps, {stopwatch() - start:.0f} s)", flush=True)
    return not fault


if __name__ == "__main__":
    sys.exit(main())

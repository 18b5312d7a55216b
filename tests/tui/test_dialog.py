"""A dialog answers once, however fast the keys come, and nothing else is closed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import OpenBrowser
from tests.tui.driving import at_once, browser, lines, press, settle, until

OPENING = (("?",), ("s",), ("y",), ("l",), ("R",), ("ctrl+p",), ("ctrl+p", *"theme", "enter"))


@pytest.mark.parametrize("closing", ["enter", "escape"])
@pytest.mark.parametrize("opening", OPENING, ids=" ".join)
async def test_keys_that_come_at_once_close_the_dialog_alone(
    demo: Path, open_browser: OpenBrowser, opening: tuple[str, ...], closing: str
) -> None:
    async with open_browser(demo, hermes=False).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        for key in opening:
            await pilot.press(key)
        while pilot.app.screen is screen:
            await pilot.pause()
        if closing == "enter" and opening[0] == "ctrl+p" and len(opening) == 1:
            await pilot.press(*"zoom")  # something that can be done, and undone
        at_once(pilot, closing, closing, closing)
        await pilot.pause()
        for _ in range(4):
            await press(pilot, "escape")
        assert pilot.app.is_running
        assert pilot.app.screen is screen


@pytest.mark.parametrize("opening", [("ctrl+p",), ("s",)], ids=" ".join)
@pytest.mark.parametrize("size", [(120, 36), (20, 5), (9, 2)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_keys_that_turn_pages_may_come_before_there_is_one(
    demo: Path, open_browser: OpenBrowser, opening: tuple[str, ...], size: tuple[int, int]
) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        at_once(pilot, *opening, "pagedown", "pageup")
        await pilot.resize_terminal(*size)
        at_once(pilot, "pageup", "pagedown", "end", "home", "up", "down")
        await pilot.pause()
        await pilot.resize_terminal(120, 36)
        for _ in range(3):
            await press(pilot, "escape")
        assert pilot.app.screen is browser(pilot)


@pytest.mark.parametrize(
    ("opening", "footer"),
    [
        (("s",), "Enter sort  Esc close"),
        (("l",), "Esc close  Enter open  y copy  R resume"),
        (("ctrl+p", *"theme", "enter"), "Enter keep  Esc close"),
        (("?",), "↑ up  ↓ down  PgDn page  Esc back"),
    ],
)
async def test_the_footer_has_the_keys_of_the_dialog_and_no_others(
    demo: Path, open_browser: OpenBrowser, opening: tuple[str, ...], footer: str
) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        for key in opening:
            await pilot.press(key)
        await until(pilot, lambda: lines(pilot)[-1].strip() == footer)


@pytest.mark.parametrize("opening", ["question_mark", "s", "y", "l", "R", "ctrl+p", "i"])
@pytest.mark.parametrize("key", ["escape", "enter", "down", "j", "pagedown", "y"])
async def test_keys_may_come_with_the_one_that_opens_it(
    demo: Path, open_browser: OpenBrowser, opening: str, key: str
) -> None:
    app = open_browser(demo, hermes=False, problems=("Something.",))
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        at_once(pilot, opening, key, key)
        await pilot.pause()
        for _ in range(4):
            await press(pilot, "escape")
        assert pilot.app.screen is browser(pilot)


@pytest.mark.parametrize(
    "opening", [("question_mark",), ("s",), ("y",), ("l",), ("ctrl+p",), ("ctrl+p", *"theme", "enter")]
)
async def test_no_screen_is_too_small_for_it(demo: Path, open_browser: OpenBrowser, opening: tuple[str, ...]) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        for key in opening:
            await pilot.press(key)
        await until(pilot, lambda: pilot.app.screen is not browser(pilot))
        await pilot.pause(0.3)
        for size in ((1, 1), (3, 40), (40, 1), (7, 7), (2, 2), (120, 36)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await press(pilot, "escape", "escape")
        assert pilot.app.screen is browser(pilot)

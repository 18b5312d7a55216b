"""The footer: at every width the most useful of the keys that work now, help and the way out always."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, until

WIDE, NARROW, SMALL = (120, 36), (80, 24), (50, 15)


@pytest.mark.parametrize(
    ("size", "keys", "named"),
    [
        (SMALL, (), ("Enter open", "/ search", "R resume", "? help", "q quit")),
        (NARROW, (), ("Enter open", "/ search", "R resume", "y copy", "s sort", "? help", "q quit")),
        (SMALL, ("/",), ("Enter open", "Esc back", "F1 help")),
        (SMALL, ("/", *"docker"), ("Enter open", "Esc back", "F1 help")),
        (SMALL, ("/", *"docker", "enter"), ("n next hit", "Esc back", "R resume", "y copy", "? help")),
        (NARROW, ("/", *"docker", "enter"), ("n next hit", "Esc back", "R resume", "y copy", "? help", "q quit")),
        (WIDE, ("c",), ("→ next table", "Esc back", "? help", "q quit")),
        ((40, 10), (), ("Enter open", "? help", "q quit")),
    ],
)
async def test_the_most_useful_come_first(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int], keys: tuple[str, ...], named: tuple[str, ...]
) -> None:
    async with open_browser(demo).run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        await until(pilot, lambda: all(name in lines(pilot)[-1] for name in named))


async def test_no_next_hit_once_the_question_is_gone(demo: Path, open_browser: OpenBrowser) -> None:
    """In one pane the conversation stays open behind the list, with what was found in it."""
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"docker", "enter")
        await until(pilot, lambda: "n next hit" in lines(pilot)[-1])
        await press(pilot, "escape", "escape")
        assert browser(pilot).search_bar.text == ""
        assert "next hit" not in lines(pilot)[-1]


async def test_a_dialog_names_its_own_keys_and_they_can_be_clicked(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo, hermes=False).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("R")
        await until(pilot, lambda: "Esc close" in lines(pilot)[-1] and "y copy" in lines(pilot)[-1])
        assert "q quit" not in lines(pilot)[-1]
        await pilot.click("KeyLine", offset=(3, 0))
        await until(pilot, lambda: pilot.app.screen is browser(pilot))

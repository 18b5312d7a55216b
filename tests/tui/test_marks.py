"""Marked sessions in the whole program: what is said of them, what works on them, and how they are let go."""

from __future__ import annotations

from pathlib import Path

from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

WIDE = (120, 36)


async def test_what_is_marked_is_counted_summed_and_let_go_by_esc(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        assert "v mark to here" not in lines(pilot)[-1]
        await press(pilot, "space", "j", "v")
        ids = [item.id for item in screen.sessions.marked]
        assert len(ids) == 3
        assert "3 marked · 61 of 67" in text(pilot)
        assert "Cost of 3 marked" in text(pilot)
        assert "v mark to here" in lines(pilot)[-1]
        assert "Esc back" in lines(pilot)[-1]
        await press(pilot, "escape")
        assert screen.sessions.marked == ()
        assert "Cost of all sessions" in text(pilot)
        assert "Esc back" not in lines(pilot)[-1]


async def test_marks_are_one_layer_of_esc(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo, "docker").run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "2", "space")
        await press(pilot, "enter")
        await press(pilot, "escape")
        assert screen.sessions.marked
        await press(pilot, "escape")
        assert not screen.sessions.marked
        assert screen.search_bar.text == "docker"
        await press(pilot, "escape")
        assert screen.search_bar.text == ""


async def test_all_that_is_marked_is_copied(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "space", "space")
        ids = [item.id for item in browser(pilot).sessions.marked]
        await pilot.press("y")
        await until(pilot, lambda: "Copy" in text(pilot))
        await pilot.press("i")
        await until(pilot, lambda: pilot.app.clipboard)
        assert pilot.app.clipboard.split() == ids


async def test_the_footer_says_what_unfolds_and_folds(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        sessions = browser(pilot).sessions
        assert "→ subagents" not in lines(pilot)[-1]
        while not (sessions.conversation and sessions.conversation.delegates):
            await press(pilot, "down")
        assert "→ subagents" in lines(pilot)[-1]
        assert "← fold" not in lines(pilot)[-1]
        await press(pilot, "right")
        assert "← fold" in lines(pilot)[-1]
        await press(pilot, "down")
        assert "→ subagents" not in lines(pilot)[-1]
        assert "← fold" in lines(pilot)[-1]

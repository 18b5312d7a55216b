"""The family of a conversation as a tree, and going to one of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.text import cell_width
from hermes_sessions.tui.lineage_tree import DEEPEST, LineageScreen, LineageTree, _rails
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

WIDE = (120, 36)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    hermes_file.chain(3, title="Long talk")
    hermes_file.branch("chain-1", "fork", ends_parent=False, title="Fork")
    hermes_file.delegate("chain-3", "helper", title="Helper \x1b[31m漢字")
    hermes_file.talk(hermes_file.session("stranger", title="Stranger"), "a word")
    return hermes_file.path


def tree(pilot: Pilot[BrowseResult]) -> LineageTree:
    assert isinstance(pilot.app.screen, LineageScreen)
    return pilot.app.screen.tree_lines


async def to(pilot: Pilot[BrowseResult], title: str) -> None:
    """Go to the row of the list with this title."""
    sessions = browser(pilot).sessions
    while (item := sessions.conversation) is None or item.title != title:
        assert sessions.cursor < len(sessions.rows) - 1
        await press(pilot, "down")


async def test_parts_forks_and_subagents_are_drawn(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await to(pilot, "Fork")
        await press(pilot, "l")
        await until(pilot, lambda: tree(pilot).settled)
        drawn = [tree(pilot).render_line(y).text.split(" 2026")[0].rstrip() for y in range(6)]
        assert drawn == [
            "✓ Long talk #3",
            "├╴✓ part 1, compressed",
            "│ └╴✓ ↱ Fork ◂ here",
            "├╴✓ part 2, compressed",
            "└╴✓ part 3",
            "  └╴✓ ↳ Helper 漢字",
        ]
        assert "branched from chain-1" in text(pilot)
        assert [cell_width(line) for line in lines(pilot)] == [WIDE[0]] * WIDE[1]


@pytest.mark.parametrize("size", [(80, 24), (50, 15), (40, 10)], ids=str)
async def test_it_fits_any_screen(store: Path, open_browser: OpenBrowser, size: tuple[int, int]) -> None:
    async with open_browser(store).run_test(size=size) as pilot:
        await settle(pilot)
        await to(pilot, "Fork")
        await press(pilot, "l")
        await until(pilot, lambda: tree(pilot).settled)
        assert [cell_width(line) for line in lines(pilot)] == [size[0]] * size[1]
        assert "◂ here" in text(pilot)


async def test_enter_opens_what_the_list_does_not_show(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await to(pilot, "Fork")
        await press(pilot, "l", "end", "enter")
        screen = browser(pilot)
        await until(pilot, lambda: screen.messages.conversation and screen.messages.conversation.id == "helper")
        assert screen.sessions.conversation == screen.messages.conversation
        assert screen.panes.front == "messages"


async def test_it_leads_out_of_a_search_that_did_not_find_it(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store, "Fork").run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "2", "l", "home", "enter")
        screen = browser(pilot)
        await until(pilot, lambda: screen.messages.conversation and screen.messages.conversation.id == "chain-3")
        assert screen.search_bar.text == ""


async def test_resuming_is_about_the_line_under_the_cursor(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await to(pilot, "Fork")
        await press(pilot, "l", "home")
        await pilot.press("R")
        await until(pilot, lambda: not app.is_running)
    assert app.return_value is not None
    assert app.return_value.conversation.id == "chain-3"


async def test_a_stranger_is_a_family_of_its_own(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await to(pilot, "Stranger")
        await press(pilot, "l")
        assert "Family · 1 session " in text(pilot)
        await press(pilot, "escape")
        assert not isinstance(pilot.app.screen, LineageScreen)


async def test_a_family_of_hundreds_asks_only_about_what_is_seen(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    hermes_file.talk(hermes_file.session("root", title="Root"), "hello")
    for number in range(300):
        hermes_file.delegate("root", f"helper-{number:03}")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "l")
        await until(pilot, lambda: tree(pilot).settled)
        assert len(tree(pilot)._known) < 120
        await press(pilot, "end")
        await until(pilot, lambda: "task for helper-299" in text(pilot))


def test_rails_lead_to_their_line_and_do_not_push_it_out() -> None:
    assert _rails(()) == ""
    assert _rails((True, False)) == "│ └╴"
    assert _rails((False, True)) == "  ├╴"
    assert len(_rails((True,) * 500)) == 2 * DEEPEST

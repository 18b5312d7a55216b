"""The command palette: every command of every pane that works now, with its key, done in the right pane."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import Provider
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.keys import KEYS
from hermes_sessions.tui.palette import LEFT_OUT, KeyCommands
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, press, settle, text, until

WIDE, NARROW = (120, 36), (80, 24)


async def offered(pilot: Pilot[BrowseResult]) -> dict[str, str]:
    """What the palette would show before anything is typed: names, and the keys beside them."""
    found = {}
    async for hit in KeyCommands(browser(pilot)).discover():
        name, _, key = str(hit.prompt).rpartition("  ")
        found[name] = key
    return found


async def run(pilot: Pilot[BrowseResult], typed: str) -> None:
    await pilot.press("ctrl+p", *(" " if char == " " else char for char in typed))
    await until(pilot, lambda: pilot.app.screen.query_one("CommandList").option_count == 1)  # type: ignore[attr-defined]
    await pilot.press("enter")
    await settle(pilot)


async def test_it_has_the_commands_of_all_panes_and_their_keys(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        names = await offered(pilot)
        assert names["Sessions: sort"] == "s"
        assert names["Messages: tools"] == "t"
        assert names["Help"] == "? F1"
        assert names["Resume"] == "R"
        assert next(iter(names)) in ("Sessions: open", "Search")  # what matters most comes first


async def test_what_would_do_nothing_is_left_out(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        names = await offered(pilot)
        assert not {"Resume", "Copy", "Order", "Next hit", "Notices", "Cost: next table"} & names.keys()
        await press(pilot, "c")
        assert "Cost: next table" in await offered(pilot)


async def test_every_key_has_a_place_in_it(demo: Path, open_browser: OpenBrowser) -> None:
    """Those of the search line are typed there; anything else is offered in one state or another."""
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        found = set(await offered(pilot))
        for keys in (("/", *"docker", "enter"), ("escape", "c")):
            await press(pilot, *keys)
            found |= set(await offered(pilot))
        titles = {"list": "Sessions: ", "messages": "Messages: ", "costs": "Cost: "}
        always = {
            titles.get(key.pane, "") + (key.words if key.pane in titles else key.words.capitalize())
            for key in KEYS
            if key.pane != "search" and key.id not in LEFT_OUT and key.footer
        }
        assert {"Sessions: open", "Sessions: sort", "Messages: find", "Cost: next table", "Order"} <= always & found


async def test_a_command_of_a_hidden_pane_brings_it_to_the_front(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "enter")
        assert not screen.sessions.region
        await run(pilot, "sessions: archived")
        assert screen.sessions.region
        assert screen.sessions.listing.archived


async def test_a_command_of_another_pane_leaves_the_focus_where_it_is(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: screen.focused is screen.messages.view)
        await run(pilot, "sessions: archived")
        assert screen.sessions.listing.archived
        assert screen.focused is screen.messages.view


async def test_words_of_the_explanation_find_a_command(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p", *"whole screen")
        await until(pilot, lambda: "Zoom" in text(pilot))


async def test_over_a_dialog_there_is_nothing_to_offer(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("?")
        provider: Provider = KeyCommands(pilot.app.screen)
        assert [hit async for hit in provider.discover()] == []


@pytest.mark.parametrize("id", LEFT_OUT)
def test_what_is_left_out_exists(id: str) -> None:
    assert any(key.id == id for key in KEYS)

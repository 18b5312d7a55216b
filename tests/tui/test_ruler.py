"""The right edge of the messages shows where the screen is, and where hits and prompts are; a click goes there."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.ruler import Ruler
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, press, settle, type_text, until

WIDE = (140, 36)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    """Eight prompts with long answers, two of which have a needle."""
    talk = hermes_file.session(title="long")
    for number in range(1, 9):
        hermes_file.message(talk, "user", f"prompt {number}")
        words = "a needle\n" if number in (2, 7) else ""
        hermes_file.message(talk, "assistant", f"answer {number}\n" + words + "line\n" * 60)
    return hermes_file.path


def ruler(pilot: Pilot[BrowseResult]) -> Ruler:
    return browser(pilot).query_one(Ruler)


def drawn(pilot: Pilot[BrowseResult]) -> str:
    """The ruler as text, from top to bottom."""
    return "".join(ruler(pilot).render_line(y).text for y in range(ruler(pilot).size.height))


async def test_it_shows_where_the_screen_is(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert drawn(pilot)[-1] == "┃"
        assert drawn(pilot)[0] not in "┃┨┫"
        await press(pilot, "g")
        assert drawn(pilot)[0] in "┃┨┫"
        assert drawn(pilot)[-1] == " "
        assert len(drawn(pilot).strip()) > len(drawn(pilot).strip().replace("┃", "")) > 0


async def test_it_marks_prompts_and_what_a_find_has_found(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert sum(drawn(pilot).count(sign) for sign in "╴┨") == 8
        await press(pilot, "g", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        view = browser(pilot).messages.view
        await until(pilot, lambda: view.hits.finder.complete)
        assert "◂" in drawn(pilot)
        assert "╸" in drawn(pilot)
        await press(pilot, "escape")
        assert not set("◂╸┫") & set(drawn(pilot))


async def test_it_marks_what_the_search_has_found(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store, "needle").run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert sum(drawn(pilot).count(sign) for sign in "╸┫") == 2


async def test_what_is_all_on_the_screen_needs_none(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    hermes_file.talk(hermes_file.session(title="short"), "question", "answer")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert drawn(pilot).strip() == ""


async def test_a_click_goes_to_the_mark_or_to_that_part_of_the_whole(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        viewport = browser(pilot).messages.view.viewport
        row = drawn(pilot).index("╴", 3)
        await pilot.mouse_down(ruler(pilot), offset=(0, row))
        await pilot.mouse_up(ruler(pilot), offset=(0, row))
        await until(pilot, lambda: viewport.transcript.stubs[viewport.cursor].role == "user")
        row = drawn(pilot).index(" ", 10)
        await pilot.mouse_down(ruler(pilot), offset=(0, row))
        await until(pilot, lambda: drawn(pilot)[row] in "┃┨")
        await pilot.hover(ruler(pilot), offset=(0, 0))
        await until(pilot, lambda: viewport.y == 0)
        await pilot.mouse_up(ruler(pilot), offset=(0, 0))
        await pilot.hover(ruler(pilot), offset=(0, row))
        assert viewport.y == 0

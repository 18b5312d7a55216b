"""What ends the app: a fault is one until the person leaves, and only what the leaving itself brings about is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.css.query import NoMatches

from tests.tui.conftest import OpenBrowser
from tests.tui.driving import settle


async def test_a_widget_that_is_missed_is_a_fault_while_the_screen_is_there(
    demo: Path, open_browser: OpenBrowser
) -> None:
    app = open_browser(demo)
    with pytest.raises(NoMatches):
        async with app.run_test() as pilot:
            await settle(pilot)
            app.call_later(app.screen.query_one, "#nothing-of-that-name")
            await pilot.pause()


async def test_it_is_one_until_the_screen_is_taken_down_though_the_person_has_left(
    demo: Path, open_browser: OpenBrowser
) -> None:
    app = open_browser(demo)
    with pytest.raises(NoMatches):
        async with app.run_test() as pilot:
            await settle(pilot)
            app.exit(return_code=0)
            app._handle_exception(NoMatches())


async def test_then_it_is_none(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.exit(return_code=0)
    app._handle_exception(NoMatches())
    assert (app.fault, app.return_code) == (None, 0)


async def test_any_other_error_is_a_fault_even_then(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.exit(return_code=0)
    app._handle_exception(ZeroDivisionError())
    assert isinstance(app.fault, ZeroDivisionError)

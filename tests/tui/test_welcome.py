"""Whoever is here for the first time is told three keys, until one of them was used, once and for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_sessions.services.state import State
from hermes_sessions.tui.welcome import NAME
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((120, 36), " New here?  / searches all that was said  Enter reads a session  ? shows every key"),
        ((50, 15), " / search  Enter read  ? all keys"),
    ],
)
@pytest.mark.parametrize("key", ["/", "enter", "?"])
async def test_it_goes_with_the_first_use_of_a_key_it_names(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int], words: str, key: str
) -> None:
    state = State()
    async with open_browser(demo, state=state).run_test(size=size) as pilot:
        await settle(pilot)
        assert lines(pilot)[1].rstrip() == words
        await press(pilot, "down")
        assert not state.seen(NAME)
        await press(pilot, key, "escape")
        assert state.seen(NAME)
        assert words.strip() not in lines(pilot)[1]


async def test_it_is_not_shown_again(demo: Path, open_browser: OpenBrowser) -> None:
    state = State()
    state.see(NAME)
    async with open_browser(demo, state=state).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert not browser(pilot).welcome.region

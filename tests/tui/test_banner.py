"""What must be known about a store is one line at every width, and all of it a key away."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width
from hermes_sessions.tui.banner import banner_words
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.dialogs import NoticeScreen
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

FIRST = "The search index is damaged: `hermes-sessions repair` brings it back."
OTHERS = ("The directory may not be written.", "config.toml, line 3: there is no key \x1b[31m'foo' ([/]).")


class Noticing(History):
    """A history with something to say about its store."""

    def ready(self) -> None:
        super().ready()
        self.notices = (FIRST, *OTHERS, FIRST)


@pytest.mark.parametrize(
    ("notices", "room", "words"),
    [
        (("Short.",), 40, "! Short."),
        (("Short.", "More."), 40, "! Short.  +1 more (i)"),
        (("Short.", "More.", "Even more."), 18, "! Sh…  +2 more (i)"),
        (("A long one, cut.",), 14, "! A long … (i)"),
    ],
)
def test_one_line_names_the_first_and_counts_the_others(notices: tuple[str, ...], room: int, words: str) -> None:
    assert banner_words(notices, room, "i").split() == words.split()
    assert cell_width(banner_words(notices, room, "i")) <= room


@pytest.mark.parametrize("size", [(120, 36), (50, 15)])
async def test_the_key_reads_all_of_them_and_the_focus_comes_back(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int]
) -> None:
    async with open_browser(demo, kind=Noticing).run_test(size=size) as pilot:
        await settle(pilot)
        assert lines(pilot)[1].startswith(" ! The search index is")
        assert "+2 more (i)" in lines(pilot)[1]
        await pilot.press("i")
        await until(pilot, lambda: isinstance(pilot.app.screen, NoticeScreen))
        for part in ("`hermes-sessions repair`", "may not be written", "([/])"):
            assert part in text(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, BrowserScreen))
        assert browser(pilot).focused is browser(pilot).sessions
        await pilot.click("#banner")
        await until(pilot, lambda: isinstance(pilot.app.screen, NoticeScreen))


async def test_a_store_with_nothing_to_say_has_no_banner_and_no_key_for_it(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert not browser(pilot).banner.region
        await press(pilot, "i")
        assert pilot.app.screen is browser(pilot)

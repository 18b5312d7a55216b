"""The help: what matters here comes first, what is typed chooses, and it is read at every size."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.help_lines import LANGUAGE, entries, lay_out
from hermes_sessions.tui.help_screen import HelpScreen
from hermes_sessions.tui.keys import KEYS, PANES, Pane
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

WIDE, NARROW, SMALL = (120, 36), (80, 24), (50, 15)
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW, SMALL, (40, 10)])


@pytest.mark.parametrize(("pane", "title"), [(pane, title) for pane, title in PANES if pane != "everywhere"])
def test_the_pane_one_is_in_comes_first_and_nothing_is_said_twice(pane: Pane, title: str) -> None:
    found = entries(KEYS, pane)
    sections = list(dict.fromkeys(entry.section for entry in found))
    assert sections[0] == title
    assert "Everywhere" in sections[1:3]
    assert set(sections) == {*(title for _, title in PANES), "Search language", "Marks"}
    assert {key.help for key in KEYS} <= {entry.words for entry in found}
    assert len({entry[:3] for entry in found}) == len(found)


def test_a_key_that_is_taken_away_is_not_in_it() -> None:
    keys = tuple(key._replace(keys="") if key.id == "quit" else key for key in KEYS)
    assert not any(entry.words == "Leave." for entry in entries(keys, "list"))


@pytest.mark.parametrize("width", [10, 25, 44, 80])
def test_no_line_is_wider_than_the_room_and_no_word_is_lost(width: int) -> None:
    found = entries(KEYS, "messages", ("The catalogue of the file is damaged.",))
    laid = lay_out(found, width)
    assert all(cell_width(line.name + line.words) <= width for line in laid)
    words = "".join(line.words for line in laid).replace(" ", "")
    assert all(entry.words.replace(" ", "") in words for entry in found)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("resume", "Go on with the session in Hermes."),  # the word in the footer
        ("ctrl+p", "Find a command by its name."),
        ("RANGE of sessions", None),
        ("phrase", None),
        ("messages next", "Go to the next message."),
    ],
)
def test_words_of_key_pane_and_explanation_find_it(asked: str, found: str | None) -> None:
    fitting = [entry.words for entry in entries(KEYS, "list") if entry.fits(asked.casefold().split())]
    assert found in fitting if found else not fitting


@SIZES
@pytest.mark.parametrize("closing", ["escape", "question_mark", "q", "f1", "enter"])
async def test_it_opens_scrolls_and_closes(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int], closing: str
) -> None:
    async with open_browser(demo).run_test(size=size) as pilot:
        await settle(pilot)
        before = browser(pilot).focused
        await pilot.press("?")
        await until(pilot, lambda: "Sessions" in text(pilot))
        assert isinstance(pilot.app.screen, HelpScreen)
        await until(pilot, lambda: "↑ up  ↓ down  PgDn page  Esc back" in lines(pilot)[-1])
        top = text(pilot)
        await pilot.press("pagedown", "down")
        await until(pilot, lambda: text(pilot) != top)
        await pilot.press("pageup", "up", "up")
        await until(pilot, lambda: text(pilot) == top)
        await pilot.press(closing)
        await until(pilot, lambda: isinstance(pilot.app.screen, BrowserScreen))
        assert browser(pilot).focused is before


async def test_it_can_be_read_to_its_end_where_there_is_little_room(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(40, 10)) as pilot:
        await settle(pilot)
        await pilot.press("?")
        await until(pilot, lambda: "Sessions" in text(pilot))
        for _ in range(60):
            await pilot.press("pagedown")
        assert "so many, shown" in text(pilot)
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Sessions" in text(pilot))
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "so many, shown" in text(pilot))


async def test_typing_chooses_and_esc_shows_all_again(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("?", *"shell")
        await until(pilot, lambda: "Go to the shell" in text(pilot) and "Go up." not in text(pilot))
        await pilot.press(*"xyz")
        await until(pilot, lambda: "Nothing here is called that." in text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "Go up." in text(pilot))
        await pilot.press("/", *"quit")  # the letter that closes is text behind the slash
        await until(pilot, lambda: "Leave." in text(pilot) and "Go up." not in text(pilot))
        await pilot.press("escape", "escape")
        assert isinstance(pilot.app.screen, BrowserScreen)


async def test_it_is_about_the_pane_with_the_focus(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        for keys, title in ((("enter",), "Messages"), (("1",), "Search line"), (("escape", "c"), "Cost")):
            await press(pilot, *keys)
            await pilot.press("f1")
            await until(pilot, lambda title=title: title in lines(pilot)[3])  # type: ignore[misc]
            await pilot.press("escape")


async def test_hostile_words_are_looked_for_as_they_are(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("?", *"[/]\\(")
        await until(pilot, lambda: "Nothing here is called that." in text(pilot))


async def test_what_is_wrong_with_the_store_is_read_there_whole(demo: Path, open_browser: OpenBrowser) -> None:
    class Noticing(History):
        def ready(self) -> None:
            super().ready()
            self.notices = ("One thing. " + "long " * 40 + "end.", "Another thing.")

    async with open_browser(demo, kind=Noticing).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("?")
        await until(pilot, lambda: "end." in text(pilot) and "Another thing." in text(pilot))
        assert "This store" in lines(pilot)[3]


def test_every_query_in_it_makes_sense() -> None:
    from hermes_sessions.storage.query import parse

    for query, _ in LANGUAGE:
        assert parse(query, 0.0).problems == ()

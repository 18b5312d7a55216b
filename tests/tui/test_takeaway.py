"""What is taken out of a conversation: the copy menu, the ways a copy goes, and the word that is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult, Conversation
from hermes_sessions.tui import takeaway, terminal
from hermes_sessions.tui.copy_menu import CopyScreen, copyables, join_steps
from hermes_sessions.tui.steps import finish
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.conversations import conversation
from tests.tui.driving import app_of, browser, press, settle, text, until

WIDE = (140, 36)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    """A talk with code in its answer, a call and its result."""
    talk = hermes_file.session("talk", title="Of code", cwd="/src/here")
    hermes_file.message(talk, "user", "how?")
    hermes_file.tool_call(talk, "terminal", {"command": "make all"}, {"output": "built\nall", "exit_code": 0})
    hermes_file.message(talk, "assistant", "So:\n\n```sh\none\n```\n\nand\n\n```\ntwo\nlines\n```\n")
    return hermes_file.path


def said(pilot: Pilot[BrowseResult]) -> str:
    """What the app told in passing."""
    return "\n".join(notification.message for notification in pilot.app._notifications)


async def menu(pilot: Pilot[BrowseResult]) -> str:
    """Open the copy menu; what it says."""
    await pilot.press("y")
    await until(pilot, lambda: isinstance(pilot.app.screen, CopyScreen))
    return text(pilot)


async def copied(pilot: Pilot[BrowseResult], key: str) -> str:
    """Choose from the menu; the clipboard then."""
    app = app_of(pilot)
    app.copy_to_clipboard("")
    await menu(pilot)
    await pilot.press(key)
    await until(pilot, lambda: app.clipboard)
    return app.clipboard


async def test_each_thing_has_its_key_and_a_glimpse(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        shown = await menu(pilot)
        for line in ("m message", "1 code 1", "one", "2 code 2", "two lines", "c whole", "t title", "p path"):
            assert line in shown
        await press(pilot, "escape")
        found = {key: await copied(pilot, key) for key in "12tpi"}
        assert found == {"1": "one", "2": "two\nlines", "t": "Of code", "p": "/src/here", "i": "talk"}
        await until(pilot, lambda: "Copied id (4 B) to the clipboard." in said(pilot))


async def test_a_result_is_copied_without_what_is_around_it(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "[")
        assert await copied(pilot, "o") == "built\nall"
        await press(pilot, "[")
        assert await copied(pilot, "a") == "command: make all"


async def test_the_whole_conversation_is_copied_as_markdown(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        whole = await copied(pilot, "c")
        assert whole.startswith("# Of code\n\nSession talk\n\n## 1 · you · ")
        assert [line[3] for line in whole.split("\n") if line.startswith("## ")] == ["1", "2", "3", "4"]


async def test_what_no_clipboard_takes_is_saved_and_said(
    store: Path, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "LARGEST_COPY", 10)
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        app = app_of(pilot)
        app.copy_to_clipboard("before")
        await menu(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "Too large for any clipboard" in said(pilot))
        assert app.clipboard == "before"
        (saved,) = Path.home().rglob("copy-*.md")
        assert saved.read_text().startswith("So:\n")


async def test_the_terminal_is_not_lent_where_that_cannot_be(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        app.takeaway._environ = {"VISUAL": "true", "PATH": "/usr/bin:/bin"}
        await press(pilot, "e")
        await until(pilot, lambda: "cannot be lent" in said(pilot))


async def test_the_footer_says_whose_the_mouse_is(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "M")
        assert app.mouse.free
        assert "M takes the mouse back" in text(pilot)
        await press(pilot, "M")
        assert "takes the mouse back" not in text(pilot)


async def test_of_marked_conversations_all_are_copied(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    for name in ("one", "two"):
        hermes_file.talk(hermes_file.session(name, title=f"Title {name}"), f"question {name}", "answer")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "g", "space", "space")
        assert len(browser(pilot).sessions.marked) == 2
        assert sorted((await copied(pilot, "i")).split("\n")) == ["one", "two"]
        assert (await copied(pilot, "r")).count("hermes --resume ") == 2
        assert (await copied(pilot, "c")).count("\n## ") == 4


async def test_commands_for_many_are_made_when_they_are_chosen_and_then_bit_by_bit() -> None:
    asked: list[str] = []

    def command(item: Conversation) -> str:
        asked.append(item.id)
        return f"resume {item.id}"

    many = [conversation(f"s{number}") for number in range(1_000)]
    choices = {choice.key: choice for choice in await copyables(many, None, command)}
    assert len(asked) == 1
    lines = choices["r"].lines
    assert lines is not None
    steps = join_steps(lines())
    next(steps)
    assert len(asked) == 2
    assert finish(steps).count("\n") == 999


async def test_what_is_too_much_to_hold_is_refused(
    store: Path, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeaway, "MOST_BYTES", 10)
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await menu(pilot)
        await pilot.press("c")
        await until(pilot, lambda: "mark fewer sessions" in said(pilot))

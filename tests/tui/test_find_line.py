"""Finding words in a conversation: where the person is taken, what is said of it, and how they come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.find_line import hit_words
from hermes_sessions.tui.message_pane import MessagePane
from hermes_sessions.tui.message_view import MessageView
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, focus, press, settle, text, type_text, until

WIDE = (160, 36)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    """One long conversation: a needle in message 20, an accented one in 60, another one in a folded result."""
    talk = hermes_file.session(title="long")
    for number in range(1, 101):
        words = {20: "a needle here", 60: "une NÉEDLE aussi"}.get(number, "hay")
        hermes_file.message(talk, ("user", "assistant")[number % 2], f"message {number}\n{words}\n" + "more\n" * 3)
    hermes_file.tool_call(talk, "terminal", {"command": "x"}, {"output": "needle in a result\n" * 2, "exit_code": 0})
    hermes_file.talk(talk, *(f"late {number}" for number in range(40)))
    return hermes_file.path


def pane(pilot: Pilot[BrowseResult]) -> MessagePane:
    return browser(pilot).messages


def top(pilot: Pilot[BrowseResult]) -> tuple[int, int]:
    """The line at the top of the screen, and the message under the cursor."""
    viewport = pane(pilot).view.viewport
    return viewport.y, viewport.cursor


async def go_to_message(pilot: Pilot[BrowseResult], number: int) -> None:
    await pane(pilot).view.go_to(number - 1)
    await settle(pilot)


async def test_typing_goes_to_the_first_place_from_here_on_and_counts(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await go_to_message(pilot, 30)
        await press(pilot, "/")
        await type_text(pilot, "needle")
        await until(pilot, lambda: "2 of 4" in text(pilot))
        assert "une NÉEDLE aussi" in text(pilot)


async def test_each_letter_is_looked_for_from_where_the_person_was(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await go_to_message(pilot, 10)
        await press(pilot, "/")
        await type_text(pilot, "message 6")
        await until(pilot, lambda: pane(pilot).view.viewport.cursor == 59)
        await press(pilot, "backspace")
        await type_text(pilot, "2")
        await until(pilot, lambda: pane(pilot).view.viewport.cursor == 19)


async def test_esc_while_typing_goes_back_to_where_the_person_was(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await go_to_message(pilot, 40)
        await press(pilot, "j", "j")
        before = top(pilot)
        await press(pilot, "/")
        await type_text(pilot, "needle in")
        await until(pilot, lambda: "1 of 2" in text(pilot))
        assert top(pilot) != before
        await press(pilot, "escape")
        assert top(pilot) == before
        assert focus(pilot) is pane(pilot).view
        assert pane(pilot).view.hits.finder.total == 0


async def test_enter_keeps_the_place_and_esc_then_only_forgets(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "g", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter", "n")
        await until(pilot, lambda: "2 of 4" in text(pilot))
        place = top(pilot)
        await press(pilot, "escape")
        assert top(pilot) == place
        assert not pane(pilot).find_line.asking


async def test_a_way_past_an_end_is_said(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "g", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        await until(pilot, lambda: "1 of 4" in text(pilot))
        assert "went on" not in text(pilot)
        await press(pilot, "N")
        await until(pilot, lambda: "4 of 4 · search went on from the end" in text(pilot))
        await press(pilot, "n")
        await until(pilot, lambda: "1 of 4 · search went on from the top" in text(pilot))
        await press(pilot, "n")
        await until(pilot, lambda: "2 of 4" in text(pilot) and "went on" not in text(pilot))


async def test_what_is_nowhere_is_said_and_nobody_is_taken_anywhere(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await go_to_message(pilot, 40)
        before = top(pilot)
        await press(pilot, "/")
        await type_text(pilot, "needle")
        await until(pilot, lambda: top(pilot) != before)
        await type_text(pilot, "zz")
        await until(pilot, lambda: "not found" in text(pilot))
        assert top(pilot) == before


async def test_n_goes_on_from_what_is_on_the_screen(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "g", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        await until(pilot, lambda: "1 of 4" in text(pilot))
        await go_to_message(pilot, 70)
        await press(pilot, "n")
        await until(pilot, lambda: "3 of 4" in text(pilot))
        assert "needle in a result" in text(pilot)  # which was folded
        await go_to_message(pilot, 40)
        await press(pilot, "N")
        await until(pilot, lambda: "1 of 4" in text(pilot))


async def test_n_pressed_fast_is_a_step_each(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "g", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        await until(pilot, lambda: "1 of 4" in text(pilot))
        for _ in range(3):
            pane(pilot).next_hit(1)
        await until(pilot, lambda: "4 of 4" in text(pilot))


async def test_an_empty_line_is_closed_by_enter(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "/", "enter")
        assert not pane(pilot).find_line.asking
        assert focus(pilot) is pane(pilot).view


async def test_opened_again_the_line_has_the_words_and_typing_replaces_them(
    store: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter", "/")
        assert pane(pilot).find_line.input.value == "needle"
        await type_text(pilot, "h")
        assert pane(pilot).find_line.input.value == "h"


async def test_the_places_of_a_find_look_otherwise_than_those_of_the_search(
    store: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(store, "hay").run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await go_to_message(pilot, 58)
        await press(pilot, "/")
        await type_text(pilot, "message")
        await press(pilot, "enter")
        view = pane(pilot).view
        await until(pilot, lambda: view.hits.finder.complete)
        styles: dict[str, set[str]] = {}
        for y in range(view.size.height):
            for segment in view.render_line(y):
                styles.setdefault(segment.text, set()).add(str(segment.style))
        others = {style for style in styles["message"] if style.startswith("reverse")}
        assert len(styles["message"] - others) == 1  # the current place
        assert others
        assert not styles["message"] & styles["hay"]
        assert not any(style.startswith("reverse") for style in styles["hay"])


async def test_another_conversation_begins_without_a_find(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        screen = browser(pilot)
        conversation = screen.messages.conversation
        assert conversation is not None
        screen.messages.conversation = None
        screen.messages.open(conversation, None)
        await settle(pilot)
        assert screen.messages.find_line.input.value == ""
        assert screen.messages.view.hits.finder.total == 0


@pytest.mark.parametrize(
    ("position", "total", "complete", "words"),
    [
        (1_207, 1_207, True, "1,207 of 1,207"),
        (4, 5, False, "4 of 5+"),
        (0, 5, False, "5+ found"),
        (0, 1, True, "1 hit"),
        (0, 2, True, "2 hits"),
        (0, 0, True, "not found"),
    ],
)
def test_how_many_places_there_are_is_said_as_far_as_it_is_known(
    position: int, total: int, complete: bool, words: str
) -> None:
    assert hit_words(MessageView.HitReached(position, total, complete, wrapped=False)) == words

"""Going to a place in a conversation: by number or time, by prompt, by the outline; and what was undone on demand."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.message_view import MessageView
from hermes_sessions.tui.outline import Outline, PromptList
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, focus, press, settle, text, type_text, until

WIDE = (140, 36)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    """A hundred turns: a prompt, a call, its result, an answer."""
    talk = hermes_file.session(title="long")
    for number in range(1, 101):
        hermes_file.message(talk, "user", f"prompt {number} {'café' if number == 30 else ''}\nand more of it")
        hermes_file.tool_call(talk, "terminal", {"command": f"make {number}"}, "done")
        hermes_file.message(talk, "assistant", f"answer {number}")
    return hermes_file.path


def view_of(pilot: Pilot[BrowseResult]) -> MessageView:
    return browser(pilot).messages.view


def cursor(pilot: Pilot[BrowseResult]) -> int:
    """The number of the message under the cursor, from 1."""
    return view_of(pilot).viewport.cursor + 1


async def test_a_number_or_a_part_is_gone_to_and_said_before(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", ":")
        await type_text(pilot, "121")
        assert "message 121 · " in text(pilot)
        assert cursor(pilot) == 400
        await press(pilot, "enter")
        await until(pilot, lambda: cursor(pilot) == 121)
        assert focus(pilot) is view_of(pilot)
        assert "prompt 31" in text(pilot)
        for words, number in (("25%", 101), ("-1", 400)):
            await press(pilot, ":")
            await type_text(pilot, words)
            await press(pilot, "enter")
            await until(pilot, lambda number=number: cursor(pilot) == number)  # type: ignore[misc]


async def test_what_is_no_place_is_said_where_it_is_typed(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", ":")
        await type_text(pilot, "[/]")
        await press(pilot, "enter")
        assert "That is no place." in text(pilot)
        assert browser(pilot).messages.go_line.asking
        await press(pilot, "escape")
        assert not browser(pilot).messages.go_line.asking
        assert cursor(pilot) == 400


async def test_braces_go_from_prompt_to_prompt(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "{")
        await until(pilot, lambda: cursor(pilot) == 397)
        await press(pilot, "{")
        await until(pilot, lambda: cursor(pilot) == 393)
        await press(pilot, "}")
        await until(pilot, lambda: cursor(pilot) == 397)
        await press(pilot, "}")
        assert cursor(pilot) == 397


async def test_the_outline_begins_where_the_person_is_and_goes_to_a_prompt(
    store: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await view_of(pilot).go_to(201)
        await press(pilot, "p")
        outline = browser(pilot).query_one(Outline)
        assert focus(pilot) is outline.line.input
        await until(pilot, lambda: "▸" in text(pilot) and "prompt 51" in text(pilot))
        here = next(line for line in text(pilot).split("\n") if "▸" in line)
        assert "prompt 51 and more of it" in here
        await press(pilot, "down", "down", "up", "enter")
        await until(pilot, lambda: cursor(pilot) == 205)
        assert not browser(pilot).query(Outline)
        assert focus(pilot) is view_of(pilot)


async def test_typing_narrows_the_outline_down_whatever_the_accents(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "p")
        outline = browser(pilot).query_one(Outline)
        await until(pilot, lambda: len(outline.list._words) == 100)
        await type_text(pilot, "CAFE prompt")
        assert outline.list.left == [29]
        assert "1 of 100" in text(pilot)
        await type_text(pilot, "x")
        assert "No prompt has these words." in text(pilot)
        await press(pilot, "enter", "backspace", "enter")
        await until(pilot, lambda: cursor(pilot) == 117)


async def test_esc_leaves_the_outline_and_everything_as_it_was(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        before = view_of(pilot).viewport.here()
        await press(pilot, "p", "pageup", "escape")
        assert view_of(pilot).viewport.here() == before
        assert focus(pilot) is view_of(pilot)


async def test_the_outline_tells_the_turns_with_hits_and_a_click_goes_there(
    store: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "/")
        await type_text(pilot, "answer 99")
        await press(pilot, "enter", "p")
        await until(pilot, lambda: "prompt 99" in text(pilot))
        row = next(line for line in text(pilot).split("\n") if "prompt 99" in line)
        assert "1×" in row
        listed = browser(pilot).query_one(PromptList)
        await pilot.click(listed, offset=(20, listed.cursor - listed.scroll_offset.y - 1))
        await until(pilot, lambda: cursor(pilot) == 389)


async def test_the_outline_of_a_conversation_without_prompts_is_empty(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    hermes_file.message(hermes_file.session(), "assistant", "I began.")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "p")
        assert "Nobody asked anything here." in text(pilot)


async def test_letters_that_come_with_the_key_are_typed_into_the_outline(
    store: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await pilot.press("p", "q", "3")
        assert browser(pilot).query_one(Outline).line.input.value == "q3"


async def test_what_was_undone_is_shown_on_demand_and_said(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    talk = hermes_file.session(title="undone")
    wrong = hermes_file.talk(talk, "first", "answer", "a wrong turn", "wrong answer")[2]
    hermes_file.rewind(talk, wrong)
    hermes_file.talk(talk, "right", "right answer")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "2 undone hidden (U)" in text(pilot))
        assert "a wrong turn" not in text(pilot)
        await press(pilot, "U")
        await until(pilot, lambda: "a wrong turn" in text(pilot))
        assert "2 undone shown (U)" in text(pilot)
        await press(pilot, "U")
        await until(pilot, lambda: "a wrong turn" not in text(pilot))


async def test_a_hit_in_what_was_undone_is_shown_among_its_like(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    talk = hermes_file.session(title="undone")
    wrong = hermes_file.talk(talk, "first", "answer", "a wrong turn", "wrong answer")[2]
    hermes_file.rewind(talk, wrong)
    hermes_file.talk(talk, "right", "right answer")
    async with open_browser(hermes_file.path, "is:rewound wrong").run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "a wrong turn" in text(pilot) and "undone shown" in text(pilot))


async def test_where_nothing_was_undone_the_key_does_nothing(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "U")
        assert not browser(pilot).messages.rewound
        assert browser(pilot).check_action("rewound", ()) is False

"""The screen as a person drives it: every key, every way in and out, one pane and two."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.copy_menu import CopyScreen
from hermes_sessions.tui.dialogs import NoticeScreen
from hermes_sessions.tui.help_screen import HelpScreen
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

WIDE, NARROW = (120, 36), (80, 24)


def focused(pilot: Pilot[BrowseResult]) -> str | None:
    widget = browser(pilot).focused
    return widget.id if widget else None


async def test_the_first_screen_shows_sessions_messages_cost_and_keys(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        assert focused(pilot) == "list"
        assert "~/.hermes/state.db" in lines(pilot)[1]
        newest = screen.sessions.conversation
        assert newest is not None
        assert screen.messages.view.conversation == newest
        assert "of 67" in text(pilot)
        assert "sessions" in text(pilot)
        assert lines(pilot)[-1].startswith(" Enter open")


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (("down",), 1),
        (("j", "j", "k"), 1),
        (("down", "up"), 0),
        (("up",), 0),
        (("G",), -1),
        (("end",), -1),
        (("G", "g"), 0),
        (("end", "home"), 0),
        (("G", "down"), -1),
    ],
)
async def test_the_cursor_moves(demo: Path, open_browser: OpenBrowser, keys: tuple[str, ...], row: int) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        sessions = browser(pilot).sessions
        assert sessions.conversation is sessions.listed.conversations[row]


@pytest.mark.parametrize(("forth", "back"), [("pagedown", "pageup"), ("ctrl+d", "ctrl+u")])
async def test_pages_and_half_pages_go_there_and_back(
    demo: Path, open_browser: OpenBrowser, forth: str, back: str
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, forth, forth)
        sessions = browser(pilot).sessions
        assert sessions.cursor > 20
        await press(pilot, back, back)
        assert sessions.cursor == 0


async def test_the_conversation_under_the_cursor_is_previewed(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down", "down")
        screen = browser(pilot)
        assert screen.messages.view.conversation == screen.sessions.listed.conversations[3]


async def test_narrow_shows_one_pane_at_a_time(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        assert screen.sessions.region
        assert not screen.messages.region
        await press(pilot, "down", "enter")
        assert not screen.sessions.region
        assert screen.messages.view.conversation == screen.sessions.listed.conversations[1]
        await until(pilot, lambda: focused(pilot) == "view")
        await press(pilot, "escape")
        assert screen.sessions.region
        assert not screen.messages.region
        assert focused(pilot) == "list"


async def test_numbers_and_tab_go_to_panes(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        seen = []
        for key in ("3", "4", "1", "tab", "tab", "tab", "tab", "shift+tab"):
            await press(pilot, key)
            seen.append(focused(pilot))
        assert seen == ["view", "costs", "query", "list", "view", "costs", "query", "costs"]


async def test_zoom_gives_a_pane_the_whole_screen_and_back(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "z")
        assert screen.sessions.region.width == 120
        assert not screen.messages.region
        await press(pilot, "3")
        assert screen.messages.region.width == 120
        assert not screen.sessions.region
        await press(pilot, "z")
        assert screen.sessions.region
        assert screen.messages.region


async def test_the_cost_is_enlarged_turned_and_put_back(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "c")
        assert screen.panes.costs.region.size == (120, 34)
        assert "2026-05-28" in text(pilot)
        for table in ("week", "month", "provider", "model", "source", "day"):
            await press(pilot, "right")
            assert screen.panes.costs.table == table
        await press(pilot, "h", "h")
        assert screen.panes.costs.table == "model"
        assert "claude-opus-4-7" in text(pilot)
        await press(pilot, "c")
        assert screen.sessions.region
        assert focused(pilot) == "list"


async def test_the_cost_has_its_place_where_there_is_no_room_for_a_small_one(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert browser(pilot).panes.costs.region.width == 80
        await press(pilot, "escape")
        assert focused(pilot) == "list"


async def test_sorting_and_turning_round(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "s", "s")
        starts = [item.started_at or 0 for item in screen.sessions.listed.conversations]
        assert starts == sorted(starts, reverse=True)
        await press(pilot, "s", "m")
        await until(pilot, lambda: "messages ↓" in lines(pilot)[1])
        await settle(pilot)
        counts = [
            overview.message_count
            for item in screen.sessions.listed.conversations[:20]
            if (overview := screen.sessions.overview(item))
        ]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > counts[-1]
        await press(pilot, "S")
        assert "messages ↑" in lines(pilot)[1]


async def test_keys_show_what_is_hidden_and_the_line_adds_up(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        sessions = browser(pilot).sessions
        seen = [sessions.listed]
        for key in ("A", "E", "A", "E"):
            await press(pilot, key)
            seen.append(sessions.listed)
        for listed in seen:
            hidden = listed.archived + listed.empty + listed.subagent + listed.elsewhere
            assert len(listed.conversations) + hidden == listed.total == 67
        assert [(listed.archived > 0, listed.empty + listed.subagent > 0) for listed in seen] == [
            (True, True),
            (False, True),
            (False, False),
            (True, False),
            (True, True),
        ]


async def test_only_this_directory(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo, directory="/home/mara/src/tollgate").run_test(size=WIDE) as pilot:
        await settle(pilot)
        sessions = browser(pilot).sessions
        everything = len(sessions.listed.conversations)
        await press(pilot, ".")
        assert 0 < len(sessions.listed.conversations) < everything
        assert f"{sessions.listed.elsewhere} elsewhere" in text(pilot)
        await press(pilot, ".")
        assert len(sessions.listed.conversations) == everything


async def test_help_lists_the_keys_and_esc_closes_it(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        for key, closing in (("?", "escape"), ("f1", "q")):
            await pilot.press(key)
            assert isinstance(pilot.app.screen, HelpScreen)
            assert "Read the conversation." in text(pilot)
            await pilot.press(closing)
            assert isinstance(pilot.app.screen, BrowserScreen)


async def test_the_palette_has_our_commands(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        await pilot.press(*"cost")
        await until(pilot, lambda: "Show what the listed sessions cost" in text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: browser(pilot).panes.large_costs)


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 130)])
async def test_leaving_without_a_session(demo: Path, open_browser: OpenBrowser, key: str, code: int) -> None:
    app = open_browser(demo)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press(key)
    assert (app.return_value, app.return_code) == (None, code)


async def test_resume_leaves_with_the_conversation(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        conversation = browser(pilot).sessions.conversation
        assert conversation is not None
        await pilot.press("R")
    assert app.return_value == BrowseResult("resume", conversation)


async def test_without_hermes_the_command_is_said_and_nothing_is_left(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo, hermes=False)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        conversation = browser(pilot).sessions.conversation
        assert conversation is not None
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, NoticeScreen))
        assert "no command 'hermes'" in text(pilot)
        assert f"hermes --resume {conversation.id}" in text(pilot)
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == f"hermes --resume {conversation.id}")
        assert isinstance(app.screen, BrowserScreen)


async def test_enter_picks_in_pick_mode(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo, pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down")
        conversation = browser(pilot).sessions.conversation
        assert conversation is not None
        await pilot.press("enter")
    assert app.return_value == BrowseResult("pick", conversation)


@pytest.mark.parametrize("choice", ["m", "i", "r"])
async def test_the_copy_menu(demo: Path, open_browser: OpenBrowser, choice: str) -> None:
    app = open_browser(demo)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        conversation, message = screen.sessions.conversation, screen.messages.view.current_message
        assert conversation is not None
        assert message is not None
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, CopyScreen))
        await pilot.press(choice)
        expected = {"m": message.text, "i": conversation.id, "r": f"hermes --resume {conversation.id}"}[choice]
        await until(pilot, lambda: app.clipboard == expected)


async def test_esc_goes_back_layer_by_layer_and_never_leaves(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await press(pilot, "/", *"docker", "enter")
        await until(pilot, lambda: focused(pilot) == "view")
        await press(pilot, "escape")
        assert focused(pilot) == "list"
        assert screen.search_bar.text == "docker"
        await press(pilot, "escape")
        assert screen.search_bar.text == ""
        await press(pilot, "escape", "escape")
        assert app.is_running
        assert focused(pilot) == "list"


async def test_the_mouse_selects_and_a_double_click_opens(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await pilot.click("#list", offset=(10, 4))
        await settle(pilot)
        assert screen.sessions.cursor == 3
        await pilot.click("#list", offset=(10, 6), times=2)
        await settle(pilot)
        assert screen.messages.view.conversation == screen.sessions.listed.conversations[5]
        await until(pilot, lambda: focused(pilot) == "view")


async def test_a_key_in_the_footer_can_be_clicked(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.click("#keys", offset=(lines(pilot)[-1].index("c cost"), 0))
        await settle(pilot)
        assert browser(pilot).panes.large_costs


async def test_the_footer_names_only_keys_that_do_something(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo, pick=True).run_test(size=WIDE) as pilot:
        await settle(pilot)
        in_list = lines(pilot)[-1]
        assert "s sort" in in_list
        assert "R resume" not in in_list
        assert "n next hit" not in in_list
        assert "Esc back" not in in_list
        await press(pilot, "/", *"docker")
        typing = lines(pilot)[-1]
        assert "Esc back" in typing
        assert "F1 help" in typing
        assert "q quit" not in typing
        await press(pilot, "2")


async def test_an_empty_store_says_so(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "No sessions yet." in text(pilot)
        assert "0 of 0" in text(pilot)
        for key in ("j", "enter", "R", "y", "G", "s", "z", "c", "c", "n", "F", "3", "2", "f5"):
            await press(pilot, key)
        assert pilot.app.is_running


async def test_what_a_store_has_to_say_is_said_in_a_banner(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    app = open_browser(hermes_file.path)
    app._history.notices = ("The catalogue of the file is damaged \x1b[31m([/]).",)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "The catalogue of the file is damaged ([/])." in lines(pilot)[1]


async def test_hostile_text_is_shown_as_it_is_and_changes_nothing(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    evil = "[/] [red]x[/] [@click=app.quit]y[/] \x1b]52;c;YQ==\x07\x1b[2J \u202e z"
    session = hermes_file.session("[/]", title=evil, source="[b]", cwd="[/x]", model="[@click=app.quit]m[/]")
    hermes_file.talk(session, evil, evil)
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "[/] [red]x[/]" in lines(pilot)[1]
        await press(pilot, "/", *"red")
        await press(pilot, "enter", "escape", "y")
        await pilot.press("escape")
        await press(pilot, "c")
        assert not {"\x1b", "\x07", "\u202e"} & set(text(pilot))


async def test_what_was_on_its_way_is_not_waited_for_when_nothing_is_chosen_any_more(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        messages, other = screen.messages, screen.sessions.listed.conversations[3]
        messages.open(other, None)
        await pilot.pause()
        messages.open(screen.sessions.listed.conversations[4], None)
        assert messages.waiting
        messages.preview(None, None)
        await pilot.pause()
        assert not messages.waiting
        messages.open(other, None)
        await until(pilot, lambda: messages.view.conversation == other)

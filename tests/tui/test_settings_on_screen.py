"""Settings and what is remembered, seen on the screen: how it begins, and how it was left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from hermes_sessions.services.history import History
from hermes_sessions.services.settings import Config, Settings
from hermes_sessions.services.state import SEEN, State
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.background import BackgroundTold
from hermes_sessions.tui.keymap import bound
from hermes_sessions.tui.setting import Setting
from hermes_sessions.tui.theme_screen import ThemeScreen
from hermes_sessions.tui.themes import DARK, LIGHT, PLAIN
from tests.builders import NOW
from tests.tui.conftest import NEVER, plan
from tests.tui.driving import app_of, browser, lines, press, settle, text, until

MANY = {"TERM": "xterm-256color"}

Begin = Callable[..., BrowserApp]


DEFAULTS = Settings()


@pytest.fixture
def begin(demo: Path) -> Iterator[Begin]:
    """Makes an app with settings, a state and an environment."""
    histories: list[History] = []

    def begin(
        settings: Settings = DEFAULTS,
        *,
        state: State | None = None,
        environ: Mapping[str, str] = MANY,
        keys: Mapping[str, str] | None = None,
        problems: tuple[str, ...] = (),
        theme: str | None = None,
    ) -> BrowserApp:
        history = History(demo, lambda: NOW)
        histories.append(history)
        history.ready()
        config = Config()
        config.keys = dict(keys or {})
        setting = Setting(
            clock=lambda: NOW,
            stopwatch=lambda: 0.0,
            poll_seconds=NEVER,
            settings=settings,
            keys=bound(config),
            state=state,
            problems=problems,
        )
        return BrowserApp(history, setting, resume=plan, theme=theme, environ=environ)

    yield begin
    for history in histories:
        history.close()


async def test_the_list_begins_as_the_settings_say(begin: Begin) -> None:
    settings = Settings(sort="title", reverse=True, group="directory", density="roomy")
    async with begin(settings).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        listing = browser(pilot).sessions.listing
        assert (listing.sort, listing.reverse, listing.group, listing.two_lines) == ("title", True, "directory", True)
        assert "Sessions by title" in lines(pilot)[1]


async def test_messages_begin_as_the_settings_say(begin: Begin) -> None:
    settings = Settings(tools="full", reasoning=True, wrap=False)
    async with begin(settings).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        view = browser(pilot).messages.view
        assert (view.tools, view.reasoning, view.wrapped) == ("full", True, False)


async def test_the_screen_begins_as_the_settings_say(begin: Begin) -> None:
    async with begin(Settings(show_costs=False, order="relevance", zoom=True)).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        assert not screen.panes.costs.region
        assert not screen.messages.region
        assert screen._search.order == "relevance"
        await press(pilot, "c")
        assert screen.panes.costs.region


async def test_what_is_changed_is_remembered_and_nothing_else(begin: Begin, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    async with begin(state=State(file)).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "b", "D", ">", "z", "3", "t", "w")
        await pilot.press("q")
    assert {name: value for name, value in State(file).values().items() if name != SEEN} == {
        "group": "day",
        "density": "roomy",
        "list_width": 56,
        "zoom": True,
        "tools": "short",
        "wrap": False,
    }


async def test_nothing_is_remembered_of_one_who_changed_nothing(begin: Begin, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    state = State(file)
    state.see("welcome")
    async with begin(state=state).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "j")
        await pilot.press("q")
    assert dict(State(file).values()) == {"seen": ["welcome"]}


async def test_a_command_has_its_other_key_everywhere_it_is_named(begin: Begin) -> None:
    async with begin(keys={"cost": "f9", "zoom": "", "quit": "Q"}).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        footer = lines(pilot)[-1]
        assert "F9 cost" in footer and "Q quit" in footer
        assert "zoom" not in footer
        await press(pilot, "c", "z")
        assert not browser(pilot).panes.large_costs
        assert not browser(pilot).panes.zoomed
        await press(pilot, "f9")
        assert browser(pilot).panes.large_costs


async def test_a_command_of_a_letter_can_have_a_key_that_works_in_the_search_line(begin: Begin) -> None:
    async with begin(keys={"cost": "f9", "quit": "f10", "zoom": "x"}).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "/", "c", "q", "x", "?")
        assert browser(pilot).search_bar.text == "cqx?"
        assert "F9 cost" in lines(pilot)[-1] and "F10 quit" in lines(pilot)[-1]
        await press(pilot, "f9")
        assert browser(pilot).panes.large_costs


async def test_two_commands_can_change_places(begin: Begin) -> None:
    async with begin(keys={"list.archived": "E", "list.minor": "A"}).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        listing = browser(pilot).sessions.listing
        assert (listing.minor, listing.archived) == (True, False)
        await press(pilot, "E")
        assert browser(pilot).sessions.listing.archived


async def test_what_is_wrong_with_the_configuration_is_said_first(begin: Begin) -> None:
    async with begin(problems=("config.toml, line 3: srot: no such setting.",)).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "config.toml, line 3: srot: no such setting." in text(pilot)


async def test_the_chosen_theme_is_shown_while_choosing_and_kept(begin: Begin) -> None:
    state = State()
    async with begin(state=state).run_test(size=(120, 36)) as pilot:
        app = app_of(pilot)
        await settle(pilot)
        assert app.theme == DARK
        app.action_change_theme()
        await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
        themes = app.screen.query_one(OptionList)
        assert themes.highlighted == 0
        themes.highlighted = themes.get_option_index("nord")
        await until(pilot, lambda: app.theme == "nord")
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, ThemeScreen))
        assert app.theme == "nord"
    assert state.values()["theme"] == "nord"


async def test_escape_brings_the_theme_before_back(begin: Begin) -> None:
    state = State()
    async with begin(state=state).run_test(size=(120, 36)) as pilot:
        app = app_of(pilot)
        await settle(pilot)
        app.action_change_theme()
        await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
        await pilot.press("end")
        await until(pilot, lambda: app.theme != DARK)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ThemeScreen))
        assert app.theme == DARK
    assert "theme" not in state.values()


async def test_the_colours_follow_the_background_of_the_terminal(begin: Begin) -> None:
    state = State()
    async with begin(state=state).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        app_of(pilot).post_message(BackgroundTold(True))
        await until(pilot, lambda: app_of(pilot).theme == LIGHT)
    assert begin(state=state).theme == LIGHT


async def test_a_theme_that_was_asked_for_follows_nothing(begin: Begin) -> None:
    async with begin(theme="nord").run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        app_of(pilot).post_message(BackgroundTold(True))
        await settle(pilot)
        assert app_of(pilot).theme == "nord"


@pytest.mark.parametrize("environ", [{"TERM": "xterm"}, {"TERM": "linux"}, {**MANY, "NO_COLOR": "1"}])
async def test_with_few_colours_there_are_no_shades_and_no_other_theme(
    begin: Begin, environ: Mapping[str, str]
) -> None:
    async with begin(Settings(theme="nord"), environ=environ).run_test(size=(120, 36)) as pilot:
        app = app_of(pilot)
        await settle(pilot)
        assert app.theme == PLAIN
        assert "Theme" not in [command.title for command in app.get_system_commands(app.screen)]
        assert browser(pilot).sessions.painter.looks["cursor"].reverse


async def test_in_ascii_there_is_nothing_else_but_what_people_wrote(begin: Begin) -> None:
    async with begin(Settings(borders="ascii")).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        frame = lines(pilot)
        assert frame[0].startswith(" > Search")
        assert [line[0] for line in frame[1:-1]].count("|") > 20
        assert not set("╭│─✓❯…") & set(text(pilot))


@pytest.mark.parametrize(("borders", "corner"), [("round", "╭"), ("square", "┌"), ("heavy", "┏"), ("double", "╔")])
async def test_borders_are_as_asked_for(begin: Begin, borders: str, corner: str) -> None:
    async with begin(Settings(borders=borders)).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert lines(pilot)[1].startswith(corner)


async def test_with_reduced_motion_no_cursor_blinks(begin: Begin) -> None:
    async with begin(Settings(reduced_motion=True)).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        focused = pilot.app.focused
        assert isinstance(focused, Input) and not focused.cursor_blink
        assert pilot.app.animation_level == "none"


async def test_the_screen_is_saved_as_it_is_seen(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with begin().run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        seen = [line.rstrip() for line in lines(pilot)]
        await press(pilot, "ctrl+s")
        [picture] = tmp_path.glob("*.svg")
        [words] = tmp_path.glob("*.txt")
        assert words.read_text().splitlines() == seen
        assert picture.read_text().startswith("<svg")
        assert [notice.message for notice in pilot.app._notifications] == [f"{picture}\n{words}"]

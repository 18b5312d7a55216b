"""Any size, and any change of it: nothing crashes, the cursor stays in sight, edges stay straight."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.text import cell_width
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text

SIZES = [(120, 36), (100, 20), (99, 30), (80, 24), (50, 15), (40, 10), (200, 60)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_line_is_exactly_as_wide_as_the_screen(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int]
) -> None:
    async with open_browser(demo).run_test(size=size) as pilot:
        for keys in ((), ("/", *"docker"), ("enter",), ("c",)):
            await press(pilot, *keys)
            assert [cell_width(line) for line in lines(pilot)] == [size[0]] * size[1]


@pytest.mark.parametrize("size", [(39, 24), (80, 9), (20, 5), (1, 1)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_below_the_least_size_a_notice_stands_and_goes_when_there_is_room(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int]
) -> None:
    async with open_browser(demo).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down", "down")
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert "Sessions by" not in text(pilot)
        if size[0] >= 20:
            assert "Too small" in text(pilot)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "Sessions by" in text(pilot)
        assert browser(pilot).sessions.cursor == 3
        assert browser(pilot).focused is browser(pilot).sessions


async def test_a_storm_of_sizes_while_moving(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for size in ((80, 24), (20, 5), (1, 1), (200, 60), (1, 40), (300, 1), (100, 20), (2, 2), (120, 36)):
            await pilot.resize_terminal(*size)
            await pilot.press("down", "pagedown", "/", "a", "escape", "escape", "tab", "2")
        await settle(pilot)
        sessions = browser(pilot).sessions
        top = sessions.scroll_offset.y
        assert top <= sessions.cursor < top + sessions.scrollable_content_region.height


async def test_the_cursor_stays_in_sight_when_the_screen_shrinks(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await press(pilot, *["down"] * 30)
        await pilot.resize_terminal(80, 12)
        await settle(pilot)
        sessions = browser(pilot).sessions
        top = sessions.scroll_offset.y
        assert sessions.cursor == 30
        assert top <= 30 < top + sessions.scrollable_content_region.height


async def test_from_wide_to_narrow_the_pane_in_front_stays(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        screen = browser(pilot)
        assert screen.messages.region.width == 80
        assert screen.focused is screen.messages.view
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        assert screen.sessions.region


async def test_keys_give_the_list_more_room_or_less_as_far_as_both_can_be_read(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        sessions, messages = browser(pilot).sessions, browser(pilot).messages
        width = sessions.outer_size.width
        await press(pilot, ">", ">")
        assert sessions.outer_size.width == width + round(120 * 0.08)
        assert sessions.outer_size.width + messages.outer_size.width == 120
        await press(pilot, *["<"] * 30)
        assert sessions.outer_size.width == 30
        await press(pilot, *[">"] * 30)
        assert sessions.outer_size.width == 90
        assert {cell_width(line) for line in lines(pilot)} == {120}


async def test_a_width_of_the_list_means_nothing_where_one_pane_is_shown(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, *["<"] * 30)
        sessions = browser(pilot).sessions
        for keys in (("z",), ("z", "c")):
            await press(pilot, *keys)
            assert 120 in (sessions.outer_size.width, browser(pilot).panes.costs.outer_size.width)
            assert browser(pilot).check_action("width", (4,)) is False
        await press(pilot, "c")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert sessions.outer_size.width == 80
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        assert sessions.outer_size.width == 30


async def test_the_mouse_pulls_the_edge_and_selects_nothing(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        sessions = browser(pilot).sessions
        edge = sessions.outer_size.width - 1
        for start, end in ((edge, 48), (49, 71)):  # by the list's side of it, and by the messages'
            await mouse(pilot, events.MouseMove, events.MouseDown, at=(start, 10))
            await mouse(pilot, events.MouseMove, at=(60, 12))
            await mouse(pilot, events.MouseMove, events.MouseUp, at=(end, 12))
            await settle(pilot)
            assert abs(sessions.outer_size.width - (end + 1)) <= 1
        await mouse(pilot, events.MouseMove, at=(90, 20))
        await settle(pilot)
        assert abs(sessions.outer_size.width - 72) <= 1
        assert not pilot.app.screen.get_selected_text()


async def mouse(pilot: Pilot[BrowseResult], *kinds: type[events.MouseEvent], at: tuple[int, int]) -> None:
    """Tell of the mouse as the terminal does."""
    assert pilot.app._driver is not None
    for kind in kinds:
        pilot.app._driver.process_message(kind(None, *at, 0, 0, 1, False, False, False, *at))
        await pilot.pause()


async def test_columns_line_up_in_cells(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    titles = [
        "整理论文和更新README #4",
        "한국어 제목입니다",
        "ASCII",
        "❤️ plan",
        "👨‍👩‍👧‍👦" * 60,
        "🇸🇪🇳🇴" * 20,
        "e\u0301" * 200,
        "x" * 500,
    ]
    for number, title in enumerate(titles):
        hermes_file.talk(hermes_file.session(f"s{number}", title=title, source="telegram"), "hello")
    for width in (120, 80, 60, 40):
        async with open_browser(hermes_file.path).run_test(size=(width, 30)) as pilot:
            await settle(pilot)
            rows = lines(pilot)[2 : 2 + len(titles)]
            for column in ("telegram", "23h") if width >= 80 else ("23h",):
                assert len({cell_width(row[: row.index(column)]) for row in rows}) == 1


async def test_a_long_title_fits_its_frame(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    hermes_file.talk(hermes_file.session("s", title="漢" * 500, cwd="/" + "x" * 400, model="m" * 300), "hello")
    async with open_browser(hermes_file.path).run_test(size=(121, 30)) as pilot:
        await settle(pilot)
        assert {cell_width(line) for line in lines(pilot)} == {121}
        assert lines(pilot)[1].endswith("╮")

"""Text selected with the mouse is the text that was said."""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection

from hermes_sessions.text import cell_width
from hermes_sessions.tui.message_copy import text_between
from tests.tui.talks import Library, ViewApp, message, prose, settled, work_done


async def test_a_selection_is_copied_without_gutter_and_soft_breaks() -> None:
    app = ViewApp(Library([message(1, text="one " * 30 + "end\nnext"), message(2, "assistant", "last")]))
    async with app.run_test(size=(50, 20)) as pilot:
        first = next(y for y, line in enumerate(app.lines) if line.startswith("▌ one"))
        await pilot.mouse_down(app.view, offset=(2, first))
        await pilot.hover(app.view, offset=(20, first + 3))
        await pilot.mouse_up(app.view, offset=(20, first + 3))
        selected = app.screen.get_selected_text()
        assert selected == "one " * 30 + "end\nnext"
        grounds = [
            {segment.style.bgcolor for segment in app.view.render_line(row) if segment.style}
            for row in (first + 1, first - 1)
        ]
        assert grounds[0].isdisjoint(grounds[1])


async def test_a_selection_stays_with_its_text_when_heights_above_it_change() -> None:
    library = Library(prose(300))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        row = next(y for y, line in enumerate(app.lines) if "message 300" in line)
        line = app.view.render_line(row)
        start = next(segment.style.meta["offset"] for segment in line if segment.style and segment.style.meta)
        app.screen.selections = {app.view: Selection(Offset(2, start[1]), Offset(13, start[1]))}
        assert app.screen.get_selected_text() == "message 300"
        await pilot.press("pageup", "pageup", "g")
        await settled(pilot)
        assert app.screen.get_selected_text() == "message 300"


async def test_a_double_click_folds_a_message_and_selects_nothing() -> None:
    app = ViewApp(work_done())
    async with app.run_test(size=(80, 60)) as pilot:
        row = next(y for y, line in enumerate(app.lines) if "↳ terminal" in line)
        await pilot.click(app.view, offset=(10, row), times=2)
        assert "line 29" in app.shown
        assert app.screen.get_selected_text() is None


async def test_a_selection_that_ends_inside_of_a_cluster_takes_all_of_it() -> None:
    app = ViewApp(Library([message(1, text="a 👨‍👩‍👧‍👦 family")]))
    async with app.run_test(size=(40, 10)):
        row = next(y for y, line in enumerate(app.lines) if "family" in line)
        key = next(segment.style.meta["offset"][1] for segment in app.view.render_line(row) if segment.style)
        app.screen.selections = {app.view: Selection(Offset(2, key), Offset(8, key))}
        strip = app.view.render_line(row)
        assert "👨‍👩‍👧‍👦" in "|".join(segment.text for segment in strip)
        assert cell_width(strip.text) == app.view.scrollable_content_region.width


async def test_what_is_copied_is_what_is_seen() -> None:
    app = ViewApp(Library([message(1, text="## Now\n\nrun **this at** `once`\n\n```\n# **a**\n```")]))
    async with app.run_test(size=(40, 14)):
        transcript = app.view.viewport.transcript
        row = next(y for y, line in enumerate(app.lines) if "run this" in line)
        assert text_between(transcript, (0, row, 4), (0, row, 8)) == "this"
        assert text_between(transcript, (0, row, 8), (0, row, 99)) == " at `once`"
        everything = text_between(transcript, (0, row - 2, 0), (1, 0, 0))
        assert everything == "Now\n\nrun this at `once`\n\n```\n# **a**\n```"

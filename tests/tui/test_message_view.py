"""Reading a conversation on a screen: what is drawn, what is loaded, and where the view stays."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Mapping, Sequence

import pytest

from hermes_sessions.errors import StoreBusy
from hermes_sessions.model import Message, MessageStub
from hermes_sessions.text import cell_width
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.themes import LIGHT, PLAIN
from hermes_sessions.tui.transcript import Transcript
from tests.tui.talks import CONVERSATION, Library, ViewApp, call, message, prose, settled, work_done

HOSTILE = (
    "col1\tcol2\n실시간\t값\r\nover\rwrite\n\x1b[31mred\x1b[0m\x08\x07\x00 \x1b]52;c;eA==\x07 \x9d0;t\x9c"
    "\u202eevil\u2066 [bold]markup[/bold] [/] [@click=app.quit]x[/] \ud800 \u2028end"
)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
WIDE = "日本語のテキスト 👨‍👩‍👧‍👦 🇩🇪 e\u0301e\u0301 مرحبا שלום\tTab ❤️ 👍🏽 " * 8


@pytest.fixture
def talk() -> Library:
    return work_done()


async def test_a_conversation_opens_at_its_end_with_its_texts() -> None:
    library = Library(prose(500))
    async with ViewApp(library).run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, ViewApp)
        assert "message 500" in app.shown
        assert app.view.current_message == library.messages[-1]


async def test_a_conversation_opens_at_the_hit_which_is_marked_a_third_down() -> None:
    library = Library(prose(500))
    library.messages[249] = message(250, "assistant", "many\n" * 300 + "here is the needle\n" + "more\n" * 300)
    app = ViewApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.show(CONVERSATION, library.stubs, library.load, at=250, words=["NEEDLE"])
        assert app.lines.index("┃ here is the needle") == 8
        assert app.view.current_message == library.messages[249]
        marked = [segment.text for segment in app.view.render_line(8) if segment.style and segment.style.bold]
        assert "needle" in marked
        assert "".join(marked).replace("┃ ", "") == "needle"
        await pilot.pause()


async def test_a_hit_in_something_folded_opens_it(talk: Library) -> None:
    app = ViewApp(talk, at=3, words=["line 27"])
    async with app.run_test(size=(80, 12)):
        assert "┃   line 27" in app.lines


async def test_a_hit_beyond_the_cut_of_a_long_message_is_shown() -> None:
    library = Library([message(1, "assistant", "x " * 100_000 + "needle")])
    app = ViewApp(library, at=1, words=["needle"])
    async with app.run_test(size=(80, 24)):
        assert "needle" in app.shown


async def test_a_hit_that_is_not_in_the_outline_opens_at_the_nearest_message() -> None:
    app = ViewApp(Library(prose(500)[::2]), at=200)
    async with app.run_test(size=(80, 24)):
        assert app.view.current_message is not None
        assert app.view.current_message.id in (199, 201)


async def test_only_what_is_seen_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_sessions.tui.message_view.MEASURE_AFTER_SECONDS", 3_600.0)
    library = Library(prose(5000))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        assert len(library.asked) <= 64
        assert min(library.asked) > 4900
        library.asked.clear()
        await pilot.press("g")
        await settled(pilot)
        assert "message 1" in app.shown
        assert max(library.asked) < 100


async def test_what_is_not_loaded_yet_is_a_quiet_placeholder_and_nothing_jumps() -> None:
    library = Library(prose(300))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        library.hold()
        app.view.scroll_to(y=400, animate=False, force=True)
        await pilot.pause()
        assert "│ ·" in app.lines
        header = next(line for line in app.lines if re.match(r"[│▌┃] (you|agent) · ", line))
        library.release()
        await settled(pilot)
        assert "│ ·" not in app.lines
        assert header in app.lines


async def test_the_line_at_the_top_stays_when_the_width_changes() -> None:
    app = ViewApp(Library(prose(300)), at=150)
    async with app.run_test(size=(100, 30)) as pilot:
        app.view.action_message(1)
        top = app.lines[0]
        for width in (60, 40, 120, 100):
            await pilot.resize_terminal(width, 30)
            await settled(pilot)
            assert app.lines[0][:20] == top[:20]


async def test_the_end_stays_the_end_when_the_size_changes() -> None:
    app = ViewApp(Library(prose(300)))
    async with app.run_test(size=(100, 30)) as pilot:
        for size in ((60, 10), (30, 40), (100, 30)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert any("message 300" in line for line in app.lines) or "word" in app.lines[-1]
            assert app.view.is_vertical_scroll_end


async def test_the_scroll_bar_becomes_exact_and_nothing_on_the_screen_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_sessions.tui.message_view.MEASURE_AFTER_SECONDS", 0.0)
    app = ViewApp(Library(prose(300)), at=150)
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.lines
        for worker in list(app.workers):
            await worker.wait()
        await pilot.pause()
        assert app.lines == before
        exact = Transcript(Library(prose(300)).stubs, 77)
        for index, said in enumerate(prose(300)):
            exact.put(index, finish(exact.layout_steps(index, said)))
        exact.settle(0, 0, 10_000)
        assert app.view.virtual_size.height == exact.heights.total


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
async def test_hostile_text_is_shown_literally(role: str) -> None:
    hostile = message(
        1, role, HOSTILE, call(HOSTILE, HOSTILE), reasoning=HOSTILE, tool_name=HOSTILE, finish_reason=HOSTILE
    )
    other = message(2, HOSTILE, HOSTILE, summary=True)
    app = ViewApp(Library([hostile, other]))
    async with app.run_test(size=(160, 60)) as pilot:
        await pilot.press("t", "t", "T", "g", "enter")
        await settled(pilot)
        assert UNSAFE.search("".join(app.lines)) is None
        assert "[bold]markup[/bold] [/] [@click=app.quit]x[/]" in app.shown
        assert "실시간" in app.shown


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (11, 10)])
@pytest.mark.parametrize("wrapped", [True, False])
async def test_every_line_is_exactly_as_wide_as_the_view(size: tuple[int, int], wrapped: bool) -> None:
    said = [message(1, text=WIDE), message(2, "assistant", WIDE, reasoning=WIDE), message(3, "tool", WIDE)]
    app = ViewApp(Library([*said, message(4, text=unicodedata.normalize("NFD", WIDE))]))
    async with app.run_test(size=size) as pilot:
        if not wrapped:
            await pilot.press("w")
            app.view.action_right()
        for key in ("g", "pagedown", "pagedown", "t", "t", "end"):
            await pilot.press(key)
            await settled(pilot)
            strips = [app.view.render_line(y) for y in range(app.view.size.height)]
            assert {cell_width(strip.text) for strip in strips} == {app.view.scrollable_content_region.width}


async def test_eight_megabytes_on_one_line_open_and_are_cut() -> None:
    library = Library(
        [message(1, text="hi"), message(2, "tool", "x" * 8_000_000), message(3, "assistant", "漢" * 10**6)]
    )
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.lines[-1] == "┃ … 944.6 KB more · Enter shows all"
        await pilot.press("left_square_bracket", "enter")
        await settled(pilot)
        assert app.view.virtual_size.height > 8_000_000 // 80
        await pilot.press("enter")
        await settled(pilot)
        assert app.view.virtual_size.height < 2000


async def test_a_headline_cut_at_the_edge_says_so_between_two_clusters() -> None:
    said = [message(n, "tool", "x" * n + "漢字👨‍👩‍👧‍👦e\u0301" * 20) for n in range(1, 9)]
    app = ViewApp(Library([*said, message(9, "tool", "short")]))
    async with app.run_test(size=(50, 24)):
        lines = [line for line in app.lines if "↳ terminal" in line]
        assert [line.endswith("…") for line in lines] == [True] * 8 + [False]
        assert all(re.search("(漢|字|👨‍👩‍👧‍👦|e\u0301)…$", line) for line in lines[:-1])
        widths = {cell_width(app.view.render_line(y).text) for y in range(24)}
        assert widths == {50 - app.view.scrollbar_size_vertical}


async def test_tools_are_off_short_and_full(talk: Library) -> None:
    app = ViewApp(talk)
    async with app.run_test(size=(80, 60)) as pilot:
        assert "│ ⚙ terminal  pytest -q" in app.lines
        assert "┆ ↳ terminal ✗ exit 1 · 30 lines · 229 B  line 29" in app.lines
        assert "line 1" not in app.shown
        await pilot.press("t")
        assert "┆   line 4" in app.lines
        assert "┆   … 22 more lines · Enter shows all" in app.lines
        assert "┆   line 27" in app.lines
        assert "line 5" not in app.shown
        await pilot.press("t")
        assert "┆   line 29" in app.lines
        assert "│   command: pytest -q" in app.lines
        await pilot.press("t")
        assert "line 1" not in app.shown


async def test_enter_opens_what_is_folded_in_one_message_and_folds_it_again(talk: Library) -> None:
    app = ViewApp(talk, at=3)
    async with app.run_test(size=(80, 60)) as pilot:
        folded = app.lines
        await pilot.press("enter")
        assert "┃   line 29" in app.lines
        assert "-old" not in app.shown
        await pilot.press("enter")
        assert app.lines == folded


async def test_reasoning_is_a_line_or_in_full(talk: Library) -> None:
    app = ViewApp(talk)
    async with app.run_test(size=(80, 60)) as pilot:
        assert "│ ✻ thought · 2 lines  I run it." in app.lines
        await pilot.press("T")
        assert "│   First." in app.lines


async def test_undone_messages_and_summaries_are_named() -> None:
    said = [message(1, text="[CONTEXT COMPACTION] lots", summary=True), message(2, "assistant", "no", rewound=True)]
    app = ViewApp(Library(said))
    async with app.run_test(size=(80, 24)):
        assert any(line.startswith("│ summary · ") for line in app.lines)
        assert "│ ≡ compaction summary · 25 B" in app.lines
        assert any(line.endswith(" · undone") for line in app.lines)


async def test_the_message_under_the_cursor_keeps_its_place_when_others_fold(talk: Library) -> None:
    around = [said._replace(id=said.id + 100) for said in prose(50)]
    app = ViewApp(Library(talk.messages + around), at=4)
    async with app.run_test(size=(80, 12)) as pilot:
        await pilot.press("right_square_bracket", "left_square_bracket")
        line = "┃ ⚙ patch  x.py"
        before = app.lines.index(line)
        for _ in range(3):
            await pilot.press("t")
            assert app.lines.index(line) == before


async def test_the_cursor_goes_from_message_to_message(talk: Library) -> None:
    app = ViewApp(talk, at=1)
    async with app.run_test(size=(80, 60)) as pilot:
        for expected in (2, 3, 4, 5, 6, 6):
            await pilot.press("right_square_bracket")
            assert app.view.current_message == talk.messages[expected - 1]
        await pilot.press("left_square_bracket")
        assert app.view.current_message == talk.messages[4]
        assert [line[:1] for line in app.lines].count("┃") == 1


async def test_the_answer_to_an_older_show_is_dropped() -> None:
    old, new = Library(prose(100)), Library([message(1, text="the new one")])
    app = ViewApp()
    async with app.run_test(size=(80, 24)) as pilot:
        old.hold()
        slow = asyncio.create_task(app.view.show(CONVERSATION, old.stubs, old.load))
        await pilot.pause()
        await app.view.show(CONVERSATION, new.stubs, new.load)
        old.release()
        await slow
        assert "the new one" in app.shown
        assert "message 100" not in app.shown


async def test_a_grown_conversation_is_followed_at_the_end_and_left_alone_elsewhere() -> None:
    library = Library(prose(100))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        library.messages = prose(110)
        app.view.extend(library.stubs)
        await settled(pilot)
        assert "message 110" in app.shown
        await pilot.press("pageup", "pageup")
        before = app.lines
        library.messages = prose(120)
        app.view.extend(library.stubs)
        await settled(pilot)
        assert app.lines == before


async def test_a_conversation_that_changed_otherwise_keeps_its_place() -> None:
    library = Library(prose(100))
    app = ViewApp(library, at=50)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right_square_bracket")
        before, current = app.lines, app.view.current_message
        del library.messages[10:20]
        app.view.extend(library.stubs)
        await settled(pilot)
        assert app.lines == before
        assert app.view.current_message == current


async def test_a_message_that_is_gone_is_said_to_be() -> None:
    library = Library(prose(3))
    stubs = library.stubs
    del library.messages[1]
    app = ViewApp()
    async with app.run_test(size=(80, 24)):
        await app.view.show(CONVERSATION, stubs, library.load)
        assert "This message is no longer in the store." in app.shown


async def test_a_store_that_does_not_answer_is_reported_and_asked_again() -> None:
    library = Library(prose(500))
    busy = False

    async def load(stubs: Sequence[MessageStub]) -> Mapping[int, Message]:
        if busy:
            raise StoreBusy("locked")
        return await library.load(stubs)

    app = ViewApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.show(CONVERSATION, library.stubs, load)
        busy = True
        await pilot.press("g")
        await settled(pilot)
        assert {event.error.message for event in app.failed} == {"locked"}
        busy = False
        await pilot.press("j")
        await settled(pilot)
        assert "message 1" in app.shown
        busy = True
        with pytest.raises(StoreBusy):
            await app.view.show(CONVERSATION, library.stubs, load)


@pytest.mark.parametrize("count", [0, 1])
async def test_hardly_anything_to_show_is_no_fault(count: int) -> None:
    app = ViewApp(Library(prose(count)))
    keys = "j k pageup pagedown ctrl+u ctrl+d g G home end right_square_bracket left_square_bracket enter t T w"
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.split())
        await app.view.hits.find("x")
        await app.view.hits.next(-1)
        app.view.extend(Library(prose(count)).stubs)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(80, 24)
        assert ("No messages." in app.shown) == (count == 0)


async def test_no_size_and_no_storm_of_sizes_is_a_fault(talk: Library) -> None:
    app = ViewApp(talk)
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.lines
        for size in ((20, 5), (1, 1), (2, 1), (1, 2), (200, 60), (3, 3), (80, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.press("t", "j", "right_square_bracket", "k")
            assert len(app.lines) == size[1]
        await pilot.press("t", "end")
        assert app.lines == before


async def test_unwrapped_lines_go_on_beyond_the_edge_and_come_in_sideways() -> None:
    text = "".join(f"{n:03} " for n in range(100))
    app = ViewApp(Library([message(1, text=text)]))
    async with app.run_test(size=(40, 10)) as pilot:
        assert len([line for line in app.lines if line.startswith("┃ 0")]) > 5
        await pilot.press("w")
        assert app.lines[3].startswith("┃ 000 001")
        assert app.lines[3].endswith("…")
        app.view.action_right()
        assert app.lines[3].startswith("┃ 004 005")
        app.view.action_left()
        app.view.action_left()
        assert app.lines[3].startswith("┃ 000 001")


@pytest.mark.parametrize("theme", [LIGHT, PLAIN])
async def test_colours_follow_the_theme_and_every_segment_has_a_style(theme: str, talk: Library) -> None:
    app = ViewApp(talk)
    async with app.run_test(size=(80, 24)) as pilot:
        before = [segment.style for segment in app.view.render_line(0)]
        app.theme = theme
        await pilot.pause()
        assert [segment.style for segment in app.view.render_line(0)] != before
        for y in range(24):
            assert all(segment.style and segment.style.bgcolor for segment in app.view.render_line(y))

"""A message of megabytes is read like a short one: a hit, its end, another width, and nothing jumps."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Mapping, Sequence

import pytest

from hermes_sessions.model import Message, MessageStub
from hermes_sessions.tui import stretches
from hermes_sessions.tui.line_styles import SourceText
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.stretches import Spans, lines_of
from hermes_sessions.tui.transcript import Spot
from tests.tui.talks import CONVERSATION, Library, ViewApp, message, settled

NUMBERED = [f"line {number:06} of a long text, with some words behind its number" for number in range(60_000)]
ROWS = [{"number": number, "text": "some text"} for number in range(60_000)]
ROWS[30_000]["text"] = "the needle"

TEXTS = {
    "lines": "\n".join([*NUMBERED[:30_000], "the needle", *NUMBERED[30_000:]]),
    "marked": "\n\n".join([*NUMBERED[:6_000], "the **needle**", *NUMBERED[6_000:12_000]]),
    "code": "\n".join(["See:", "```python", *NUMBERED[:6_000], "x = 'the needle'", *NUMBERED[6_000:12_000], "```"]),
    "one line": "word " * 200_000 + "the needle " + "word " * 200_000,
    "Chinese": "这是一个很长的文本，没有空格。" * 40_000 + "needle" + "这是一个很长的文本，没有空格。" * 40_000,
    "emoji": "👨‍👩‍👧 e\u0301 " * 30_000 + "needle " + "👨‍👩‍👧 " * 30_000,
    "an output": json.dumps({"output": "\n".join([*NUMBERED, "the needle", *NUMBERED]), "exit_code": 0}),
    "JSON": json.dumps({"total": len(ROWS), "matches": ROWS}),
}


def library(name: str) -> Library:
    role = "tool" if name in ("an output", "JSON") else "assistant"
    return Library([message(1, text="Please."), message(2, role, TEXTS[name]), message(3, text="Thanks.")])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters' lines were made, each time."""
    found: list[int] = []

    def watched(source: SourceText, width: int, start: int = 0, stop: int | None = None) -> Spans:
        found.append((len(source.text) if stop is None else stop) - start)
        return lines_of(source, width, start, stop)

    monkeypatch.setattr(stretches, "lines_of", watched)
    monkeypatch.setattr("hermes_sessions.tui.message_view.MEASURE_AFTER_SECONDS", 3_600.0)
    return found


@pytest.mark.parametrize("name", TEXTS)
async def test_a_hit_in_it_is_shown_and_only_lines_near_the_screen_are_made(name: str, made: list[int]) -> None:
    app = ViewApp(library(name))
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.view
        await view.hits.find("needle")
        await settled(pilot)
        assert "needle" in app.shown
        assert (app.reached[-1].position, app.reached[-1].total) == (1, 1)
        line = view.hits.line
        assert line is not None
        assert "needle" in app.lines[line - view.viewport.y]
        assert sum(made) < 300_000
        height = view.viewport.transcript.heights[1]
        assert line > 1000
        assert height > 2 * 1000


@pytest.mark.parametrize("name", TEXTS)
async def test_a_line_of_it_stays_at_the_top_when_the_size_changes_and_while_lines_are_counted(name: str) -> None:
    app = ViewApp(library(name))
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.view
        await view.hits.find("needle")
        await settled(pilot)
        view.scroll_lines(5)
        for size in ((60, 24), (100, 30), (80, 24)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert "needle" in app.shown
        before = app.lines
        top = view.viewport.transcript.locate(view.viewport.y)
        await view.reading.measure(view._heights_changed)
        assert not view.viewport.transcript.inexact
        assert view.viewport.transcript.locate(view.viewport.y) == top
        assert app.lines == before


@pytest.mark.parametrize("name", TEXTS)
async def test_going_through_it_shows_line_after_line(name: str) -> None:
    """Up from a place where nothing above is known, and down again: no line is left out, none comes twice."""
    app = ViewApp(library(name))
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.view
        await view.hits.find("needle")
        await settled(pilot)
        seen = app.lines
        for step in [-7] * 60 + [7] * 60:
            view.scroll_lines(step)
            after = app.lines
            if step < 0:
                assert after[7:] == seen[:-7]
            else:
                assert after[:-7] == seen[7:]
            seen = after
        assert "needle" in app.shown


async def test_its_end_and_its_beginning_are_one_key_away(made: list[int]) -> None:
    app = ViewApp(library("lines"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.hits.find("needle")
        await settled(pilot)
        made.clear()
        await pilot.press("end", "left_square_bracket", "g")
        await settled(pilot)
        assert "line 000000" in app.shown
        await pilot.press("G")
        await settled(pilot)
        assert "line 059999" in app.shown
        assert app.lines[-1].endswith("Thanks.")
        assert sum(made) < 400_000


async def test_anywhere_in_it_is_near_by_the_scroll_bar(made: list[int]) -> None:
    app = ViewApp(library("lines"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("left_square_bracket", "enter")
        await settled(pilot)
        heights = app.view.viewport.transcript.heights
        for part in (0.5, 0.25, 0.75):
            app.view.scroll_to(y=int(heights.total * part), animate=False, force=True)
            await settled(pilot)
            number = int(app.lines[3].split()[2])
            assert abs(number - 60_000 * part) < 1_500
        assert sum(made) < 600_000


async def test_what_is_selected_across_its_pieces_is_copied_as_it_is_written() -> None:
    app = ViewApp(library("lines"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("left_square_bracket", "enter")
        await settled(pilot)
        transcript = app.view.viewport.transcript
        text = TEXTS["lines"]
        place = Spot.of(transcript, 1, transcript.first_row(1) + 1)
        start, end = (transcript.row_at(1, place._replace(offset=offset)) for offset in (1_000, 300_000))
        copied = text_between(transcript, (1, start, 0), (1, end, 0))
        assert copied.rstrip("\n") in text
        assert 290_000 < len(copied) < 310_000


async def test_it_is_read_from_the_store_once_and_made_once() -> None:
    said = library("lines")
    loaded: list[int] = []

    async def load(stubs: Sequence[MessageStub]) -> Mapping[int, Message]:
        loaded.extend(stub.id for stub in stubs)
        return await said.load(stubs)

    app = ViewApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.show(CONVERSATION, said.stubs, load)
        await app.view.hits.find("needle")
        await app.view.hits.next()
        await settled(pilot)
        assert sorted(loaded) == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(NUMBERED),
        "\n".join(NUMBERED[:2_500]),
        json.dumps({"output": "\n".join(NUMBERED), "exit_code": 0, "error": None}),
        json.dumps({"output": "\n".join(NUMBERED[:2_500]), "exit_code": 0}),
        json.dumps({"content": '"漢"\n' * 90_000 + "\n".join(NUMBERED), "truncated": False, "hint": "x"}),
    ],
)
async def test_of_a_long_result_the_beginning_and_the_end_are_shown_and_how_much_is_between(text: str) -> None:
    said = Library([message(1, "tool", text)])
    app = ViewApp(said)
    async with app.run_test(size=(90, 24)) as pilot:
        await pilot.press("t")
        await settled(pilot)
        lines = [line[4:] for line in app.lines if line.startswith("┃   ")]
        assert len(lines) == 9
        assert lines[0] in (NUMBERED[0], '"漢"')
        assert lines[5].startswith("… ")
        assert lines[5].endswith("more · Enter shows all")
        last = 2_499 if len(text) < 1_000_000 else 59_999
        assert lines[6:] == NUMBERED[last - 2 : last + 1]


async def test_of_a_long_list_the_first_and_the_last_items_are_shown() -> None:
    app = ViewApp(Library([message(1, "tool", TEXTS["JSON"])]))
    async with app.run_test(size=(90, 24)) as pilot:
        await pilot.press("t")
        await settled(pilot)
        lines = [line[4:] for line in app.lines if line.startswith("┃   ")]
        assert lines[1] == '{"number": 1, "text": "some text"},'
        assert lines[5] == "… 2.3 MB more · Enter shows all"
        assert lines[6:] == [*(json.dumps(row) + "," for row in ROWS[-3:-1]), json.dumps(ROWS[-1]) + "]}"]


async def test_of_a_long_result_whose_end_cannot_be_told_only_the_beginning_is_shown() -> None:
    text = json.dumps({"output": "\n".join(NUMBERED), "files": [{"name": "a"}]})
    app = ViewApp(Library([message(1, "tool", text)]))
    async with app.run_test(size=(90, 24)) as pilot:
        await pilot.press("t")
        await settled(pilot)
        lines = [line[4:] for line in app.lines if line.startswith("┃   ")]
        assert lines[:8] == NUMBERED[:8]
        assert len(lines) == 9


async def test_of_a_large_message_that_is_folded_again_only_the_beginning_is_kept() -> None:
    app = ViewApp(Library([message(1, text="Please."), message(2, "assistant", TEXTS["lines"])]))
    async with app.run_test(size=(80, 24)) as pilot:
        layouts = app.view.viewport.transcript.layouts
        before = layouts.bytes
        await pilot.press("enter")
        await settled(pilot)
        assert layouts.bytes > before + 3_000_000
        await app.view.hits.find("needle")
        await pilot.press("enter")
        await settled(pilot)
        assert layouts.bytes == before
        assert "… 3.5 MB more · Enter shows all" in app.shown


async def test_work_that_is_cancelled_holds_no_text() -> None:
    library = Library([message(1, text=TEXTS["lines"])])
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)):
        finding = asyncio.create_task(app.view.hits.find("needle"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        finding.cancel()
        with pytest.raises(asyncio.CancelledError) as found:
            await finding
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(found.value.__traceback__)]
        assert "_count" not in frames

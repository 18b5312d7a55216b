"""Whoever scrolls, folds, finds and resizes as they like always knows where they are: no line jumps, none is lost.

A run on purpose raises `STEPS` and `SEEDS`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from random import Random
from typing import cast

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import Message, ToolCall
from hermes_sessions.text import cell_width
from hermes_sessions.tui.viewport import Here
from tests.tui.talks import Library, ViewApp, message, settled

STEPS = 40
SEEDS = (1, 2, 3)

SIZES = ((80, 24), (50, 15), (120, 36), (30, 40), (100, 9), (60, 24))
WORDS = ("needle", "word", "漢字", "line 4", "nowhere", "a")

PROSE = "# Heading\n\nSome **words** and `code`, a [link](http://a.b), and the rest of a line that is long enough.\n\n"
LIST = "- one item of a list that is longer than a narrow window\n  1. another\n> a quote of somebody\n\n"
TABLE = "| name | what it is |\n|---|---:|\n| needle | a small thing |\n| word | **many** letters |\n\n"
CODE = "```python\ndef name(x):\n    return 'a string that goes on and on' + x  # needle\n```\n\n"
LINES = "\n".join(f"line {number} of an output with a few words" for number in range(6_000))
ROWS = [{"path": f"src/{number}.py", "line": number, "text": "漢字" * 9} for number in range(20_000)]


def talk() -> list[Message]:
    """Everything a conversation may hold, short and long."""
    read = json.dumps({"content": "\n".join(f"{n}|x = {n}" for n in range(900)), "total_lines": 900})
    edit = json.dumps({"path": "a.py", "old_string": "x = 1\n" * 20, "new_string": "y = 2\n" * 30})
    said = [
        message(1, text="Please find the needle."),
        message(2, "assistant", PROSE * 40 + TABLE * 20 + CODE * 30 + LIST * 60, reasoning="I think.\n" * 90),
        message(3, "assistant", "", ToolCall("a", "terminal", '{"command": "make"}'), ToolCall("b", "patch", edit)),
        message(4, "tool", json.dumps({"output": LINES, "exit_code": 1}), tool_call_id="a"),
        message(5, "tool", "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+y = 2", tool_name="patch", tool_call_id="b"),
        message(6, "assistant", "这是一个很长的文本，没有空格。" * 3_000 + "needle" + "漢字かな" * 3_000),
        message(7, "tool", json.dumps({"matches": ROWS}), tool_name="search_files"),
        message(8, "tool", read, tool_name="read_file"),
        message(9, "assistant", "word " * 30_000),
        message(10, "assistant", "no", rewound=True),
        message(11, "user", "[CONTEXT COMPACTION] " + PROSE * 30, summary=True),
        message(12, "assistant", "👨‍👩‍👧 e\u0301 ⚠️ " * 4_000),
        message(13, "tool", "", tool_name=None, tool_call_id="gone"),
        message(14, "assistant", "```\n" + "unbroken" * 4_000 + "\n" + "short\n" * 2_500),
        message(15, text=" "),
    ]
    return said + [message(16 + number, "assistant", f"{number}\n{PROSE * (number % 4)}") for number in range(20)]


class Walk:
    """One reader. What they did last is told when something is wrong."""

    def __init__(self, pilot: Pilot[None], seed: int) -> None:
        self._pilot, self._random = pilot, Random(seed)
        self._app = cast(ViewApp, pilot.app)
        self._told = [f"seed {seed}"]

    async def go(self, steps: int) -> None:
        """Take so many steps, and look around after each."""
        ways: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (8, self._scroll),
            (3, self._key),
            (6, self._resize),
            (5, self._fold),
            (2, self._find),
            (1, self._count),
        ]
        for _ in range(steps):
            (way,) = self._random.choices([way for _, way in ways], [weight for weight, _ in ways])
            await way()
            await settled(self._pilot)
            self._look()

    @property
    def _story(self) -> str:
        return " ".join(self._told[:1] + self._told[-12:]) + "\n" + self._app.shown

    async def _scroll(self) -> None:
        view = self._app.view
        lines = self._random.choice((-1, 1, 3, -3, view.page, -view.page, 500, -500))
        if self._random.random() < 0.2:
            lines = int(self._random.random() * view.viewport.transcript.heights.total) - view.viewport.y
        self._told.append(f"{lines:+}")
        view.scroll_lines(lines)

    async def _key(self) -> None:
        key = self._random.choice(("g", "G", "right_square_bracket", "left_square_bracket", "home", "end"))
        self._told.append(key)
        await self._pilot.press(key)

    async def _find(self) -> None:
        view, words = self._app.view, self._random.choice(WORDS)
        if view.hits.finder.matcher and self._random.random() < 0.6:
            self._told.append("n")
            await view.hits.next(self._random.choice((1, -1)))
        else:
            self._told.append(f"/{words}")
            await view.hits.find(words)
        if view.hits.finder.total:
            line = view.hits.line
            assert line is not None, self._story
            assert view.viewport.y <= line < view.viewport.y + view.page, self._story

    async def _count(self) -> None:
        """All lines are counted: nothing on the screen moves."""
        await settled(self._pilot)
        before, view = self._app.lines, self._app.view
        self._told.append("count")
        await view.reading.measure(view._heights_changed)
        if not view.viewport.at_end:
            assert self._app.lines == before, self._story

    async def _resize(self) -> None:
        view, size = self._app.view, self._random.choice(SIZES)
        if self._random.random() < 0.7:
            view.scroll_lines(int(self._random.random() * view.viewport.transcript.heights.total) - view.viewport.y)
            await settled(self._pilot)
        here = self._here()
        self._told.append(f"{size[0]}×{size[1]}")
        await self._pilot.resize_terminal(*size)
        await settled(self._pilot)
        self._is_still_there(here)
        assert view.viewport.cursor == here.cursor or not self._is_seen(here.cursor), self._story

    async def _fold(self) -> None:
        """The line of the message under the cursor that is at the top of the screen, or the message, stays there."""
        view = self._app.view
        here, top = self._here(), view.viewport.transcript.heights.top(view.viewport.cursor) - view.viewport.y
        key = self._random.choice(("enter", "t", "T", "w"))
        self._told.append(f"{key}@{here.cursor}")
        await self._pilot.press(key)
        await settled(self._pilot)
        heights = view.viewport.transcript.heights
        assert view.viewport.cursor == here.cursor, self._story
        if top >= 0 and 0 < view.viewport.y < heights.total - view.page:
            assert heights.top(here.cursor) - view.viewport.y == top, self._story
        elif top < 0 and (key == "w" or (key == "T" and not self._is_thought(here))):
            self._is_still_there(here)

    def _here(self) -> Here:
        here = self._app.view.viewport.here()
        assert here is not None
        return here

    def _is_still_there(self, here: Here) -> None:
        """The line at the top shows what it showed, unless the end or a hit is on the screen for that."""
        viewport = self._app.view.viewport
        transcript = viewport.transcript
        if viewport.at_end or viewport._aim or here.spot.kind in ("more", "end"):
            return
        index, row = transcript.locate(viewport.y)
        line = transcript.line(index, row)
        assert (index, line.kind, line.block) == (here.top, here.spot.kind, here.spot.block), self._story
        if line.kind != "body":
            return
        following = transcript.line(*transcript.locate(viewport.y + 1))
        assert line.start <= here.spot.offset, self._story
        assert following.source is not line.source or following.start > here.spot.offset or line.table, self._story

    def _is_thought(self, here: Here) -> bool:
        layout = self._app.view.viewport.transcript.layout(here.top)
        return layout is None or here.spot.block < 0 or layout.blocks[here.spot.block].kind == "reasoning"

    def _is_seen(self, index: int) -> bool:
        viewport = self._app.view.viewport
        heights = viewport.transcript.heights
        top = heights.top(index)
        return top < viewport.y + viewport.page and top + heights[index] > viewport.y

    def _look(self) -> None:
        view = self._app.view
        viewport, transcript = view.viewport, view.viewport.transcript
        total = transcript.heights.total
        assert total == sum(transcript.heights[index] for index in range(len(transcript))), self._story
        assert view.virtual_size.height == total, self._story
        assert view.scroll_offset.y == viewport.y == max(0, min(viewport.y, total - view.page)), self._story
        assert self._is_seen(viewport.cursor), self._story
        places = [transcript.locate(y) for y in range(viewport.y, min(total, viewport.y + view.page))]
        assert places == sorted(set(places)), self._story
        assert [transcript.top(*place) for place in places] == list(range(viewport.y, viewport.y + len(places)))
        lines = [transcript.line(*place) for place in places]
        for before, after in pairwise(lines):
            if before.kind == "body" and before.source is after.source:
                assert before.start < after.start, self._story
        assert not transcript.missing(viewport.around), self._story
        width = view.scrollable_content_region.width
        assert {cell_width(view.render_line(y).text) for y in range(view.page)} == {width}, self._story


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_walk_through_everything(seed: int) -> None:
    app = ViewApp(Library(talk()))
    async with app.run_test(size=SIZES[0]) as pilot:
        await settled(pilot)
        await Walk(pilot, seed).go(STEPS)
        assert app.failed == []

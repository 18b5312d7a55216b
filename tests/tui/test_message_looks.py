"""How a conversation looks in the message view: code in its colours, diffs, what was undone, dividers."""

from __future__ import annotations

import json

from rich.style import Style
from textual.color import Color

from hermes_sessions.model import Conversation
from hermes_sessions.text import cell_width
from hermes_sessions.tui.contrast import READABLE, contrast
from tests.builders import NOW
from tests.tui.talks import CONVERSATION, Library, ViewApp, call, message, settled

CODE = "Look:\n```python\ndef f():\n    return 1\n```\nDone."


def style_of(app: ViewApp, word: str) -> Style:
    """How the first piece with a word in it is drawn."""
    for y in range(app.view.size.height):
        for segment in app.view.render_line(y):
            if word in segment.text:
                assert segment.style is not None
                return segment.style
    raise AssertionError(app.shown)


async def test_code_gets_the_colours_of_its_language_once_it_is_seen() -> None:
    app = ViewApp(Library([message(1, "assistant", CODE)]))
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        assert style_of(app, "def").color != style_of(app, "Look").color
        assert style_of(app, "def").bgcolor == style_of(app, "return").bgcolor != style_of(app, "Done").bgcolor
        assert "┃   python" in app.lines
        assert "```" not in app.shown


async def test_a_block_of_code_is_one_ground_to_the_edge_also_in_a_prompt() -> None:
    app = ViewApp(Library([message(1, text=CODE), message(2, "assistant", CODE)]))
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        for y, line in enumerate(app.lines):
            if "return" in line:
                grounds = [segment.style.bgcolor for segment in app.view.render_line(y) if segment.style][1:]
                assert len(set(grounds)) == 1
                outside = next(segment.style for segment in app.view.render_line(y + 2) if "Done" in segment.text)
                assert outside is not None
                assert outside.bgcolor not in grounds


async def test_the_lines_of_a_diff_are_told_by_colour_and_sign_and_can_be_read() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new"
    app = ViewApp(Library([message(1, "tool", json.dumps({"success": True, "diff": diff}), tool_name="patch")]))
    async with app.run_test(size=(60, 20)) as pilot:
        assert "✓" in app.shown
        assert "+1 −1" in app.shown
        await pilot.press("enter")
        styles = [style_of(app, word) for word in ("-old", "+new", "@@ -1")]
        assert len({style.color for style in styles}) == 3
        for style in styles:
            assert style.color
            assert style.bgcolor
            colours = [Color.from_rich_color(colour) for colour in (style.color, style.bgcolor)]
            assert contrast(*colours) >= READABLE


async def test_what_was_undone_is_named_and_has_no_colours_of_its_own() -> None:
    said = [
        message(1, text="good"),
        message(2, text="bad **idea**", rewound=True),
        message(3, "assistant", CODE, call("terminal", '{"command": "ls"}'), rewound=True),
        message(4, "tool", '{"output": "x", "exit_code": 1}', rewound=True),
        message(5, text="better"),
    ]
    app = ViewApp(Library(said))
    async with app.run_test(size=(60, 40)) as pilot:
        await settled(pilot)
        assert "── 3 messages undone ──" in app.shown
        assert sum("· undone" in line for line in app.lines) == 2
        words = ("idea", "def", "⚙ terminal", "exit 1")
        assert len({style_of(app, word).color for word in words}) == 1
        assert style_of(app, "idea").color != style_of(app, "better").color


async def test_dividers_fill_the_line_and_are_cut_when_there_is_no_room() -> None:
    origin = Conversation((CONVERSATION.root._replace(title="漢字 " * 30),))
    branch = Conversation((CONVERSATION.root._replace(started_at=NOW),), branched_from="s")
    library = Library([message(1, text="new")])
    app = ViewApp()
    async with app.run_test(size=(40, 10)):
        await app.view.show(branch, library.stubs, library.load, branched_from=origin)
        width = app.view.scrollable_content_region.width
        assert "── branched from 漢字" in app.shown
        assert {cell_width(app.view.render_line(y).text) for y in range(10)} == {width}


async def test_rules_go_from_edge_to_edge() -> None:
    app = ViewApp(Library([message(1, "assistant", "above\n\n---\n\nbelow")]))
    async with app.run_test(size=(40, 12)):
        width = app.view.scrollable_content_region.width
        assert f"┃ {'─' * (width - 3)}" in app.lines


async def test_a_long_output_is_short_with_its_beginning_and_its_end() -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    app = ViewApp(Library([message(1, "tool", json.dumps({"output": output, "exit_code": 0}))]), words=["line 98"])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("t")
        shown = [line.strip("┃ ") for line in app.lines if "line" in line and "↳" not in line]
        assert shown == [
            *(f"line {number}" for number in range(5)),
            "… 92 more lines · Enter shows all",
            *(f"line {number}" for number in range(97, 100)),
        ]

"""Lines of files in what tools were given and gave back have the colours of their language, which the path tells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import ToolCall
from hermes_sessions.tui.code_colours import MOST_COLOURED, colours, language_of
from hermes_sessions.tui.line_styles import SourceText
from hermes_sessions.tui.listings import gone_through
from hermes_sessions.tui.message_blocks import compose
from tests.tui.talks import Library, ViewApp, message, settled

CODE = "import os\n\n\ndef name(x):\n    return 'text'  # why"
NUMBERED = "\n".join(f"{number}|{line}" for number, line in enumerate(CODE.split("\n"), 1))


def looks(source: SourceText, words: str) -> str:
    """The look of the run in which some words begin, once there are colours."""
    for block in list(source.waiting):
        source.colour(block, colours(source.text[block.first : block.last], block.language))
    place = source.text.index(words)
    start = source.text.rfind("\n", 0, place) + 1
    stop = source.text.find("\n", place)
    runs = source.runs(start, stop if stop >= 0 else len(source.text))
    return next(run.look for run in runs if run.at <= place < run.at + len(run.text))


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "py"),
        ("C:\\src\\A.TSX", "ts"),
        ("/x/Makefile", "make"),
        ("include/a.h", "c"),
        ("Dockerfile", "docker"),
        (".gitignore", ""),
        ("README", ""),
        ("a.tar.gz", "gz"),
        ("", ""),
    ],
)
def test_the_name_of_a_file_tells_its_language(path: str, language: str) -> None:
    assert language_of(path) == language


def test_lines_with_numbers_have_the_colours_of_those_without() -> None:
    bare, numbered = colours(CODE, "py"), colours(NUMBERED, "py")
    assert bare is not None
    assert numbered is not None
    place = at = 0
    for number, line in enumerate(CODE.split("\n"), 1):
        first = place + len(f"{number}|")
        assert next(numbered.pieces(place, first))[2] == "muted"
        shown = [(a - first, b - first, look) for a, b, look in numbered.pieces(first, first + len(line))]
        assert shown == [(a - at, b - at, look) for a, b, look in bare.pieces(at, at + len(line))]
        place, at = first + len(line) + 1, at + len(line) + 1


@given(st.text(st.sampled_from("1|a \n→#'\""), max_size=60))
def test_whatever_is_numbered_keeps_every_character(text: str) -> None:
    found = colours(text, "py")
    assert found is not None
    assert "".join(text[a:b] for a, b, _ in found.pieces(0, len(text))) == text


def test_a_file_that_is_written_has_colours() -> None:
    arguments = json.dumps({"path": "src/a.py", "content": CODE + "\n", "mode": "w"})
    (block,) = compose(message(1, "assistant", "", ToolCall("c", "write_file", arguments)))
    assert looks(block.body, "def") == "result keyword"
    assert looks(block.body, "# why") == "result comment"
    assert looks(block.body, "path") == "result key"
    assert looks(block.body, "mode") == "result key"


def test_what_an_edit_puts_in_keeps_its_ground_under_the_colours() -> None:
    arguments = json.dumps({"path": "a.py", "old_string": "x = 1\ny = 2\n", "new_string": CODE})
    (block,) = compose(message(1, "assistant", "", ToolCall("c", "patch", arguments)))
    assert looks(block.body, "def") == "result added keyword"
    assert looks(block.body, "2") == "result removed number"


@pytest.mark.parametrize("path", ["notes.txt", "README", "a.unheard-of"])
def test_a_file_of_no_known_language_is_plain(path: str) -> None:
    arguments = json.dumps({"path": path, "content": CODE})
    (block,) = compose(message(1, "assistant", "", ToolCall("c", "write_file", arguments)))
    assert looks(block.body, "def") == "result"


def test_what_is_too_large_is_plain() -> None:
    arguments = json.dumps({"path": "a.py", "content": "x = 1\n" * MOST_COLOURED})
    (block,) = compose(message(1, "assistant", "", ToolCall("c", "write_file", arguments)), whole=True)
    assert block.body.waiting == []


@pytest.mark.parametrize("text", ["no numbers\nat all", "1|one line alone", "", "x|1\ny|2"])
def test_what_has_no_numbers_is_no_file_that_was_read(text: str) -> None:
    assert list(gone_through(text, "py")) == []


@pytest.mark.parametrize("around", ["", "content:\n{}\ntotal_lines: 5"])
def test_a_file_that_was_read_is_found_among_what_else_is_told(around: str) -> None:
    text = around.format(NUMBERED) if around else NUMBERED
    (listing,) = gone_through(text, "py")
    assert text[listing.first : listing.last] == NUMBERED


async def test_a_file_that_was_read_has_colours_once_it_is_shown() -> None:
    calls = [ToolCall("a", "terminal", '{"path": "x.rs"}'), ToolCall("b", "read_file", '{"path": "x.py"}')]
    read, named = json.dumps({"content": NUMBERED, "total_lines": 5}), {"tool_name": "read_file"}
    said = [
        message(1, "assistant", "", *calls),
        message(2, "tool", "out", tool_call_id="a"),
        message(3, "tool", read, tool_call_id="b", **named),
        message(4, "tool", read, tool_call_id="gone", **named),
    ]
    app = ViewApp(Library(said))
    async with app.run_test(size=(80, 40)) as pilot:
        layout = app.view.viewport.transcript.layout(2)
        assert layout is not None
        assert layout.waiting == []
        await pilot.press("t", "t")
        await settled(pilot)
        await settled(pilot)
        (block,) = layout.blocks
        assert looks(block.body, "def") == "result keyword"
        row = next(y for y, line in enumerate(app.lines) if "def name" in line)
        styles = {segment.text.strip(): segment.style for segment in app.view.render_line(row)}
        assert styles["def"] != styles["(x):"]
        other = app.view.viewport.transcript.layout(3)
        assert other is not None
        assert looks(other.blocks[0].body, "def") == "result"
        assert not other.lacks_language

"""Texts come when they are needed, and a tool's result gets its name from the call."""

from __future__ import annotations

import asyncio

from hermes_sessions.model import ToolCall
from hermes_sessions.tui.reading import Reading
from hermes_sessions.tui.transcript import Transcript
from tests.tui.talks import Library, ViewApp, call, message


async def test_a_result_without_a_name_is_called_like_the_call_it_answers() -> None:
    calls = [ToolCall("a", "read_file", "{}"), ToolCall("b", "patch", "{}")]
    said = [
        message(40, "assistant", "", *calls),
        message(41, "tool", "one", tool_name=None, tool_call_id="b"),
        message(42, "tool", "two", tool_name=None, tool_call_id="a"),
        message(43, "tool", "three", tool_name=None, tool_call_id="c"),
        message(44, "tool", "four", tool_name=None, tool_call_id=None),
        message(45, "tool", "five", tool_name="mine", tool_call_id="a"),
    ]
    app = ViewApp(Library(said))
    async with app.run_test(size=(60, 30)):
        names = [line.split()[2] for line in app.lines if "↳" in line]
        assert names == ["patch", "read_file", "tool", "tool", "mine"]


def test_a_nameless_result_is_named_even_if_its_call_is_not_asked_for() -> None:
    said = [
        message(1, "assistant", "", call("patch", "{}")),
        message(2, "tool", "", tool_name=None, tool_call_id="call_1"),
    ]
    library = Library(said)
    reading = Reading(Transcript(library.stubs, 80), library.load)
    found = asyncio.run(reading.fetch([1]))
    assert list(found) == [1]
    assert found[1] == said[1]._replace(tool_name="patch")
    assert library.asked == [2, 1]

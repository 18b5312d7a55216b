"""Where the lines of a conversation are: heights, places and offsets, without a screen."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Message
from hermes_sessions.text import clean
from hermes_sessions.tui import layouts as module
from hermes_sessions.tui.heights import Heights
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.steps import finish
from hermes_sessions.tui.transcript import Transcript, nearest
from hermes_sessions.tui.viewport import Viewport
from tests.tui.talks import call, message, prose, stub_of

TEXTS = st.text(st.sampled_from("ab \n\té漢👨‍👩‍👧e\u0301-"), max_size=120)


def transcript_of(messages: list[Message], width: int = 40, *, loaded: bool = True) -> Transcript:
    transcript = Transcript(list(map(stub_of, messages)), width)
    if loaded:
        load(transcript, messages, range(len(messages)))
    return transcript


def load(transcript: Transcript, messages: list[Message], indices: range) -> None:
    for index in indices:
        transcript.put(index, finish(transcript.layout_steps(index, messages[index])))


def rows(transcript: Transcript, index: int) -> list[str]:
    lines = [transcript.line(index, row) for row in range(transcript.heights[index])]
    return [line.source.text[line.start : line.stop] for line in lines]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9))))
def test_heights_are_prefix_sums_whatever_was_corrected(heights: list[int], corrections: list[tuple[int, int]]) -> None:
    expected, found = list(heights), Heights(heights)
    for index, height in corrections:
        expected[index % len(heights)] = found[index % len(heights)] = height
        found.top(index % len(heights))
    tops = list(accumulate(expected, initial=0))
    assert [found.top(index) for index in range(len(heights) + 1)] == tops
    for y in range(tops[-1]):
        index, row = found.locate(y)
        assert tops[index] + row == y
        assert row < expected[index]


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(8, 60))
def test_a_settled_transcript_has_every_character_on_its_lines(texts: list[str], width: int) -> None:
    messages = [message(number, text=text) for number, text in enumerate(texts, 1)]
    transcript = transcript_of(messages, width)
    transcript.settle(0, 0, 10_000)
    assert not transcript.inexact
    everything = text_between(transcript, (0, 0, 0), (len(texts), 0, 0))
    for text in texts:
        assert (clean(text).strip("\n").rstrip() if text.strip() else "(empty)") in everything


def test_a_message_whose_text_is_not_here_has_a_height_from_its_size() -> None:
    transcript = transcript_of([message(1, text="word " * 100)], 40, loaded=False)
    assert transcript.inexact == [0]
    assert 13 <= transcript.heights.total <= 25


def test_a_folded_tool_result_has_one_line_before_its_text_is_here() -> None:
    messages = [message(1, "assistant", "ok"), message(2, "tool", "x\n" * 400)]
    transcript = transcript_of(messages, loaded=False)
    assert transcript.inexact == [0]
    assert transcript.heights[1] == 1
    load(transcript, messages, range(2))
    transcript.settle(0, 0, 100)
    assert transcript.heights[1] == 1


def test_heights_are_made_exact_around_a_place_only() -> None:
    messages = prose(200)
    transcript = transcript_of(messages)
    transcript.settle(100, 0, 20)
    exact = set(range(200)) - set(transcript.inexact)
    assert 100 in exact
    assert exact == set(range(min(exact), max(exact) + 1))
    assert len(exact) < 50


@given(st.integers(0, 79), st.integers(0, 3), st.integers(10, 40), st.integers(10, 100), st.data())
def test_the_line_at_the_top_stays_when_heights_become_exact(
    index: int, row: int, page: int, width: int, data: st.DataObject
) -> None:
    """Whatever is loaded around it, in whatever order."""
    messages = prose(80)
    transcript = transcript_of(messages, width, loaded=False)
    load(transcript, messages, range(index, index + 1))
    viewport = Viewport(transcript, page)
    viewport.go_to(index, row)
    if viewport.at_end:
        return
    top = transcript.heights.locate(viewport.y)
    for other in data.draw(st.permutations(range(80)))[:40]:
        load(transcript, messages, range(other, other + 1))
        viewport.place_again()
        if viewport.at_end:
            return
        assert transcript.heights.locate(viewport.y)[0] == top[0]
        if top[0] == index:
            assert transcript.heights.locate(viewport.y) == top


def test_the_end_stays_the_end_when_heights_become_exact() -> None:
    messages = prose(50)
    transcript = transcript_of(messages, loaded=False)
    viewport = Viewport(transcript, 20)
    viewport.go_to_end()
    load(transcript, messages, range(50))
    viewport.place_again()
    assert viewport.y == transcript.heights.total - 20
    assert viewport.cursor == 49


def test_the_cursor_is_always_on_the_screen() -> None:
    viewport = Viewport(transcript_of(prose(60)), 12)
    viewport.go_to_start()
    for y in range(0, viewport.transcript.heights.total, 5):
        viewport.scroll_to(y)
        top = viewport.transcript.heights.top(viewport.cursor)
        assert top < viewport.y + 12
        assert top + viewport.transcript.heights[viewport.cursor] > viewport.y


def test_the_next_message_is_reached_and_seen_whatever_its_height() -> None:
    viewport = Viewport(transcript_of(prose(40)), 10)
    viewport.go_to_start()
    for index in range(1, 40):
        viewport.put_cursor(viewport.cursor + 1)
        assert viewport.cursor == index
        assert viewport.y <= viewport.transcript.heights.top(index) + viewport.transcript.first_row(index)
    viewport.put_cursor(viewport.cursor + 1)
    assert viewport.cursor == 39


def test_dividers_tell_a_new_day_and_where_a_conversation_was_compressed() -> None:
    messages = [
        message(1, text="one"),
        message(2, "assistant", "two", timestamp=1_780_000_000.0 + 86_400),
        message(3, text="three", session_id="t", timestamp=1_780_000_000.0 + 86_401),
        message(4, text="four", session_id="t", timestamp=1_780_000_000.0 + 86_402, compacted=True),
        message(5, text="five", session_id="t", timestamp=1_780_000_000.0 + 86_403),
    ]
    transcript = transcript_of(messages)
    kinds = [
        {transcript.line(index, row).kind for row in range(transcript.heights[index])} & {"day", "compressed"}
        for index in range(5)
    ]
    assert kinds == [{"day"}, {"day"}, {"compressed"}, set(), {"compressed"}]


def test_one_turn_of_the_agent_has_one_header_unless_time_passes() -> None:
    start = 1_780_000_000.0
    messages = [
        message(1, "assistant", "", call("terminal", "{}"), timestamp=start),
        message(2, "tool", "done", timestamp=start + 1),
        message(3, "assistant", "well", timestamp=start + 2),
        message(4, "tool", "done", timestamp=start + 3),
        message(5, "assistant", "later", timestamp=start + 1000),
    ]
    transcript = transcript_of(messages)
    headers = [any(transcript.line(i, row).kind == "header" for row in range(transcript.heights[i])) for i in range(5)]
    assert headers == [True, False, False, False, True]


@pytest.mark.parametrize("nonsense", [None, float("nan"), float("inf"), -1e300, 1e300])
def test_a_time_that_is_nonsense_is_a_question_mark(nonsense: float | None) -> None:
    transcript = transcript_of([message(1, text="x", timestamp=nonsense), message(2, text="y")])
    assert "you · ?" in rows(transcript, 0)


def test_a_grown_outline_keeps_everything_and_a_changed_one_is_refused() -> None:
    messages = prose(30)
    transcript = transcript_of(messages[:20])
    transcript.settle(19, 0, 1000)
    before = [transcript.heights[index] for index in range(20)]
    assert transcript.extend(list(map(stub_of, messages)))
    assert [transcript.heights[index] for index in range(20)] == before
    assert transcript.missing(range(30)) == list(range(20, 30))
    assert not transcript.extend(list(map(stub_of, messages[1:])))
    assert len(transcript) == 30


def test_another_outline_of_the_same_conversation_keeps_the_texts_that_are_here() -> None:
    messages = prose(10)
    other = transcript_of(messages).replaced(list(map(stub_of, messages[3:])))
    assert other.missing(range(7)) == []
    assert "message 4" in rows(other, 0)


def test_texts_are_dropped_beyond_the_limits_but_not_those_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOADED_MESSAGES", 5)
    transcript = transcript_of(prose(20))
    transcript.layouts.trim(range(3, 6))
    kept = {index for index in range(20) if transcript.layout(index)}
    assert len(kept) == 5
    assert {3, 4, 5} <= kept
    monkeypatch.setattr(module, "LOADED_BYTES", 1)
    transcript.layouts.trim(range(3, 6))
    assert {index for index in range(20) if transcript.layout(index)} == {3, 4, 5}


def test_selected_lines_that_the_width_has_broken_are_one_line() -> None:
    text = "one two three four five six seven eight nine ten\nand a second line"
    transcript = transcript_of([message(1, text=text)], 20)
    transcript.settle(0, 0, 100)
    first = next(row for row in range(20) if transcript.line(0, row).kind == "body")
    assert text_between(transcript, (0, first, 4), (0, transcript.heights[0] - 1, 5)) == text[4:-12]


def test_the_nearest_message_stands_in_for_one_that_is_not_there() -> None:
    transcript = transcript_of([message(10), message(20), message(30)], loaded=False)
    assert [nearest(transcript.stubs, id) for id in (1, 20, 24, 29, 99)] == [0, 1, 1, 2, 2]

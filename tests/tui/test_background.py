"""The terminal's answer is taken out of what it sends, in whatever pieces it comes; nothing that is typed is lost."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from textual import events
from textual.message import Message

from hermes_sessions.tui.background import AnswerParser, BackgroundTold, can_answer

DARK_ANSWER = "\x1b]11;rgb:1414/1717/1c1c\x07"
LIGHT_ANSWERS = ["\x1b]11;rgb:ffff/ffff/ffff\x07", "\x1b]11;rgb:ff/ff/f0\x1b\\", "\x1b]11;rgba:ffff/ffff/ffff/ffff\x07"]


def read(*pieces: str) -> list[Message]:
    parser = AnswerParser()
    return [message for piece in pieces for message in parser.feed(piece)]


def keys(messages: Iterable[Message]) -> str:
    return "".join(message.character or "" for message in messages if isinstance(message, events.Key))


def told(messages: Iterable[Message]) -> list[bool]:
    return [message.light for message in messages if isinstance(message, BackgroundTold)]


@pytest.mark.parametrize("answer", LIGHT_ANSWERS)
def test_a_light_background_is_told(answer: str) -> None:
    messages = read(answer)
    assert told(messages) == [True]
    assert keys(messages) == ""


def test_a_dark_background_is_told() -> None:
    assert told(read(DARK_ANSWER)) == [False]


@pytest.mark.parametrize("answer", [DARK_ANSWER, *LIGHT_ANSWERS])
def test_an_answer_in_two_pieces_is_one_and_what_is_typed_around_it_is_kept(answer: str) -> None:
    for cut in range(2, len(answer)):
        messages = read("jk", "a" + answer[:cut], answer[cut:] + "b", "c")
        assert len(told(messages)) == 1, cut
        assert keys(messages) == "jkabc", cut


def test_what_only_begins_like_an_answer_is_typed() -> None:
    assert keys(read("\x1b]1", "2", "3" * 40)) == "^]12" + "3" * 40
    assert keys(read("]", "11;rgb:")) == "]11;rgb:"


def test_escape_does_not_wait_for_an_answer() -> None:
    parser = AnswerParser()
    assert list(parser.feed("\x1b")) == []
    assert parser._held == ""


def test_the_end_of_what_is_sent_ends_what_is_held() -> None:
    assert keys(read("a\x1b]11", "")) == "a]11"


@pytest.mark.parametrize(
    ("environ", "can"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "screen-256color", "TMUX": "x"}, True),
        ({"TERM": "screen-256color", "STY": "x"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "vt220"}, False),
    ],
)
def test_only_terminals_that_may_answer_are_asked(environ: dict[str, str], can: bool) -> None:
    assert can_answer(environ) is can

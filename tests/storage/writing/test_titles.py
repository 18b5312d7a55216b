"""The rules of titles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import UsageError
from hermes_sessions.storage.writing.titles import base_of, clean_title, next_title, shorten, tidy
from hermes_sessions.text import one_line

HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\x1b\x9b\x9d[]0;31mRe\x07\\ \t\n\x00\x85\u200b\u200d\u202e\ufeff\ud83d\ude00#2"),
        st.characters(codec=None),
    ),
    max_size=100,
)


@pytest.mark.parametrize(
    ("given_title", "stored"),
    [
        ("  Login \t\n loop\x1b\u202e\u200b ", "Login loop"),
        ("\x1b[31mRed\x1b[0m", "Red"),
        ("[31mRed[0m", "Red"),
        ("[1;38;5;196mRed[0m alert", "Red alert"),
        ("\x9b31mRed\x9b0m", "Red"),
        ("\x1b]0;evil\x07ok", "ok"),
        ("\x1b]0;evil\x1b\\ok", "ok"),
        ("]0;evil\x07ok", "ok"),
        ("]11;rgb:2828/2c2c/3434 hello", "hello"),
        ("\x1b]11;rgb:2828/2c2c/3434 hello", "hello"),
        ("[?25lspinner[?25h", "spinner"),
        ("\x1b(Bplain", "plain"),
        ("array[0] [Note]", "array[0] [Note]"),
        ("[5min] x [31mRed[0m", "[5min] x Red"),
        ("[5m] sprint, a[1], [10ms]", "[5m] sprint, a[1], [10ms]"),
        ("a\x85b\u00a0c", "a b c"),
        ("half \ud83d here", "half \ufffd here"),
        ("\ud83d\ude00", "\U0001f600"),
        ("日本語  のタイトル", "日本語 のタイトル"),
    ],
)
def test_a_title_is_cleaned(given_title: str, stored: str) -> None:
    assert clean_title(given_title) == stored


@pytest.mark.parametrize("nothing", [None, "", "  \t ", "\u200b\ufeff", "\x1b[0m", "\x00"])
def test_a_title_of_nothing_is_none(nothing: str | None) -> None:
    assert clean_title(nothing) is None


@given(HOSTILE)
def test_what_is_stored_is_what_a_terminal_shows(title: str) -> None:
    cleaned = tidy(title)
    assert one_line(cleaned) == cleaned


@pytest.mark.parametrize("letter", ["x", "語", "\U0001f600"])
def test_a_hundred_characters_are_allowed_whatever_their_bytes(letter: str) -> None:
    assert clean_title(letter * 100) == letter * 100
    with pytest.raises(UsageError, match="101 characters"):
        clean_title(letter * 101)


def test_a_long_and_hostile_title_is_refused_at_once() -> None:
    with pytest.raises(UsageError):
        clean_title("\x1b]0;" * 100_000 + "x" * 101)


def test_a_cut_parts_no_letter_from_its_accents() -> None:
    assert shorten("e\u0301" * 60, 99) == "e\u0301" * 49
    assert shorten("\U0001f44d\U0001f3fd" * 2, 3) == "\U0001f44d\U0001f3fd"
    assert shorten("one two", 4) == "one"
    assert shorten("short", 100) == "short"


@pytest.mark.parametrize(
    ("title", "base"),
    [("a", "a"), ("a #2", "a"), ("a #2 #3", "a #2"), ("a #x", "a #x"), ("a#2", "a#2"), (" #2", "")],
)
def test_the_number_is_no_part_of_the_base(title: str, base: str) -> None:
    assert base_of(title) == base


@pytest.mark.parametrize(
    ("title", "taken", "following"),
    [
        ("Debug", [], "Debug"),
        ("Debug", ["Debug"], "Debug #2"),
        ("Debug", ["Debug", "Debug #2"], "Debug #3"),
        ("Debug #2", ["Debug #2"], "Debug #3"),
        ("Debug", ["Debug", "Debug #9"], "Debug #10"),
        ("Debug", ["Debug #2"], "Debug #3"),
        ("a_b", ["axb #7", "a_b"], "a_b #2"),
        ("Debug", ["Debug", "Debugging #7", "Debug #2 #8", "debug #9"], "Debug #2"),
    ],
)
def test_the_next_title_counts_its_own_like_alone(title: str, taken: list[str], following: str) -> None:
    assert next_title(title, taken) == following


def test_the_number_fits_into_a_hundred_characters_and_is_still_free() -> None:
    title = "x" * 100
    following = next_title(title, [title, "x" * 97 + " #2"])
    assert following == "x" * 97 + " #3"


def test_a_number_that_nobody_counted_to_is_a_part_of_the_title() -> None:
    endless = "x #" + "9" * 5_000
    assert next_title("x", ["x", endless]) == "x #2"
    assert next_title(endless, [endless]).endswith(" #2")

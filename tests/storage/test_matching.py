"""Finding terms in a text, and the snippet that shows them."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.matching import fold, locate, plain, snippet
from hermes_sessions.text import clean

some_text = st.text(st.characters(codec="utf-8"), max_size=60)


def marked(text: str, *terms: str) -> list[str]:
    found = snippet(text, [fold(term) for term in terms])
    return [found.text[start:end] for start, end in found.spans]


def test_case_accent_and_composition_make_no_difference() -> None:
    assert marked("Le Café de Paris", "cafe") == ["Café"]
    assert marked(unicodedata.normalize("NFD", "Le Café"), "café") == [unicodedata.normalize("NFD", "Café")[:-1]]
    assert marked("Die Straße", "STRASSE") == ["Straße"]
    assert marked(unicodedata.normalize("NFD", "한국어"), "한국어")


def test_spans_survive_white_space_and_what_stands_before() -> None:
    text = "a\n\n  b " * 60 + "the\tneedle  in it" + " x" * 200
    found = snippet(text, ["needle", "the"])
    assert [found.text[a:b] for a, b in found.spans] == ["the", "needle"]
    assert found.text.startswith("…") and found.text.endswith("…")
    assert "\n" not in found.text and "  " not in found.text


def test_the_first_match_decides_where_the_snippet_is_cut() -> None:
    assert "needle" in snippet("x" * 5000 + " needle " + "y" * 5000, ["needle"]).text


@given(some_text, some_text, some_text)
def test_what_is_in_a_text_is_found_in_it(before: str, needle: str, after: str) -> None:
    text = before + needle + after
    folded = fold(needle)
    if folded and folded in fold(text):
        assert locate(text, [folded])


@given(some_text, st.lists(some_text, max_size=3))
def test_spans_lie_in_the_snippet_and_in_order(text: str, terms: list[str]) -> None:
    found = snippet(text, [fold(term) for term in terms])
    position = 0
    for start, end in found.spans:
        assert position <= start < end <= len(found.text)
        position = end


@given(some_text)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


hostile = st.lists(
    st.sampled_from(
        ["\x1b[", "\x9b", "\x1b]", "\x9d", "\x07", "\x1b\\", "\x9c", "\x1b(", "\x1b", "31;1m", "8;;u", "a", "é"]
    )
    | st.sampled_from(["\r\n", "\r", "\n", "\x00", "\u202e", "\ud800", "\ufeff", "\x1bP", "数", " "])
    | st.text(max_size=3)
).map("".join)


@given(hostile)
def test_a_text_is_searched_as_it_is_shown(text: str) -> None:
    """Tabs apart, which become blanks: any white space is one."""
    assert plain(text).split() == clean(text).split()

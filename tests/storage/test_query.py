"""What a person typed, as terms."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.query import Term, parse


def texts(query: str) -> list[str]:
    return [term.text for term in parse(query)]


def test_words_and_phrases_are_taken_apart() -> None:
    assert texts('docker "a b" now') == ["docker", "a b", "now"]


def test_an_open_quote_runs_to_the_end() -> None:
    assert texts('say "a b') == ["say", "a b"]


@pytest.mark.parametrize(("query", "prefix"), [("dock", True), ("dock ", False), ('"dock"', False), ("a dock", True)])
def test_the_word_still_being_typed_is_a_prefix(query: str, prefix: bool) -> None:
    assert parse(query)[-1].prefix is prefix


@pytest.mark.parametrize("query", ["", "   ", '"', '""', '" "'])
def test_nothing_typed_is_no_term(query: str) -> None:
    assert parse(query) == ()


@pytest.mark.parametrize(
    "text", ["chat-send", "C++", "mm/slub.c", "#2", "100%", "content:parser", "数据", "한국어", "sp_new", "😀"]
)
def test_what_a_tokenizer_cannot_see_is_searched_as_it_is_written(text: str) -> None:
    assert parse(text) == (Term(text, "literal", prefix=True),)


def test_a_word_is_looked_for_composed_and_decomposed() -> None:
    assert parse("café ")[0].forms == ("café", "cafe\u0301")
    assert '("café" OR "cafe\u0301" OR' in parse("café ")[0].words_match


def test_sharp_s_and_its_capitals_are_one_letter() -> None:
    assert parse("Straße")[0].forms == ("Straße", "Strasse")
    assert "STRAßE" in parse("STRASSE")[0].forms


def test_half_a_character_is_no_error() -> None:
    assert parse("a\ud800")[0].text == "a?"


@given(st.text())
def test_no_text_is_a_syntax_error_of_the_index(query: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5 (content)")
    for term in parse(query):
        if not any("\ud800" <= char <= "\udfff" for char in term.text):
            connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (term.words_match,)).fetchall()
    connection.close()
    assert all(term.text.strip() for term in parse(query))

"""Titles and ids that fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Catalog, Conversation, Session
from hermes_sessions.storage.matching import Needles, without_marks
from hermes_sessions.storage.query import parse
from hermes_sessions.storage.title_index import TitleIndex


def catalog_of(*titles: str | None) -> Catalog:
    empty = Session("", "cli", None, None, None, None, None, None, None, 1.0, None, None, False, False, None, True)
    sessions = [empty._replace(id=f"ID-{number}", title=title) for number, title in enumerate(titles)]
    return Catalog(tuple(Conversation((session,)) for session in sessions))


def found(query: str, *titles: str | None, allowed: set[str] | None = None) -> list[tuple[str, str | None]]:
    needles = Needles(without_marks(parse(query)))
    return [(hit.conversation.id, hit.title) for hit in TitleIndex(catalog_of(*titles)).hits(needles, allowed)]


def test_every_word_must_be_in_one_title() -> None:
    assert found("plan login", "Login plan", "login", None, "The PLAN of the\nlogin") == [
        ("ID-0", "Login plan"),
        ("ID-3", "The PLAN of the\nlogin"),
    ]
    assert found("plan OR login", "Login", "plan", "x") == [("ID-0", "Login"), ("ID-1", "plan")]
    assert found("login -plan", "Login plan", "login") == [("ID-1", "login")]


def test_an_id_is_found_by_a_part_of_it() -> None:
    assert found("id-1", "a", "b", "c") == [("ID-1", None)]


def test_punctuation_may_be_left_out() -> None:
    assert found("an94", "AN-94", "an 94", "a n9") == [("ID-0", "AN-94"), ("ID-1", "an 94")]


def test_only_what_is_allowed_is_found() -> None:
    assert found("a", "a", "a", "a", allowed={"ID-1"}) == [("ID-1", "a")]


@given(st.lists(st.text("abé-数 \x1f\n", max_size=6), max_size=6), st.text("abé-数", min_size=1, max_size=3))
def test_it_finds_what_looking_at_each_title_finds(titles: list[str], word: str) -> None:
    needles = Needles(without_marks(parse(f'"{word}"')))
    one_by_one = [
        f"ID-{number}"
        for number, title in enumerate(titles)
        if needles.words and needles.fit(title.replace("\x1f", " "))
    ]
    if needles.words:
        hits = [id for id, _ in found(f'"{word}"', *titles)]
        assert set(one_by_one) <= set(hits)
        assert hits == sorted(hits, key=lambda id: int(id[3:]))

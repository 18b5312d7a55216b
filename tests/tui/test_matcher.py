"""Words are found as a person means them, and every place is counted once."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.tui.findings import Findings
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import compose
from hermes_sessions.tui.steps import finish
from tests.tui.talks import call, message


def found(word: str, text: str) -> list[str]:
    return [text[start:stop] for start, stop in Matcher([word]).spans(text)]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("word", "text"), [("café", "Un CAFÉ."), ("cafe", "un café"), ("한국어", "한국어 문서")])
def test_case_accents_and_composition_do_not_matter(form: str, word: str, text: str) -> None:
    stored = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert len(found(word, stored)) == 1
    assert len(found(unicodedata.normalize("NFD", word), stored)) == 1


def test_accents_do_not_matter_in_plain_text_either() -> None:
    assert found("café", "the cafe") == ["cafe"]


def test_a_phrase_is_found_over_a_line_break() -> None:
    assert found("two  words", "a two\n   words b") == ["two\n   words"]
    assert found("two words", "é two\nwords") == ["two\nwords"]


def test_the_characters_of_patterns_are_characters() -> None:
    assert found("a.*[x]\\", "A.*[X]\\ and axxx") == ["A.*[X]\\"]


@pytest.mark.parametrize("nothing", [[], [""], [" \n"]])
def test_nothing_finds_nothing(nothing: list[str]) -> None:
    matcher = Matcher(nothing)
    assert not matcher
    assert list(matcher.spans("anything é")) == []


@given(st.text(st.sampled_from("abé漢 \n"), max_size=60), st.text(st.sampled_from("abé漢"), min_size=1, max_size=3))
def test_windows_find_what_the_whole_does(text: str, word: str) -> None:
    matcher = Matcher([word])
    whole = {span for span in matcher.spans(text) if text[span[0] : span[1]] == word}
    for start in range(0, len(text), 7):
        windowed = {span for span in matcher.spans(text, start, start + 7) if text[span[0] : span[1]] == word}
        assert {span for span in whole if start <= span[0] < start + 7} <= windowed | whole
        assert all(start <= span[0] < start + 7 for span in windowed)


def findings(word: str, *texts: str) -> Findings:
    result = Findings(Matcher([word]))
    for index, text in enumerate(texts):
        finish(result.scan(index, compose(message(index, "assistant", text), whole=True)).rest_steps())
    return result


def test_places_are_counted_over_all_messages_and_go_round() -> None:
    result = findings("x", "x x", "none", "x")
    assert result.total == 3
    walk, at = [], (0, 0)
    for _ in range(3):
        *place, wrapped = result.after(*at, 1)
        at = (place[0], place[1])
        walk.append((*at, wrapped, result.position(*at)))
    assert walk == [(0, 1, False, 2), (2, 0, False, 3), (0, 0, True, 1)]
    assert result.after(0, 0, -1) == (2, 0, True)
    assert result.after(1, -1, 1) == (2, 0, False)
    assert result.after(1, 0, -1) == (0, 1, False)


def test_counting_a_message_again_counts_it_once() -> None:
    result = findings("x", "x x")
    finish(result.scan(0, compose(message(0, "assistant", "x"))).rest_steps())
    assert result.total == 1


def test_a_place_is_found_again_in_the_arguments_of_a_call() -> None:
    blocks = compose(message(3, "assistant", "say x", call("tool", '{"q": "x"}')))
    hit = finish(Findings(Matcher(["x"])).hit_steps(3, 1, blocks))
    assert hit is not None
    assert (hit.message, hit.block) == (3, 1)
    assert blocks[hit.block].body.text[hit.start : hit.stop] == "x"


@pytest.mark.parametrize("text", ["two** words", "two **words", "two**\n**words"])
@pytest.mark.parametrize("before", ["**", "é "])
def test_a_phrase_is_found_across_the_signs_of_bold_text_which_are_not_drawn(before: str, text: str) -> None:
    assert found("two words", before + text) == [text]
    assert not found("two words", "two*** words")

"""A pasted text finds the conversations that share its rare words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import SearchResult
from hermes_sessions.storage import open_store, rare_words
from hermes_sessions.storage.rare_words import LONGEST, pieces_of
from tests.builders import HermesFile

TRACE = """
Traceback (most recent call last):
  File "/home/me/app/server.py", line 42, in handle
    raise FrobnicationError(code)
app.errors.FrobnicationError: gadget 0x7f3a91 is not frobnicated
"""


def ranked(file: HermesFile, text: str, limit: int = 20, offset: int = 0) -> SearchResult:
    store = open_store(file.path)
    result = store.rare_words.run(text, store.sessions.catalog(), limit=limit, offset=offset)
    store.close()
    assert result is not None
    return result


def ids(result: SearchResult) -> list[str]:
    return [found.conversation.id for found in result.conversations]


def test_the_conversation_with_the_rarest_words_comes_first(any_layout: HermesFile) -> None:
    for number in range(8):
        any_layout.talk(any_layout.session(f"noise{number}"), "Traceback most recent call last, line 42", "raise it")
    any_layout.talk(any_layout.session("other"), "the gadget is not here")
    any_layout.tool_call(any_layout.session("right"), "terminal", {"cmd": "python"}, TRACE.replace("/home/me", "/srv"))
    result = ranked(any_layout, TRACE)
    assert ids(result)[0] == "right"
    hit = result.conversations[0].hits[0]
    assert hit.role == "tool" and "frobnicat" in hit.snippet.text.lower()
    assert hit.snippet.spans
    assert (result.order, result.complete) == ("relevance", True)


def test_side_by_side_common_words_tell(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("right"), "it says connection refused again")
    hermes_file.talk(hermes_file.session("apart"), "refused a connection", "yes")
    assert ids(ranked(hermes_file, "connection refused"))[0] == "right"


def test_chinese_is_looked_for_in_pieces(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("right"), "昨天数据库连接失败了怎么办")
    hermes_file.talk(hermes_file.session("other"), "今天天气不错")
    assert ids(ranked(hermes_file, "错误:数据库连接失败")) == ["right"]


def test_undone_messages_are_not_found(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "one", "two")
    hermes_file.rewind("a", hermes_file.message("a", "user", "zorkmid"))
    assert ids(ranked(hermes_file, "zorkmid")) == []


def test_pages_and_the_conversations_that_may_be_found(hermes_file: HermesFile) -> None:
    for number in range(5):
        hermes_file.talk(hermes_file.session(f"s{number}"), "zorkmid")
    assert ids(ranked(hermes_file, "zorkmid", limit=2, offset=1)) == ["s3", "s2"]
    assert not ranked(hermes_file, "zorkmid", limit=2).complete
    store = open_store(hermes_file.path)
    result = store.rare_words.run("zorkmid", store.sessions.catalog(), allowed={"s1"})
    store.close()
    assert result is not None and ids(result) == ["s1"]


def test_where_no_rare_word_may_be_found_common_ones_tell(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rare_words, "FEW", 3)
    for number in range(4):
        hermes_file.talk(hermes_file.session(f"s{number}"), "gadget")
    hermes_file.talk(hermes_file.session("rare"), "zorkmid gadget")
    hermes_file.talk(hermes_file.session("none"), "hello")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    anywhere, there, nowhere = (
        store.rare_words.run("zorkmid gadget", catalog, allowed=allowed) for allowed in (None, {"s3", "none"}, {"none"})
    )
    store.close()
    assert anywhere is not None and there is not None and nowhere is not None
    assert (ids(anywhere), ids(there), ids(nowhere)) == (["rare"], ["s3"], [])
    assert "zorkmid" in anywhere.notice
    assert there.notice == "Ranked by the rare words of the text: gadget."
    assert nowhere.notice == ""


def test_without_an_index_nothing_is_claimed(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "zorkmid")
    hermes_file.sql("DROP TABLE messages_fts")
    store = open_store(hermes_file.path)
    assert store.rare_words.run("zorkmid", store.sessions.catalog()) is None
    store.close()


@given(st.text())
def test_every_piece_can_be_asked_for(text: str) -> None:
    for piece in pieces_of(text):
        assert piece.strip() and len(piece) <= 2 * LONGEST + 1 and "\x00" not in piece
        piece.encode()


def test_any_text_can_be_pasted(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "zorkmid")
    for text in ("", '"', "a" * 100_000, "x " * 50_000, '" OR NEAR( zorkmid*', "\x00\ud800", "数" * 10_000, "()[]{}"):
        ranked(hermes_file, text)

"""Search through the store's own indexes, and without them."""

from __future__ import annotations

import itertools
import unicodedata

import pytest

from hermes_sessions.model import ConversationHits, SearchResult
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.candidates import GLIMPSE as GLIMPSE_ROWS
from hermes_sessions.storage.search import COUNTED_HITS
from tests.builders import NOW, HermesFile


def search(store: Store, query: str, **options: object) -> SearchResult:
    return store.search.run(query, store.sessions.catalog(), **options)  # type: ignore[arg-type]


def found(store: Store, query: str) -> list[str]:
    return [hits.conversation.id for hits in search(store, query).conversations]


def only(store: Store, query: str) -> ConversationHits:
    (hits,) = search(store, query).conversations
    return hits


def one_each(file: HermesFile, **texts: str) -> Store:
    for id, text in texts.items():
        file.message(file.session(id), "user", text)
    return open_store(file.path)


def test_every_layout_finds_words_phrases_titles_and_ids(any_layout: HermesFile) -> None:
    any_layout.session("20260101_titled", title="Fingerprint login")
    store = one_each(any_layout, a="docker networking", b="networking in docker", c="今天去公园散步吧")
    assert found(store, "docker") == ["b", "a"]
    assert found(store, "netw") == ["b", "a"]
    assert found(store, '"docker networking"') == ["a"]
    assert found(store, "docker zebra") == []
    assert found(store, "fingerprint") == ["20260101_titled"]
    assert only(store, "fingerprint").hits[0].place == "title"
    assert only(store, "20260101").hits[0].place == "id"
    for piece in ("公园散步", "公园", "园"):
        assert found(store, piece) == ["c"], piece
    store.close()


def test_punctuation_is_text_and_never_an_operator(any_layout: HermesFile) -> None:
    """#1776, #40541, #16915 and their like."""
    store = one_each(
        any_layout,
        a="run chat-send now",
        b="send the chat",
        c="TODO: fix the parser, error:timeout at 9am",
        d="call sp_new1 then stop",
        e="new sp",
        f="C++ and mm/slub.c at 100% for #2",
        g="C at 100 for 2",
        h="don't visit https://x.y/z?q=1 or C:\\srv\\x",
    )
    expected = {
        "chat-send": ["a"],
        "TODO: fix": ["c"],
        "error:timeout": ["c"],
        "content:parser": [],
        "sp_new": ["d"],
        "sp_n": ["d"],
        "C++": ["f"],
        "mm/slub.c": ["f"],
        "100%": ["f"],
        "#2": ["f"],
        "don't": ["h"],
        "https://x.y": ["h"],
        "C:\\srv": ["h"],
        "grammar::fa": [],
        "--error-on-warnings": [],
    }
    assert {query: found(store, query) for query in expected} == expected
    store.close()


@pytest.mark.parametrize(
    "query",
    [
        "AND",
        "OR",
        "NOT x",
        "NEAR(a b)",
        "*",
        "^a",
        "{a}",
        '"',
        "a:b:c",
        "%",
        "_",
        "'",
        ";",
        "\\",
        "\x00",
        "😀",
        "(",
        "a AND",
        "-",
    ],
)
def test_whatever_is_typed_is_answered(hermes_file: HermesFile, query: str) -> None:
    store = one_each(hermes_file, a="some text 50% _x_ 'quoted' \\ ;")
    assert isinstance(search(store, query), SearchResult)
    for text in (query, f"é {query} é", f"{query} 数 x"):
        assert not search(store, text).notice, "an index that is there was asked something it does not understand"
    store.close()


def test_a_percent_sign_is_no_wildcard(hermes_file: HermesFile) -> None:
    """#54242: 100%完成 is not 100X完成, and no row is found twice."""
    rows = {f"r{n}": f"我昨晚{'又' * n}去了" for n in range(1, 11)}
    store = one_each(hermes_file, alone="昨晚", p="进度100%完成", q="进度100X完成", youer="修改youer服务端", **rows)
    assert found(store, "100%完成") == ["p"]
    assert sorted(found(store, "昨晚")) == sorted(["alone", *rows])
    store.close()


def test_composed_and_decomposed_text_is_the_same(hermes_file: HermesFile) -> None:
    store = one_each(
        hermes_file,
        a=unicodedata.normalize("NFD", "un café"),
        b="un café",
        k=unicodedata.normalize("NFD", "한국어 텍스트"),
    )
    assert found(store, "café") == ["b", "a"]
    assert found(store, "cafe") == ["b", "a"]
    assert found(store, "한국어") == ["k"]
    store.close()


def test_what_stands_inside_of_words_is_found_after_what_begins_them(any_layout: HermesFile) -> None:
    """#54242: a Latin word glued to Chinese, and every other piece of a word."""
    texts = {"whole": "login please", "inside": "getUserLogin()", "glued": "修改login服务端", "other": "log in"}
    any_layout.tool_call(any_layout.session("tool"), "try_login", {}, "done")
    store = one_each(any_layout, **texts, thai="ภาษาไทยไม่มีวรรค")
    # The index of version 6 does not hold the names of tools, and only knows where words begin in what was said.
    first = ["whole"] if any_layout.version == 6 else ["whole", "tool"]
    assert found(store, "login")[: len(first)] == first
    assert sorted(found(store, "login")) == ["glued", "inside", "tool", "whole"]
    assert found(store, "serlog") == ["inside"] == found(store, "serlog ")
    assert found(store, "ไทย") == ["thai"]
    ranked = search(store, "login", order="relevance")
    assert {hits.conversation.id for hits in ranked.conversations} == {"glued", "inside", "tool", "whole"}
    store.close()


def test_what_hermes_stores_as_json_is_found_as_it_is_read(any_layout: HermesFile) -> None:
    """Parts of a message with images, and tool calls, hold other letters than ASCII as escapes."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    said = [{"type": "text", "text": "看看这个图片里的错误 Привет résumé-file C:\\srv\\x"}, picture]
    any_layout.message(any_layout.session("parts"), "user", said)
    any_layout.tool_call(any_layout.session("called"), "write_file", {"path": "D:\\项目\\测试报告.txt"}, "ok")
    for number in range(GLIMPSE_ROWS):
        any_layout.message(any_layout.session(f"s{number}"), "user", "newer")
    store = open_store(any_layout.path)
    for query in ("图片里的", "图片", "看", "привет", "Прив", "résumé-file", "C:\\srv\\x", "srv\\x", "这个 Привет"):
        assert found(store, query) == ["parts"], query
    for query in ("测试报告", "测试", "D:\\项目", "报告.txt"):
        assert found(store, query) == ["called"], query
    store.close()


def test_accents_are_folded_whichever_index_answers(any_layout: HermesFile) -> None:
    store = one_each(any_layout, a="a naïve-test of crème-brûlée", b="Straße", c="STRASSE", d="a naive-test")
    assert found(store, "naïve of") == ["a"] and not search(store, "naïve of").notice
    assert sorted(found(store, "naive-test")) == ["a", "d"]
    assert found(store, "creme-brulee") == ["a"]
    assert sorted(found(store, "straße")) == ["b", "c"] == sorted(found(store, "Strasse"))
    store.close()


def test_a_word_behind_an_underscore_is_found_in_the_newest_messages(hermes_file: HermesFile) -> None:
    """They are read before a slow index is asked; both must mean the same by a word."""
    store = one_each(hermes_file, older="search", newer="web_search")
    assert found(store, "sear") == ["newer", "older"]
    store.close()


def test_tools_are_found_by_name_and_by_what_they_were_asked(hermes_file: HermesFile) -> None:
    """#52651, #16866: only message text was indexed."""
    hermes_file.tool_call(hermes_file.session("b"), "web_search", {"path": "config.yaml", "q": "größe"}, "nothing")
    hermes_file.session("c", title="AN-94")
    store = open_store(hermes_file.path)
    assert only(store, "config.yaml").hits[0].place == "tool_call"
    assert {hit.place for hit in only(store, "web_search").hits} == {"tool_call", "tool_name"}
    assert found(store, "an94") == ["c"]
    store.close()


def test_what_is_found_is_what_is_shown(any_layout: HermesFile) -> None:
    """Names in stored JSON that a transcript does not show are no hits, nor are its escapes, nor codes of colours."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    any_layout.tool_call(
        any_layout.session("a"), "shell", {"command": "ls"}, {"output": "one\nerror two", "exit_code": 0}
    )
    any_layout.message(any_layout.session("b"), "user", [{"type": "text", "text": "what is odd"}, image])
    any_layout.message(any_layout.session("c"), "user", "\x1b[31mred\x1b[0mden")
    any_layout.tool_call(any_layout.session("d"), "shell", {"command": "import: os"}, "done")
    store = open_store(any_layout.path)
    for query in ("output", "exit_code", "function", "arguments", "nerror", "image_url", "type", "31mred", '"json"'):
        assert found(store, query) == [] == found(store, f"{query} "), query
    assert found(store, "error") == ["a"] and found(store, "command") == ["d", "a"]
    assert found(store, "odd") == ["b"] and found(store, "redden") == ["c"]
    if any_layout.version != 6:
        assert found(store, '"import os"') == ["d"], "an index of words sees no punctuation"
    store.close()


def test_rewound_messages_are_not_found_and_compacted_ones_are_found_once(hermes_file: HermesFile) -> None:
    """#40751; two-character Chinese queries once took another path that forgot this."""
    hermes_file.message(hermes_file.session("a"), "user", "the zebra plan")
    hermes_file.compact_in_place("a", tail=0)
    hermes_file.rewind("a", hermes_file.message("a", "user", "secretplan 秘密"))
    store = open_store(hermes_file.path)
    assert found(store, "secretplan") == [] == found(store, "秘密")
    assert only(store, "zebra").hit_count == 1
    store.close()


def test_a_hit_in_a_copy_is_a_hit_in_what_it_repeats(hermes_file: HermesFile) -> None:
    """Compaction writes the newest messages again; a transcript shows the first of each."""
    first, _ = hermes_file.talk(hermes_file.session("a"), "the zebra plan", "yes")
    hermes_file.compact_in_place("a", tail=2)
    store = open_store(hermes_file.path)
    hits = only(store, "zebra")
    assert hits.hit_count == 1 and [hit.message_id for hit in hits.hits] == [first]
    assert first in [stub.id for stub in store.messages.outline(hits.conversation)]
    store.close()


def test_hits_are_counted_alike_in_every_order_at_once_or_as_they_come(hermes_file: HermesFile) -> None:
    """Also those behind the hits that are shown, and where only some of the messages were written again."""
    hermes_file.talk(hermes_file.session("a"), *(f"zebra {number}" for number in range(12)))
    hermes_file.compact_in_place("a", tail=4)
    hermes_file.talk("a", "zebra late", "zebra late")
    hermes_file.talk(hermes_file.session("b"), "zebra", "zebra")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    for order in ("recent", "relevance"):
        *_, streamed = store.search.stream("zebra", catalog, order=order)
        for result in (search(store, "zebra", order=order), streamed):
            assert {hits.conversation.id: hits.hit_count for hits in result.conversations} == {"a": 14, "b": 2}
    store.close()


def test_hits_are_grouped_by_conversation_newest_first(hermes_file: HermesFile) -> None:
    hermes_file.chain(3)
    hermes_file.message(hermes_file.session("other"), "user", "question x")
    hermes_file.message("chain-1", "user", "question late", t=NOW + 10)
    store = open_store(hermes_file.path)
    chain, other = search(store, "question").conversations
    assert (chain.conversation.id, chain.hit_count) == ("chain-3", 4)
    assert other.conversation.id == "other"
    newest = chain.hits[0]
    assert newest.session_id == "chain-1" and newest.role == "user" and newest.place == "content"
    assert newest.snippet.text == "question late" and newest.snippet.spans == ((0, 8),)
    store.close()


def test_limit_and_offset_count_conversations(hermes_file: HermesFile) -> None:
    for number in range(5):
        hermes_file.talk(hermes_file.session(f"s{number}"), "needle one", "needle two")
    store = open_store(hermes_file.path)
    whole = search(store, "needle")
    assert [hits.conversation.id for hits in whole.conversations] == ["s4", "s3", "s2", "s1", "s0"]
    assert whole.complete
    page = search(store, "needle", limit=2, offset=1)
    assert [hits.conversation.id for hits in page.conversations] == ["s3", "s2"]
    assert not page.complete
    assert len(search(store, "needle", limit=0).conversations) == 5
    store.close()


def test_a_title_stands_where_its_conversation_was_last_active(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("old"), "user", "needle")
    hermes_file.message(hermes_file.session("titled", title="The needle"), "user", "something")
    hermes_file.message(hermes_file.session("new"), "user", "needle")
    store = open_store(hermes_file.path)
    assert found(store, "needle") == ["new", "titled", "old"]
    store.close()


def test_a_common_word_is_counted_up_to_a_limit_that_is_told(hermes_file: HermesFile) -> None:
    hermes_file.sql("BEGIN")
    hermes_file.message(hermes_file.session("old"), "user", "common")
    hermes_file.session("a")
    for _ in range(COUNTED_HITS + 700):
        hermes_file.message("a", "user", "common")
    hermes_file.sql("COMMIT")
    store = open_store(hermes_file.path)
    result = search(store, "common", limit=1)
    assert COUNTED_HITS <= result.conversations[0].hit_count < COUNTED_HITS + 700
    assert not result.complete
    store.close()


def test_a_conversation_full_of_hits_hides_no_other(hermes_file: HermesFile) -> None:
    hermes_file.sql("BEGIN")
    for number in range(5):
        hermes_file.message(hermes_file.session(f"old{number}"), "user", "common")
    hermes_file.session("a")
    for _ in range(COUNTED_HITS + 700):
        hermes_file.message("a", "user", "common")
    hermes_file.sql("COMMIT")
    store = open_store(hermes_file.path)
    assert found(store, "common") == ["a", *(f"old{number}" for number in reversed(range(5)))]
    assert [hits.conversation.id for hits in search(store, "common", limit=2, offset=1).conversations] == [
        "old4",
        "old3",
    ]
    store.close()


def test_answers_only_grow(hermes_file: HermesFile) -> None:
    """What stands on the screen stays where it is while the rest comes."""
    for number in range(300):
        hermes_file.talk(hermes_file.session(f"s{number:03}"), "needle", "needle")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    orders = [
        [hits.conversation.id for hits in result.conversations] for result in store.search.stream("needle", catalog)
    ]
    assert len(orders) > 1
    for earlier, later in itertools.pairwise(orders):
        assert later[: len(earlier)] == earlier
    store.close()


def test_relevance_is_another_order(hermes_file: HermesFile) -> None:
    store = one_each(hermes_file, best="needle needle needle", worse="needle " + "hay " * 200)
    assert found(store, "needle") == ["worse", "best"]
    ranked = search(store, "needle", order="relevance")
    assert [hits.conversation.id for hits in ranked.conversations] == ["best", "worse"]
    assert ranked.order == "relevance"
    store.close()


DAMAGES = {
    "no index": ("DROP TRIGGER messages_fts_insert", "DROP TABLE messages_fts", "DROP TABLE messages_fts_trigram"),
    "emptied shadow table": ("DELETE FROM messages_fts_data", "DELETE FROM messages_fts_trigram_data"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_an_index_messages_are_read_and_that_is_said(hermes_file: HermesFile, damage: str) -> None:
    one_each(hermes_file, a="keep me", b="还有我", c="Ünïcode").close()
    for statement in DAMAGES[damage]:
        hermes_file.sql(statement)
    store = open_store(hermes_file.path)
    assert found(store, "keep") == ["a"]
    assert found(store, "unicode") == ["c"]
    assert found(store, "还有") == ["b"] == found(store, "还有我")
    assert search(store, "keep ").notice
    ranked = search(store, "keep", order="relevance")
    assert [hits.conversation.id for hits in ranked.conversations] == ["a"] and ranked.notice
    store.close()


def test_a_session_the_catalogue_does_not_know_makes_the_answer_incomplete(hermes_file: HermesFile) -> None:
    store = one_each(hermes_file, a="needle")
    catalog = store.sessions.catalog()
    hermes_file.message(hermes_file.session("later"), "user", "needle")
    result = store.search.run("needle", catalog)
    assert [hits.conversation.id for hits in result.conversations] == ["a"]
    assert not result.complete
    store.close()


@pytest.mark.parametrize("id", [2**40, 2**63 - 1])
def test_a_message_with_an_absurd_number_holds_nothing_up(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch, id: int
) -> None:
    hermes_file.message(hermes_file.session("a"), "user", "crème brûlée at noon")
    hermes_file.insert("messages", id=id, session_id="a", role="user", content="a far away octopus", timestamp=NOW)
    for read_anyway in (30_000, 0):
        monkeypatch.setattr("hermes_sessions.storage.coverage.READ_ANYWAY", read_anyway)
        monkeypatch.setattr("hermes_sessions.storage.finding.READ_ANYWAY", read_anyway)
        store = open_store(hermes_file.path)
        assert found(store, "creme") == found(store, "octopus") == ["a"]
        assert found(store, "nowhere") == []
        store.close()

"""Where hits come from, in which order, and when a search ends."""

from __future__ import annotations

from itertools import count

import pytest

from hermes_sessions.errors import Interrupted
from hermes_sessions.model import SearchOrder, SearchResult
from hermes_sessions.storage import Store, candidates, coverage, finding, open_store, search
from hermes_sessions.storage.candidates import Candidates
from hermes_sessions.storage.database import Row
from hermes_sessions.storage.query import parse
from tests.builders import HermesFile


def found(store: Store, query: str, **options: object) -> list[str]:
    result = store.search.run(query, store.sessions.catalog(), **options)  # type: ignore[arg-type]
    return [hits.conversation.id for hits in result.conversations]


@pytest.fixture
def store(hermes_file: HermesFile) -> Store:
    for id, text in {"a": "docker and nginx", "b": "docker alone", "c": "start podman", "d": "état of the art"}.items():
        hermes_file.message(hermes_file.session(id, title=f"title {id}"), "user", text)
    hermes_file.tool_call(hermes_file.session("e"), "shell", {"command": "docker ps"}, "docker is up")
    return open_store(hermes_file.path)


def test_any_of_and_none_of(store: Store) -> None:
    assert found(store, "docker OR podman") == ["e", "c", "b", "a"]
    assert found(store, "docker -nginx") == ["e", "b"]
    assert found(store, "title -a") == ["d", "c", "b"]
    assert found(store, "docker OR 数据 nginx") == ["a"]


def test_a_word_goes_only_where_it_stands_alone(store: Store) -> None:
    assert found(store, "the OR podman -art") == ["c"]
    assert found(store, "the OR podman -sta*") == ["d"]
    assert found(store, "podman -t/p") == ["c"]


def test_conditions_on_messages_hold_on_every_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for read_anyway in (0, 30_000):
        monkeypatch.setattr(coverage, "READ_ANYWAY", read_anyway)
        store.search._coverage = None
        for query in ("docker", "ocke", "do", "docker ", "ocker "):
            assert found(store, f"{query} role:user") == ["b", "a"], query
            assert found(store, f"{query} -role:user") == ["e"], query
    assert found(store, "title role:user") == [], "a title has no role"
    assert found(store, "tool:shell") == ["e"]
    assert found(store, "role:user") == ["d", "c", "b", "a"]


def test_only_what_is_allowed_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (500, 0):
        monkeypatch.setattr(search, "FEW_CONVERSATIONS", few)
        assert found(store, "docker", allowed={"a", "c"}) == ["a"]
        assert found(store, "title", allowed={"a", "c"}) == ["c", "a"]
        assert found(store, "docker", allowed=set()) == []
        catalog = store.sessions.catalog()
        assert len(list(store.search.messages("docker", catalog, allowed={"a", "e"}))) == 3
        assert len(list(store.search.messages("docker", catalog))) == 4


def test_conditions_alone_list_conversations(store: Store) -> None:
    result = store.search.run("source:cli", store.sessions.catalog(), allowed={"b", "d"}, limit=1)
    assert [(hits.conversation.id, hits.hit_count) for hits in result.conversations] == [("d", 0)]
    assert not result.complete
    assert found(store, "source:cli", allowed={"b", "d"}) == ["d", "b"]
    assert found(store, " ") == [] == found(store, "\ufe0f")


def test_undone_messages_are_found_when_asked_for(hermes_file: HermesFile) -> None:
    hermes_file.message(hermes_file.session("a"), "user", "kept zebra")
    hermes_file.rewind("a", hermes_file.message("a", "user", "undone zebra 秘密"))
    store = open_store(hermes_file.path)
    for query in ("zebra", "ebra", "秘密"):
        hits = store.search.run(f"{query} is:rewound", store.sessions.catalog()).conversations[0].hits
        assert [hit.snippet.text for hit in hits] == ["undone zebra 秘密"]
    assert found(store, "秘密") == []
    store.close()


@pytest.mark.parametrize("query", ["needle", "eedle", "n", "数据", "needle -hay", "not there", "role:user"])
def test_a_search_that_is_given_up_ends_at_its_next_step(hermes_file: HermesFile, query: str) -> None:
    hermes_file.sql("BEGIN")
    for number in range(300):
        hermes_file.message(hermes_file.session(f"s{number}"), "user", f"needle 数据 {number}")
    hermes_file.sql("COMMIT")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    steps = count()
    list(store.search.stream(query, catalog, cancelled=lambda: next(steps) < 0))
    for stop in range(next(steps) - 1):
        asked = count()
        with pytest.raises(Interrupted):
            list(store.search.stream(query, catalog, cancelled=lambda asked=asked, stop=stop: next(asked) >= stop))  # type: ignore[misc]
        assert next(asked) == stop + 1, "it was asked no more"
    store.close()


def test_reading_everything_says_how_far_it_is(hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    hermes_file.message(hermes_file.session("a"), "user", "the needle")
    for _ in range(20):
        hermes_file.message("a", "user", "hay")
    hermes_file.sql("DROP TRIGGER messages_fts_trigram_update")
    monkeypatch.setattr(coverage, "READ_ANYWAY", 4)
    monkeypatch.setattr(finding, "READ_ANYWAY", 4)
    monkeypatch.setattr(finding, "WINDOW", 3)
    monkeypatch.setattr(finding, "WIDEST", 3)
    store = open_store(hermes_file.path)
    results = list(store.search.stream("eedle", store.sessions.catalog()))
    notices = list(dict.fromkeys(result.notice for result in results))
    assert notices[:4] == [finding.NOT_AS_WORDS, "", finding.NOT_IN_AN_INDEX, "Every message is read: 14 %."]
    assert "Every message is read: 100 %." in notices
    assert results[-1].notice == "" and results[-1].complete and len(results[-1].conversations) == 1
    store.close()


def test_nothing_more_is_looked_for_behind_a_full_page(hermes_file: HermesFile) -> None:
    for number in range(6):
        hermes_file.message(hermes_file.session(f"s{number}"), "user", "needle")
    hermes_file.message(hermes_file.session("inside"), "user", "pneedles")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    page = store.search.run("needle ", catalog, limit=3)
    assert len(page.conversations) == 3 and not page.complete
    assert found(store, "needle ")[-1] == "inside"
    store.close()


def test_the_best_come_first(hermes_file: HermesFile) -> None:
    """Titles, then words as they were typed, then words that stand apart; what is inside of words last."""
    texts = {
        "inside": "predocker snetworkings",
        "phrase": "docker network " + "hay " * 30,
        "apart": "the network of docker " + "hay " * 25,
        "other": "docker",
    }
    hermes_file.session("titled", title="docker network notes")
    for id, text in texts.items():
        hermes_file.message(hermes_file.session(id), "user", text)
    hermes_file.message("titled", "user", "something")
    store = open_store(hermes_file.path)
    assert found(store, "docker network", order="relevance") == ["titled", "phrase", "apart", "inside"]
    store.close()


def test_what_is_too_common_to_be_ranked_is_said_to_be_unranked(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "RANKED", 5)
    for number in range(30):
        hermes_file.message(hermes_file.session(f"s{number}"), "user", "needle " * (number + 1))

    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()

    def ranked(query: str) -> SearchResult:
        return next(store.search.stream(query, catalog, order="relevance"))

    some = ranked("needle ")
    assert len(some.conversations) == 5 and some.notice == "The newest 5 hits are ranked."
    assert ranked("n").notice == finding.UNRANKED
    store.close()


def test_codes_that_colour_a_text_are_neither_shown_nor_in_the_way(hermes_file: HermesFile) -> None:
    hermes_file.message(
        hermes_file.session("a"), "tool", "\x1b[1;31mERR\x1b[0mOR: no \x1b]8;;http://x\x07link\x1b]8;;\x07s"
    )
    store = open_store(hermes_file.path)
    (hits,) = store.search.run('"error: no links"', store.sessions.catalog()).conversations
    (hit,) = hits.hits
    assert hit.snippet.text == "ERROR: no links" and hit.snippet.spans == ((0, 15),)
    store.close()


def test_the_query_may_be_parsed_already(store: Store) -> None:
    assert found(store, "docker") == [
        hits.conversation.id for hits in store.search.run(parse("docker"), store.sessions.catalog()).conversations
    ]


@pytest.mark.parametrize("order", ["recent", "relevance"])
def test_nothing_more_is_said_to_be_read_when_enough_was_counted(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch, order: SearchOrder
) -> None:
    monkeypatch.setattr(finding, "READ_ANYWAY", 0)
    monkeypatch.setattr(search, "COUNTED_HITS", 30)
    monkeypatch.setattr(finding, "WINDOW", 8)
    hermes_file.talk(hermes_file.session("a"), *["it is read here"] * 100)
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    *before, last = store.search.stream("re ", catalog, limit=1, order=order)
    assert any(result.notice.startswith("Every message is read: ") for result in before)
    assert last.notice == (finding.UNRANKED if order == "relevance" else "")
    assert not last.complete
    assert last.conversations == before[-1].conversations
    assert store.search.run("re ", catalog, limit=1, order=order).notice == last.notice
    store.close()


def test_an_index_is_asked_from_the_newest_message_on_that_may_be_found(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW_CONVERSATIONS", 0)
    monkeypatch.setattr(candidates, "FEW", 2)
    for id in ("a", "b", "c"):
        hermes_file.talk(hermes_file.session(id), "zebra", "zebra")
    store = open_store(hermes_file.path)
    asked: list[int] = []
    original = Candidates.matching

    def remember(self: Candidates, table: str, match: str, below: int, limit: int) -> list[Row]:
        asked.append(below)
        return original(self, table, match, below, limit)

    monkeypatch.setattr(Candidates, "matching", remember)
    assert found(store, "zebra", allowed=frozenset(["a", "b"])) == ["b", "a"]
    assert set(asked) == {5}
    asked.clear()
    assert found(store, "zebra", allowed=frozenset(["unknown"])) == []
    assert not asked
    assert found(store, "zebra") == ["c", "b", "a"]
    assert set(asked) == {candidates.LAST_ROWID}
    store.close()

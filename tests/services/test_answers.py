"""Queries answered by a store: words, conditions, and both together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_sessions.errors import BadQuery, Interrupted
from hermes_sessions.model import Catalog, Conversation, SearchOrder, SearchResult
from hermes_sessions.services import answers as module
from hermes_sessions.services import fitting as fitting_module
from hermes_sessions.services.answers import Answers, understood
from hermes_sessions.services.known_facts import KnownFacts
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage import search as search_module
from hermes_sessions.storage.conditions import KEYS
from hermes_sessions.storage.coverage import NO_INDEX
from hermes_sessions.storage.query import SearchQuery, parse
from tests.builders import NOW, HermesFile


@pytest.fixture
def store(hermes_file: HermesFile) -> Iterator[Store]:
    for number in range(12):
        money: dict[str, Any] = {"estimated_cost_usd": float(number), "cost_status": "estimated"}
        source = "cli" if number % 2 else "telegram"
        session = hermes_file.session(f"s{number}", source, title=f"Talk {number}", **money)
        hermes_file.talk(session, f"zebra {number}", "crossing" if number < 3 else "stripes")
    store = open_store(hermes_file.path)
    yield store
    store.close()


@pytest.fixture
def answers(store: Store) -> Answers:
    return Answers(store, lambda: NOW)


def ids(result: SearchResult) -> list[str]:
    return [found.conversation.id for found in result.conversations]


def asked(answers: Answers, store: Store, text: str) -> list[str]:
    return ids(answers.run(parse(f"{text} ", NOW), store.sessions.catalog(), limit=0))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("zebra source:cli cost:>6", [11, 9, 7]),
        ("zebra crossing", []),
        ("zebra OR crossing cost:<1", [0]),
        ("crossing", [2, 1, 0]),
        ("crossing -zebra", [2, 1, 0]),
        ("-crossing cost:<5", [4, 3]),
        ("-crossing -stripes", []),
        ("cost:10..11", [11, 10]),
        ("source:cli -cost:<9", [11, 9]),
        ("role:assistant cost:>10", [11]),
        ("is:archived", []),
        ("title:talk title:1", [11, 10, 1]),
        ("stripes source:discord", []),
    ],
)
def test_words_and_conditions_hold_together(answers: Answers, store: Store, text: str, numbers: list[int]) -> None:
    assert asked(answers, store, text) == [f"s{number}" for number in numbers]
    everything = answers.conversations(parse(f"{text} ", NOW), store.sessions.catalog())
    assert set(everything) == {f"s{number}" for number in numbers}


def test_conditions_alone_are_a_list_newest_first_without_hits(answers: Answers, store: Store) -> None:
    catalog = store.sessions.catalog()
    result = answers.run(parse("source:cli ", NOW), catalog, limit=2, offset=1)
    assert ids(result) == ["s9", "s7"]
    assert {(found.hit_count, found.hits) for found in result.conversations} == {(0, ())}
    assert not result.complete
    assert answers.run(parse("source:cli ", NOW), catalog, limit=2, offset=4).complete
    assert not answers.run(parse("source:cli ", NOW), Catalog(catalog.conversations, whole=False)).complete


def test_a_query_that_asks_for_nothing_yet_leaves_everything(answers: Answers, store: Store) -> None:
    catalog = store.sessions.catalog()
    (result,) = answers.stream(parse("is:arch", NOW, typing=True), catalog)
    assert ids(result) == [item.id for item in catalog]


def test_facts_are_read_in_steps_and_answers_grow(
    answers: Answers, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_STEP", 2)
    results = list(answers.stream(parse("cost:>0 ", NOW), store.sessions.catalog(), limit=1))
    assert [len(result.conversations) for result in results] == [2, 6, 11]
    assert [result.complete for result in results] == [False, False, True]
    for before, after in pairwise(results):
        assert after.conversations[: len(before.conversations)] == before.conversations


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the conversations of which facts were read."""
    ids: list[str] = []
    original = KnownFacts._read

    def remember(self: KnownFacts, kind: Any, items: Sequence[Conversation]) -> list[Any]:
        ids.extend(item.id for item in items)
        return original(self, kind, items)

    monkeypatch.setattr(KnownFacts, "_read", remember)
    return ids


def test_a_page_is_given_before_all_were_asked(
    answers: Answers, store: Store, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_STEP", 4)
    result = answers.run(parse("cost:>0 ", NOW), store.sessions.catalog(), limit=3)
    assert ids(result) == ["s11", "s10", "s9"]
    assert not result.complete
    assert read == ["s11", "s10", "s9", "s8"]


@pytest.fixture
def many(hermes_file: HermesFile) -> Iterator[Store]:
    """More hits than a search takes in one step."""
    for number in range(60):
        money: dict[str, Any] = {"estimated_cost_usd": float(number), "cost_status": "estimated"}
        hermes_file.talk(hermes_file.session(f"s{number}", **money), "zebra")
    store = open_store(hermes_file.path)
    yield store
    store.close()


def test_hits_come_before_facts_of_all_were_read(many: Store, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting_module, "AHEAD", 1)
    growing = Answers(many, lambda: NOW).stream(parse("zebra cost:>0 ", NOW), many.sessions.catalog())
    first = next(result for result in growing if result.conversations)
    assert ids(first)[0] == "s59"
    assert 0 < len(read) < 60
    *_, last = growing
    assert ids(last) == [f"s{number}" for number in range(59, 0, -1)]
    assert len(read) == len(set(read)) == 60


@pytest.mark.parametrize(("text", "fit"), [("cost:>90", []), ("cost:<2", ["s1", "s0"]), ("cost:>57", ["s59", "s58"])])
def test_where_few_conversations_fit_words_are_looked_for_in_those_alone(
    many: Store, monkeypatch: pytest.MonkeyPatch, text: str, fit: list[str]
) -> None:
    monkeypatch.setattr(fitting_module, "AHEAD", 1)
    monkeypatch.setattr(fitting_module, "ENOUGH", 4)
    monkeypatch.setattr(fitting_module, "FEW", 0.1)
    monkeypatch.setattr(module, "FIRST_STEP", 2)
    answers, catalog, query = Answers(many, lambda: NOW), many.sessions.catalog(), parse(f"zebra {text} ", NOW)
    asked: list[Any] = []
    original = many.search.stream

    def remember(*arguments: Any, allowed: Any, **others: Any) -> Any:
        asked.append(allowed)
        return original(*arguments, allowed=allowed, **others)

    monkeypatch.setattr(many.search, "stream", remember)
    results = list(answers.stream(query, catalog))
    assert isinstance(asked[0], fitting_module.Fitting)
    assert asked[1:] == [frozenset(fit)]
    assert (ids(results[-1]), results[-1].complete) == (fit, True)
    assert any(result.notice == module.FEW_FIT for result in results) == ("s59" not in fit)
    for before, after in pairwise(results):
        assert after.conversations[: len(before.conversations)] == before.conversations
    assert ids(answers.run(query, catalog)) == fit
    assert answers.conversations(query, catalog) == set(fit)


@pytest.mark.parametrize("named", [500, 0])
@pytest.mark.parametrize("order", ["recent", "relevance"])
def test_where_none_of_the_newest_fits_words_are_looked_for_below_them_at_once(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch, named: int, order: SearchOrder
) -> None:
    monkeypatch.setattr(module, "ENOUGH", 20)
    monkeypatch.setattr(search_module, "FEW_CONVERSATIONS", named)
    for number in range(60):
        hermes_file.talk(hermes_file.session(f"s{number}", "cli" if number < 4 else "telegram"), "zebra")
    hermes_file.session("empty", "discord")
    with closing(open_store(hermes_file.path)) as store:
        answers, catalog = Answers(store, lambda: NOW), store.sessions.catalog()
        asked: list[Any] = []
        original = store.search.stream

        def remember(*arguments: Any, allowed: Any, **others: Any) -> Any:
            asked.append(allowed)
            return original(*arguments, allowed=allowed, **others)

        monkeypatch.setattr(store.search, "stream", remember)
        *_, last = answers.stream(parse("zebra source:cli ", NOW), catalog, order=order)
        assert (ids(last), last.complete) == (["s3", "s2", "s1", "s0"], True)
        assert asked == [{"s0", "s1", "s2", "s3"}]
        assert ids(answers.run(parse("zebra source:cli ", NOW), catalog, order=order)) == ids(last)
        assert ids(answers.run(parse("zebra source:discord ", NOW), catalog, order=order)) == []
        assert len(ids(answers.run(parse("zebra source:telegram ", NOW), catalog, order=order, limit=0))) == 56


def test_words_to_leave_out_are_asked_about_in_steps_too(
    answers: Answers, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_STEP", 2)
    results = list(answers.stream(parse("-crossing -5 ", NOW), store.sessions.catalog()))
    assert [len(result.conversations) for result in results] == [2, 6, 8]
    assert [result.complete for result in results] == [False, False, True]


def test_a_list_says_that_it_was_made_without_an_index(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "zebra")
    hermes_file.sql("DROP TABLE messages_fts")
    hermes_file.sql("DROP TABLE messages_fts_trigram")
    with_store = open_store(hermes_file.path)
    result = Answers(with_store, lambda: NOW).run(parse("-crossing ", NOW), with_store.sessions.catalog())
    assert (ids(result), result.notice) == (["a"], NO_INDEX)
    with_store.close()


def test_an_empty_file_answers_with_nothing(home: Path) -> None:
    path = home / "empty.db"
    path.touch()
    empty = open_store(path)
    assert Answers(empty, lambda: NOW).run(parse("-zebra cost:>1 ", NOW), empty.sessions.catalog()).complete
    empty.close()


def test_what_is_known_is_not_read_again_unless_a_conversation_changed(
    answers: Answers, store: Store, hermes_file: HermesFile, read: list[str]
) -> None:
    catalog = store.sessions.catalog()
    answers.run(parse("cost:>0 ", NOW), catalog, limit=0)
    assert len(read) == 12
    read.clear()
    answers.run(parse("cost:>5 ", NOW), catalog, limit=0)
    assert read == []
    hermes_file.sql("UPDATE sessions SET estimated_cost_usd = 50 WHERE id = 's0'")
    hermes_file.message("s0", "user", "more")
    newest = store.sessions.catalog().by_session["s0"]
    changed = Catalog((newest, *(item for item in catalog if item.id != "s0")))
    assert ids(answers.run(parse("cost:>20 ", NOW), changed, limit=0)) == ["s0"]
    assert read == ["s0"]


def test_a_question_can_be_given_up_between_steps(answers: Answers, store: Store) -> None:
    for text in ("cost:>0 ", "source:cli ", "zebra cost:>0 ", "-zebra "):
        with pytest.raises(Interrupted):
            list(answers.stream(parse(text, NOW), store.sessions.catalog(), cancelled=lambda: True))


def test_problems_come_with_every_answer(answers: Answers, store: Store) -> None:
    for text in ("is:shiny source:cli ", "zebra is:shiny "):
        query = parse(text, NOW)
        for result in answers.stream(query, store.sessions.catalog()):
            assert result.problems == query.problems != ()
            assert result.conversations
        assert answers.run(query, store.sessions.catalog()).problems == query.problems


def test_an_answer_that_comes_again_stays_the_same_value(answers: Answers, store: Store) -> None:
    """The screen draws nothing for it."""
    results = list(answers.stream(parse("zebra is:shiny ", NOW), store.sessions.catalog()))
    plain = list(answers.stream(parse("zebra ", NOW), store.sessions.catalog()))
    assert len({id(result) for result in results}) == len({id(result) for result in plain})


def test_a_query_is_understood_or_points_at_what_is_wrong() -> None:
    assert understood("docker is:live", NOW).problems == ()
    with pytest.raises(BadQuery) as caught:
        understood("docker is:liv", NOW)
    error = caught.value
    assert error.query[error.start : error.stop] == "liv"
    assert "'live'" in error.hint


def test_a_pasted_text_is_searched_without_an_index_too(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a", "cli"), "zorkmid happened")
    hermes_file.talk(hermes_file.session("b", "cron"), "nothing", "zorkmid")
    hermes_file.sql("DROP TABLE messages_fts")
    hermes_file.sql("DROP TABLE messages_fts_trigram")
    with_store = open_store(hermes_file.path)
    pasted = SearchQuery("Error: zorkmid at 12:30", conditions=parse("source:cron ", NOW).conditions)
    result = Answers(with_store, lambda: NOW).run_pasted(pasted, with_store.sessions.catalog())
    assert ids(result) == ["b"]
    assert result.notice
    with_store.close()


KEY_WORDS = st.builds("{}{}:{}".format, st.sampled_from(["", "-"]), st.sampled_from(KEYS), st.text(max_size=8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.one_of(KEY_WORDS, st.sampled_from(["zebra", "-x", "OR", "is:live", "has:images", "cost:1..2"]))))
def test_no_query_is_an_error(answers: Answers, store: Store, words: list[str]) -> None:
    catalog = store.sessions.catalog()
    query = parse(" ".join(words), NOW, typing=True)
    assert len(answers.run(query, catalog).conversations) <= 12


def test_many_words_that_are_nowhere_together_are_taken_for_a_pasted_text(answers: Answers, store: Store) -> None:
    catalog = store.sessions.catalog()
    pasted = parse("Traceback in zebra at line seven of crossing while walking home", NOW)
    *_, last = answers.stream(pasted, catalog)
    assert ids(last) == ids(answers.run_pasted(pasted, catalog, limit=200)) and last.conversations
    few = parse("Traceback in zebra at line seven", NOW)
    *_, last = answers.stream(few, catalog)
    assert not last.conversations

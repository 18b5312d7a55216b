"""`History`: the full screen's questions, awaited; the search answers only what was asked last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_sessions.errors import SessionsError, StoreMissing
from hermes_sessions.model import Catalog, SearchResult
from hermes_sessions.services import history as module
from hermes_sessions.services.history import History, with_newest
from tests.builders import NOW, HermesFile

TIMEOUT = 10.0


@pytest.fixture
def history(hermes_file: HermesFile) -> Iterator[History]:
    for number in range(5):
        hermes_file.talk(hermes_file.session(f"s{number}", title=f"Talk {number}"), f"zebra {number}", "answer")
    with History(hermes_file.path, lambda: NOW) as history:
        yield history


class Answers:
    """Collects what a search delivers, and tells when the last answer has come."""

    def __init__(self) -> None:
        self.given: list[SearchResult | SessionsError] = []
        self.finished = asyncio.Event()

    def __call__(self, answer: SearchResult | SessionsError, finished: bool) -> None:
        self.given.append(answer)
        if finished:
            self.finished.set()

    async def all(self) -> list[SearchResult | SessionsError]:
        await asyncio.wait_for(self.finished.wait(), TIMEOUT)
        return self.given


def queries(answers: list[SearchResult | SessionsError]) -> set[str]:
    return {answer.query for answer in answers if isinstance(answer, SearchResult)}


async def test_the_newest_part_is_read_before_anybody_asks(history: History) -> None:
    history.ready()
    assert [item.id for item in await history.recent()] == ["s4", "s3", "s2", "s1", "s0"]


def test_a_store_that_is_not_there_is_said_before_the_screen_starts(hermes_file: HermesFile) -> None:
    with History(hermes_file.path.with_name("none.db")) as history, pytest.raises(StoreMissing):
        history.ready()


async def test_each_question_has_its_answer(history: History) -> None:
    catalog = await history.catalog()
    newest = catalog.conversations[0]
    stubs = await history.outline(newest)
    messages = await history.messages(stubs)
    assert [messages[stub.id].text for stub in stubs] == ["zebra 4", "answer"]
    assert (await history.overviews([newest]))["s4"].preview == "zebra 4"
    assert (await history.facts([newest]))["s4"].message_count == 2
    assert (await history.costs("source")).total.sessions == 5
    assert (await history.costs("source", ["s4"])).total.sessions == 1


async def test_a_copy_that_a_compaction_made_leads_to_what_it_repeats(hermes_file: HermesFile) -> None:
    said = hermes_file.talk(hermes_file.session("a"), "one", "two")
    summary = hermes_file.compact_in_place("a", tail=1)
    with History(hermes_file.path, lambda: NOW) as history:
        conversation = (await history.catalog()).by_session["a"]
        assert await history.original(conversation, summary + 1) == said[1]
        assert await history.original(conversation, said[0]) == said[0]


async def test_a_change_is_noticed_once(history: History, hermes_file: HermesFile) -> None:
    await history.recent()
    assert not await history.changed()
    hermes_file.message("s0", "user", "more")
    assert await history.changed()
    assert not await history.changed()


async def test_a_file_that_takes_the_place_of_the_store_is_read_from_then_on(
    history: History, hermes_file: HermesFile, tmp_path: Path
) -> None:
    """As after a repair: every thread lets go of the old file, which nobody writes to any more."""
    catalog = await history.catalog()
    await history.changed()
    asked = Answers()
    history.search("zebra", catalog, asked)
    await asked.all()
    hermes_file.close()
    other = tmp_path / "repaired.db"
    with HermesFile(other) as file:
        file.talk(file.session("new", title="Repaired"), "giraffe", "answer")
    for side in ("-wal", "-shm"):
        hermes_file.path.with_name(f"{hermes_file.path.name}{side}").unlink()
    other.replace(hermes_file.path)
    assert await history.changed()
    assert not await history.changed()
    catalog = await history.catalog()
    assert [item.id for item in catalog.conversations] == ["new"]
    answers = Answers()
    history.search("giraffe", catalog, answers)
    (*_, last) = await answers.all()
    assert isinstance(last, SearchResult)
    assert [found.conversation.id for found in last.conversations] == ["new"]


async def test_what_is_written_while_the_first_part_is_read_counts_as_a_change(
    history: History, hermes_file: HermesFile
) -> None:
    history.ready()
    hermes_file.message("s0", "user", "more")
    assert await history.changed()


async def test_the_search_ends_with_a_finished_answer(history: History) -> None:
    answers = Answers()
    history.search("zebra", await history.catalog(), answers)
    *_, last = await answers.all()
    assert isinstance(last, SearchResult)
    assert {entry.conversation.id for entry in last.conversations} == {"s0", "s1", "s2", "s3", "s4"}


async def test_the_search_takes_the_query_language(history: History) -> None:
    async def found(text: str) -> list[str]:
        answers = Answers()
        history.search(text, await history.catalog(), answers)
        *_, last = await answers.all()
        assert isinstance(last, SearchResult)
        return [entry.conversation.id for entry in last.conversations]

    assert await found("zebra title:3") == ["s3"]
    assert await found('"zebra 1" OR "zebra 2"') == ["s2", "s1"]
    assert await found("messages:>1 -zebra") == []
    assert await found("source:cl") == await found("source:cli is:arch") == ["s4", "s3", "s2", "s1", "s0"]


async def test_a_word_in_progress_is_no_problem_and_a_bad_one_comes_with_the_answer(history: History) -> None:
    catalog = await history.catalog()
    for text, places in (("zebra is:arch", []), ("zebra is:shiny", [(9, 14)]), ("is:arch zebra", [(3, 7)])):
        answers = Answers()
        history.search(text, catalog, answers)
        for answer in await answers.all():
            assert isinstance(answer, SearchResult)
            assert [(problem.start, problem.stop) for problem in answer.problems] == places


async def test_the_order_is_a_part_of_the_question(history: History) -> None:
    answers = Answers()
    history.search("zebra", await history.catalog(), answers, order="relevance")
    assert {answer.order for answer in await answers.all() if isinstance(answer, SearchResult)} == {"relevance"}


async def test_tab_knows_the_values_of_the_store(history: History) -> None:
    known = await history.vocabulary(await history.catalog())
    assert known["source"] == {"cli": 5}


async def test_an_answer_that_is_already_under_way_is_dropped_when_something_else_is_asked(history: History) -> None:
    catalog = await history.catalog()
    stale, answers = Answers(), Answers()
    history.search("z", catalog, stale)
    # The event loop stands still until the search has ended: its answers lie in the loop's queue.
    history._search.submit(lambda _: None).result(TIMEOUT)
    history.search("zebra 3", catalog, answers)
    assert queries(await answers.all()) == {"zebra 3"}
    assert stale.given == []


async def test_of_letters_typed_quickly_only_the_last_query_is_answered(history: History) -> None:
    catalog = await history.catalog()
    answers = Answers()
    for length in range(1, 6):
        history.search("zebra"[:length], catalog, answers)
    assert queries(await answers.all()) == {"zebra"}


async def test_a_cancelled_search_delivers_nothing(history: History) -> None:
    answers = Answers()
    history.search("zebra", await history.catalog(), answers)
    history._search.submit(lambda _: None).result(TIMEOUT)
    history.cancel_search()
    await history.changed()  # one more turn of the loop, and then some
    assert answers.given == []


async def test_an_error_of_the_store_is_delivered(hermes_file: HermesFile) -> None:
    answers = Answers()
    with History(hermes_file.path.with_name("none.db")) as history:
        history.search("zebra", Catalog(()), answers)
        (error,) = await answers.all()
    assert isinstance(error, StoreMissing)


async def test_a_bug_in_the_search_reaches_the_event_loop(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.set_result(context["exception"]))
    catalog = await history.catalog()
    history.search("zebra", catalog, Answers(), limit="many")  # type: ignore[arg-type]
    assert isinstance(await asyncio.wait_for(heard, TIMEOUT), TypeError)


async def test_the_newest_part_is_renewed_without_reading_the_rest(
    history: History, hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RECENT_CONVERSATIONS", 2)
    before = await history.catalog()
    hermes_file.talk(hermes_file.session("new"), "just said")
    hermes_file.end("s2", "compression")
    hermes_file.talk(hermes_file.session("s2b", parent="s2", started_at=NOW - 10), "goes on")
    after = await history.renewed(before)
    assert after.whole
    assert next(item.id for item in after) == "s2b"
    assert sorted(item.id for item in after) == ["new", "s0", "s1", "s2b", "s3", "s4"]
    assert after.by_session["s2"].id == "s2b"


async def test_a_store_small_enough_is_renewed_as_a_whole(history: History) -> None:
    catalog = await history.catalog()
    newest = Catalog(catalog.conversations[:1], whole=True)
    assert with_newest(catalog, newest) is newest

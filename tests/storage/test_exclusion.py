"""Which conversations hold a word that is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hermes_sessions.errors import Interrupted
from hermes_sessions.storage import Store, coverage, exclusion, open_store
from hermes_sessions.storage.coverage import DAMAGED, NO_INDEX
from hermes_sessions.storage.exclusion import Exclusion
from hermes_sessions.storage.query import parse
from tests.builders import HermesFile


@pytest.fixture(autouse=True)
def by_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a store too big to be read."""
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)


@pytest.fixture
def opened(hermes_file: HermesFile) -> Iterator[Callable[[], Store]]:
    """Opens the store, once it is written."""
    stores: list[Store] = []

    def open_it() -> Store:
        stores.append(open_store(hermes_file.path))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def exclusion_of(store: Store, query: str) -> Exclusion:
    asked = store.search.exclusion(parse(f"{query} "))
    assert asked is not None
    return asked


def left(store: Store, query: str) -> list[str]:
    catalog = store.sessions.catalog()
    return sorted(item.id for item in exclusion_of(store, query).without(catalog.conversations, bool))


def test_a_word_goes_where_it_stands_alone_as_beside_other_words(
    hermes_file: HermesFile, opened: Callable[[], Store]
) -> None:
    for id, text in (("art", "lorem art"), ("start", "lorem start"), ("snake", "lorem_art"), ("none", "lorem")):
        hermes_file.talk(hermes_file.session(id), text)
    store = opened()
    assert left(store, "-art") == ["none", "start"]
    beside = store.search.run("lorem -art", store.sessions.catalog())
    assert sorted(found.conversation.id for found in beside.conversations) == ["none", "start"]
    assert left(store, "-art*") == ["none", "start"]
    assert left(store, "-tar -sta* -zebra") == ["art", "none", "snake"]


@pytest.mark.parametrize("before", ["\n", "\t", "“", "\x1b[31m", '"'])
def test_a_word_behind_an_escape_of_json_is_seen(
    hermes_file: HermesFile, opened: Callable[[], Store], before: str
) -> None:
    """An index takes the escape's last letter for the beginning of the word."""
    hermes_file.tool_call(hermes_file.session("held"), "shell", {"command": f"x {before}art"}, "ok")
    hermes_file.tool_call(hermes_file.session("not"), "shell", {"command": f"x {before}artful"}, "ok")
    assert left(opened(), "-art") == ["not"]


def test_what_an_index_sees_and_no_person_does_not_count(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    """Beside other words it would not either: `function` stands in the JSON of every call."""
    hermes_file.tool_call(hermes_file.session("call"), "shell", "ls", "ok")
    hermes_file.talk(hermes_file.session("said"), "a function")
    assert left(opened(), "-function") == ["call"]


def test_undone_messages_do_not_count(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    session = hermes_file.session("undone")
    *_, taken_back = hermes_file.talk(session, "hello", "hi", "zebra")
    hermes_file.rewind(session, taken_back)
    hermes_file.talk(hermes_file.session("said"), "zebra")
    assert left(opened(), "-zebra") == ["undone"]


def test_every_session_of_a_conversation_counts(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    hermes_file.chain(3, title="plan")
    hermes_file.talk(hermes_file.session("other"), "question 9")
    assert left(opened(), '-"question 1"') == ["other"]
    assert left(opened(), '-"question 9"') == ["chain-3"]


def test_titles_and_ids_count(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    for id, title in (("a", "On zebras"), ("b", "The zebra"), ("zebra_c", None)):
        hermes_file.talk(hermes_file.session(id, title=title), "hello")
    assert left(opened(), "-zebra") == ["a"]


def test_a_phrase_goes_over_any_white_space(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    hermes_file.talk(hermes_file.session("broken"), "import\n  os")
    hermes_file.talk(hermes_file.session("not"), "import oslo")
    assert left(opened(), '-"import os"') == ["not"]


@pytest.mark.parametrize(
    "text",
    [
        "one\nline two",
        "one line\ttwo",
        "one  line two",
        "one\u00a0line two",
        "\x1b[32mone\x1b[0m line two",
        "on\x1b[1me\x1b[0m line two",
        "one line\x1b[0m two",
    ],
)
def test_what_is_seen_counts_however_it_is_stored(
    hermes_file: HermesFile, opened: Callable[[], Store], text: str
) -> None:
    hermes_file.talk(hermes_file.session("said"), text)
    hermes_file.tool_call(hermes_file.session("told"), "shell", "ls", {"output": text})
    hermes_file.tool_call(hermes_file.session("asked"), "shell", {"command": text}, "ok")
    part = {"type": "text", "text": text}
    hermes_file.message(hermes_file.session("image"), "user", [part, {"type": "image_url", "image_url": "u"}])
    hermes_file.talk(hermes_file.session("not"), "one line", "two")
    store = opened()
    assert left(store, '-"one line two"') == ["not"]
    assert left(store, "-two -one") == []
    assert left(store, "-one -zebra") == []
    assert left(store, "-on*") == []
    assert left(store, '-"line two" -zebra') == ["not"]


@pytest.mark.parametrize("blank", ["\n", "\t", "\u00a0", " \r\n "])
@pytest.mark.parametrize("read_anyway", [0, coverage.READ_ANYWAY])
def test_a_pasted_phrase_excludes_over_whatever_white_space_is_in_it(
    hermes_file: HermesFile, opened: Callable[[], Store], blank: str, read_anyway: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "READ_ANYWAY", read_anyway)
    for id, text in (("same", f"lorem import{blank}os"), ("other", "lorem import os"), ("not", "lorem import the os")):
        hermes_file.talk(hermes_file.session(id), text)
    store = opened()
    catalog = store.sessions.catalog()
    assert left(store, f'-"import{blank}os"') == ["not"]
    assert store.search.conversations(parse(f'lorem -"import{blank}os" '), catalog) == {"not"}
    assert store.search.conversations(parse(f'"import{blank}os" '), catalog) == {"same", "other"}


def test_messages_far_apart_are_asked_for_by_themselves(
    hermes_file: HermesFile, opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusion, "NEAR", 1)
    monkeypatch.setattr(exclusion, "TOGETHER", 1)
    for id in ("early", "between", "late"):
        hermes_file.session(id)
    for number in range(9):
        hermes_file.message("early", "user", f"zebra {number}" if number == 8 else "hello")
        hermes_file.message("between", "user", "stripes" if number == 4 else "hello")
    hermes_file.message("late", "user", "hello")
    store = opened()
    assert left(store, "-zebra") == ["between", "late"]
    assert left(store, "-stripes") == ["early", "late"]


def test_what_the_trigram_index_was_not_given_is_read(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    """Older releases of SQLite gave it nothing of a text that begins with a NUL."""
    hermes_file.talk(hermes_file.session("plain"), "hello")
    part = {"type": "text", "text": "see\nzebra"}
    image = hermes_file.message(hermes_file.session("image"), "user", [part, {"type": "image_url", "image_url": "u"}])
    hermes_file.talk(hermes_file.session("last"), "hello")
    hermes_file.sql("UPDATE messages_fts_trigram SET content = '' WHERE rowid = ?", (image,))
    assert left(opened(), "-zebra") == ["last", "plain"]


def test_messages_that_wait_to_be_indexed_are_read(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    for id in ("a", "b", "c", "d"):
        hermes_file.talk(hermes_file.session(id), "zebra" if id in "bd" else "hello")
    for name in ("messages_fts", "messages_fts_trigram"):
        hermes_file.sql(f"DELETE FROM {name} WHERE rowid > 2")
    hermes_file.sql("INSERT INTO state_meta VALUES ('fts_rebuild_progress', 2), ('fts_rebuild_high_water', 4)")
    assert left(opened(), "-zebra") == ["a", "c"]


def test_without_an_index_every_message_is_read_and_that_is_said(
    hermes_file: HermesFile, opened: Callable[[], Store]
) -> None:
    hermes_file.talk(hermes_file.session("art"), "lorem art")
    hermes_file.talk(hermes_file.session("start"), "lorem start")
    hermes_file.sql("DROP TABLE messages_fts")
    hermes_file.sql("DROP TABLE messages_fts_trigram")
    store = opened()
    assert left(store, "-art") == ["start"]
    assert left(store, "-数据 -go -a*") == ["start"]
    assert exclusion_of(store, "-art").notice == NO_INDEX


def test_an_index_that_breaks_while_it_is_asked_is_given_up(
    hermes_file: HermesFile, opened: Callable[[], Store]
) -> None:
    for id in ("art", "start", "last"):
        hermes_file.talk(hermes_file.session(id), f"lorem {id}")
    store = opened()
    asked = exclusion_of(store, "-art")
    assert asked.notice == ""
    hermes_file.sql("DELETE FROM messages_fts_trigram_data WHERE id > 1")
    kept = asked.without(store.sessions.catalog().conversations, bool)
    assert sorted(item.id for item in kept) == ["last", "start"]
    assert asked.notice == DAMAGED


def test_it_can_be_given_up(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    hermes_file.talk(hermes_file.session("a"), "hello")
    store = opened()
    with pytest.raises(Interrupted):
        exclusion_of(store, "-zebra").without(store.sessions.catalog().conversations, lambda: True)


def test_nothing_that_can_be_seen_excludes_nothing(hermes_file: HermesFile, opened: Callable[[], Store]) -> None:
    hermes_file.talk(hermes_file.session("a"), "hello")
    store = opened()
    assert store.search.exclusion(parse("-\u0301 hello ")) is None
    assert left(store, " ".join(f"-w{number}" for number in range(200))) == ["a"]
    assert left(store, " ".join(f"-w{number}" for number in range(200)) + " -hello") == []

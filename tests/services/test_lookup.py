"""Which conversation a person means."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import AmbiguousSession, SessionNotFound
from hermes_sessions.model import Conversation
from hermes_sessions.services.lookup import find
from hermes_sessions.storage import Store, open_store
from tests.builders import HermesFile

REPORT = "Weekly report for the finance department"


@pytest.fixture
def found(hermes_file: HermesFile) -> Iterator[Callable[[str], str]]:
    """Look words up in whatever the test has written by then; answer the id."""
    opened: list[Store] = []

    def look(words: str) -> str:
        opened.append(open_store(hermes_file.path))
        return find(opened[-1], words).id

    yield look
    for store in opened:
        store.close()


def ids(conversations: tuple[Conversation, ...]) -> list[str]:
    return [conversation.id for conversation in conversations]


def test_any_session_of_a_chain_names_the_conversation(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.chain(3)
    assert {found(id) for id in ("chain-1", "chain-2", "chain-3", " chain-1 ")} == {"chain-3"}


def test_an_exact_id_is_not_a_prefix(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.session("ab")
    hermes_file.session("abc")
    assert found("ab") == "ab"


def test_a_beginning_of_an_id_is_enough_if_only_one_has_it(
    hermes_file: HermesFile, found: Callable[[str], str]
) -> None:
    hermes_file.chain(2, "20260501_one")
    hermes_file.session("20260502_two")
    hermes_file.talk("20260502_two", "later")
    assert found("20260501") == "20260501_one-2"
    with pytest.raises(AmbiguousSession) as caught:
        found("202605")
    assert ids(caught.value.candidates) == ["20260502_two", "20260501_one-2"]


def test_a_title_as_written_comes_before_other_capitals(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.session("a", title="Draft")
    hermes_file.session("b", title="DRAFT")
    assert (found("Draft"), found("DRAFT")) == ("a", "b")
    with pytest.raises(AmbiguousSession):
        found("draft")
    hermes_file.session("c", title="Straße")
    assert found("STRASSE") == "c"


def test_a_title_means_the_newest_of_its_numbered_continuations(
    hermes_file: HermesFile, found: Callable[[str], str]
) -> None:
    """`_` and `%` are no wildcards: neither `axb #2` nor another title is a continuation of `a_b`."""
    for id, title in (("one", "a_b"), ("two", "a_b #2"), ("other", "axb #2"), ("per", "100% done"), ("x", "100 done")):
        hermes_file.talk(hermes_file.session(id, title=title), "hello")
    assert found("a_b") == "two"
    assert found("A_B") == "two"
    assert found("a_b #2") == "two"
    assert found("axb") == "other"
    assert found("100%") == "per"
    hermes_file.talk("one", "again", "and again", "and once more")
    hermes_file.sql("UPDATE messages SET timestamp = timestamp + 9000 WHERE session_id = 'one'")
    assert found("a_b") == "one"
    assert found("a_b #2") == "two"


def test_titles_that_are_the_same_are_listed(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.sql("DROP INDEX idx_sessions_title_unique")
    hermes_file.session("a", title="Draft")
    hermes_file.session("b", title="Draft")
    with pytest.raises(AmbiguousSession) as caught:
        found("Draft")
    assert sorted(ids(caught.value.candidates)) == ["a", "b"]
    assert caught.value.hint


def test_a_title_cut_to_its_column_is_enough(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.session("a", title=REPORT)
    hermes_file.session("b", title="Weekly report for the sales department")
    assert found(REPORT[:32]) == "a"
    assert found("weekly REPORT for the f") == "a"
    assert found("Weekly report for the sal…") == "b"
    with pytest.raises(AmbiguousSession) as caught:
        found("Weekly report for the")
    assert sorted(ids(caught.value.candidates)) == ["a", "b"]


def test_a_title_is_found_as_it_is_shown(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.session("a", title="two\nlines\tand \x1b[31mred")
    assert found("two lines and red") == "a"


def test_an_exact_title_comes_before_the_beginning_of_an_id(
    hermes_file: HermesFile, found: Callable[[str], str]
) -> None:
    hermes_file.session("2026_x")
    hermes_file.session("titled", title="2026")
    assert found("2026") == "titled"


def test_hidden_conversations_are_found_too(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.session("put-away", title="Archived", archived=1)
    hermes_file.session("draft", title="Draft")
    hermes_file.delegate("draft", "helper")
    assert [found(words) for words in ("put", "Draft", "help")] == ["put-away", "draft", "helper"]


def test_last_is_the_newest_that_a_list_shows(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    hermes_file.talk(hermes_file.session("older"), "hello")
    with_messages = hermes_file.session("newest")
    hermes_file.talk(with_messages, "hello")
    hermes_file.talk(hermes_file.session("archived", archived=1), "hello")
    hermes_file.delegate("newest", "helper")
    hermes_file.session("empty")
    assert found("last") == "newest"
    hermes_file.session("last")
    assert found("last") == "last"


@pytest.mark.parametrize("words", ["nosuch", "%", "_", "*", "e%", "", "  ", "…", "last"])
def test_what_is_not_there_is_said_with_where_it_was_looked_for(
    hermes_file: HermesFile, found: Callable[[str], str], words: str
) -> None:
    hermes_file.session("empty")
    with pytest.raises(SessionNotFound) as caught:
        found(words)
    assert caught.value.message and caught.value.hint
    if words == "nosuch":
        assert "'nosuch'" in caught.value.message
        assert "(1)" in caught.value.hint and "state.db" in caught.value.hint


def test_an_empty_store_is_said_to_be_empty(hermes_file: HermesFile, found: Callable[[str], str]) -> None:
    with pytest.raises(SessionNotFound, match=r"no session in .*state\.db"):
        found("last")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_words_do_anything_else(shared_store: Store, words: str) -> None:
    try:
        assert find(shared_store, words).sessions
    except (SessionNotFound, AmbiguousSession) as error:
        assert error.message and error.hint


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with HermesFile(tmp_path_factory.mktemp("lookup") / "state.db") as file:
        for id, title in (("a", "Title"), ("b", "Title #2"), ("c", None), ("d", "%_*")):
            file.session(id, title=title)
        store = open_store(file.path)
        yield store
        store.close()

"""Facts about many sessions at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_sessions.model import Money
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.facts import Counts, Names
from hermes_sessions.storage.query import parse
from tests.builders import HermesFile


@pytest.fixture
def store(any_layout: HermesFile) -> Iterator[Store]:
    any_layout.session(
        "talk", billing_provider="anthropic", user_id="u1", estimated_cost_usd=0.5, cost_status="estimated"
    )
    any_layout.talk("talk", "question")
    any_layout.tool_call("talk", "terminal", {}, "done")
    any_layout.session("empty")
    any_layout.talk(any_layout.session("over"), "question", "answer")
    if any_layout.has("messages", "active"):
        any_layout.rewind("over", any_layout.message("over", "user", "undone"))
    any_layout.message("over", "session_meta", "bookkeeping")
    store = open_store(any_layout.path)
    yield store
    store.close()


EVERY = ("talk", "empty", "over", "nobody")


def test_each_kind_of_fact_is_read_for_those_that_are_there(store: Store) -> None:
    facts = store.facts
    assert facts.names(EVERY)["talk"] == Names("anthropic", None, "u1", None)
    assert facts.names(EVERY)["empty"] == Names()
    assert facts.counts(EVERY) == {"talk": Counts(3, 1), "empty": Counts(0, 0), "over": Counts(3, 0)}
    assert facts.spent(EVERY)["talk"][1] == Money(0.5, "estimated")
    assert facts.statuses(EVERY) == {"talk": "interrupted", "over": "complete"}
    assert facts.holding(EVERY, parse("role:tool ").conditions) == {"talk"}
    assert facts.holding(EVERY, parse("role:user ").conditions) == {"talk", "over"}
    assert facts.holding((), ()) == set()
    for read in (facts.names, facts.counts, facts.spent, facts.statuses):
        assert "nobody" not in read(EVERY)
        assert read(()) == {}
    assert facts.tools() == {"terminal": 1}


def test_the_counts_are_those_of_the_overviews(store: Store) -> None:
    catalog = store.sessions.catalog()
    overviews = store.sessions.overviews(catalog)
    counts = store.facts.counts(item.id for item in catalog)
    assert {id: (o.message_count, o.tool_call_count) for id, o in overviews.items()} == {
        id: (c.messages, c.tool_calls) for id, c in counts.items()
    }


def test_a_chat_has_an_id_and_a_name(hermes_file: HermesFile) -> None:
    hermes_file.session("both", chat_id="c1", display_name="Family")
    hermes_file.session("id", chat_id="c2")
    store = open_store(hermes_file.path)
    names = store.facts.names(["both", "id"])
    assert (names["both"].chat, names["id"].chat) == ("c1\nFamily", "c2")
    store.close()


def test_messages_put_aside_by_a_compaction_count_and_undone_ones_do_not(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("a"), "one", "two", "three")
    hermes_file.compact_in_place("a", tail=1)
    hermes_file.rewind("a", hermes_file.message("a", "user", "undone"))
    store = open_store(hermes_file.path)
    assert store.facts.counts(["a"]) == {"a": Counts(5, 0)}
    store.close()

"""Which conversations a filter lets through."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import BadFilter
from hermes_sessions.services.filters import FLAGS, KEYS, STATES, SessionFilter
from hermes_sessions.storage import Store, open_store
from tests.builders import NOW, HermesFile

DAY = 86_400


@pytest.fixture
def store(hermes_file: HermesFile) -> Iterator[Store]:
    with_tokens: dict[str, Any] = {"input_tokens": 1_500, "billing_provider": "anthropic", "git_branch": "main"}
    hermes_file.chain(2, "login", "Login, again", model="claude-opus-4-7", **with_tokens)
    hermes_file.session("gram", "telegram", "Groceries", started_at=NOW - 100 * DAY, user_id="u1")
    hermes_file.message("gram", "user", "milk", t=NOW - 3_600)
    hermes_file.session("old", "CLI", started_at=NOW - 100 * DAY, end_reason="cli_close", archived=1)
    hermes_file.message("old", "user", "long ago", t=NOW - 100 * DAY)
    hermes_file.session("paid", "cron", estimated_cost_usd=1.25, cost_status="estimated")
    hermes_file.talk("paid", "report", "done")
    hermes_file.branch("login-2", "fork", ends_parent=False)
    hermes_file.delegate("paid", "helper")
    hermes_file.session("nothing", "acp", started_at="nonsense")
    store = open_store(hermes_file.path)
    yield store
    store.close()


def fitting(store: Store, chosen: SessionFilter, live: Collection[str] = ()) -> set[str]:
    catalog = store.sessions.catalog()
    facts = store.sessions.facts(catalog) if chosen.needs_facts else {}
    return {item.id for item in catalog if chosen.matches(item, facts.get(item.id), live)}


@pytest.mark.parametrize(
    ("word", "ids"),
    [
        ("source:cli", {"login-2", "old", "fork"}),
        ("source:CLI,telegram", {"login-2", "old", "fork", "gram"}),
        ("-source:cli,cron,subagent,acp", {"gram"}),
        ("source:tele", set()),
        ("model:opus", {"login-2"}),
        ("provider:anthropic", {"login-2"}),
        ("title:login, again", {"login-2"}),
        ("title:GROC", {"gram"}),
        ("branch:main", {"login-2"}),
        ("user:u1", {"gram"}),
        ("end:cli_close", {"old"}),
        ("end:branched", set()),
        ("id:login-1", {"login-2"}),
        ("older:2d", {"old"}),
        ("older:<2h", {"gram"}),
        ("newer:2h", {"gram"}),
        ("before:2026-04-01", {"old"}),
        ("-before:2026-04-01", {"login-2", "gram", "paid", "fork", "helper"}),
        ("cost:>1", {"paid"}),
        ("cost:1.25", {"paid"}),
        ("cost:<100", {"paid"}),
        ("-cost:>100", {"paid"}),
        ("tokens:>=1.5k", {"login-2"}),
        ("messages:>4", {"login-2"}),
        ("is:archived", {"old"}),
        ("is:empty", {"nothing"}),
        ("is:branch", {"fork"}),
        ("is:subagent", {"helper"}),
        ("is:archived,empty", {"old", "nothing"}),
        ("-is:unpriced", {"paid"}),
        ("is:live", {"login-2"}),
    ],
)
def test_one_word(store: Store, word: str, ids: set[str]) -> None:
    assert fitting(store, SessionFilter.from_words([word], NOW), live={"login-1"}) == ids


def test_all_conditions_must_hold_and_without_any_everything_fits(store: Store) -> None:
    assert fitting(store, SessionFilter.from_words(["source:cli", "is:archived"], NOW)) == {"old"}
    assert len(fitting(store, SessionFilter())) == len(store.sessions.catalog())


@pytest.mark.parametrize(
    ("flags", "ids"),
    [
        ({"source": "telegram"}, {"gram"}),
        ({"older_than": "90"}, {"old"}),
        ({"newer_than": "2h"}, {"gram"}),
        ({"after": "today", "before": "today"}, set()),
        ({"min_cost": "1", "max_cost": 2.0}, {"paid"}),
        ({"min_messages": 5}, {"login-2"}),
        ({"max_tokens": 0, "source": "cli"}, {"old", "fork"}),
        ({"end_reason": "cli_close"}, {"old"}),
        ({"archived": True}, {"old"}),
        ({"live": True}, {"gram"}),
        ({"archived": False, "title": None, "json": True, "limit": 3, "source": "telegram"}, {"gram"}),
    ],
)
def test_flags(store: Store, flags: dict[str, object], ids: set[str]) -> None:
    assert fitting(store, SessionFilter.from_flags(flags, NOW), live={"gram"}) == ids


def test_what_was_used_today_is_not_old_though_it_began_long_ago(store: Store) -> None:
    assert "gram" not in fitting(store, SessionFilter.from_flags({"older_than": "90d"}, NOW))
    assert "gram" not in fitting(store, SessionFilter.from_flags({"before": "2026-04-01"}, NOW))


def test_a_directory_is_met_by_itself_by_what_is_below_and_through_links(
    hermes_file: HermesFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    (here / "sub").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(here)
    places = {
        "gone": "/tmp/gone/project",
        "here": str(here),
        "below": str(here / "sub"),
        "beside": f"{here}-too",
        "linked": str(link),
        "none": None,
        "hostile": "/a\x00b",
    }
    for id, cwd in places.items():
        hermes_file.session(id, cwd=cwd)
    store = open_store(hermes_file.path)
    monkeypatch.chdir(here)

    def inside(directory: str) -> set[str]:
        return fitting(store, SessionFilter.from_flags({"cwd": directory}, NOW))

    assert inside(str(here)) == inside(".") == inside(str(link)) == inside(f"{here}/") == {"here", "below", "linked"}
    assert inside("/tmp/gone") == {"gone"}
    assert inside("PROJECT") == {"gone"}
    assert inside(os.sep) == set(places) - {"none"}
    assert fitting(store, SessionFilter.from_words(["-cwd:."], NOW)) == {"gone", "beside", "none", "hostile"}
    store.close()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"older_than": "2x"}, "--older-than 2x"),
        ({"min_cost": "much"}, "--min-cost much"),
        ({"source": " , "}, "--source"),
        ({"title": ""}, "--title"),
    ],
)
def test_a_bad_flag_is_named_with_what_would_be_right(flags: dict[str, object], message: str) -> None:
    with pytest.raises(BadFilter) as caught:
        SessionFilter.from_flags(flags, NOW)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


@pytest.mark.parametrize("word", ["colour:red", "is:shiny", "cost:>", "older:>soon", "before:<2d", "source:", "plain"])
def test_a_bad_word_is_named_with_what_would_be_right(word: str) -> None:
    with pytest.raises(BadFilter) as caught:
        SessionFilter.from_words([word], NOW)
    assert caught.value.message.startswith(word)
    assert caught.value.hint


@given(st.sampled_from([*KEYS, "-is", "x"]), st.text())
def test_no_word_raises_anything_else(key: str, value: str) -> None:
    try:
        assert len(SessionFilter.from_words([f"{key}:{value}"], NOW).terms) == 1
    except BadFilter as error:
        assert error.message and error.hint


def test_a_filter_says_what_it_needs() -> None:
    assert not SessionFilter.from_words(["source:cli", "older:2d", "title:unpriced", "is:live"], NOW).needs_facts
    for word in ("cost:>1", "provider:x", "is:unpriced", "branch:x", "user:x", "tools:>1"):
        assert SessionFilter.from_words([word], NOW).needs_facts
    archived = SessionFilter.from_words(["is:archived"], NOW)
    assert archived.asks_for("archived") and not archived.asks_for("empty")
    assert not SessionFilter.from_words(["-is:archived"], NOW).asks_for("archived")


def test_every_flag_means_a_key_that_exists() -> None:
    assert {key for key, _ in FLAGS.values()} <= set(KEYS)
    for state in STATES:
        assert SessionFilter.from_words([f"is:{state}"], NOW).asks_for(state)

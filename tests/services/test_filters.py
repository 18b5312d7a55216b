"""Which conversations a filter lets through."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes_sessions.errors import BadFilter
from hermes_sessions.services.filters import FLAGS, from_flags, prepare
from hermes_sessions.services.known_facts import KnownFacts
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.conditions import CHOICES, KEYS, Condition
from hermes_sessions.storage.query import parse
from tests.builders import NOW, HermesFile

DAY = 86_400


@pytest.fixture
def store(hermes_file: HermesFile) -> Iterator[Store]:
    with_tokens: dict[str, Any] = {"input_tokens": 1_500, "billing_provider": "anthropic", "git_branch": "main"}
    hermes_file.chain(2, "login", "Login, again", model="claude-opus-4-7", **with_tokens)
    hermes_file.session(
        "gram", "telegram", "Groceries", started_at=NOW - 100 * DAY, user_id="u1", chat_id="c9", display_name="Family"
    )
    hermes_file.message("gram", "user", "milk", t=NOW - 3_601)
    hermes_file.message("gram", "assistant", "noted", t=NOW - 3_600)
    hermes_file.session("old", "CLI", started_at=NOW - 100 * DAY, end_reason="cli_close", archived=1)
    hermes_file.message("old", "assistant", "long ago", t=NOW - 100 * DAY)
    hermes_file.session("paid", "cron", estimated_cost_usd=1.25, cost_status="estimated")
    hermes_file.talk("paid", "report", "done")
    hermes_file.branch("login-2", "fork", ends_parent=False)
    hermes_file.delegate("paid", "helper")
    hermes_file.session("nothing", "acp", started_at="nonsense")
    working = hermes_file.session("worked", "acp")
    hermes_file.message(working, "user", "list it")
    hermes_file.tool_call(working, "terminal", {"cmd": "ls"}, "files")
    hermes_file.message(working, "assistant", "here they are")
    failing = hermes_file.session("failed", "acp")
    hermes_file.message(failing, "user", "do it")
    hermes_file.message(failing, "assistant", "no", finish_reason="error")
    hermes_file.message(hermes_file.session("asked", "acp"), "user", "hello?")
    thinking = hermes_file.session("thought", "acp")
    hermes_file.message(thinking, "user", "why?")
    hermes_file.message(thinking, "assistant", "so", reasoning="because")
    seeing = hermes_file.session("seen", "acp")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    hermes_file.message(seeing, "user", [{"type": "text", "text": "look"}, picture])
    hermes_file.message(seeing, "assistant", "nice")
    undone = hermes_file.session("undone", "acp")
    hermes_file.talk(undone, "one", "two")
    hermes_file.rewind(undone, hermes_file.message(undone, "user", "three"))
    store = open_store(hermes_file.path)
    yield store
    store.close()


def fitting(store: Store, conditions: Sequence[Condition], live: Collection[str] = ()) -> set[str]:
    catalog = store.sessions.catalog()
    known = KnownFacts(store.facts)
    wanted = prepare(conditions, known, lambda: live)
    for kind in wanted.needs:
        known.read(kind, catalog)
    return {item.id for item in catalog if wanted.fits(item)}


def asked(query: str) -> tuple[Condition, ...]:
    read = parse(f"{query} ", NOW)
    assert not (read.words or read.excluded or read.problems)
    return read.conditions


@pytest.mark.parametrize(
    ("word", "ids"),
    [
        ("source:cli", {"login-2", "old", "fork"}),
        ("source:CLI,telegram", {"login-2", "old", "fork", "gram"}),
        ("-source:cli,cron,subagent,acp", {"gram"}),
        ("source:tele", set()),
        ("model:opus", {"login-2"}),
        ("provider:anthropic", {"login-2"}),
        ('title:"login, again"', {"login-2"}),
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
        ("-before:2026-04-01 -source:acp", {"login-2", "gram", "paid", "fork", "helper"}),
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
        ("is:error", {"failed"}),
        ("is:interrupted", {"asked"}),
        ("is:interrupted,error", {"asked", "failed"}),
        ("chat:c9", {"gram"}),
        ("chat:family", {"gram"}),
        ("has:cost", {"paid"}),
        ("has:cost,reasoning", {"paid", "thought"}),
        ("has:reasoning", {"thought"}),
        ("has:images", {"seen"}),
        ("has:tools", {"worked"}),
        ("tool:TERM", {"worked"}),
        ("tool:nothing", set()),
        ("role:tool", {"worked"}),
        ("role:tool has:images", set()),
        ("-role:user", {"nothing", "old"}),
        ("-role:tool has:tools", {"worked"}),
        ("is:rewound", {"undone"}),
        ("is:rewound,archived", {"undone", "old"}),
        ("tools:>0", {"worked"}),
        ("cost:1..2", {"paid"}),
    ],
)
def test_one_word(store: Store, word: str, ids: set[str]) -> None:
    assert fitting(store, asked(word), live={"login-1"}) == ids


def test_all_conditions_must_hold_and_without_any_everything_fits(store: Store) -> None:
    assert fitting(store, asked("source:cli is:archived")) == {"old"}
    assert len(fitting(store, ())) == len(store.sessions.catalog())


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
    assert fitting(store, from_flags(flags, NOW), live={"gram"}) == ids


def test_what_was_used_today_is_not_old_though_it_began_long_ago(store: Store) -> None:
    assert "gram" not in fitting(store, from_flags({"older_than": "90d"}, NOW))
    assert "gram" not in fitting(store, from_flags({"before": "2026-04-01"}, NOW))


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
        return fitting(store, from_flags({"cwd": directory}, NOW))

    assert inside(str(here)) == inside(".") == inside(str(link)) == inside(f"{here}/") == {"here", "below", "linked"}
    assert inside("/tmp/gone") == {"gone"}
    assert inside("PROJECT") == {"gone"}
    assert inside(os.sep) == set(places) - {"none"}
    assert fitting(store, asked("-cwd:.")) == {"gone", "beside", "none", "hostile"}
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
        from_flags(flags, NOW)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_a_value_that_is_still_typed_may_be_the_beginning_of_one(store: Store) -> None:
    for word in ("source:tele", "source:x,tele", "provider:anth", "end:cli_"):
        assert fitting(store, asked(word)) == set()
        assert len(fitting(store, parse(word, NOW, typing=True).conditions)) == 1


def test_what_is_being_written_is_not_interrupted(store: Store) -> None:
    assert fitting(store, asked("is:interrupted"), live={"asked"}) == set()


def test_every_state_and_thing_can_be_asked_for(store: Store) -> None:
    everything = {item.id for item in store.sessions.catalog()}
    for key in ("is", "has", "role"):
        for word in CHOICES[key]:
            positive, negative = fitting(store, asked(f"{key}:{word}")), fitting(store, asked(f"-{key}:{word}"))
            assert positive | negative == everything and not positive & negative


def test_a_filter_says_what_it_needs(store: Store) -> None:
    known = KnownFacts(store.facts)

    def needs(words: str) -> set[str]:
        return {str(kind) for kind in prepare(asked(words), known, frozenset).needs}

    assert needs("source:cli older:2d title:unpriced is:live,empty -model:x") == set()
    assert needs("cost:>1 is:unpriced tokens:>1") == {"spent"}
    assert needs("messages:>1 tools:>1") == {"counts"}
    assert needs("provider:x branch:x user:x chat:x") == {"names"}


def test_every_flag_means_a_key_that_exists() -> None:
    assert {key for key, _ in FLAGS.values()} <= set(KEYS)

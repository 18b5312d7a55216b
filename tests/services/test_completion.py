"""Completing a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.services.completion import (
    MOST_CANDIDATES,
    NUMBERS,
    TIMES,
    Candidate,
    complete,
    unknown_values,
    vocabulary_of,
)
from hermes_sessions.storage import open_store
from hermes_sessions.storage.conditions import CHOICES, KEYS, NUMBER_KEYS, TIME_KEYS
from hermes_sessions.storage.query import parse
from tests.builders import NOW, HermesFile

KNOWN = {
    "source": {"cli": 7, "telegram": 9, "cron": 2},
    "model": {"claude-opus": 3, "gpt": 5, "open-gpt": 8, "Opal": 1},
    "title": {"two words": 1, 'say "hi"': 1, "a,b": 1, "": 1},
    "tool": {},
}


def labels(text: str, cursor: int | None = None) -> list[str]:
    return [candidate.label for candidate in complete(text, len(text) if cursor is None else cursor, KNOWN)]


def test_keys_are_offered_where_a_word_begins() -> None:
    assert labels("") == labels("docker ") == labels("-") == [f"{key}:" for key in KEYS]
    assert labels("mo") == labels("docker -mo") == ["model:"]
    assert labels("to") == ["tool:", "tokens:", "tools:"]
    assert labels("docker") == labels('"mo') == labels('"two" "mo') == []


def test_values_are_offered_behind_a_key_the_most_frequent_first() -> None:
    assert labels("source:") == ["telegram", "cli", "cron"]
    assert labels("source:c") == ["cli", "cron"]
    assert labels("is:") == list(CHOICES["is"])
    assert labels("before:") == list(TIMES) and labels("before:ye") == ["yesterday"]
    assert labels("cost:>") == list(NUMBERS["cost"])
    assert labels("tool:") == labels("unknown:") == []


def test_what_begins_so_comes_before_what_holds_it() -> None:
    assert labels("model:op") == ["open-gpt", "Opal", "claude-opus"]
    assert labels("model:GPT") == ["gpt", "open-gpt"]


def test_a_value_is_not_offered_twice() -> None:
    assert labels("source:cli,") == ["telegram", "cron"]
    assert labels("source:CLI,c") == ["cron"]
    assert labels("source:cli") == []


def test_a_directory_may_be_written_from_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    known = {"cwd": {"/home/ann/shop": 2, "/srv": 1}}
    assert [found.text for found in complete("cwd:~/s", 7, known)] == ["/home/ann/shop"]
    assert [found.text for found in complete("cwd:~", 5, known)] == ["/home/ann/shop"]


def test_a_candidate_takes_the_place_of_what_was_begun() -> None:
    text = 'x -title:"tw y'
    (candidate,) = complete(text, 12, KNOWN)
    assert candidate == Candidate(9, 12, '"two words"', "two words", 1)
    assert text[: candidate.start] + candidate.text + text[candidate.stop :] == 'x -title:"two words" y'


@given(st.dictionaries(st.text(), st.integers(1, 9)), st.sampled_from(["x title:", "title:a,", "-title:"]))
def test_whatever_is_offered_is_read_as_it_was_meant(values: dict[str, int], before: str) -> None:
    candidates = complete(before, len(before), {"title": values})
    assert len(candidates) <= min(len(values), MOST_CANDIDATES)
    for candidate in candidates:
        (condition,) = parse(f"{before}{candidate.text} ", NOW).conditions or (None,)
        meant = candidate.label.replace("\x00", " ").encode("utf-8", "replace").decode().strip()
        assert not meant or (condition is not None and condition.values[-1] == meant)


@pytest.mark.parametrize("key", [*CHOICES, *NUMBER_KEYS, *TIME_KEYS])
def test_every_offered_value_of_the_language_makes_sense(key: str) -> None:
    candidates = complete(f"{key}:", len(key) + 1, {})
    assert candidates
    for candidate in candidates:
        assert parse(f"{key}:{candidate.text} ", NOW).problems == ()


@given(st.text(), st.integers(0, 50))
def test_any_text_can_be_completed(text: str, cursor: int) -> None:
    for candidate in complete(text, min(cursor, len(text)), KNOWN):
        assert 0 <= candidate.start <= candidate.stop <= len(text)


def test_a_value_that_nothing_has_is_said_with_what_is_most_like_it() -> None:
    def unknown(text: str, *, typing: bool = False) -> list[tuple[str, str]]:
        found = unknown_values(text, KNOWN, typing=typing)
        assert all(problem.message.endswith(".") for problem in found)
        return [(text[problem.start : problem.stop], problem.suggestion) for problem in found]

    assert unknown("x source:telegrm y") == [("source:telegrm", "telegram")]
    assert unknown("source:tele") == [("source:tele", "telegram")]
    assert unknown("source:cli,zzz model:GP model:zzz") == [("source:cli,zzz", ""), ("model:zzz", "")]
    assert unknown("-source:zzz title:zzz tool:zzz is:live cost:>1 source:CLI") == []
    assert unknown("source:tele", typing=True) == []
    assert unknown("SOURCE:cli sorce:zzz") == [("SOURCE:cli", "source:cli"), ("sorce:zzz", "source:zzz")]


def test_the_vocabulary_counts_conversations(any_layout: HermesFile) -> None:
    any_layout.chain(2, "login", "Login", model="opus", billing_provider="anthropic")
    any_layout.tool_call(any_layout.session("gram", "telegram", user_id="u1"), "terminal", {}, "done")
    if any_layout.has("sessions", "chat_id"):
        any_layout.session("chat", "telegram", chat_id="c1", display_name="Family")
    store = open_store(any_layout.path)
    known = vocabulary_of(store, store.sessions.catalog())
    store.close()
    chats = {"c1": 1, "Family": 1} if any_layout.has("sessions", "chat_id") else {}
    assert known["source"] == {"cli": 1, "telegram": 2 if chats else 1}
    assert known["model"] == {"opus": 1}
    assert known["title"] == {"Login": 1, "Login #2": 1}
    assert (known["provider"], known["user"], known["chat"]) == ({"anthropic": 1}, {"u1": 1}, chats)
    assert known["tool"] == {"terminal": 1}

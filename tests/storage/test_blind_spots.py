"""What an index cannot see is known, looked for once, and read behind what the indexes find."""

from __future__ import annotations

import json

import pytest

from hermes_sessions.storage import Store, blind_spots, coverage, finding, open_store
from hermes_sessions.storage.blind_spots import BlindSpots, is_blind
from hermes_sessions.storage.database import Database
from tests.builders import HermesFile


@pytest.mark.parametrize(
    "text",
    [
        "a \x1b[31mred\x1b[0m word",
        "a \x9b31mred\x9b0m word",
        "behind\x00a NUL",
        "crème",
        "cre\u0300me",
        "Straße",
        "мой",
        "مُحَمَّد",
        json.dumps("crème"),
        json.dumps(json.dumps("crème")),
        json.dumps("\x1b[1m"),
        "a \\u003cb\\u003e",
        "http:\\/\\/x",
        "\ufffd",
    ],
)
def test_where_more_is_seen_than_is_stored_an_index_is_blind(text: str) -> None:
    assert is_blind(text)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "plain text",
        "C:\\temp\\x",
        json.dumps({"a": 'tab\there\n"'}),
        "数据库 がガ 한국어",
        "ภาษาไทย",
        "😀 – “so” …",
    ]
    + [json.dumps(text) for text in ("数据库 がガ 한국어", "😀", "Привет")],
)
def test_where_what_is_seen_is_what_is_stored_it_is_not(text: str | None) -> None:
    assert not is_blind(text)


def test_older_messages_are_looked_at_once(hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blind_spots, "SPAN", 4)
    hermes_file.session("a")
    for number in range(1, 11):
        hermes_file.message("a", "user", "crème" if number in (2, 7, 10) else "cream")
    database = Database(hermes_file.path)
    spots = BlindSpots(database)
    looks: list[int] = []

    def found(stop: int) -> list[tuple[tuple[int, ...], int]]:
        looks.clear()
        return list(spots.newest_first(range(1, stop), lambda: looks.append(1)))

    assert found(11) == [((10,), 8), ((7,), 4), ((2,), 1)] and len(looks) == 3
    hermes_file.message("a", "user", "crème")
    assert found(12) == [((11, 10), 8), ((7,), 0), ((2,), 0)] and len(looks) == 1
    assert found(13) == [((11, 10), 0), ((7,), 0), ((2,), 0)] and not looks
    database.close()


def test_those_among_some_messages_are_looked_for_once_near_them(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blind_spots, "SPAN", 4)
    hermes_file.session("a")
    for number in range(1, 11):
        hermes_file.message("a", "user", "crème" if number in (1, 2, 7, 10) else "cream")
    database = Database(hermes_file.path)
    spots = BlindSpots(database)
    looks: list[int] = []
    assert spots.among([2, 3, 10], lambda: looks.append(1)) == {2, 10} and len(looks) == 2
    assert spots.among([1, 9], lambda: looks.append(1)) == {1} and len(looks) == 3, "but for the newest they are known"
    assert spots.among([], lambda: looks.append(1)) == set() and len(looks) == 3
    database.close()


@pytest.fixture
def big(hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that counts as too big to be read."""
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)
    monkeypatch.setattr(finding, "READ_ANYWAY", 0)
    hermes_file.message(hermes_file.session("coloured"), "user", "oc\x1b[1;32mto\x1b[mpus")
    hermes_file.message(hermes_file.session("accent"), "user", "the Crèmerie")
    hermes_file.message(hermes_file.session("nul"), "user", "before\x00beyondness")
    hermes_file.message(hermes_file.session("tab"), "user", "first\tsecondary")
    hermes_file.tool_call(hermes_file.session("slash"), "fetch", {"a": 1}, '{"url": "http:\\/\\/x.org\\/path"}')
    for number in range(20):
        hermes_file.message(hermes_file.session(f"s{number}"), "user", f"octopus {number}")
    return open_store(hermes_file.path)


def found(store: Store, query: str) -> list[str]:
    result = store.search.run(query, store.sessions.catalog(), limit=0)
    assert result.complete
    return [hits.conversation.id for hits in result.conversations]


def test_what_no_index_sees_is_found_behind_what_they_find(big: Store, hermes_file: HermesFile) -> None:
    assert found(big, "octopus")[-1] == "coloured"
    assert found(big, "remer") == ["accent"]
    assert found(big, "eyondne") == ["nul"]
    assert found(big, '"irst secon"') == ["tab"]
    assert found(big, "x.org/path") == ["slash"]
    hermes_file.sql("DELETE FROM messages_fts_trigram WHERE rowid = (SELECT max(id) FROM messages)")
    hermes_file.sql("DELETE FROM messages_fts WHERE rowid = (SELECT max(id) - 1 FROM messages)")
    big.search._blind_spots._known.clear()
    assert found(big, "ctopus")[0] in ("s18", "s19") and len(found(big, "ctopus")) == 21
    big.close()


def test_it_is_said_when_no_index_has_it_and_how_far_the_first_look_is(
    big: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blind_spots, "SPAN", 8)
    catalog = big.sessions.catalog()

    def notices() -> list[str]:
        told = (result.notice for result in big.search.stream("nowhere ", catalog))
        return [notice for notice in dict.fromkeys(told) if notice]

    first = notices()
    assert first[:2] == [finding.NOT_AS_WORDS, finding.NOT_IN_AN_INDEX]
    assert first[2:] == [f"Every message is read: {percent} %." for percent in (11, 42, 73, 100)]
    assert notices()[:2] == first[:2] and len(notices()) == 3, "but for the newest they are known"
    big.close()

"""Searches are remembered in a file of their owner's."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hermes_sessions.services.past_searches import KEPT, LONGEST, PastSearches


def all_of(searches: PastSearches) -> list[str]:
    found: list[str] = []
    while (text := searches.before(len(found) + 1)) is not None:
        found.append(text)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "searches.json"


def test_what_was_searched_for_is_there_the_next_time_newest_first(path: Path) -> None:
    searches = PastSearches(path)
    for text in ("docker", " 数据 ", "C++\ud800"):
        searches.add(text)
    assert all_of(PastSearches(path)) == ["C++?", "数据", "docker"]
    assert all_of(searches)[1:] == ["数据", "docker"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_each_search_is_there_once_at_its_newest_place(path: Path) -> None:
    searches = PastSearches(path)
    for text in ("a", "b", "b", "a", "", "   ", "x" * (LONGEST + 1)):
        searches.add(text)
    assert all_of(searches) == ["a", "b"]


def test_only_the_newest_are_kept(path: Path) -> None:
    searches = PastSearches(path)
    for number in range(KEPT + 3):
        searches.add(str(number))
    assert len(all_of(searches)) == len(all_of(PastSearches(path))) == KEPT
    assert searches.before(1) == str(KEPT + 2)
    assert searches.before(0) is None


def test_two_programs_add_to_one_file(path: Path) -> None:
    one, other = PastSearches(path), PastSearches(path)
    one.add("mine")
    other.add("theirs")
    one.add("mine again")
    assert all_of(one) == ["mine again", "theirs", "mine"]


def test_what_the_person_removed_does_not_come_back(path: Path) -> None:
    searches = PastSearches(path)
    searches.add("secret")
    path.unlink()
    searches.add("docker")
    assert all_of(PastSearches(path)) == ["docker"]


@pytest.mark.parametrize("stored", [b"", b"\xff\xfe", b"{}", b'[1, null, [], "good"]', b"[" * 100_000])
def test_a_file_that_makes_no_sense_is_as_good_as_none(path: Path, stored: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(stored)
    searches = PastSearches(path)
    assert all_of(searches) in ([], ["good"])
    searches.add("docker")
    assert PastSearches(path).before(1) == "docker"


def test_a_place_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    searches = PastSearches(tmp_path / "file" / "searches.json")
    searches.add("docker")
    assert all_of(searches) == ["docker"]


def test_without_a_path_they_are_known_until_the_end() -> None:
    searches = PastSearches()
    searches.add("docker")
    searches.add("hermes")
    assert all_of(searches) == ["hermes", "docker"]

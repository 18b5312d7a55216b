"""What is remembered between runs: kept when it can be, never in the way when it cannot."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from hermes_sessions.services.state import State


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.json"


def remember(file: Path, **values: str | bool) -> None:
    state = State(file)
    for name, value in values.items():
        state.put(name, value)
    state.save()


def test_the_next_run_has_what_this_one_left(file: Path) -> None:
    remember(file, sort="cost", wrap=False)
    assert State(file).values() == {"sort": "cost", "wrap": False}


def test_nothing_is_written_when_nothing_has_changed(file: Path) -> None:
    State(file).save()
    assert not file.exists()
    remember(file, sort="cost")
    before = file.stat().st_mtime_ns, file.stat().st_ino
    remember(file, sort="cost")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_nothing_is_kept_without_a_file() -> None:
    state = State()
    state.put("sort", "cost")
    state.see("welcome")
    state.save()
    assert state.values()["sort"] == "cost"
    assert state.seen("welcome")


def test_of_two_browsers_each_keeps_what_it_changed_and_the_last_one_wins(file: Path) -> None:
    one, other = State(file), State(file)
    assert one.values() == other.values() == {}
    one.put("sort", "cost")
    one.put("theme", "nord")
    one.see("a")
    other.put("sort", "title")
    other.see("b")
    one.save()
    other.save()
    assert State(file).values() == {"sort": "title", "theme": "nord", "seen": ["a", "b"]}


def test_a_hint_is_seen_once_for_all(file: Path) -> None:
    state = State(file)
    assert not state.seen("welcome")
    state.see("welcome")
    assert state.seen("welcome")
    state.save()
    assert State(file).seen("welcome")
    assert not State(file).seen("other")


@pytest.mark.parametrize("stored", [b"", b"[]", b"{", b"\xff", b'{"seen": 3}', b'{"seen": [[]]}', b"[" * 100_000])
def test_what_cannot_be_read_is_nothing_and_does_not_stay(file: Path, stored: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(stored)
    state = State(file)
    assert not state.seen("welcome")
    state.see("welcome")
    state.put("sort", "cost")
    state.save()
    assert State(file).seen("welcome")
    assert State(file).values()["sort"] == "cost"


def test_what_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "state.json", sort="cost")
    assert (tmp_path / "file").read_text() == ""


def test_only_the_owner_reads_it_and_nothing_else_is_left_beside_it(file: Path) -> None:
    remember(file, sort="cost")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]
    assert json.loads(file.read_text()) == {"sort": "cost"}

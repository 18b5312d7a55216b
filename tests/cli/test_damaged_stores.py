"""Of a damaged store the reading commands write what can be read, and say on stderr what cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.storage.repairing.damages import half_an_index, hermes_store, page_of, zero

DAMAGED = "messages cannot be read: pages of the file are damaged. Try `hermes-sessions repair --db"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A store with one page of messages gone."""
    path = hermes_store(tmp_path / "state.db", 22)
    page_of("messages", "leaf", 0.5, zero)(path)
    return path


def test_what_can_be_read_is_written_and_what_cannot_is_said(run: Run, damaged: Path) -> None:
    listed = run("list", "--db", str(damaged), "--limit", "0")
    assert (listed.code, len(listed.out.splitlines())) == (0, 60)
    assert DAMAGED in listed.err
    found = run("search", "deploy", "--db", str(damaged))
    assert found.code == 0
    assert "Title 0" in found.out
    assert DAMAGED in found.err
    spent = run("cost", "--db", str(damaged))
    assert (spent.code, spent.out.count("Total")) == (0, 1)


def test_a_transcript_says_where_messages_are_missing(run: Run, damaged: Path) -> None:
    shown = [run("show", f"s{number:03}", "--db", str(damaged)) for number in range(60)]
    assert {ended.code for ended in shown} == {0}
    gaps = [ended for ended in shown if "could not be read here: damaged pages." in ended.out]
    assert gaps
    assert all("unreadable" in ended.out and DAMAGED in ended.err for ended in gaps)


def test_json_is_one_object_all_the_same(run: Run, damaged: Path) -> None:
    listed = run("list", "--db", str(damaged), "--limit", "0", "--json")
    assert len(json.loads(listed.out)["sessions"]) == 60
    assert DAMAGED in listed.err


def test_without_a_search_index_everything_is_found_and_the_command_is_named(run: Run, tmp_path: Path) -> None:
    path = hermes_store(tmp_path / "state.db", 22)
    half_an_index(path)
    found = run("search", "banana", "--db", str(path), "--limit", "0")
    assert (found.code, len(found.out.splitlines())) == (0, 9)
    assert (
        "The search index messages_fts is damaged: a search goes on without it. Try `hermes-sessions repair"
        in found.err
    )

"""What the indexes of a store are trusted with."""

from __future__ import annotations

from contextlib import closing

import pytest

from hermes_sessions.storage import coverage
from hermes_sessions.storage.coverage import DAMAGED, NO_INDEX, Coverage, coverage_of
from hermes_sessions.storage.database import Database
from tests.builders import HermesFile

MESSAGES = 200


@pytest.fixture(autouse=True)
def every_store_is_big(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)


def fill(file: HermesFile, messages: int = MESSAGES) -> None:
    file.sql("BEGIN")
    session = file.session()
    for _ in range(messages):
        file.message(session, "user", "the text")
    file.sql("COMMIT")


def covered(file: HermesFile) -> Coverage:
    with closing(Database(file.path)) as database:
        return coverage_of(database)


def test_two_whole_indexes_leave_nothing_to_read(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    assert covered(hermes_file) == Coverage(True, True, '^"json"', range(1, 1))


def test_layouts_whose_indexes_lack_texts_are_read(any_layout: HermesFile) -> None:
    """Version 6 has no trigram index, and that of version 31 holds no tool rows."""
    fill(any_layout)
    assert bool(covered(any_layout).unread) == (any_layout.version in (6, 31))


def test_a_small_store_is_read_whatever_its_indexes_say(
    hermes_file: HermesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "READ_ANYWAY", MESSAGES)
    fill(hermes_file)
    assert covered(hermes_file).unread == range(1, MESSAGES + 1)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TRIGGER messages_fts_insert",
        "DROP TRIGGER messages_fts_trigram_delete",
        "DELETE FROM messages_fts WHERE rowid > 199",
        "DELETE FROM messages_fts_trigram WHERE rowid BETWEEN 20 AND 60",
        "DELETE FROM messages_fts WHERE rowid = 1",
        "DROP TABLE messages_fts",
        "DELETE FROM messages_fts_trigram_idx",
        "DELETE FROM messages_fts_data",
    ],
)
def test_an_index_that_lacks_something_has_all_messages_read(hermes_file: HermesFile, damage: str) -> None:
    fill(hermes_file)
    hermes_file.sql(damage)
    found = covered(hermes_file)
    assert found.unread == range(1, MESSAGES + 1) and not found.missing and not found.notice


def test_what_waits_to_be_indexed_is_read(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.sql("INSERT INTO state_meta VALUES ('fts_rebuild_progress', 50), ('fts_rebuild_high_water', 120)")
    assert covered(hermes_file).unread == range(51, 121)


def test_why_there_is_no_index_is_said(hermes_file: HermesFile) -> None:
    fill(hermes_file, 3)
    hermes_file.sql("DELETE FROM messages_fts_data")
    hermes_file.sql("DELETE FROM messages_fts_trigram_data")
    assert covered(hermes_file).missing and covered(hermes_file).notice == DAMAGED
    for name in ("messages_fts", "messages_fts_trigram"):
        hermes_file.sql("PRAGMA writable_schema = ON")
        hermes_file.sql("DELETE FROM sqlite_schema WHERE name = ?", (name,))
    assert covered(hermes_file).notice == NO_INDEX


def test_an_empty_store_has_nothing_to_read(any_layout: HermesFile) -> None:
    assert not covered(any_layout).unread and not covered(any_layout).missing

"""Which sessions the store itself shows to be in use."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.liveness import MOST_PAGES, PAGE, RECENT_SECONDS, Liveness
from tests.builders import NOW, HermesFile


def live(file: HermesFile, now: float = NOW) -> set[str]:
    database = Database(file.path)
    answer = set(Liveness(database).live_sessions(now))
    database.close()
    return answer


def lock(file: HermesFile, session: str, expires_at: Any, table: str = "compression_locks") -> None:
    column = "session_id" if table == "compression_locks" else "conversation_id"
    file.insert(table, **{column: session}, holder="1:2:x", acquired_at=NOW - 10, expires_at=expires_at)


def test_in_every_layout_a_recent_message_of_an_open_session_is_life(any_layout: HermesFile) -> None:
    for id, ago, end_reason in (("now", 5, None), ("ended", 5, "cli_close"), ("quiet", RECENT_SECONDS, None)):
        any_layout.session(id, end_reason=end_reason)
        any_layout.message(id, t=NOW - ago)
    any_layout.session("empty", started_at=NOW)
    assert live(any_layout) == {"now"}
    assert live(any_layout, NOW + 1_000) == set()


def test_a_lock_or_a_lease_is_life_until_it_expires(tmp_path: Any) -> None:
    with HermesFile(tmp_path / "state.db", 31) as file:
        lock(file, "compressing", NOW + 1)
        lock(file, "over", NOW)
        lock(file, "talking", NOW + 1, "session_turn_leases")
        assert live(file) == {"compressing", "talking"}


@pytest.mark.parametrize("expires_at", ["never", b"\xff", -1, 0, 1e300, 2**62])
def test_a_lock_with_a_nonsense_time_is_no_life(hermes_file: HermesFile, expires_at: Any) -> None:
    lock(hermes_file, "a", expires_at)
    assert live(hermes_file) == set()


@pytest.mark.parametrize("timestamp", ["now", b"\xff", 0, 1e300, NOW + 3_600])
def test_a_message_with_a_nonsense_time_is_no_life(hermes_file: HermesFile, timestamp: Any) -> None:
    hermes_file.session("a")
    hermes_file.message("a", t=timestamp)
    assert live(hermes_file) == set()


def test_every_recent_message_is_looked_at_up_to_a_bound(hermes_file: HermesFile) -> None:
    hermes_file.session("first")
    hermes_file.session("busy")
    hermes_file.message("first", t=NOW - 60)
    for _ in range(PAGE * 2):
        hermes_file.message("busy", t=NOW - 30)
    assert live(hermes_file) == {"first", "busy"}
    hermes_file.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO messages (session_id, role, timestamp) SELECT 'busy', 'user', ? FROM n",
        (PAGE * MOST_PAGES, NOW),
    )
    assert live(hermes_file) == {"busy"}

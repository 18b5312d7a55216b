"""What a store is like after what could be read was copied: whole, and fit to be written to."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.repair import Repair, repair
from tests.builders import NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import columns, connect, contents, run


@pytest.fixture(params=[0, 31])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "store" / "state.db"
    path.parent.mkdir()
    return damages.hermes_store(path, request.param) if request.param else damages.our_store(path)


def mend(path: Path) -> Repair:
    done = repair(path, clock=lambda: NOW)
    assert done.steps
    assert diagnose(path, clock=lambda: NOW, asked=lambda _: None).healthy
    assert repair(path, clock=lambda: NOW).healthy
    return done


def append(path: Path) -> int:
    """Add a message; its number."""
    with closing(connect(path)) as connection:
        connection.execute("INSERT INTO messages (session_id, role, timestamp) VALUES ('s003', 'user', 1780000000.5)")
        return connection.last_insert_rowid()


@pytest.mark.parametrize(("given", "used"), [(9_223_372_036_854_775_807, False), (1_000, True)])
def test_messages_can_be_added_after_a_repair(store: Path, given: int, used: bool) -> None:
    """The number that was given last is kept, so that none is given twice, but not when there is none after it."""
    run(store, f"UPDATE sqlite_sequence SET seq = {given} WHERE name = 'messages'")
    last = len(contents(store)["messages"])
    damages.page_of("messages", "leaf", 0.5, damages.zero)(store)
    mend(store)
    assert append(store) == (given if used else last) + 1


def test_sessions_with_one_title_are_kept_and_told_apart(store: Path) -> None:
    alike = "UPDATE sessions SET title = 'Alike' WHERE id IN ('s005', 's006', 's007')"
    damages.without_unique(store, "idx_sessions_title_unique", alike)
    before = columns(store, "sessions")
    done = mend(store)
    new = {"s006": "Alike (s006)", "s007": "Alike (s007)"}
    assert columns(store, "sessions") == [row | {"title": new.get(str(row["id"]), row["title"])} for row in before]
    assert "2 sessions had the title of another: the id is added to it." in done.notes
    with closing(connect(store)) as connection, pytest.raises(apsw.ConstraintError):
        connection.execute("UPDATE sessions SET title = 'Alike' WHERE id = 's006'")


def test_sessions_with_one_id_are_both_kept(store: Path) -> None:
    before = columns(store, "sessions")
    (row,) = [number for number, session in enumerate(before, 1) if session["id"] == "s006"]
    damages.overwrite_text(store, "sessions", "s006", "s005")
    done = mend(store)
    after = {session["id"]: session for session in columns(store, "sessions")}
    twin = f"s005-twin-{row}"
    assert after[twin] == before[row - 1] | {"id": twin}
    assert [after[session["id"]] for session in before if session["id"] != "s006"] == [
        session for session in before if session["id"] != "s006"
    ]
    assert "1 session had the id of another: each has one of its own now." in done.notes
    # Its messages still say to which they belong.
    assert after["s006"]["message_count"] == 3


def test_rows_of_messages_among_sessions_are_seen_when_every_index_fits_them(tmp_path: Path) -> None:
    """They may be, to the letter of the layout: SQLite finds no fault in such a file."""
    path = tmp_path / "store" / "state.db"
    path.parent.mkdir()
    damages.hermes_store(path, 6)
    before = contents(path)
    damages.swapped_roots(path)
    run(path, "REINDEX sessions", "REINDEX messages")
    assert not diagnose(path, clock=lambda: NOW, asked=lambda _: None).healthy
    mend(path)
    assert contents(path) == before

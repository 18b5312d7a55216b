"""A search index that is behind is completed beside everyone who writes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_sessions.errors import IndexUnusable, StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.values import as_int
from hermes_sessions.storage.writing import rebuild, schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.index_mark import Claim, Mark
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from hermes_sessions.storage.writing.writer import Writer
from tests.builders import NOW
from tests.storage.writing.indexes import (
    MESSAGES,
    TRIGRAM,
    WORDS,
    catalogue,
    filled,
    found,
    indexed,
    run_without_fts5,
    say,
    script,
    spoil,
    triggers,
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "PAUSE_SECONDS", 0.0)


def test_triggers_that_somebody_dropped_are_missed(store: OwnerStore, database: Database) -> None:
    script(database, f"DROP TRIGGER {TRIGRAM}_update")
    assert store.index.state == ("stale", "not kept up", MESSAGES)
    assert store.index.catch_up()
    store.index.check()
    assert len(triggers(database)) == 6


def test_a_whole_index_is_left_alone(store: OwnerStore, database: Database) -> None:
    before = database.data_version()
    assert store.index.catch_up(lambda done, total: pytest.fail("there is nothing to do"))
    assert store.index.state == ("usable", "", 0)
    assert database.data_version() == before


def test_no_id_is_too_small_or_too_large(store: OwnerStore, database: Database) -> None:
    for id in (-(2**40), -1, 0, 2**62):
        sql = "INSERT INTO messages (id, session_id, role, content, timestamp) VALUES (?, 's', 'user', 'odd', 1)"
        database.execute(sql, (id,))
    assert store.index.rebuild()
    store.index.check()
    assert indexed(database, WORDS, "odd") == [-(2**40), -1, 0, 2**62]


def test_progress_is_told_up_to_the_end(store: OwnerStore) -> None:
    told: list[tuple[int, int]] = []
    assert store.index.rebuild(lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (2 * MESSAGES, 2 * MESSAGES)


SILENT_BREAKS = {
    "content": "UPDATE {table}_content SET c0 = 'other words' WHERE id = 2",
    "content lost": "DELETE FROM {table}_content WHERE id % 2",
    "sizes": "UPDATE {table}_docsize SET sz = x'7f'",
    "sizes lost": "DELETE FROM {table}_docsize",
    "entries": "UPDATE {table}_data SET block = zeroblob(length(block)) WHERE id > 10",
    "averages": "UPDATE {table}_data SET block = x'0101' WHERE id = 1",
}


@pytest.mark.parametrize("table", schema.FTS_TABLES)
@pytest.mark.parametrize("damage", SILENT_BREAKS.values(), ids=SILENT_BREAKS.keys())
def test_what_no_write_notices_a_check_does_and_a_rebuild_mends(
    store: OwnerStore, database: Database, table: str, damage: str
) -> None:
    whole = catalogue(database)
    script(database, damage.format(table=table))
    with pytest.raises(IndexUnusable):
        store.index.check()
    assert store.index.rebuild()
    store.index.check()
    assert catalogue(database) == whole


class Stopped(Exception):
    pass


@pytest.mark.parametrize("steps", range(0, 12, 3))
def test_it_may_be_stopped_anywhere_and_goes_on(
    store: OwnerStore, database: Database, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "STEP_SECONDS", 0.0)
    told = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        if len(told) > steps:
            raise Stopped

    with pytest.raises(Stopped):
        store.index.rebuild(stop)
    assert store.index.state.status == "stale"
    new = say(store, "the zeppelin landed")
    store.index.run(lambda database: database.execute("DELETE FROM messages WHERE id = 2"))
    assert found(store.path, "zeppelin") == {new}
    assert store.index.catch_up()
    store.index.check()
    assert indexed(database, TRIGRAM, "zeppelin") == [new]


def test_others_write_between_the_steps_and_nothing_of_it_is_missed(
    store: OwnerStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "STEP_SECONDS", 0.0)
    chance = random.Random(5)
    writer = Writer(database)

    def meddle(done: int, total: int) -> None:
        id = chance.randrange(1, MESSAGES + 1)
        statement, values = chance.choice(
            [
                (
                    "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', ?, 1)",
                    ("newly said",),
                ),
                ("UPDATE messages SET content = ? WHERE id = ?", (f"said again {done}", id)),
                ("UPDATE messages SET active = 0 WHERE id = ?", (id,)),
                ("DELETE FROM messages WHERE id = ?", (id,)),
            ]
        )
        writer.run(lambda database: database.execute(statement, values))

    assert store.index.rebuild(meddle)
    store.index.check()
    texts = database.rows(f"SELECT id, {rebuild.TEXT} FROM messages ORDER BY id")
    for table in schema.FTS_TABLES:
        assert database.rows(f"SELECT rowid, content FROM {table} ORDER BY rowid") == texts


def test_only_one_completes_it_at_a_time(store: OwnerStore, database: Database) -> None:
    other = SearchIndex(Writer(database), database)
    answers: list[bool] = []
    assert store.index.rebuild(lambda done, total: answers.append(other.catch_up()))
    assert answers
    assert not any(answers[:-1]), "the last one may find it done"
    assert database.notices == []


def test_whoever_finds_the_index_let_go_of_again_stops(store: OwnerStore, database: Database) -> None:
    code = 'own_store(sys.argv[1]).messages.append("s", NewMessage("user", "by a process without FTS5"))'
    ran: list[list[str]] = []

    def let_go(done: int, total: int) -> None:
        if not ran:
            ran.append(run_without_fts5(store.path, code))

    assert not store.index.rebuild(let_go)
    assert store.index.state.status == "stale"
    assert store.index.catch_up()
    store.index.check()


@pytest.mark.parametrize("claim", [(1, 1e9), (os.getpid(), 0.0), (2**30, 1e9)], ids=["other", "old", "dead"])
def test_the_claim_of_one_that_has_died_or_fallen_silent_is_taken_over(
    store: OwnerStore, database: Database, claim: tuple[int, float]
) -> None:
    pid, at = claim
    script(database, f"DROP TRIGGER {WORDS}_insert")
    mark = Mark.read(database)
    mark.add_unmarked(database)
    mark.claim = Claim("somebody", pid, at)
    Writer(database).run(mark.write)
    index = SearchIndex(Writer(database), database, clock=lambda: 1e9 + 1)
    # Process 1 lives, and its claim is fresh.
    assert index.catch_up() == (pid != 1)


def test_a_rebuild_that_was_killed_is_taken_up_again(tmp_path: Path) -> None:
    store = create_store(tmp_path / "state.db", durable=False)
    store.sessions.create("s", source="cli")
    store.messages.append_all("s", [NewMessage("user", f"message {n} " + "word " * 200) for n in range(400)])
    Writer(Database(store.path, "owner")).run(rebuild.condemn)
    code = """
import sys
from hermes_sessions.storage.writing import rebuild
from hermes_sessions.storage.writing.owner import own_store
rebuild.STEP_SECONDS = rebuild.PAUSE_SECONDS = 0.0
own_store(sys.argv[1], durable=False, progress=lambda done, total: print(total, flush=True))
"""
    totals = []
    for lines in (1, 4, 40, 80):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout
            totals += [int(child.stdout.readline()) for _ in range(lines)]
            os.kill(child.pid, signal.SIGKILL)
        assert store.index.state.status == "stale"
        assert len(found(store.path, "399")) == 1
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0], "what was done is not done again"
    assert store.index.catch_up()
    store.index.check()
    assert store.index.state.status == "usable"
    store.close()


def test_the_last_copy_of_a_message_is_not_thrown_away(tmp_path: Path) -> None:
    """What the table has lost may still be in the index: it is not made anew then."""
    path = tmp_path / "state.db"
    store = filled(path)
    text = "the only copy " * 2_000
    id = say(store, text)
    store.close()
    database = Database(path, "owner")
    database.execute(f"DROP TRIGGER {WORDS}_insert")
    overflow = "SELECT max(pageno) FROM dbstat WHERE name = 'messages' AND pagetype = 'overflow'"
    page = as_int(database.value(overflow))
    database.close()
    spoil(path, page - 1)
    database = Database(path, "owner")
    with pytest.raises(StoreDamaged, match="is damaged"):
        SearchIndex(Writer(database), database).catch_up()
    assert database.value(f"SELECT c0 FROM {WORDS}_content WHERE id = ?", (id,)) == text + "  "
    database.close()


def test_the_doctor_names_an_index_that_is_behind(store: OwnerStore, database: Database) -> None:
    script(database, f"DELETE FROM {WORDS}_data")
    say(store, "one")
    checks = {check.name: check for check in diagnose(store.path, clock=lambda: NOW).checks}
    assert (checks[WORDS].status, checks[TRIGRAM].status) == ("warn", "ok")
    assert "behind" in checks[WORDS].detail


def test_what_is_filled_in_is_what_the_triggers_would_put_there() -> None:
    bare = " ".join(rebuild.TEXT.split())
    for declared in schema.objects():
        if declared.kind == "trigger" and "INSERT" in declared.sql:
            assert bare in " ".join(declared.sql.replace("new.", "").split())

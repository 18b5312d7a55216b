"""What the doctor finds in a store whose pages are whole: its rows, triggers, log, locks, programs and permissions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from hermes_sessions.model import Check, Diagnosis
from hermes_sessions.storage.diagnosing import catalogue, engines, files, log, triggers
from hermes_sessions.storage.diagnosing.figures import amount
from hermes_sessions.storage.diagnosing.trigger_texts import KNOWN
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.processes import Processes
from tests.builders import NOW, HermesFile

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
DEAD = 2**22 + 1
"""No process has this number: Linux gives none above 2^22."""


def look(file: HermesFile, asked: engines.Asked = lambda visit: None) -> Diagnosis:
    return diagnose(file.path, clock=lambda: NOW, asked=asked)


def found(looked: Diagnosis, name: str) -> Check:
    return next(check for check in looked.checks if check.name == name)


@pytest.fixture
def store(hermes_file: HermesFile) -> HermesFile:
    """A history with a chain, a branch, a subagent, a tool call, a compaction and a rewound message."""
    hermes_file.path.chmod(0o600)
    hermes_file.chain(3, title="Rollout night")
    first = hermes_file.session("one", title="First")
    hermes_file.talk(first, "Please deploy the service", "Deployed successfully")
    hermes_file.tool_call(first, "terminal", {"cmd": "ls"}, "nothing")
    hermes_file.compact_in_place(first)
    hermes_file.session("two", parent="one", model_config={"_delegate_from": "one"})
    hermes_file.sql("UPDATE messages SET active = 0 WHERE id = (SELECT max(id) FROM messages)")
    return hermes_file


def test_what_hermes_does_to_a_history_is_nothing_to_complain_of(store: HermesFile) -> None:
    assert [check for check in look(store).checks if check.status != "ok"] == []


def test_messages_of_a_session_that_is_gone_are_counted(store: HermesFile) -> None:
    store.sql("UPDATE messages SET session_id = 'gone' WHERE id IN (1, 2)")
    check = found(look(store), "messages")
    assert (check.status, check.detail) == ("warn", "2 messages of 1 session that is not there.")


def test_sessions_that_come_from_themselves_or_from_nothing_are_named(store: HermesFile) -> None:
    for id, parent in (("a", "b"), ("b", "c"), ("c", "a"), ("tail", "a"), ("self", "self"), ("lost", "nowhere")):
        store.session(id, parent=parent)
    check = found(look(store), "parents")
    assert check.status == "warn"
    assert check.detail == (
        "1 session goes on from one that is not there: lost. 4 sessions come from themselves: a, b, c and 1 more."
    )


def test_a_title_that_is_given_twice_is_named(store: HermesFile) -> None:
    store.sql("DROP INDEX idx_sessions_title_unique")
    store.session("three", title="First")
    looked = look(store)
    assert found(looked, "titles").detail == "Given to more than one session: 'First'."
    assert found(looked, "table indexes").fix == catalogue.START_HERMES


@pytest.mark.parametrize("said", [0, 99, None, "many"])
def test_a_counter_that_is_wrong_whatever_was_rewound_is_found(store: HermesFile, said: object) -> None:
    store.sql("UPDATE sessions SET message_count = ? WHERE id = 'one'", (said,))
    check = found(look(store), "counters")
    assert (check.status, check.detail) == ("warn", "1 session with another number of messages than told: one.")


def test_rows_of_other_tables_that_refer_to_nothing_are_counted(store: HermesFile) -> None:
    store.insert("session_model_usage", session_id="gone", model="m", task="")
    check = found(look(store), "references")
    assert check.detail == "They refer to what is not there: 1 row of session_model_usage."


def test_a_trigger_that_does_something_else_is_found_by_a_trial(store: HermesFile) -> None:
    store.sql("DROP TRIGGER messages_fts_insert")
    store.sql(
        "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN"
        " INSERT INTO messages_fts(rowid, content) VALUES (new.id, 'x'); END"
    )
    check = found(look(store), "triggers")
    assert (check.status, check.detail) == ("warn", "In messages_fts, a new message is not found.")


def test_a_trigger_that_is_spelt_differently_and_does_its_work_is_no_fault(store: HermesFile) -> None:
    ((sql,),) = store.sql("SELECT sql FROM sqlite_schema WHERE name = 'messages_fts_insert'")
    store.sql("DROP TRIGGER messages_fts_insert")
    store.sql(str(sql).replace("BEGIN", "WHEN 1 = 1 BEGIN"))
    check = found(look(store), "triggers")
    assert check.status == "ok"
    assert "messages_fts_insert of no known release" in check.detail


def test_a_store_that_can_take_no_message_fails(store: HermesFile) -> None:
    store.sql("CREATE TRIGGER extra AFTER INSERT ON messages BEGIN INSERT INTO nowhere VALUES (new.id); END")
    store.sql("CREATE TABLE nowhere (id)")
    assert found(look(store), "triggers").status == "ok"
    store.sql("DROP TABLE nowhere")
    check = found(look(store), "triggers")
    assert (check.status, check.detail) == ("fail", "A message cannot be stored: no such table: main.nowhere.")


def test_the_triggers_of_every_layout_are_known_by_their_text(any_layout: HermesFile) -> None:
    rows = any_layout.sql("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'messages'")
    assert rows
    assert [name for name, sql in rows if triggers.fingerprint(sql) not in KNOWN[name]] == []


@contextmanager
def holding(path: Path, code: str) -> Iterator[int]:
    """A process that has the store open, and runs `code` on its connection `c`."""
    script = (
        "import fcntl, os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        f"c.execute('SELECT * FROM sessions').fetchall(); {code}; print('ready', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.communicate()


@LINUX
def test_a_program_that_writes_to_a_deleted_log_is_named(store: HermesFile) -> None:
    store.close()
    with holding(store.path, "c.execute('UPDATE sessions SET end_reason = 7')") as pid:
        Path(f"{store.path}-wal").unlink()
        check = found(look(store), "open in")
    assert check.status == "fail"
    assert f"process {pid}" in check.detail


@LINUX
def test_the_sqlite_of_the_hermes_that_has_the_store_open_is_asked_for(store: HermesFile) -> None:
    with holding(store.path, "pass") as pid:
        answer = engines.hermes_sqlite(Visit(store.path, lambda: NOW))
    version = subprocess.check_output([sys.executable, "-c", engines.ASK], text=True).strip()
    assert answer == (version, f"process {pid}, which has the store open,")


def test_the_sqlite_of_the_installed_hermes_is_asked_for(
    store: HermesFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "bin" / "hermes"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nraise SystemExit('not to be run')\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent))
    answer = engines.hermes_sqlite(Visit(store.path, lambda: NOW))
    assert answer
    assert answer[1] == "the installed Hermes"
    command.write_text("#!/bin/sh\nexit 1\n")
    assert engines.hermes_sqlite(Visit(store.path, lambda: NOW)) is None


@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.54.1", False),
        ("unknown", False),
    ],
)
def test_releases_with_the_wal_reset_bug_are_told(store: HermesFile, version: str, faulty: bool) -> None:
    check = found(look(store, asked=lambda visit: (version, "Hermes")), "hermes sqlite")
    assert check.status == ("warn" if faulty else "ok")
    assert version in check.detail


def test_locks_are_stale_when_their_process_has_ended(store: HermesFile) -> None:
    def lock(session: str, pid: int, expires: float) -> None:
        values = {"session_id": session, "holder": f"{pid}:1:ab", "acquired_at": NOW, "expires_at": expires}
        store.insert("compression_locks", **values)

    lock("over", DEAD, NOW - 1)
    assert found(look(store), "locks").detail == "1 lock that ran out: Hermes passes over them"
    lock("alive", os.getpid(), NOW + 100)
    assert found(look(store), "locks").status == "ok"
    lock("dead", DEAD, NOW + 100)
    assert found(look(store), "locks").detail == "Held by a process that has ended: dead."


def test_the_registry_of_leases_is_looked_at(store: HermesFile) -> None:
    registry = store.path.parent / "runtime" / "active_sessions.json"
    assert "leases" not in {check.name for check in look(store).checks}
    registry.parent.mkdir()
    running = Processes().find(os.getpid())
    assert running
    mine = {"lease_id": "1" * 32, "session_id": "one", "pid": os.getpid(), "process_start_time": running.started_at}
    gone = {"lease_id": "2" * 32, "session_id": "two", "pid": DEAD}
    registry.write_text(json.dumps({"entries": [mine, gone]}))
    assert (
        found(look(store), "leases").detail == "1 lease held; 1 of programs that have ended, which Hermes passes over"
    )
    registry.write_text('{"entries": [')
    check = found(look(store), "leases")
    assert check.status == "warn"
    assert "damaged" in check.detail


@LINUX
def test_a_repair_that_goes_on_is_named_and_one_that_is_over_is_not(store: HermesFile) -> None:
    lock = Path(f"{store.path}.repair.lock")
    lock.write_text(str(DEAD))
    assert found(look(store), "repair").status == "ok"
    with holding(store.path, f"f = open({str(lock)!r}); fcntl.flock(f, fcntl.LOCK_EX)") as pid:
        check = found(look(store), "repair")
    assert (check.status, check.detail) == ("warn", f"Process {pid} is repairing the store right now.")


def test_a_large_log_and_a_full_disk_are_warned_of(store: HermesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LARGE_LOG", 1_000)
    monkeypatch.setattr(files, "LITTLE_SPACE", 1 << 62)
    looked = look(store)
    assert {check.name for check in looked.checks if check.status == "warn"} == {"wal", "disk"}
    assert "not yet written back" in found(looked, "wal").detail
    assert "Never delete it" in found(looked, "wal").means


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, as that of the tests is not."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_history_that_others_may_read_is_warned_of(open_folder: Path) -> None:
    with HermesFile(open_folder / "state.db") as file:
        file.path.chmod(0o644)
        check = found(look(file), "permissions")
        assert check.status == "warn"
        assert check.detail.startswith("Everybody on this machine may use it ")
        subprocess.run(["/bin/sh", "-c", check.fix], check=True)
        assert found(look(file), "permissions").status == "ok"
        file.path.chmod(0o640)
        assert found(look(file), "permissions").detail.startswith("Your group may use it ")
        file.path.chmod(0o644)
        open_folder.chmod(0o700)
        assert found(look(file), "permissions").detail == "only you may read it (mode 644, folder 700)"


def test_where_the_bytes_are_is_told(store: HermesFile) -> None:
    detail = found(look(store), "sizes").detail
    assert "search index 21 %, 41 kB" in detail
    assert "sessions 41 kB" in detail
    assert [amount(size) for size in (999, 61_440, 1_560_576, 4_201_320_448)] == [
        "999 bytes",
        "61 kB",
        "1.6 MB",
        "4.2 GB",
    ]


def test_the_doctor_needs_no_sqlite_but_its_own() -> None:
    assert engines.own_check().status == "ok"
    assert apsw.sqlite_lib_version() in engines.own_check().detail

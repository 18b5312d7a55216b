"""Where a write-ahead log cannot be, a store is kept without one, says so once, and works."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import StoreBusy, StoreUnreadable
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.journal import ask_for_wal
from hermes_sessions.storage.writing.owner import create_store, own_store
from tests.builders import HermesFile

USE = """
import logging, sys, apsw
logging.basicConfig(format="%(levelname)s %(message)s")
class File(apsw.VFSFile):
    def xFileControl(self, operation, pointer):
        if sys.argv[1] == "pragma" and operation == apsw.SQLITE_FCNTL_PRAGMA:
            if apsw.VFSFcntlPragma(pointer).name == "journal_mode" and apsw.VFSFcntlPragma(pointer).value:
                raise apsw.ProtocolError("locking protocol")
        return super().xFileControl(operation, pointer)
class Disk(apsw.VFS):
    def __init__(self):
        super().__init__("disk", "unix", makedefault=True)
    def xOpen(self, name, flags):
        if sys.argv[1] == "log" and flags[0] & apsw.SQLITE_OPEN_WAL:
            raise apsw.ProtocolError("locking protocol")
        return File("unix", name, flags)
if sys.argv[1] == "dotfile":
    apsw.set_default_vfs("unix-dotfile")
else:
    disk = Disk()
from hermes_sessions.storage import open_store
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import own_store
for path in (sys.argv[2], sys.argv[2], sys.argv[3]):
    store = own_store(path)
    session = store.sessions.create(source="cli")
    store.messages.append(session, NewMessage("user", "needle"))
    store.sessions.set_title(session, None)
    store.index.check()
    print(store.journal_mode, *store.notices)
    store.close()
    reader = open_store(path)
    catalog = reader.sessions.catalog()
    assert next(iter(reader.search.stream("needle", catalog)))
    reader.close()
"""


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        ("dotfile", "SQLite answered “delete”"),
        ("pragma", "SQLite said: locking protocol"),
        ("log", "SQLite said: locking protocol"),
    ],
)
def test_a_disk_that_refuses_the_log_gets_a_journal_and_one_warning_a_store(
    tmp_path: Path, refusal: str, reason: str
) -> None:
    """Refused silently, by an error at the question, or by one after SQLite has promised it in the header."""
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    command = [sys.executable, "-c", USE, refusal, str(first), str(second)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said = f"cannot use a write-ahead log ({reason}). Readers and writers wait for each other."
    assert run.stdout.splitlines() == [f"delete {path} {said}" for path in (first, first, second)]
    assert run.stderr.splitlines() == [f"WARNING {path} {said}" for path in (first, second)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["first.db", "home", "second.db"]
    assert first.read_bytes()[18:20] == b"\x01\x01", "any program may go on with the file"


def test_a_file_in_wal_is_not_converted_where_the_disk_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    create_store(path).close()
    before = path.read_bytes()
    code = """
import sys, apsw
apsw.set_default_vfs("unix-dotfile")
from hermes_sessions.errors import StoreUnreadable
from hermes_sessions.storage.writing.owner import own_store
try:
    own_store(sys.argv[1])
except StoreUnreadable as error:
    print(error.message)
"""
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"{path} cannot be opened")
    assert path.read_bytes() == before


def test_a_file_in_wal_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    create_store(path).close()

    def refuse(operation: int, name: str | None, value: str | None, *_where: str | None) -> int:
        refused = (operation, name) == (apsw.SQLITE_PRAGMA, "journal_mode") and value is not None
        return apsw.SQLITE_DENY if refused else apsw.SQLITE_OK

    monkeypatch.setattr(apsw, "connection_hooks", [lambda connection: setattr(connection, "authorizer", refuse)])
    with closing(own_store(path)) as store:
        assert (store.journal_mode, store.notices) == ("wal", ())


def test_a_file_without_a_log_gets_one_where_that_works(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with HermesFile(path, 16) as file:
        file.session("a")
        file.sql("PRAGMA journal_mode = DELETE")
    with closing(own_store(path)) as store:
        assert store.journal_mode == "wal"
    assert path.read_bytes()[18:20] == b"\x02\x02"


def test_nothing_is_left_beside_a_file_by_the_trial(tmp_path: Path) -> None:
    create_store(tmp_path / "own" / "state.db").close()
    assert [file.name for file in (tmp_path / "own").iterdir()] == ["state.db"]


def test_a_lock_is_no_refusal(tmp_path: Path) -> None:
    """Who reads keeps a file from being switched. That passes."""
    path = tmp_path / "state.db"
    with HermesFile(path, 16) as file:
        file.session("a")
        file.sql("PRAGMA journal_mode = DELETE")
    reading = apsw.Connection(str(path))
    reading.execute("BEGIN; SELECT * FROM sessions").fetchall()
    with closing(Database(path, "owner", busy_timeout_ms=1)) as database:
        with pytest.raises(StoreBusy):
            ask_for_wal(database)
        assert database.notices == []
    reader_leaves = threading.Timer(0.2, lambda: reading.execute("ROLLBACK"))
    reader_leaves.start()
    with closing(own_store(path)) as store:
        assert store.journal_mode == "wal"
        assert [notice for notice in store.notices if "log" in notice] == []
    reader_leaves.join()
    reading.close()


def test_what_is_no_refusal_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_the_disk(operation: int, name: str | None, value: str | None, *_where: str | None) -> int:
        if (operation, name, value) == (apsw.SQLITE_PRAGMA, "journal_mode", "WAL"):
            raise apsw.FullError("database or disk is full")
        return apsw.SQLITE_OK

    monkeypatch.setattr(apsw, "connection_hooks", [lambda it: setattr(it, "authorizer", fill_the_disk)])
    with pytest.raises(StoreUnreadable, match="no room left"):
        create_store(tmp_path / "state.db")
    assert not (tmp_path / "state.db").exists()


def test_a_reader_does_not_touch_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with HermesFile(path, 16) as file:
        file.session("a")
        file.sql("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    for _ in range(2):
        open_store(path).close()
    assert path.read_bytes() == before

"""A store of our own: how it comes to be. What its operations write is tested beside each of them."""

from __future__ import annotations

import logging
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import FileExists, StoreUnreadable
from hermes_sessions.storage import open_store
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from tests.builders import NOW


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OwnerStore]:
    store = create_store(tmp_path / "own" / "state.db", clock=lambda: NOW)
    yield store
    store.close()


def test_a_new_store_is_readable_by_its_owner_alone(store: OwnerStore) -> None:
    store.sessions.create("s", source="cli")
    assert store.journal_mode == "wal"
    assert store.notices == ()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store.path.parent.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"something of somebody"])
def test_nothing_that_exists_is_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(FileExists, match=re.escape(str(path))):
        create_store(path)
    assert path.read_bytes() == content


def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExists):
        create_store(path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_in_place_of_the_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreadable, match="cannot be created"):
        create_store(tmp_path / "file" / "state.db")


def test_a_store_that_could_not_be_created_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = (*schema.objects(), schema.Object("table", "x", "NONSENSE"))
    monkeypatch.setattr("hermes_sessions.storage.writing.schema.objects", lambda: declared)
    with pytest.raises(Exception, match="NONSENSE"):
        create_store(tmp_path / "own" / "state.db")
    assert list((tmp_path / "own").iterdir()) == []


def test_foreign_keys_are_enforced_and_every_commit_reaches_the_disk(store: OwnerStore) -> None:
    assert store._database.value("PRAGMA foreign_keys") == 1
    assert store._database.value("PRAGMA synchronous") == 2


def test_a_disk_that_refuses_the_log_silently_gets_a_journal(tmp_path: Path) -> None:
    """The VFS `unix-dotfile` answers "delete" when asked for WAL. The default VFS is process-wide, hence a process."""
    code = """
import logging, sys, apsw
logging.basicConfig(format="%(levelname)s %(message)s")
apsw.set_default_vfs("unix-dotfile")
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import create_store
store = create_store(sys.argv[1])
session = store.sessions.create(source="cli")
store.messages.append(session, NewMessage("user", "hello"))
store.sessions.set_title(session, "A title")
print(store.journal_mode, *store.notices)
"""
    path = tmp_path / "state.db"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"delete {path} cannot use a write-ahead log")
    assert run.stderr.count("WARNING") == 1
    store = open_store(path)
    (conversation,) = store.sessions.catalog()
    assert conversation.title == "A title"
    store.close()


def test_a_disk_that_refuses_the_log_with_an_error_gets_a_journal_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(operation: int, name: str | None, value: str | None, *_where: str | None) -> int:
        if (operation, name, value) == (apsw.SQLITE_PRAGMA, "journal_mode", "WAL"):
            raise apsw.ProtocolError("locking protocol")
        return apsw.SQLITE_OK

    monkeypatch.setattr(apsw, "connection_hooks", [lambda connection: setattr(connection, "authorizer", refuse)])
    path = tmp_path / "state.db"
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            store = create_store(path)
            assert store.journal_mode == "delete"
            assert "locking protocol" in store.notices[0]
            store.sessions.create("s", source="cli")
            store.close()
            path.unlink()
    assert [record.getMessage() for record in caplog.records] == list(store.notices)

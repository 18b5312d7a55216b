"""A disk that takes no more in the middle of a write, at each place where that can happen."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import StoreUnreadable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from hermes_sessions.storage.writing.writer import WRITES_PER_CHECKPOINT

BATCH = [NewMessage("user", "a word " * 1_500), NewMessage("assistant", "another", tool_calls=[{"id": "call_1"}])]


class Disk(apsw.VFS):
    """The real one, but for the writes and syncs after the next `room` ones: they fail with `fault`. None is no limit.

    `file` is the end of the names of the files that this is about.
    """

    def __init__(self) -> None:
        self.room: int | None = None
        self.file = ""
        self.fault: type[apsw.Error] = apsw.FullError
        self.real = apsw.vfs_names()[0]
        super().__init__("disk", self.real, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> DiskFile:
        return DiskFile(self, name, flags)

    def use(self, name: str) -> None:
        if self.room is not None and name.endswith(self.file):
            self.room -= 1
            if self.room < 0:
                raise self.fault("no more")


class DiskFile(apsw.VFSFile):
    """A file of a `Disk`."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(disk.real, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.use(self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.use(self._name)
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


@pytest.fixture(params=["wal", "delete"])
def store(request: pytest.FixtureRequest, tmp_path: Path, disk: Disk) -> Iterator[OwnerStore]:
    path = tmp_path / "state.db"
    create_store(path).close()
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", request.param)
    connection.close()
    # Not `own_store`, which would turn a store without a WAL into one that has it.
    store = OwnerStore(Database(path, "owner"))
    assert store.journal_mode == request.param
    store.sessions.create("s", source="cli")
    store.messages.append("s", NewMessage("user", "what is there"))
    yield store
    disk.room = None
    store.close()


def stored(path: Path) -> tuple[list[object], object]:
    """What another process would find."""
    connection = apsw.Connection(str(path))
    messages = [text for (text,) in connection.execute("SELECT content FROM messages ORDER BY id")]
    counters = connection.execute("SELECT message_count, tool_call_count FROM sessions").fetchall()
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    return messages, counters


@pytest.mark.parametrize("fault", [apsw.FullError, apsw.IOError])
def test_a_write_is_whole_or_not_there_wherever_the_disk_fails(
    store: OwnerStore, disk: Disk, fault: type[apsw.Error]
) -> None:
    before = stored(store.path)
    disk.fault = fault
    failures = 0
    while True:
        disk.room = failures
        try:
            store.messages.append_all("s", BATCH)
            break
        except StoreUnreadable as error:
            assert ("There is no room left" if fault is apsw.FullError else "cannot be") in error.message
            assert error.hint
        disk.room = None
        assert stored(store.path) == before
        failures += 1
    disk.room = None
    assert failures > 20
    messages, counters = stored(store.path)
    assert messages == ["what is there", *(message.content for message in BATCH)]
    assert counters == [(3, 1)]
    store.messages.append("s", NewMessage("user", "and on"))
    store.index.check()


@pytest.mark.parametrize("store", ["wal"], indirect=True)
def test_a_log_that_cannot_be_merged_fails_no_write(
    store: OwnerStore, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """With a log nothing but the merging writes to the database itself."""
    # apsw would raise out of a COMMIT what SQLite's own merging after it ignores.
    store._database.execute("PRAGMA wal_autocheckpoint=0")
    disk.file = "state.db"
    disk.room = 0
    with caplog.at_level(logging.WARNING):
        for number in range(2 * WRITES_PER_CHECKPOINT):
            store.messages.append("s", NewMessage("user", f"message {number}"))
    assert {record.getMessage() for record in caplog.records} == {
        f"The write-ahead log of {store.path} was not merged: no more"
    }
    assert len(stored(store.path)[0]) == 2 * WRITES_PER_CHECKPOINT + 1

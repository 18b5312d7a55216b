"""One connection to one file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import (
    Interrupted,
    ReadOnlyStore,
    StoreBusy,
    StoreDamaged,
    StoreMissing,
    StoreReplaced,
    StoreUnreadable,
)
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from tests.builders import HermesFile


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_reader_leaves_the_file_as_it_was(any_layout: HermesFile) -> None:
    any_layout.talk(any_layout.session("a"), "hello", "hi")
    any_layout.close()
    before = digest(any_layout.path)
    database = Database(any_layout.path)
    assert database.value("SELECT count(*) FROM messages") == 2
    with pytest.raises(ReadOnlyStore):
        database.execute("UPDATE sessions SET title = 'x'")
    database.close()
    assert digest(any_layout.path) == before
    wal = Path(f"{any_layout.path}-wal")
    assert not wal.exists() or wal.stat().st_size == 0


def test_no_file_is_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match=r"state\.db"):
        Database(tmp_path / "state.db")
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]


def test_a_directory_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="is a directory"):
        Database(tmp_path)


@pytest.mark.parametrize("content", [b"this is a text file, and a long one at that" * 20, b"\x00" * 5000])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="not a SQLite database"):
        Database(path)
    assert path.read_bytes() == content


def test_half_a_file_is_not_empty_and_says_that_it_is_damaged(hermes_file: HermesFile, tmp_path: Path) -> None:
    for number in range(200):
        hermes_file.talk(hermes_file.session(f"s{number}"), "hello " * 50, "hi")
    hermes_file.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    hermes_file.close()
    half = tmp_path / "half.db"
    half.write_bytes(hermes_file.path.read_bytes()[: hermes_file.path.stat().st_size // 2])
    with closing(open_store(half)) as store:
        shown = {session.id for item in store.sessions.catalog() for session in item.sessions}
        assert shown
        assert shown <= {f"s{number}" for number in range(200)}
        assert "The file is damaged" in store.notices[0]
        assert "hermes-sessions repair" in store.losses[0]


def test_an_empty_file_is_a_store_without_sessions(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    store = open_store(path)
    assert len(store.sessions.catalog()) == 0
    assert store.search.run("word", store.sessions.catalog()).conversations == ()
    store.close()


def test_the_log_of_an_empty_file_is_kept(hermes_file: HermesFile, tmp_path: Path) -> None:
    """SQLite would delete it, even on a connection that may only read."""
    hermes_file.talk(hermes_file.session("a"), "hello")
    path = tmp_path / "emptied.db"
    path.touch()
    log = Path(f"{path}-wal")
    log.write_bytes(Path(f"{hermes_file.path}-wal").read_bytes())
    before = digest(log)
    with pytest.raises(StoreDamaged, match=r"emptied\.db-wal"):
        open_store(path)
    assert digest(log) == before


KILLED_WRITER = """
import os, sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("PRAGMA journal_mode = DELETE").fetchall()
connection.execute("PRAGMA cache_size = 1").fetchall()
connection.execute("BEGIN")
connection.execute("UPDATE messages SET content = content || hex(randomblob(2000))")
os._exit(9)
"""


def test_a_change_that_was_cut_off_is_neither_read_nor_called_damage(hermes_file: HermesFile) -> None:
    """Only who may write can take it back; what is in the file meanwhile is torn."""
    hermes_file.talk(hermes_file.session("a"), *map(str, range(200)))
    hermes_file.close()
    subprocess.run([sys.executable, "-c", KILLED_WRITER, hermes_file.path], check=False)
    assert Path(f"{hermes_file.path}-journal").stat().st_size
    before = digest(hermes_file.path)
    with pytest.raises(StoreUnreadable, match="-journal"):
        open_store(hermes_file.path)
    assert digest(hermes_file.path) == before


def test_another_programs_database_is_no_session_store(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with apsw.Connection(str(path)) as other:
        other.execute("CREATE TABLE sessions (id)")
    other.close()
    with pytest.raises(StoreDamaged, match="no table messages"):
        open_store(path)


def test_text_that_is_not_utf8_hides_no_other_row(hermes_file: HermesFile) -> None:
    hermes_file.session("bad", title=b"caf\xe9")
    hermes_file.session("good", title="café")
    database = Database(hermes_file.path)
    assert database.rows("SELECT id, title, started_at > ? FROM sessions ORDER BY id", (1.0,)) == [
        ("bad", "caf\ufffd", 1),
        ("good", "café", 1),
    ]
    database.close()


def test_nothing_is_held_once_rows_are_fetched(hermes_file: HermesFile) -> None:
    """A reader that sits idle lets a live Hermes empty its write-ahead log."""
    hermes_file.talk(hermes_file.session("a"), "hello", "hi")
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    store.messages.outline(catalog.conversations[0])
    list(store.search.stream("hello", catalog))
    hermes_file.message("a", "user", "more")
    assert hermes_file.sql("PRAGMA wal_checkpoint(TRUNCATE)") == [(0, 0, 0)]
    store.close()


def test_another_programs_commit_is_noticed(hermes_file: HermesFile) -> None:
    store = open_store(hermes_file.path)
    before = store.data_version()
    assert store.data_version() == before
    hermes_file.session("new")
    assert store.data_version() != before
    store.close()


def test_a_running_query_is_interrupted_from_another_thread(hermes_file: HermesFile) -> None:
    database = Database(hermes_file.path)
    started = threading.Event()

    def has_started(*_: object) -> int:
        started.set()
        return 1

    def stop_when_started() -> None:
        started.wait()
        database.interrupt()

    database.connection.create_scalar_function("started", has_started, 0)
    thread = threading.Thread(target=stop_when_started)
    thread.start()
    endless = "WITH RECURSIVE n(i) AS (SELECT started() UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(Interrupted):
        database.rows(endless)
    thread.join()
    database.close()


def test_a_lock_is_waited_for_and_then_named(hermes_file: HermesFile) -> None:
    """In rollback mode a writer shuts readers out."""
    hermes_file.sql("PRAGMA journal_mode = DELETE")
    hermes_file.sql("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy, match="locked"):
        Database(hermes_file.path, busy_timeout_ms=20)
    hermes_file.sql("ROLLBACK")
    Database(hermes_file.path, busy_timeout_ms=20).close()


def test_a_doubled_catalogue_entry_is_read_past(hermes_file: HermesFile) -> None:
    """#43149: the entry makes every statement fail before any code of ours runs. The file is left as it is."""
    hermes_file.talk(hermes_file.session("a"), "keep me", "kept")
    hermes_file.sql("PRAGMA writable_schema = ON")
    hermes_file.sql("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'messages_fts'")
    hermes_file.close()
    before = digest(hermes_file.path)
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    assert [item.id for item in catalog] == ["a"]
    assert len(store.messages.outline(catalog.conversations[0])) == 2
    assert "catalogue" in store.notices[0]
    store.close()
    assert digest(hermes_file.path) == before


READ_AS_NOBODY = """
import os, sys
from hermes_sessions.storage import open_store
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
store = open_store(sys.argv[1])
print(len(store.sessions.catalog()), *store.notices)
"""


@pytest.fixture
def locked_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in a directory that may be read by everyone and written by nobody."""
    directory = Path("/tmp") / f"hermes-sessions-{os.getpid()}-{tmp_path_factory.getbasetemp().name}"
    directory.mkdir()
    with HermesFile(directory / "state.db") as file:
        file.session("a")
    (directory / "state.db").chmod(0o444)
    directory.chmod(0o555)
    return directory


def test_a_directory_that_may_not_be_written_is_read(locked_directory: Path) -> None:
    try:
        command = [sys.executable, "-c", READ_AS_NOBODY, str(locked_directory / "state.db")]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert answer.startswith("1 The directory may not be written")
        assert [path.name for path in locked_directory.iterdir()] == ["state.db"]
    finally:
        locked_directory.chmod(0o755)
        (locked_directory / "state.db").unlink()
        locked_directory.rmdir()


def test_an_owner_makes_no_file(tmp_path: Path) -> None:
    """SQLite would make it readable by everyone whom the umask lets."""
    with pytest.raises(StoreMissing):
        Database(tmp_path / "state.db", "owner")
    assert not (tmp_path / "state.db").exists()


def test_an_owner_looks_at_the_layout_again_when_told(tmp_path: Path) -> None:
    with HermesFile(tmp_path / "state.db", 6) as file:
        database = Database(file.path, "owner")
        assert not database.has("sessions", "cwd")
        assert "notes" not in database.tables
        database.execute("ALTER TABLE sessions ADD COLUMN cwd TEXT")
        database.execute("CREATE TABLE notes (text)")
        assert not database.has("sessions", "cwd")
        database.forget_layout()
        assert database.has("sessions", "cwd")
        assert "notes" in database.tables
        database.close()


def test_an_owner_notices_that_its_file_is_gone_by_asking_the_directory_alone(tmp_path: Path) -> None:
    """To open and close the file would let go of the lock that keeps others out."""
    path = tmp_path / "state.db"
    with HermesFile(path, 16):
        pass
    database, other = Database(path, "owner"), Database(path, "owner", busy_timeout_ms=0)
    database.execute("BEGIN IMMEDIATE")
    database.check_still_there()
    with pytest.raises(StoreBusy):
        other.execute("BEGIN IMMEDIATE")
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StoreReplaced, match="is no longer there"):
        database.check_still_there()
    path.touch()
    with pytest.raises(StoreReplaced, match="is now another file"):
        database.check_still_there()
    (tmp_path / "moved.db").replace(path)
    database.check_still_there()
    database.execute("ROLLBACK")
    for connection in (database, other):
        connection.close()
        connection.close()


def test_a_log_that_comes_with_the_first_use_of_wal_is_no_stranger(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with HermesFile(path, 16) as file:
        file.sql("PRAGMA journal_mode = DELETE")
    database = Database(path, "owner")
    database.check_still_there()
    assert database.value("PRAGMA journal_mode = WAL") == "wal"
    for _ in range(2):
        database.execute("BEGIN IMMEDIATE")
        database.check_still_there()
        database.execute("ROLLBACK")
    (tmp_path / "state.db-wal").unlink()
    with pytest.raises(StoreReplaced, match="write-ahead log"):
        database.check_still_there()
    database.close()

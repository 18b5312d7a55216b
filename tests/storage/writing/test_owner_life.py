"""The life of a store of our own: made, opened, closed, and what happens when its place does not serve."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_sessions.errors import StoreBusy, StoreDamaged, StoreReplaced, StoreUnreadable, UsageError
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import owner, schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.owner import OwnerStore, create_store, own_store
from tests.builders import HermesFile

HELLO = NewMessage("user", "hello")


def layout(path: Path) -> dict[str, object]:
    """Everything in the catalogue of a file, and the version it says it has."""
    with closing(Database(path)) as database:
        found: dict[str, object] = {
            f"{kind!s} {name!s}": sql for kind, name, sql in database.rows("SELECT type, name, sql FROM sqlite_schema")
        }
        found["version"] = database.rows("SELECT version FROM schema_version")
        return found


def use(store: OwnerStore) -> None:
    """A session and a message, as proof that the store works."""
    session = store.sessions.create(source="cli")
    store.messages.append(session, HELLO)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "state.db"


@pytest.fixture
def new_layout(tmp_path: Path) -> dict[str, object]:
    create_store(tmp_path / "new.db").close()
    return layout(tmp_path / "new.db")


def test_what_is_missing_is_made_and_what_is_there_is_opened(path: Path) -> None:
    for count in (1, 2):
        with closing(own_store(path)) as store:
            assert store.journal_mode == "wal"
            assert store.notices == ()
            assert store.index.state.status == "usable"
            use(store)
        assert [file.name for file in path.parent.iterdir()] == ["state.db"]
        with closing(open_store(path)) as reader:
            assert len(reader.sessions.catalog()) == count
        # Readers leave an empty log.
        for left in path.parent.glob("state.db-*"):
            left.unlink()


MAKE_UNDER_UMASK = """
import os, stat, sys
from pathlib import Path
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.owner import own_store
os.umask(int(sys.argv[2], 8))
store = own_store(sys.argv[1])
store.sessions.create(source="cli")
for place in (Path(sys.argv[1]).parent.parent, *sorted(Path(sys.argv[1]).parent.parent.rglob("*"))):
    print(oct(stat.S_IMODE(place.stat().st_mode))[2:], place.name)
"""


@pytest.mark.parametrize("umask", ["000", "022", "777"])
def test_only_its_owner_can_look_into_a_new_store_whatever_the_umask(tmp_path: Path, umask: str) -> None:
    path = tmp_path / "missing" / "too" / "state.db"
    command = [sys.executable, "-c", MAKE_UNDER_UMASK, str(path), umask]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert answer == ["700 missing", "700 too", "600 state.db", "600 state.db-shm", "600 state.db-wal"]


def test_the_file_is_never_there_with_a_looser_mode(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    chmod = Path.chmod

    def before_chmod(self: Path, mode: int, **keywords: bool) -> None:
        modes.append(stat.S_IMODE(self.stat().st_mode))
        chmod(self, mode, **keywords)

    monkeypatch.setattr(Path, "chmod", before_chmod)
    before = os.umask(0)
    try:
        own_store(path).close()
    finally:
        os.umask(before)
    assert modes == [0o700, 0o600]


RACE = """
import sys
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import owner, schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.owner import own_store
print("ready", flush=True)
sys.stdin.readline()
store = own_store(sys.argv[1])
names = {name for (name,) in Database(sys.argv[1]).rows("SELECT name FROM sqlite_schema")}
missing = {declared.name for declared in schema.objects()} - names
session = store.sessions.create(source="cli")
store.messages.append(session, NewMessage("user", "hello"))
store.close()
print(missing or "whole", store.journal_mode, *store.notices)
"""


def race(path: Path, processes: int, code: str = RACE) -> list[str]:
    """Let processes open a store at the same moment; return what each says of it."""
    command = [sys.executable, "-c", code, str(path)]
    runners = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for runner in runners:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
    for runner in runners:
        assert runner.stdin is not None
        runner.stdin.write("\n")
        runner.stdin.flush()
    answers = []
    for runner in runners:
        out, err = runner.communicate(timeout=60)
        answers.append(out.strip() or err)
    return answers


RACERS = 12


def test_many_processes_that_make_the_same_store_all_succeed(path: Path, new_layout: dict[str, object]) -> None:
    assert race(path, RACERS) == ["whole wal"] * RACERS
    assert layout(path) == new_layout
    with closing(open_store(path)) as reader:
        assert len(reader.sessions.catalog()) == RACERS


def test_many_processes_that_open_an_older_store_all_succeed(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 6) as file:
        file.chain(3, title="older")
    path.chmod(0o600)
    assert race(path, RACERS) == ["whole wal"] * RACERS
    own_store(path).close()
    assert layout(path) == new_layout
    with closing(open_store(path)) as reader:
        assert len(reader.sessions.catalog()) == RACERS + 1


def test_an_empty_file_is_a_store_to_come(path: Path, new_layout: dict[str, object]) -> None:
    path.parent.mkdir()
    path.touch(0o600)
    with closing(own_store(path)) as store:
        use(store)
    assert layout(path) == new_layout


def test_an_empty_file_beside_a_log_is_left_alone(path: Path) -> None:
    """SQLite would delete the log, and what was committed to it."""
    path.parent.mkdir()
    path.touch()
    log = path.with_name("state.db-wal")
    log.write_bytes(b"committed")
    with pytest.raises(StoreDamaged, match="is empty, but"):
        own_store(path)
    assert (path.read_bytes(), log.read_bytes()) == (b"", b"committed")


@pytest.mark.parametrize("objects", [1, 2, 3, 5, 10, 15, 21])
def test_a_part_of_a_schema_is_completed(path: Path, objects: int, new_layout: dict[str, object]) -> None:
    """Hermes makes its tables one after the other, not in a transaction."""
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    for declared in schema.objects()[:objects]:
        connection.execute(declared.sql).fetchall()
    connection.close()
    with closing(own_store(path)) as store:
        use(store)
        store.index.check()
    assert layout(path) == new_layout


KILLED = """
import os, signal, sys, apsw
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.owner import own_store
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))
own_store(sys.argv[1])
print("done")
"""


@pytest.mark.parametrize("statement", [1, 8, 16, 32, 40])
def test_a_process_killed_while_it_makes_a_store_leaves_one_to_be_made(
    path: Path, statement: int, new_layout: dict[str, object]
) -> None:
    command = [sys.executable, "-c", KILLED, str(path), str(statement)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (-signal.SIGKILL, "")
    with closing(own_store(path)) as store:
        use(store)
    assert layout(path) == new_layout


def untouched(path: Path, action: Callable[[], object]) -> None:
    """Run `action` and see that the file stayed as it was, and nothing came beside it."""
    before = (path.read_bytes(), path.stat().st_mode, sorted(path.parent.iterdir()))
    action()
    assert (path.read_bytes(), path.stat().st_mode, sorted(path.parent.iterdir())) == before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("CREATE TABLE users (name)", "no table messages and no table sessions|no table messages and no sessions"),
        ("CREATE TABLE sessions (id, source, started_at); CREATE TABLE users (name)", "no table messages"),
        ("CREATE TABLE sessions (key, data); CREATE TABLE messages (id, body)", "no column sessions.id"),
        ("CREATE TABLE schema_version (installed_rank)", "no column schema_version.version"),
        ("CREATE VIEW sessions AS SELECT 1 AS id", "no table"),
    ],
)
def test_the_database_of_another_program_is_refused_and_untouched(path: Path, sql: str, why: str) -> None:
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    connection.execute(sql).fetchall()
    connection.close()
    path.chmod(0o644)

    def refused() -> None:
        with pytest.raises(StoreDamaged, match=why) as caught:
            own_store(path)
        assert str(path) in caught.value.message
        assert "Nothing was changed" in caught.value.hint

    untouched(path, refused)


def test_a_file_that_is_no_database_is_refused_and_untouched(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary,\n" * 100)

    def refused() -> None:
        with pytest.raises(StoreDamaged, match="is not a SQLite database"):
            own_store(path)

    untouched(path, refused)


def test_half_of_a_store_is_refused_and_untouched(path: Path) -> None:
    with closing(own_store(path)) as store:
        use(store)
    path.write_bytes(path.read_bytes()[:5000])

    def refused() -> None:
        with pytest.raises(StoreDamaged, match=re.escape(str(path))):
            own_store(path)

    untouched(path, refused)


def test_a_place_that_cannot_be_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    for name, why in {
        "folder": "is a directory",
        "file/state.db": "Not a directory",
        "file/sub/state.db": "Not a directory",
        "circle": "Too many levels of symbolic links",
        "circle/state.db": "Too many levels of symbolic links",
        "nowhere": "is a link to .*gone, and there is nothing",
        "pipe": "no regular file",
        "x" * 300: "File name too long",
    }.items():
        with pytest.raises(StoreUnreadable, match=why):
            own_store(tmp_path / name)
    assert not (tmp_path / "gone").exists()
    assert (tmp_path / "file").read_text() == "x"


def test_a_link_to_a_store_is_followed(path: Path, tmp_path: Path) -> None:
    own_store(path).close()
    (tmp_path / "link.db").symlink_to(path)
    with closing(own_store(tmp_path / "link.db")) as store:
        use(store)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["home", "link.db", "own"]
    with closing(open_store(path)) as reader:
        assert len(reader.sessions.catalog()) == 1


OWN_AS_NOBODY = """
import os, sys
from hermes_sessions.errors import SessionsError
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.owner import own_store
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    own_store(sys.argv[1])
except SessionsError as error:
    print(type(error).__name__, error.message, error.hint)
"""


@pytest.fixture
def common_ground() -> Iterator[Path]:
    """A folder that every user of the machine can reach, unlike pytest's own."""
    folder = Path("/tmp") / f"hermes-sessions-life-{os.getpid()}"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def as_nobody(path: Path) -> str:
    command = [sys.executable, "-c", OWN_AS_NOBODY, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_folder_that_may_not_be_written_is_said(common_ground: Path) -> None:
    common_ground.chmod(0o555)
    answer = as_nobody(common_ground / "state.db")
    assert answer.startswith(f"ReadOnlyStore {common_ground / 'state.db'} cannot be created: Permission denied.")
    assert list(common_ground.iterdir()) == []


def test_a_file_that_may_not_be_written_is_said(common_ground: Path) -> None:
    path = common_ground / "state.db"
    own_store(path).close()
    path.chmod(0o444)
    common_ground.chmod(0o777)
    before = path.read_bytes()
    assert as_nobody(path).startswith(f"ReadOnlyStore {path} may not be written.")
    assert path.read_bytes() == before


def test_a_file_in_a_folder_that_may_not_be_written_is_said(common_ground: Path) -> None:
    """The log could not be made beside it, and SQLite says only that it cannot open the file."""
    path = common_ground / "state.db"
    own_store(path).close()
    path.chmod(0o666)
    common_ground.chmod(0o555)
    answer = as_nobody(path)
    assert answer.startswith(f"ReadOnlyStore {common_ground} may not be written")
    assert path.stat().st_size > 0


@pytest.mark.parametrize(("mode", "after"), [(0o644, 0o600), (0o666, 0o600), (0o640, 0o640), (0o600, 0o600)])
def test_a_file_open_to_everyone_is_closed_to_them_and_one_shared_with_a_group_is_not(
    path: Path, mode: int, after: int
) -> None:
    own_store(path).close()
    path.chmod(mode)
    with closing(own_store(path)) as store:
        use(store)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == {after}
        assert [notice for notice in store.notices if "everyone" in notice] == list(store.notices)
        assert bool(store.notices) == (mode != after)


@pytest.mark.parametrize("version", [22, 31])
def test_a_newer_file_is_opened_as_it_is(path: Path, version: int) -> None:
    with HermesFile(path, version) as file:
        file.talk(file.session("a"), "hello", "hi")
        file.sql("PRAGMA journal_mode = DELETE")
    path.chmod(0o600)
    before = layout(path)

    def opened() -> None:
        with closing(own_store(path)) as store:
            assert store.journal_mode == "delete"
            assert store.notices == ()

    untouched(path, opened)
    with closing(own_store(path)) as store:
        use(store)
    assert layout(path) == before


def test_a_version_far_ahead_is_not_lowered(path: Path) -> None:
    own_store(path).close()
    with closing(Database(path, "owner")) as database:
        database.execute("UPDATE schema_version SET version = 999")
        database.execute("DROP INDEX idx_sessions_source")
    with closing(own_store(path)) as store:
        use(store)
    found = layout(path)
    assert found["version"] == [(999,)]
    assert "index idx_sessions_source" not in found


@pytest.fixture
def store(path: Path) -> Iterator[OwnerStore]:
    with closing(own_store(path)) as store:
        store.sessions.create("s", source="cli")
        yield store


def refuses(store: OwnerStore, why: str) -> None:
    with pytest.raises(StoreReplaced, match=why) as caught:
        store.messages.append("s", HELLO)
    assert "nothing was written" in caught.value.message
    assert not store._database.connection.in_transaction


def test_nothing_is_written_into_a_file_that_was_deleted(store: OwnerStore, path: Path) -> None:
    path.unlink()
    refuses(store, "is no longer there")
    assert not path.exists()


def test_nothing_is_written_when_the_folder_is_gone(store: OwnerStore, path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    refuses(store, "is no longer there")
    path.parent.with_name("moved").rename(path.parent)
    store.messages.append("s", HELLO)


def test_nothing_is_written_into_a_file_that_was_replaced(store: OwnerStore, path: Path, tmp_path: Path) -> None:
    create_store(tmp_path / "backup.db").close()
    (tmp_path / "backup.db").replace(path)
    before = path.read_bytes()
    refuses(store, "is now another file")
    assert path.read_bytes() == before


def test_nothing_is_written_into_a_log_that_was_deleted(store: OwnerStore, path: Path) -> None:
    path.with_name("state.db-wal").unlink()
    refuses(store, "The write-ahead log of .* was deleted or replaced")


def test_closing_a_store_whose_log_was_deleted_leaves_that_of_the_others(store: OwnerStore, path: Path) -> None:
    """SQLite would merge the old log over what came after it, and delete the new one by its name."""
    for ending in ("-wal", "-shm"):
        path.with_name(f"state.db{ending}").unlink()
    code = """
import sys
from hermes_sessions.storage import NewMessage, own_store
store = own_store(sys.argv[1])
store.messages.append(store.sessions.create("other", source="cli"), NewMessage("user", "hello"))
store.close()
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    before = path.stat().st_mtime_ns
    store.close()
    assert path.stat().st_mtime_ns == before
    with closing(Database(path)) as database:
        assert database.rows("SELECT id, message_count FROM sessions WHERE id = 'other'") == [("other", 1)]
        assert database.value("PRAGMA integrity_check") == "ok"


def test_closing_merges_the_log_also_beside_others(path: Path) -> None:
    own_store(path).close()
    with closing(Database(path)) as idle:
        assert idle.value("SELECT count(*) FROM sessions") == 0
        with closing(own_store(path)) as store:
            session = store.sessions.create(source="cli")
            store.messages.append(session, NewMessage("user", "x" * 200_000))
            before = path.stat().st_size
        assert path.stat().st_size > before + 200_000


def test_closing_waits_for_nobody(path: Path) -> None:
    with closing(own_store(path)) as store:
        use(store)
        reading = apsw.Connection(str(path))
        reading.execute("BEGIN; SELECT * FROM sessions").fetchall()
        use(store)
    # Who still reads keeps the rest of the log, and the file.
    assert path.with_name("state.db-wal").stat().st_size > 0
    reading.execute("ROLLBACK")
    reading.close()
    with closing(open_store(path)) as reader:
        assert len(reader.sessions.catalog()) == 2
    own_store(path).close()
    assert [file.name for file in path.parent.iterdir()] == ["state.db"]


def test_a_store_is_found_again_from_another_directory(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    monkeypatch.chdir(path.parent)
    with closing(own_store("state.db")) as store:
        monkeypatch.chdir(tmp_path)
        use(store)
    assert path.exists()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Every file opened from now on may have so many pages; the next is refused with SQLITE_FULL."""

    def fill(pages: int) -> None:
        monkeypatch.setattr(
            apsw, "connection_hooks", [lambda connection: connection.pragma("max_page_count", pages) and None]
        )

    return fill


def test_a_full_disk_is_said_and_nothing_is_half_written(path: Path, full_disk: Callable[[int], None]) -> None:
    own_store(path).close()
    full_disk(60)
    with closing(own_store(path)) as store:
        store.sessions.create("s", source="cli")
        with pytest.raises(StoreUnreadable, match="no room left") as caught:
            store.messages.append_all("s", [NewMessage("user", "x" * 50_000)] * 20)
        assert "nothing was written" in caught.value.message
        store.messages.append("s", HELLO)
        store.index.check()
    with closing(Database(path)) as database:
        assert database.rows("SELECT content FROM messages") == [("hello",)]
        assert database.value("SELECT message_count FROM sessions") == 1


def test_a_disk_too_full_for_a_new_store_gets_none(path: Path, full_disk: Callable[[int], None]) -> None:
    full_disk(8)
    with pytest.raises(StoreUnreadable, match="no room left"):
        create_store(path)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(StoreUnreadable, match="no room left"):
        own_store(path)


@pytest.mark.parametrize(("journal", "lock"), [("WAL", "IMMEDIATE"), ("DELETE", "EXCLUSIVE")])
def test_a_lock_that_does_not_go_away_ends_in_busy(path: Path, journal: str, lock: str) -> None:
    with HermesFile(path, 14) as file:
        file.session("a")
        file.sql(f"PRAGMA journal_mode = {journal}")
        file.sql(f"BEGIN {lock}")
        with pytest.raises(StoreBusy, match="was locked by"):
            own_store(path, budget=0.0)
        file.sql("ROLLBACK")
    own_store(path).close()


def test_of_those_who_make_a_store_that_may_not_be_there_yet_one_succeeds(path: Path) -> None:
    code = """
import sys
from hermes_sessions.errors import FileExists
from hermes_sessions.storage import create_store
print("ready", flush=True)
sys.stdin.readline()
try:
    create_store(sys.argv[1]).close()
    print("made")
except FileExists:
    print("there")
"""
    answers = race(path, 4, code)
    assert sorted(answers) == ["made", "there", "there", "there"]


def test_the_writing_side_is_loaded_when_it_is_first_asked_for() -> None:
    code = """
import sys
import hermes_sessions.storage as storage
assert not [name for name in sys.modules if "storage.writing" in name]
for name in storage.__all__:
    assert getattr(storage, name).__name__ == name
assert "hermes_sessions.storage.writing.owner" in sys.modules
try:
    storage.nonsense
except AttributeError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "module 'hermes_sessions.storage' has no attribute 'nonsense'\n"


def test_an_index_that_cannot_be_completed_for_want_of_room_is_said_and_no_reason_to_have_no_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(index: SearchIndex, progress: object = None) -> bool:
        raise StoreUnreadable("The disk is full.")

    own_store(path).close()
    monkeypatch.setattr(SearchIndex, "catch_up", fail)
    store = own_store(path)
    use(store)
    assert store.notices == ("The search index is not complete: The disk is full.",)
    store.close()


FORKED = """
import os, sys
from hermes_sessions.errors import UsageError
from hermes_sessions.storage import NewMessage, own_store
with own_store(sys.argv[1]) as store:
    session = store.sessions.create(source="cli")
    if os.fork() == 0:
        try:
            store.messages.append(session, NewMessage("user", "child"))
        except UsageError as error:
            print(error.message, flush=True)
        os._exit(0)
    os.wait()
    store.messages.append(session, NewMessage("user", "parent"))
"""


def test_a_store_is_not_written_by_a_process_forked_from_its_own(path: Path) -> None:
    """SQLite's locks stay with the parent: what the child appends could be lost with the parent's log."""
    ran = subprocess.run([sys.executable, "-c", FORKED, str(path)], capture_output=True, text=True, check=True)
    assert "forked" in ran.stdout
    with closing(Database(path)) as database:
        assert database.rows("SELECT content FROM messages") == [("parent",)]


def test_a_file_called_like_sqlite_s_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with own_store(":memory:") as store:
        use(store)
    assert len(open_store(":memory:").sessions.catalog()) == 1
    assert (tmp_path / ":memory:").stat().st_size > 0


def test_what_hermes_adds_to_an_open_store_is_used_from_then_on(path: Path) -> None:
    with own_store(path) as store, closing(open_store(path)) as reader:
        session = store.sessions.create(source="cli")
        first, *_ = store.messages.append_all(session, [HELLO, NewMessage("assistant", "needle"), HELLO])
        assert len(reader.sessions.catalog()) == 1
        with closing(apsw.Connection(str(path))) as hermes:
            hermes.execute("ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0").fetchall()
            hermes.execute("UPDATE messages SET active = 0, compacted = 1").fetchall()
        assert store.messages.restore(session, first) == 0, "compacted rows are not rewound ones"
        reader.data_version()
        catalog = reader.sessions.catalog()
        assert reader.search.run("needle", catalog).conversations
        assert len(reader.messages.outline(next(iter(catalog)))) == 3


@pytest.mark.parametrize("name", ["a\0b.db", "\udcff.db"])
def test_a_name_that_sqlite_cannot_be_told_is_refused(tmp_path: Path, name: str) -> None:
    for action in (own_store, open_store):
        with pytest.raises(UsageError):
            action(tmp_path / name)
    assert [file for file in tmp_path.iterdir() if file.name != "home"] == []


def test_a_file_that_another_process_filled_stays_when_making_it_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = owner._open
    calls: list[int] = []

    def first_fails(*arguments: Any) -> OwnerStore:
        if not calls:
            calls.append(1)
            with own_store(path) as other:
                use(other)
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(owner, "_open", first_fails)
    with pytest.raises(KeyboardInterrupt):
        create_store(path)
    assert len(open_store(path).sessions.catalog()) == 1


def test_a_closed_store_says_so(path: Path) -> None:
    store = own_store(path)
    store.close()
    with pytest.raises(UsageError):
        use(store)

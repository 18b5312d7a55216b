"""What a repair makes of each damage: what it does, which rows are left, and that no store is the worse for it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import (
    FileExists,
    Refused,
    SessionLive,
    SessionsError,
    StoreDamaged,
    StoreMissing,
    StoreUnreadable,
)
from hermes_sessions.model import Lease
from hermes_sessions.storage import NewMessage, own_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.backups import backups
from hermes_sessions.storage.repairing.repair import Repair, repair
from tests.builders import NOW, HermesFile
from tests.storage.repairing import damages
from tests.storage.repairing.damages import PAGE, connect, contents, found_by_words, page_of, pages_of

ROOT = Path(__file__).parents[3]
SALVAGED = "Copied what can be read into a new file."

GENTLE = {
    "an index twice in the catalogue": (damages.doubled, "Removed what the catalogue had twice."),
    "a table twice in the catalogue": (damages.doubled_table, "Removed what the catalogue had twice."),
    "an empty index": (damages.emptied_index, "Rebuilt the search index from its text."),
    "a garbled index": (damages.garbled_index, "Rebuilt the search index from its text."),
    "rows missing from an index": (damages.rows_missing_from_an_index, "Made the indexes of tables again."),
}

OF_NO_ROW: dict[str, Callable[[Path], None]] = {
    "half an index in the catalogue": damages.half_an_index,
    "no index in the catalogue": damages.no_index,
    "leaf of an index": page_of("idx_messages_session", "leaf", 0.5, damages.flip),
    "leaf of a search index": page_of("messages_fts_data", "leaf", 0.5, damages.flip),
    "root of a search index": page_of("messages_fts_data", "internal", 0, damages.zero),
    "root of the messages": page_of("messages", "internal", 0, damages.flip),
    "root of the sessions": page_of("sessions", "internal", 0, damages.zero),
    "magic": lambda path: damages.overwrite(path, 0, b"SQLite format 4\0"),
}

OF_A_TABLE = {
    "first leaf of the messages": ("messages", 0.0, damages.flip),
    "leaf of the messages": ("messages", 0.5, damages.zero),
    "last leaf of the messages": ("messages", 1.0, damages.flip),
    "leaf of the sessions": ("sessions", 0.0, damages.zero),
    "last leaf of the sessions": ("sessions", 1.0, damages.flip),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of our own, to be copied."""
    return damages.our_store(tmp_path_factory.mktemp("whole") / "state.db")


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A store of our own, to be damaged."""
    (tmp_path / "store").mkdir()
    return Path(shutil.copy(whole, tmp_path / "store" / "state.db"))


def mend(path: Path) -> Repair:
    return repair(path, clock=lambda: NOW)


def everything(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder, but for the `-shm`, which SQLite makes at will."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.stat().st_size and not file.name.endswith("-shm")
    }


def require_sound(path: Path) -> None:
    """It is whole by the doctor's word, alone with its backups in its folder, and can be written."""
    assert not [check for check in diagnose(path, clock=lambda: NOW).checks if check.status == "fail"]
    assert not [file.name for file in path.parent.iterdir() if "scratch" in file.name]
    owner = own_store(path, durable=False)
    session = owner.sessions.create(source="cli")
    owner.messages.append_all(session, [NewMessage("user", "one more")])
    assert owner.index.state.status == "usable"
    owner.close()


def test_a_whole_store_of_every_layout_is_left_alone(any_layout: HermesFile) -> None:
    any_layout.message(any_layout.session(), "user", [{"type": "text", "text": "what is in this picture"}])
    any_layout.close()
    before = everything(any_layout.path.parent)
    for dry_run in (True, False):
        done = repair(any_layout.path, dry_run=dry_run)
        assert (done.healthy, done.steps, done.backup) == (True, (), None)
    assert everything(any_layout.path.parent) == before


@pytest.mark.parametrize("name", GENTLE)
def test_what_is_derived_is_mended_in_place_and_every_row_stays(store: Path, name: str) -> None:
    damage, step = GENTLE[name]
    answers = found_by_words(store)
    damage(store)
    before, damaged = contents(store), store.read_bytes()
    done = mend(store)
    assert (done.steps, done.notes) == ((step,), ())
    assert {table.lost for table in done.tables} == {0}
    assert contents(store) == before
    assert found_by_words(store) == answers
    assert done.backup
    assert Path(done.backup).read_bytes() == damaged
    require_sound(store)


@pytest.mark.parametrize("version", [6, 11, 16, 22, 31])
@pytest.mark.parametrize("damage", [damages.doubled, damages.emptied_index, damages.garbled_index])
def test_the_index_of_a_hermes_answers_as_before(tmp_path: Path, version: int, damage: Callable[[Path], None]) -> None:
    path = damages.hermes_store(tmp_path / "state.db", version)
    before, answers = contents(path), found_by_words(path)
    damage(path)
    assert len(mend(path).steps) == 1
    assert contents(path) == before
    assert found_by_words(path) == answers
    assert diagnose(path, clock=lambda: NOW).healthy


@pytest.mark.parametrize("damage", [damages.doubled, page_of("messages", "leaf", 0.5, damages.flip)])
def test_a_store_without_a_write_ahead_log_stays_one(store: Path, damage: Callable[[Path], None]) -> None:
    damages.run(store, "PRAGMA journal_mode = delete")
    damage(store)
    assert mend(store).steps
    with closing(connect(store)) as connection:
        assert connection.pragma("journal_mode") == "delete"
    assert diagnose(store, clock=lambda: NOW).healthy
    assert sorted(file.suffix for file in store.parent.iterdir() if "backup" not in file.name) == [".db", ".lock"]


@pytest.mark.parametrize("name", OF_NO_ROW)
def test_a_damage_outside_of_the_rows_loses_none(store: Path, name: str) -> None:
    before, answers = contents(store), found_by_words(store)
    OF_NO_ROW[name](store)
    done = mend(store)
    assert done.steps == (SALVAGED,)
    assert {table.lost for table in done.tables} == {0}
    assert contents(store) == before
    require_sound(store)
    found = found_by_words(store)
    assert {word: [id for id in ids if id <= len(before["messages"])] for word, ids in found.items()} == answers


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_a_damaged_page_takes_its_own_rows_along_and_no_other(store: Path, name: str) -> None:
    table, which, harm = OF_A_TABLE[name]
    before = contents(store)
    on_page = rows_on_page(store, table, which)
    page_of(table, "leaf", which, harm)(store)
    done = mend(store)
    (told,) = [rows for rows in done.tables if rows.name == table]
    assert (done.steps, told.after, told.lost) == ((SALVAGED,), len(before[table]) - on_page, on_page)
    after = contents(store)
    kept = [row for row in after[table] if row in before[table]]
    assert len(kept) == len(before[table]) - on_page
    other = "sessions" if table == "messages" else "messages"
    assert after[other] == before[other]
    assert {row[1] for row in after["sessions"]} == {row[1] for row in before["sessions"]}
    require_sound(store)


def rows_on_page(path: Path, table: str, which: float) -> int:
    pages = pages_of(path, table, "leaf")
    with path.open("rb") as file:
        file.seek((pages[int(which * (len(pages) - 1))] - 1) * PAGE + 3)
        return int.from_bytes(file.read(2))


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_file_that_was_cut_off_gives_what_is_before_the_cut(store: Path, share: float) -> None:
    before = contents(store)
    damages.cut(store, share)
    done = mend(store)
    after = contents(store)
    assert done.steps == (SALVAGED,)
    assert len(after["messages"]) > 0
    assert set(map(str, after["messages"])) <= set(map(str, before["messages"]))
    assert {row[2] for row in after["messages"]} <= {row[1] for row in after["sessions"]}
    require_sound(store)


@pytest.fixture
def store_with_log(store: Path) -> Path:
    """A store whose last change is in its log alone, as after a power cut. The first page is not in it."""
    left = store.parent.parent / "left" / "state.db"
    left.parent.mkdir()
    with closing(connect(store)) as connection:
        connection.execute("UPDATE sessions SET end_reason = 'only in the log' WHERE id = 's003'")
        for side in ("", "-wal"):
            shutil.copy(f"{store}{side}", f"{left}{side}")
    return left


def doubled_in_the_log(path: Path) -> None:
    with closing(connect(path)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'messages_fts'")


@pytest.mark.parametrize("damage", [doubled_in_the_log, OF_NO_ROW["magic"]])
def test_what_is_in_the_log_alone_is_kept(store_with_log: Path, damage: Callable[[Path], None]) -> None:
    damage(store_with_log)
    log = Path(f"{store_with_log}-wal").read_bytes()
    done = mend(store_with_log)
    assert ["only in the log" in row for row in contents(store_with_log)["sessions"]].count(True) == 1
    assert Path(f"{done.backup}-wal").read_bytes() == log
    require_sound(store_with_log)


def test_an_index_that_cannot_be_made_gently_is_a_damage_and_no_fault_of_who_asks(store: Path) -> None:
    """A unique index cannot be made again over titles that are there twice."""
    index = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'idx_sessions_title_unique'"
    with closing(connect(store)) as connection:
        connection.execute(index, ("CREATE UNIQUE INDEX", "CREATE INDEX"))
        connection.execute("PRAGMA schema_version = 900")
    damages.run(store, "UPDATE sessions SET title = 'Title 7' WHERE id = 's008'")
    with closing(connect(store)) as connection:
        connection.execute(index, ("CREATE INDEX", "CREATE UNIQUE INDEX"))
        connection.execute("PRAGMA schema_version = 901")
    before = contents(store)
    with pytest.raises(StoreDamaged, match="gently: The index idx_sessions_title_unique does not fit"):
        repair(store, gentle=True)
    assert contents(store) == before


def test_a_log_of_rubbish_is_no_damage(store: Path) -> None:
    before = contents(store)
    Path(f"{store}-wal").write_bytes(b"rubbish" * 5_000)
    assert mend(store).healthy
    assert contents(store) == before


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("text", b"hello " * 1_000, StoreDamaged),
        ("a few bytes", b"SQLite", StoreDamaged),
        ("zeros", bytes(10 * PAGE), StoreDamaged),
    ],
)
def test_what_is_no_database_is_left_as_it_is(
    tmp_path: Path, name: str, content: bytes, kind: type[SessionsError]
) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    for dry_run in (True, False):
        with pytest.raises(kind):
            repair(path, dry_run=dry_run)
    assert path.read_bytes() == content
    assert backups(path) == []


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable):
        repair(tmp_path)
    with pytest.raises(StoreMissing):
        repair(tmp_path / "nothing")
    assert [file.name for file in tmp_path.iterdir()] == ["home"]


@pytest.mark.parametrize("content", [b"", b"S"])
def test_an_empty_file_is_a_store_to_come_unless_there_is_a_log(store_with_log: Path, content: bytes) -> None:
    """To SQLite a file of one byte is empty, too: it would delete the log of it."""
    log = Path(f"{store_with_log}-wal")
    precious = log.read_bytes()
    store_with_log.write_bytes(content)
    for dry_run in (True, False):
        with pytest.raises(StoreDamaged):
            repair(store_with_log, dry_run=dry_run)
    with pytest.raises(StoreDamaged):
        Database(store_with_log)
    assert log.read_bytes() == precious
    log.unlink()
    assert repair(store_with_log).healthy
    assert store_with_log.read_bytes() == content


def test_a_log_of_one_byte_keeps_nobody_from_a_repair(store: Path) -> None:
    damages.doubled(store)
    Path(f"{store}-wal").write_bytes(b"x")
    assert mend(store).steps
    require_sound(store)


@pytest.mark.parametrize("damage", [damages.doubled, page_of("messages", "leaf", 0.5, damages.flip)])
def test_a_dry_run_says_what_would_be_done_and_leaves_the_folder_alone(
    store: Path, damage: Callable[[Path], None]
) -> None:
    damage(store)
    before = everything(store.parent)
    plan = repair(store, dry_run=True)
    assert everything(store.parent) == before
    done = mend(store)
    assert (plan.damage, plan.steps, plan.tables) == (done.damage, done.steps, done.tables)
    assert (plan.backup, plan.dry_run) == (None, True)


def test_a_session_in_use_refuses_a_repair(store: Path) -> None:
    damages.doubled(store)
    before = everything(store.parent)
    lease = Lease("a", "s001", "cli", os.getpid(), NOW, NOW, {})
    with pytest.raises(SessionLive, match="s001"):
        repair(store, leases=lambda: [lease])
    assert everything(store.parent) == before


@contextmanager
def another_program(path: Path, statement: str) -> Iterator[None]:
    """A process that has the store open and has run a statement."""
    program = (
        "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.pragma('writable_schema', True);"
        " c.execute(sys.argv[2]).fetchall(); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(path), statement]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.communicate()


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "SELECT count(*) FROM sessions"])
def test_a_store_that_another_program_has_open_is_not_repaired(
    store: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named where the system tells who has it open, and noticed by its locks where it does not."""
    damages.doubled(store)
    with another_program(store, statement):
        before = store.read_bytes()
        with pytest.raises(Refused, match=r"python.* \(process \d+\)"):
            mend(store)
        monkeypatch.setattr("hermes_sessions.storage.repairing.guard.openers", lambda path: [])
        with pytest.raises(Refused, match="in use by another program"):
            mend(store)
        assert store.read_bytes() == before
    assert mend(store).steps


def test_of_two_repairers_one_repairs_and_the_other_finds_it_whole(store: Path) -> None:
    damages.doubled(store)
    program = (
        "import sys; from hermes_sessions.storage.repairing.repair import repair; sys.stdin.readline();"
        " print(repair(sys.argv[1]).healthy)"
    )
    command = [sys.executable, "-c", program, str(store)]
    streams = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "env": os.environ | {"PYTHONPATH": str(ROOT)},
    }
    repairers = [subprocess.Popen(command, **streams) for _ in range(3)]  # type: ignore[call-overload]
    for repairer in repairers:
        repairer.stdin.write("go\n")
        repairer.stdin.flush()
    answers = sorted(repairer.communicate()[0].strip() for repairer in repairers)
    assert answers == ["False", "True", "True"]
    assert len(backups(store)) == 1
    require_sound(store)


def killed_at(path: Path, step: int) -> bool:
    """Repair in a process that is killed before the `step`th thing it does to a file. False when it came through."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod") and str(
                path.parent
            ) in str(arguments[0]):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            mend(path)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    "damage", [doubled_in_the_log, OF_NO_ROW["magic"], page_of("messages", "leaf", 0.5, damages.flip)]
)
def test_killed_anywhere_the_store_is_as_it_was_or_repaired_and_the_next_repair_succeeds(
    store_with_log: Path, damage: Callable[[Path], None]
) -> None:
    folder = store_with_log.parent
    damage(store_with_log)
    damaged = store_with_log.read_bytes()
    kept = Path(shutil.copytree(folder, folder.parent / "damaged"))
    mend(store_with_log)
    repaired = contents(store_with_log)
    states = []
    for step in range(1, 200):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        if not killed_at(store_with_log, step):
            break
        states.append("damaged" if store_with_log.read_bytes() == damaged else "repaired")
        if states[-1] == "repaired":
            assert contents(store_with_log) == repaired
        mend(store_with_log)
        assert contents(store_with_log) == repaired
        assert [file.name for file in folder.iterdir() if "scratch" in file.name] == []
    assert len(states) > 20
    assert states == sorted(states)
    assert states[-1] == "repaired"


def test_without_room_nothing_is_done(store: Path) -> None:
    damages.doubled(store)
    before = everything(store.parent)
    with pytest.raises(StoreUnreadable, match="bytes"):
        repair(store, free=lambda _: 1_000_000)
    assert everything(store.parent) == before


REPAIR_AS_NOBODY = """
import os, sys
from hermes_sessions.errors import ReadOnlyStore, StoreUnreadable
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.repairing.repair import repair
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    Database(sys.argv[1]).close() if sys.argv[2:] else repair(sys.argv[1])
except ReadOnlyStore as error:
    print(error.hint)
except StoreUnreadable as error:
    print(error.message)
"""


def as_nobody(path: Path, *more: str) -> str:
    """What a user without any rights is told who repairs a store, or with one word more reads it."""
    command = [sys.executable, "-c", REPAIR_AS_NOBODY, str(path), *more]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return ran.stdout


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that everyone may look into, since no mode stops root."""
    folder = Path("/tmp") / f"hermes-sessions-repair-{os.getpid()}-{tmp_path_factory.getbasetemp().name}"
    folder.mkdir()
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_where_nothing_may_be_written_a_repair_is_refused(store: Path, open_folder: Path) -> None:
    damages.doubled(store)
    path = Path(shutil.copy(store, open_folder / "state.db"))
    path.chmod(0o644)
    open_folder.chmod(0o555)
    before = everything(open_folder)
    assert as_nobody(path).startswith("Nothing was changed.")
    assert everything(open_folder) == before


@pytest.mark.parametrize("side", ["", "-wal"])
def test_the_file_that_may_not_be_read_is_named(store_with_log: Path, open_folder: Path, side: str) -> None:
    for file in store_with_log.parent.iterdir():
        Path(shutil.copy(file, open_folder)).chmod(0o666)
    open_folder.chmod(0o777)
    path = open_folder / "state.db"
    Path(f"{path}{side}").chmod(0)
    before = everything(open_folder)
    for more in ((), ("read",)):
        assert as_nobody(path, *more) == f"{path}{side} may not be read by this user.\n"
    assert everything(open_folder) == before


def test_a_directory_in_the_place_of_a_log_is_named(store: Path) -> None:
    Path(f"{store}-wal").mkdir()
    for attempt in (repair, Database):
        with pytest.raises(StoreUnreadable, match="-wal is a directory"):
            attempt(store)


def test_a_link_where_the_backup_should_go_is_not_followed(store: Path, tmp_path: Path) -> None:
    damages.doubled(store)
    damaged = store.read_bytes()
    backup = mend(store).backup
    assert backup
    Path(backup).unlink()
    store.write_bytes(damaged)
    other = tmp_path / "other"
    other.write_text("precious")
    Path(backup).symlink_to(other)
    with pytest.raises(FileExists):
        mend(store)
    assert store.read_bytes() == damaged
    assert other.read_text() == "precious"
    assert repair(store, clock=lambda: NOW + 60).steps
    assert other.read_text() == "precious"


def test_a_damage_is_kept_once_and_three_in_all(store: Path) -> None:
    damages.doubled(store)
    damaged = store.read_bytes()
    first = mend(store).backup
    store.write_bytes(damaged)
    assert repair(store, clock=lambda: NOW + 60).backup == first
    made = []
    for number in range(5):
        damages.run(store, f"INSERT INTO state_meta VALUES ('{number}', 'x')")
        damages.doubled(store)
        made.append(repair(store, clock=lambda: NOW + 100 * (number + 1)).backup)  # noqa: B023
    assert [str(backup) for backup in backups(store)] == made[-3:]


def test_a_link_to_a_store_stays_a_link(store: Path, tmp_path: Path) -> None:
    damages.doubled(store)
    link = tmp_path / "link.db"
    link.symlink_to(store)
    assert mend(link).steps
    assert link.is_symlink()
    require_sound(store)


def test_the_repaired_store_is_for_the_same_eyes(store: Path) -> None:
    damages.doubled(store)
    store.chmod(0o640)
    done = mend(store)
    assert store.stat().st_mode & 0o777 == 0o640
    assert Path(str(done.backup)).stat().st_mode & 0o077 == 0

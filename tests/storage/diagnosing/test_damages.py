"""What the doctor says of each damage, that it agrees with the repair, and that looking changes nothing."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from hermes_sessions.model import Diagnosis
from hermes_sessions.storage.diagnosing import visit
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.repair import repair
from tests.builders import LAYOUTS, NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import page_of, run

Damage = Callable[[Path], object]

BAD_NAME = "CAST(replace(CAST(sql AS BLOB), x'63776420', x'63ff6420') AS TEXT)"
"""The definition of a table with one letter of `cwd` turned into no character at all."""


def log_of_rubbish(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"rubbish" * 5_000)


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def log_beside_nothing(path: Path) -> None:
    path.write_bytes(b"")
    log_of_rubbish(path)


def half_a_migration(path: Path) -> None:
    run(path, "ALTER TABLE sessions ADD COLUMN session_key TEXT")


WRECKS: dict[str, tuple[Damage, dict[str, str]]] = {
    "an index twice in the catalogue": (damages.doubled, {"catalogue": "fail"}),
    "a table twice in the catalogue": (damages.doubled_table, {"catalogue": "fail"}),
    "an empty index": (damages.emptied_index, {"messages_fts": "fail"}),
    "a garbled index": (damages.garbled_index, {"messages_fts": "fail"}),
    "half an index": (damages.half_an_index, {"catalogue": "fail", "messages_fts": "warn"}),
    "no index": (damages.no_index, {"pages": "fail", "triggers": "fail", "search": "warn"}),
    "rows missing from an index": (damages.rows_missing_from_an_index, {"keys": "fail"}),
    "a page of an index": (
        page_of("idx_messages_session", "leaf", 0.5, damages.flip),
        {"keys": "fail", "tables": "warn", "messages": "warn"},
    ),
    "a page of a search index": (page_of("messages_fts_data", "leaf", 0.5, damages.flip), {"messages_fts": "fail"}),
    "the root of a search index": (
        page_of("messages_fts_data", "internal", 0, damages.zero),
        {"pages": "fail", "messages_fts": "fail"},
    ),
    "a zeroed page of messages": (
        page_of("messages", "leaf", 0.5, damages.zero),
        {"pages": "fail", "messages_fts": "warn", "messages_fts_trigram": "warn", "entries": "warn", "in use": "warn"},
    ),
    "the root of the sessions": (
        page_of("sessions", "internal", 0, damages.zero),
        {"pages": "fail", "parents": "warn", "counters": "warn", "in use": "warn"},
    ),
    "wrong magic": (lambda path: damages.overwrite(path, 0, b"SQLite format 4\0"), {"header": "fail"}),
    "cut off": (lambda path: damages.cut(path, 0.5), {"header": "fail"}),
    "a text over the first page": (lambda path: damages.overwrite(path, 0, b"hello " * 680), {"header": "fail"}),
    "an impossible page size": (lambda path: damages.overwrite(path, 16, b"\0\3"), {"header": "fail"}),
    "a zeroed first page": (lambda path: damages.zero(path, 1), {"header": "fail"}),
    "a garbled first page": (lambda path: damages.flip(path, 1, 100, 300), {"opens": "fail"}),
    "no UTF-8 in the catalogue": (
        lambda path: run(path, f"UPDATE sqlite_schema SET sql = {BAD_NAME} WHERE name = 'sessions'"),
        {"catalogue": "fail"},
    ),
    "a message that is not indexed": (
        lambda path: run(path, "DELETE FROM messages_fts WHERE rowid = 1"),
        {"entries": "fail"},
    ),
}
"""What a repair has something to do about: how it is done, and the troubles that the doctor finds."""

OTHERS: dict[str, tuple[Damage, dict[str, str]]] = {
    "a text": (lambda path: path.write_text("hello " * 1_000), {"header": "fail"}),
    "nothing but zeros": (lambda path: path.write_bytes(bytes(40_960)), {"header": "fail"}),
    "an empty file": (lambda path: damages.cut(path, 0), {"file": "warn"}),
    "a log beside an empty file": (log_beside_nothing, {"opens": "fail", "wal": "warn"}),
    "a directory": (as_directory, {"file": "fail"}),
    "a pipe": (as_pipe, {"file": "fail"}),
    "a log of rubbish": (log_of_rubbish, {"wal": "warn"}),
    "half a migration": (half_a_migration, {"layout": "warn"}),
    "two versions": (lambda path: run(path, "INSERT INTO schema_version VALUES (14)"), {"layout": "warn"}),
    "no unique titles": (lambda path: run(path, "DROP INDEX idx_sessions_title_unique"), {"table indexes": "warn"}),
}
"""The rest: what no repair of ours mends, or what needs none."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of our own, to be copied."""
    return damages.our_store(tmp_path_factory.mktemp("whole") / "state.db")


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A store of our own, to be damaged."""
    (tmp_path / "store").mkdir()
    return Path(shutil.copy(whole, tmp_path / "store" / "state.db"))


def look(path: Path) -> Diagnosis:
    return diagnose(path, clock=lambda: NOW, asked=lambda _: None)


def troubles(found: Diagnosis) -> dict[str, str]:
    return {check.name: check.status for check in found.checks if check.status != "ok"}


def everything(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder; a reader may leave an empty log, and the `-shm`."""
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.is_file() and file.stat().st_size and not file.name.endswith("-shm")
    }


@pytest.mark.parametrize("name", [*WRECKS, *OTHERS])
def test_each_damage_is_told_for_what_it_is_and_left_as_it_is(store: Path, name: str) -> None:
    damage, expected = (WRECKS | OTHERS)[name]
    damage(store)
    before = everything(store.parent)
    found = look(store)
    assert troubles(found) == expected
    assert everything(store.parent) == before
    assert found.healthy == ("fail" not in expected.values())
    for check in found.checks:
        assert check.group
        if check.status != "ok":
            assert check.detail.endswith((".", "'"))
            assert check.means.endswith(".")


@pytest.mark.parametrize("name", WRECKS)
def test_what_has_a_repair_names_it_and_is_whole_afterwards(store: Path, name: str) -> None:
    WRECKS[name][0](store)
    failed = [check for check in look(store).checks if check.status == "fail"]
    assert {check.fix for check in failed} == {f"hermes-sessions repair --db {store}"}
    assert repair(store, clock=lambda: NOW).steps
    assert look(store).healthy


@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("damage", [damages.emptied_index, damages.garbled_index, damages.doubled])
def test_the_search_index_of_every_layout_is_looked_into(tmp_path: Path, version: int, damage: Damage) -> None:
    path = damages.hermes_store(tmp_path / "state.db", version)
    path.chmod(0o600)
    assert troubles(look(path)) == {}
    damage(path)
    name = "catalogue" if damage is damages.doubled else "messages_fts"
    assert troubles(look(path)) == {name: "fail"}


def test_a_text_that_the_index_keeps_and_the_message_has_not_is_found(store: Path) -> None:
    run(store, "DROP TRIGGER messages_fts_update", "UPDATE messages SET content = 'something else' WHERE id = 3")
    assert "1 message with other words in messages_fts." in [check.detail for check in look(store).checks]


def test_a_message_that_was_deleted_behind_the_index_is_found(store: Path) -> None:
    run(store, "DROP TRIGGER messages_fts_delete", "DELETE FROM messages WHERE id = 3")
    assert "1 message gone but still in messages_fts." in [check.detail for check in look(store).checks]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything: have another user ask meanwhile."""
    if os.geteuid() != 0:
        yield
        return
    look(Path("/nowhere"))
    codecs.lookup("ascii")  # else looked for where only root may look
    os.setresuid(65_534, 65_534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="another system has other permissions")
def test_a_file_that_may_not_be_read_is_told(store: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    try:
        closed = Path(shutil.copy(store, folder / "state.db"))
        closed.chmod(0)
        with as_nobody():
            found = look(closed)
    finally:
        shutil.rmtree(folder)
    (opens,) = [check for check in found.checks if check.name == "opens"]
    assert (opens.status, opens.means) == ("fail", "Check who owns the file.")
    assert "may not be read" in opens.detail


def test_a_store_that_another_program_keeps_to_itself_is_told_and_the_rest_is_looked_at(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visit, "BUSY_TIMEOUT_MS", 10)
    run(store, "PRAGMA journal_mode = delete")
    with closing(apsw.Connection(str(store))) as other:
        other.execute("BEGIN EXCLUSIVE")
        found = look(store)
        other.execute("ROLLBACK")
    assert found.stopped == "busy"
    (opens,) = [check for check in found.checks if check.name == "opens"]
    assert "locked" in opens.detail
    assert {"disk", "wal", "sqlite"} <= {check.name for check in found.checks}


def test_what_lies_beside_a_broken_store_is_told(store: Path) -> None:
    for name in ("state.db.repair-backup-20260101_000000-0123456789ab", "state.db.bak", "other.bak"):
        (store.parent / name).write_bytes(b"x" * 500)
    (store.parent / "state.db.repair-scratch-abc").mkdir()
    damages.cut(store, 0.5)
    (left,) = [check for check in look(store).checks if check.name == "leftovers"]
    assert (left.status, left.fix) == ("warn", f"hermes-sessions repair --db {store}")
    shutil.rmtree(store.parent / "state.db.repair-scratch-abc")
    (left,) = [check for check in look(store).checks if check.name == "leftovers"]
    assert left.detail == "2 older copies beside it, 1.0 kB"


def test_a_link_is_followed_to_what_lies_beside_the_file(store: Path, tmp_path: Path) -> None:
    log_of_rubbish(store)
    link = tmp_path / "link.db"
    link.symlink_to(store)
    assert troubles(look(link)) == {"wal": "warn"}

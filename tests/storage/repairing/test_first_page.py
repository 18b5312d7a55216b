"""A store whose first page is gone is put together again from the others, and nothing that was deleted comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.storage.repairing import layouts
from hermes_sessions.storage.repairing.first_page import mend_header, page_size
from hermes_sessions.storage.repairing.leaves import opened
from hermes_sessions.storage.repairing.repair import repair
from tests.builders import LAYOUTS, NOW, SCHEMAS, HermesFile
from tests.storage.repairing import damages
from tests.storage.repairing.damages import columns, connect, contents, run

Harm = Callable[[Path], None]

GONE: dict[str, Harm] = {
    "zeros": lambda path: damages.zero(path, 1),
    "noise": lambda path: damages.flip(path, 1, 0, damages.PAGE),
    "another file": lambda path: damages.overwrite(path, 0, b"hello " * 682),
    "the whole catalogue": damages.no_catalogue,
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return damages.hermes_store(tmp_path / "store" / "state.db", 16)


def mend(path: Path) -> None:
    assert repair(path, clock=lambda: NOW).steps


@pytest.mark.parametrize("name", GONE)
def test_what_was_deleted_stays_deleted(store: Path, name: str) -> None:
    """The list of free pages begins on the first one."""
    run(store, "DELETE FROM messages WHERE id > 30", "DELETE FROM sessions WHERE id > 's015'")
    before = contents(store)
    with opened(store) as pages:
        assert len(pages.free()) > 10
    GONE[name](store)
    mend(store)
    after = contents(store)
    assert (after["sessions"], after["messages"]) == (before["sessions"], before["messages"])


@pytest.mark.parametrize("size", [512, 1024, 8192, 65_536])
def test_pages_of_any_size_are_found(tmp_path: Path, size: int) -> None:
    path = tmp_path / "store" / "state.db"
    path.parent.mkdir()
    damages.hermes_store(path, 16)
    run(path, "PRAGMA journal_mode = delete", f"PRAGMA page_size = {size}", "VACUUM")
    before = contents(path)
    damages.overwrite(path, 0, bytes(size))
    assert page_size(path.read_bytes()) == size
    mend(path)
    assert contents(path) == before


def test_what_is_in_the_log_alone_is_kept(store: Path, tmp_path: Path) -> None:
    """A log says how large the pages are, and may hold the first one."""
    left = tmp_path / "left" / "state.db"
    left.parent.mkdir()
    with closing(connect(store)) as connection:
        connection.execute("UPDATE sessions SET end_reason = 'only in the log' WHERE id = 's003'")
        before = contents(store)
        for side in ("", "-wal"):
            shutil.copy(f"{store}{side}", f"{left}{side}")
    damages.zero(left, 1)
    mend(left)
    assert contents(left) == before


@pytest.mark.parametrize("length", [100, 512, 4095, 5000])
def test_what_is_in_the_log_alone_outlives_a_cut(store: Path, tmp_path: Path, length: int) -> None:
    """Too little is left of the file for SQLite to write the log back to it."""
    left = tmp_path / "left" / "state.db"
    left.parent.mkdir()
    with closing(connect(store)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        for number in range(200):
            connection.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s003', 'user', ?, 1780000000.5)",
                (f"only in the log {number}",),
            )
        for side in ("", "-wal"):
            shutil.copy(f"{store}{side}", f"{left}{side}")
    with left.open("r+b") as file:
        file.truncate(length)
    mend(left)
    found = [row["content"] for row in columns(left, "messages")]
    assert {f"only in the log {number}" for number in range(200)} <= {*found}
    assert "s003" in [row["id"] for row in columns(left, "sessions")]


def test_a_header_that_is_well_is_left_as_it_is(store: Path) -> None:
    before = store.read_bytes()
    mend_header(store)
    assert store.read_bytes() == before


def test_noise_has_no_pages() -> None:
    assert page_size(bytes(100_000)) is None
    assert page_size(b"hello " * 10_000) is None


def test_a_chain_of_free_pages_that_bites_its_tail_is_followed_once(store: Path) -> None:
    run(store, "DELETE FROM messages")
    with opened(store) as pages:
        free = pages.free()
    trunk = int.from_bytes(store.read_bytes()[32:36])
    damages.overwrite(store, (trunk - 1) * damages.PAGE, trunk.to_bytes(4))
    with opened(store) as pages:
        assert trunk in pages.free() <= free


@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("table", layouts.TABLES)
def test_the_layouts_are_those_of_the_releases(version: int, table: str) -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute((SCHEMAS / f"v{version:02}.sql").read_text(encoding="utf-8"))
        sql = "SELECT name FROM pragma_table_info(?)"
        found = {table: tuple(str(name) for (name,) in connection.execute(sql, (table,))) for table in layouts.TABLES}
    if found[table]:
        assert found[table] in layouts.orders(table)
    there = {(table, name) for table, names in found.items() for name in names}
    assert layouts.version(there) == (16 if version == 14 else version)


UPDATES = {
    14: ("sessions.cwd TEXT", "sessions.rewind_count INTEGER NOT NULL DEFAULT 0",
         "sessions.archived INTEGER NOT NULL DEFAULT 0", "messages.platform_message_id TEXT",
         "messages.observed INTEGER DEFAULT 0", "messages.active INTEGER NOT NULL DEFAULT 1"),
    17: ("sessions.session_key TEXT", "sessions.chat_id TEXT", "sessions.chat_type TEXT", "sessions.thread_id TEXT",
         "sessions.git_branch TEXT", "sessions.git_repo_root TEXT",
         "sessions.compression_failure_cooldown_until REAL", "sessions.compression_failure_error TEXT",
         "messages.compacted INTEGER NOT NULL DEFAULT 0"),
}  # fmt: skip
"""What releases add to a store of an older one, in their order."""


def test_a_store_that_has_been_through_releases_is_told_by_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "store" / "state.db"
    with HermesFile(path, 11) as file:
        for number in range(40):
            session = file.session(f"s{number:03}", title=f"Title {number}", model="some/model", input_tokens=7)
            file.talk(session, "please", "thanks")
        for column in (*UPDATES[14], *UPDATES[17]):
            table, declared = column.split(".", 1)
            file.sql(f"ALTER TABLE {table} ADD COLUMN {declared}")
        for number in range(40, 80):
            file.sql(
                "INSERT INTO sessions (id, source, title, started_at, cwd, chat_id, git_branch, archived)"
                " VALUES (?, 'cli', ?, 1780000000.5, '/home/ada', '77', 'main', 1)",
                (f"s{number:03}", f"Title {number}"),
            )
            file.message(f"s{number:03}", "user", "hello")
    before = [columns(path, table) for table in ("sessions", "messages")]
    damages.no_catalogue(path)
    mend(path)
    assert [columns(path, table) for table in ("sessions", "messages")] == before
    assert columns(path, "schema_version") == [{"version": 11}]

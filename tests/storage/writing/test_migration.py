"""Older stores become what a new one is, and lose nothing on the way."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_sessions.errors import StoreDamaged, StoreUnreadable
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.migration import migrate as bring_up_to_date
from hermes_sessions.storage.writing.owner import create_store, own_store
from hermes_sessions.storage.writing.writer import Writer
from tests.builders import NOW, HermesFile

OLDER = (6, 11, 14, 16)
"""Version 13 is 11 with two more columns, as are others between; see the migration that stopped half way."""

PHOTO = [{"type": "text", "text": "a monstera"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]

Rows = dict[str, list[dict[str, Any]]]


def layout(path: Path) -> dict[str, object]:
    """The catalogue of a file, its columns in order, and the version it says it has."""
    with closing(Database(path)) as database:
        rows = database.rows("SELECT type, name, sql FROM sqlite_schema")
        found: dict[str, object] = {f"{kind!s} {name!s}": sql for kind, name, sql in rows}
        for table in ("schema_version", "sessions", "messages", "state_meta", "compression_locks"):
            found[f"columns of {table}"] = database.rows(f"PRAGMA table_xinfo({table})")
        found["version"] = database.rows("SELECT version FROM schema_version")
        return found


def as_bytes(column: str) -> str:
    """The expression that gives a column's text as bytes: not all of it is UTF-8."""
    quoted = '"' + column.replace('"', '""') + '"'
    return f"CASE typeof({quoted}) WHEN 'text' THEN CAST({quoted} AS BLOB) ELSE {quoted} END"


def contents(path: Path) -> Rows:
    """All rows of sessions and messages, text as bytes, each with the columns the file has."""
    connection = apsw.Connection(str(path))
    found: Rows = {}
    for table in ("sessions", "messages"):
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(map(as_bytes, names))
        rows = connection.execute(f"SELECT {values} FROM {table} ORDER BY id")
        found[table] = [dict(zip(names, row, strict=True)) for row in rows]
    connection.close()
    return found


def nothing_lost(before: Rows, after: Rows, *changed: str) -> None:
    """Every row is there, and says what it said, but in the columns that were to change."""
    for table, rows in before.items():
        assert len(after[table]) == len(rows)
        for old, new in zip(rows, after[table], strict=True):
            assert {name: new[name] for name in old if name not in changed} == {
                name: value for name, value in old.items() if name not in changed
            }


def as_new(path: Path, new: dict[str, object]) -> None:
    """The file is laid out as a new one, its indexes hold what the messages say, and it can be written."""
    assert layout(path) == new
    with closing(own_store(path)) as store:
        store.index.check()
        session = store.sessions.create(source="cli")
        store.messages.append(session, NewMessage("user", "zebra"))
        store.index.check()
    with closing(Database(path)) as database:
        assert database.value("PRAGMA integrity_check") == "ok"
        for table in schema.FTS_TABLES:
            ids = database.rows("SELECT id FROM messages ORDER BY id")
            assert database.rows(f"SELECT rowid FROM {table} ORDER BY rowid") == ids


def migrate(path: Path) -> tuple[str, ...]:
    path.chmod(0o600)
    with closing(own_store(path)) as store:
        return store.notices


def fill(file: HermesFile) -> None:
    """A little of everything Hermes writes."""
    file.chain(3, title="Login loop")
    file.talk(file.session("root", title="日本語"), "one", "two")
    file.branch("root", "fork", marked=False)
    file.tool_call(file.session("tools", source="telegram"), "terminal", {"command": "ls"}, "parser.py")
    file.message("tools", "user", PHOTO)
    file.message("tools", "user", "NUL \x00 inside \x1b[31m 🎉 数据库查询")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "state.db"


@pytest.fixture
def new_layout(tmp_path: Path) -> dict[str, object]:
    create_store(tmp_path / "new.db").close()
    return layout(tmp_path / "new.db")


@pytest.mark.parametrize("version", OLDER)
def test_a_migrated_file_equals_a_new_one_object_by_object(
    path: Path, version: int, new_layout: dict[str, object]
) -> None:
    with HermesFile(path, version) as file:
        fill(file)
    before = contents(path)
    assert migrate(path) == ()
    nothing_lost(before, contents(path), "model_config")
    as_new(path, new_layout)


@pytest.mark.parametrize("version", OLDER)
def test_what_is_missing_gets_its_default(path: Path, version: int) -> None:
    with HermesFile(path, version) as file:
        fill(file)
    migrate(path)
    with closing(Database(path)) as database:
        assert database.rows("SELECT DISTINCT archived, rewind_count, api_call_count, cwd FROM sessions") == [
            (0, 0, 0, None)
        ]
        assert database.rows("SELECT DISTINCT active, observed, platform_message_id FROM messages") == [(1, 0, None)]


@pytest.mark.parametrize("statements", [1, 4, 8, 12])
def test_a_migration_of_hermes_that_stopped_half_way_is_completed(
    path: Path, statements: int, new_layout: dict[str, object]
) -> None:
    """Hermes adds columns one by one at the end of a table, and raises the number last."""
    added = [
        *("sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0", "messages ADD COLUMN active INTEGER"),
        *("messages ADD COLUMN platform_message_id TEXT", "messages ADD COLUMN observed INTEGER DEFAULT 0"),
        *("sessions ADD COLUMN cwd TEXT", "sessions ADD COLUMN handoff_state TEXT"),
        *("sessions ADD COLUMN rewind_count INTEGER NOT NULL DEFAULT 0", "messages ADD COLUMN reasoning_content TEXT"),
        *("sessions ADD COLUMN api_call_count INTEGER DEFAULT 0", "sessions ADD COLUMN handoff_platform TEXT"),
        *("sessions ADD COLUMN handoff_error TEXT", "messages ADD COLUMN codex_message_items TEXT"),
    ]
    with HermesFile(path, 6) as file:
        fill(file)
        for statement in added[:statements]:
            file.sql(f"ALTER TABLE {statement}")
        file.sql("CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)")
        file.sql("INSERT INTO state_meta VALUES ('last_vacuum', '5')")
        file.sql("DROP TRIGGER messages_fts_insert")
    before = contents(path)
    migrate(path)
    nothing_lost(before, contents(path), "model_config", "active")
    as_new(path, new_layout)
    with closing(Database(path)) as database:
        assert database.rows("SELECT * FROM state_meta") == [("last_vacuum", "5")]


def test_missing_indexes_are_made(path: Path, new_layout: dict[str, object]) -> None:
    own_store(path).close()
    with closing(Database(path, "owner")) as database:
        for (name,) in database.rows("SELECT name FROM sqlite_schema WHERE name GLOB 'idx_*'"):
            database.execute(f"DROP INDEX {name!s}")
    migrate(path)
    as_new(path, new_layout)


def test_an_index_of_another_shape_is_replaced(path: Path, new_layout: dict[str, object]) -> None:
    own_store(path).close()
    with closing(Database(path, "owner")) as database:
        database.execute("DROP INDEX idx_sessions_source")
        database.execute("CREATE INDEX idx_sessions_source ON messages(role)")
    migrate(path)
    as_new(path, new_layout)


@pytest.mark.parametrize("change", ["DELETE FROM schema_version", "INSERT INTO schema_version VALUES (3)"])
def test_a_version_that_is_missing_or_doubled_does_no_harm(path: Path, change: str) -> None:
    with closing(own_store(path)) as store:
        store.sessions.create("s", source="cli")
    with closing(Database(path, "owner")) as database:
        database.execute(change)
    migrate(path)
    with closing(Database(path)) as database:
        assert database.value("SELECT max(version) FROM schema_version") == 16
        assert database.rows("SELECT id FROM sessions") == [("s",)]


def test_a_present_store_is_opened_without_a_write(path: Path) -> None:
    own_store(path).close()
    before = path.read_bytes()
    own_store(path).close()
    assert path.read_bytes() == before


def test_who_comes_second_finds_nothing_to_do(path: Path) -> None:
    """Two may see an older file at once; the second waits for the lock and looks again."""
    own_store(path).close()
    with closing(Database(path)) as reader, closing(Database(path, "owner")) as database:
        before = reader.data_version()
        bring_up_to_date(database, Writer(database))
        assert reader.data_version() == before
        assert database.value("PRAGMA foreign_keys") == 1
        assert database.value("PRAGMA legacy_alter_table") == 0


def test_a_damaged_index_does_not_stand_in_the_way(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 14) as file:
        fill(file)
        file.sql("DELETE FROM messages_fts_data")
        file.sql("DROP TABLE messages_fts_trigram_config")
    before = contents(path)
    migrate(path)
    nothing_lost(before, contents(path), "model_config")
    as_new(path, new_layout)


@pytest.mark.parametrize("version", OLDER)
def test_without_fts5_all_but_the_index_is_brought_up_to_date(
    path: Path, version: int, new_layout: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with HermesFile(path, version) as file:
        fill(file)
    before = contents(path)
    with monkeypatch.context() as patch:
        patch.setattr(apsw, "connection_hooks", [lambda connection: connection.drop_modules(["json_each"])])
        for _ in range(2):
            assert "no such module: fts5" in migrate(path)[-1]
        with closing(own_store(path)) as store:
            store.messages.append("root", NewMessage("user", "said without an index"))
            assert store.index.state.status == "stale"
    after = {table: rows[: len(before[table])] for table, rows in contents(path).items()}
    nothing_lost(before, after, "model_config", "message_count")
    migrate(path)
    as_new(path, new_layout)


def test_what_is_unknown_is_kept(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 6) as file:
        fill(file)
        file.sql("ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")
        file.sql('ALTER TABLE messages ADD COLUMN "odd ""name""" INTEGER')
        file.sql("ALTER TABLE messages ADD COLUMN doubled AS (id * 2)")
        file.sql("ALTER TABLE messages ADD COLUMN typed 'of a kind)'")
        file.sql("ALTER TABLE messages ADD COLUMN price DECIMAL(10, 2) DEFAULT 1.5")
        file.sql("CREATE INDEX idx_mood ON sessions(mood)")
        file.sql("CREATE TABLE notes (session_id TEXT REFERENCES sessions(id), text TEXT)")
        file.sql("CREATE TABLE log (what TEXT)")
        file.sql("CREATE TRIGGER mine AFTER UPDATE OF mood ON sessions BEGIN INSERT INTO log VALUES (new.mood); END")
        file.sql("CREATE VIEW moods AS SELECT id, mood FROM sessions")
        file.sql("INSERT INTO notes VALUES ('root', 'keep me')")
        file.sql("UPDATE sessions SET mood = 'bright' WHERE id = 'root'")
        file.sql('UPDATE messages SET "odd ""name""" = id * 10')
    before = contents(path)
    theirs = ("idx_mood", "notes", "mine", "moods")
    others = {name: sql for name, sql in layout(path).items() if name.split()[-1] in theirs}
    migrate(path)
    nothing_lost(before, contents(path), "model_config")
    after = layout(path)
    assert others.items() <= after.items()
    assert [column[1] for column in after["columns of sessions"]][-1] == "mood"  # type: ignore[attr-defined]
    assert [column[1] for column in after["columns of messages"]][-4:] == ['odd "name"', "doubled", "typed", "price"]  # type: ignore[attr-defined]
    unchanged = {name for name in new_layout if name.split()[-1] not in ("sessions", "messages")}
    assert {name: after[name] for name in unchanged} == {name: new_layout[name] for name in unchanged}
    file_bytes = path.read_bytes()
    with closing(own_store(path)) as store:
        assert store.index.state.status == "usable"
    assert path.read_bytes() == file_bytes, "what is unknown is no reason to migrate again"
    with closing(Database(path, "owner")) as database:
        assert database.value("PRAGMA foreign_keys") == 1
        assert database.rows("SELECT * FROM notes") == [("root", "keep me")]
        assert database.value("SELECT count(*) FROM moods") == len(before["sessions"])
        database.execute("UPDATE sessions SET mood = 'tired' WHERE id = 'root'")
        assert database.rows("SELECT * FROM log") == [("bright",), ("tired",)]


def test_columns_that_a_newer_hermes_has_begun_to_add_are_kept(path: Path) -> None:
    """It raises the number last; its columns at the end of our tables are no reason to copy them."""
    own_store(path).close()
    with closing(Database(path, "owner")) as database:
        database.execute('ALTER TABLE sessions ADD COLUMN "session_key" TEXT')
        database.execute('ALTER TABLE messages ADD COLUMN "compacted" INTEGER NOT NULL DEFAULT 0')
    before = path.read_bytes()
    own_store(path).close()
    assert path.read_bytes() == before


def test_rows_of_the_wrong_kind_survive(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 11) as file:
        file.session("when", started_at="2026-04-09T12:00:00")
        file.session("blob", model_config=b"\xff\xfe", title=b"caf\xe9")
        file.session("config", parent="when", model_config="not json")
        file.session("empty", parent="when", model_config="")
        file.session("list", parent="when", model_config="[1]")
        file.message("when", "user", b"caf\xe9 \x00 \xff", t="yesterday")
        file.insert("messages", session_id="when", role=5, timestamp=-1e300)
        file.sql("UPDATE sessions SET message_count = 'many', ended_at = x'00ff' WHERE id = 'when'")
        file.sql("INSERT INTO sessions (id, source, started_at) VALUES (NULL, x'01', 1)")
    before = contents(path)
    migrate(path)
    nothing_lost(before, contents(path))
    as_new(path, new_layout)


def test_a_message_without_active_counts(path: Path, new_layout: dict[str, object]) -> None:
    """Some old files have the column without a default, and NULL in it."""
    with HermesFile(path, 11) as file:
        ids = file.talk(file.session("a"), "one", "two", "three")
        file.sql("ALTER TABLE messages ADD COLUMN active INTEGER")
        file.sql("UPDATE messages SET active = 0 WHERE id = ?", (ids[-1],))
    migrate(path)
    with closing(Database(path)) as database:
        assert database.rows("SELECT active FROM messages ORDER BY id") == [(1,), (1,), (0,)]
    as_new(path, new_layout)


def test_orphans_and_circles_survive(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 6) as file:
        file.session("a", parent="b", end_reason="compression")
        file.session("b", parent="a", end_reason="compression")
        file.session("self", parent="self")
        file.session("lost", parent="gone")
        file.insert("messages", session_id="nobody", role="user", content="still here", timestamp=1)
    before = contents(path)
    migrate(path)
    nothing_lost(before, contents(path), "model_config")
    as_new(path, new_layout)
    with closing(open_store(path)) as store:
        assert len(store.sessions.catalog()) > 0


def test_an_id_that_was_given_once_does_not_come_again(path: Path) -> None:
    with HermesFile(path, 6) as file:
        session = file.session("a")
        last = file.talk(session, *"abcdefgh")[-1]
        file.sql("DELETE FROM messages WHERE id > 3")
    migrate(path)
    with closing(own_store(path)) as store:
        assert store.messages.append("a", NewMessage("user", "next")) == last + 1


def test_ids_at_the_ends_of_their_range_are_copied(path: Path) -> None:
    ids = [-(2**63), -1, 0, 7, 2**63 - 1]
    with HermesFile(path, 6) as file:
        file.session("a")
        for message in ids:
            file.sql("INSERT INTO messages (id, session_id, role, timestamp) VALUES (?, 'a', 'user', 1)", (message,))
    before = contents(path)
    migrate(path)
    nothing_lost(before, contents(path))


def test_equal_titles_are_parted_and_the_newest_keeps_it(path: Path, new_layout: dict[str, object]) -> None:
    """Up to version 3 titles were not unique."""
    long = "x" * 99
    with HermesFile(path, 6) as file:
        file.sql("DROP INDEX idx_sessions_title_unique")
        for id, title, started_at in (
            ("old", "Login", NOW - 30),
            ("middle", "Login", NOW - 20),
            ("new", "Login", NOW - 10),
            ("taken", "Login (2)", NOW),
            ("long old", long, NOW - 5),
            ("long new", long, NOW),
            ("blank", "", NOW),
            ("blank too", "", NOW),
        ):
            file.session(id, title=title, started_at=started_at)
    (notice,) = migrate(path)
    assert notice.startswith(f"3 titles of {path} belonged to more than one session")
    with closing(Database(path)) as database:
        assert dict(database.rows("SELECT id, title FROM sessions")) == {  # type: ignore[arg-type]
            "old": "Login (4)",
            "middle": "Login (3)",
            "new": "Login",
            "taken": "Login (2)",
            "long old": "x" * 96 + " (2)",
            "long new": long,
            "blank": None,
            "blank too": None,
        }
    as_new(path, new_layout)
    with closing(open_store(path)) as store:
        catalog = store.sessions.catalog()
        assert {item.title for item in catalog if item.id == "new"} == {"Login"}


def test_sessions_of_subagents_are_marked_as_by_hermes_0_17(path: Path) -> None:
    with HermesFile(path, 14) as file:
        file.chain(2)
        file.talk(file.session("root"), "go", "gone")
        file.delegate("root", "child")
        file.delegate("child", "grandchild")
        file.branch(file.session("forked"), "fork", marked=False)
        file.talk(file.session("open"), "go")
        file.branch("open", "marked fork", ends_parent=False)
        file.tool_call(file.session("lone"), "terminal", {}, "out")
        file.tool_call(file.session("titled", title="Mine"), "terminal", {}, "out")
        file.talk(file.session("talk"), "no", "tools")
        busy = file.session("busy")
        for _ in range(13):
            file.tool_call(busy, "terminal", {}, "out")
        file.session("configured", parent="root", model_config={"max_iterations": 90})
        file.session("marked", parent="root", model_config={"_delegate_from": "other"})
        file.session("broken", parent="root", model_config="{")
        file.session("missing", parent="gone")
        file.session("ended", started_at=NOW, ended_at=NOW + 100, end_reason="branched")
        file.session("earlier", parent="ended", started_at=NOW + 50)
        file.session("later", parent="ended", started_at=NOW + 100)
    migrate(path)
    with closing(Database(path)) as database:
        marks = database.rows(
            "SELECT id, json_extract(model_config, '$._delegate_from') FROM sessions WHERE json_valid(model_config)"
        )
        assert {id: mark for id, mark in marks if mark is not None} == {
            "child": "root",
            "grandchild": "child",
            "configured": "root",
            "missing": "gone",
            "marked": "other",
            "earlier": "ended",
            "lone": "__orphaned__",
        }
        configs = {str(id): str(config) for id, config in database.rows("SELECT id, model_config FROM sessions")}
        assert configs["broken"] == "{"
        assert json.loads(configs["configured"]) == {"max_iterations": 90, "_delegate_from": "root"}


def test_sessions_are_marked_once(path: Path) -> None:
    """In a file of version 16 a session without a mark is none of a subagent."""
    with HermesFile(path, 16) as file:
        file.session("root")
        file.session("child", parent="root")
    migrate(path)
    with closing(Database(path)) as database:
        assert database.rows("SELECT DISTINCT model_config FROM sessions") == [(None,)]


def test_progress_is_told_and_may_stop_it(path: Path, new_layout: dict[str, object]) -> None:
    with HermesFile(path, 6) as file:
        file.talk(file.session("a"), *map(str, range(5_000)))
    before = contents(path)
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 5:
            raise KeyboardInterrupt

    path.chmod(0o600)
    with pytest.raises(KeyboardInterrupt):
        own_store(path, progress=stop)
    assert contents(path) == before
    told.clear()
    own_store(path, progress=lambda done, total: told.append((done, total))).close()
    assert told == sorted(told)
    assert told[-1] == (15_002, 15_002), "a version, a session, and 5,000 messages copied once and indexed twice"
    as_new(path, new_layout)


def test_a_disk_that_is_full_leaves_the_old_file_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HermesFile(path, 6) as file:
        file.talk(file.session("a"), *("word " * 2_000 for _ in range(50)))
    before = contents(path), layout_of_old(path)
    pages = path.stat().st_size // 4096 + 40
    monkeypatch.setattr(
        apsw, "connection_hooks", [lambda connection: connection.pragma("max_page_count", pages) and None]
    )
    with pytest.raises(StoreUnreadable, match="no room left") as caught:
        own_store(path)
    assert "nothing was written" in caught.value.message
    monkeypatch.undo()
    assert (contents(path), layout_of_old(path)) == before
    migrate(path)
    nothing_lost(before[0], contents(path))


def layout_of_old(path: Path) -> object:
    with closing(Database(path)) as database:
        return database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name")


def test_rows_that_cannot_be_copied_leave_the_old_file_whole(path: Path) -> None:
    with HermesFile(path, 6) as file:
        file.sql("DROP TABLE sessions")
        file.sql("CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL, title TEXT)")
        file.sql("INSERT INTO sessions VALUES ('a', 'cli', 1, NULL), ('a', 'cli', 2, NULL)")
    before = contents(path), layout_of_old(path)
    with pytest.raises(StoreDamaged, match="UNIQUE constraint failed"):
        own_store(path)
    assert (contents(path), layout_of_old(path)) == before


MIGRATE = """
import os, signal, sys, apsw
from hermes_sessions.storage.writing.owner import own_store
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
if left:
    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", count))
print("ready", flush=True)
sys.stdin.readline()
own_store(sys.argv[1])
"""

KILLS = 5
"""How many processes are killed at a random moment. To be raised on purpose."""


def killed(path: Path, kill: Callable[[subprocess.Popen[str]], None], statement: int = 0) -> None:
    command = [sys.executable, "-c", MIGRATE, str(path), str(statement)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("\n")
    child.stdin.flush()
    kill(child)
    child.stdin.close()
    child.stdout.close()
    assert child.wait(30) in (0, -signal.SIGKILL)


def old_file(path: Path) -> Rows:
    with HermesFile(path, 6) as file:
        fill(file)
        file.talk(file.session("long"), *(f"message {number} of many" for number in range(1_000)))
    path.chmod(0o600)
    return contents(path)


@pytest.mark.parametrize("statement", [20, 45, 60, 75, 90, 105])
def test_a_process_killed_at_a_statement_of_a_migration_takes_nothing_along(
    path: Path, statement: int, new_layout: dict[str, object]
) -> None:
    before = old_file(path)
    killed(path, lambda child: None, statement)
    assert contents(path).keys() == before.keys()
    migrate(path)
    nothing_lost(before, contents(path), "model_config")
    as_new(path, new_layout)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_process_killed_at_any_moment_of_a_migration_takes_nothing_along(
    path: Path, seed: int, new_layout: dict[str, object]
) -> None:
    before = old_file(path)

    def kill(child: subprocess.Popen[str]) -> None:
        time.sleep(random.Random(seed).uniform(0, 0.12))
        child.kill()

    killed(path, kill)
    found = layout_of_old(path)
    with closing(Database(path)) as database:
        assert ("messages_fts_trigram" in database.tables) == database.has("sessions", "archived"), found
    migrate(path)
    nothing_lost(before, contents(path), "model_config")
    as_new(path, new_layout)

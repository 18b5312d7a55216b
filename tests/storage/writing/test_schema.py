"""The schema of the stores this program creates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from tests.builders import HermesFile

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
PHOTO = [{"type": "text", "text": "a monstera"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "state.db"


@pytest.fixture
def store(path: Path, clock: Callable[[], float]) -> Iterator[OwnerStore]:
    store = create_store(path, clock=clock)
    store.sessions.create("s", source="cli")
    yield store
    store.close()


@pytest.fixture
def database(store: OwnerStore) -> Iterator[Database]:
    database = Database(store.path, "owner")
    yield database
    database.close()


def catalogue(path: Path) -> dict[str, str]:
    database = Database(path)
    rows = database.rows("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    database.close()
    return {f"{kind!s} {name!s}": " ".join(str(sql).split()) for kind, name, sql in rows}


def columns(path: Path, table: str) -> list[tuple[object, ...]]:
    database = Database(path)
    rows = database.rows(f"PRAGMA table_xinfo({table})")
    database.close()
    return list(rows)


def indexed(database: Database, table: str = "messages_fts") -> list[tuple[object, ...]]:
    return list(database.rows(f"SELECT rowid, content FROM {table}"))


def found(database: Database, word: str) -> tuple[list[object], list[object]]:
    answers: list[list[object]] = []
    for table in schema.FTS_TABLES:
        rows = database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid", (f'"{word}"',))
        answers.append([row[0] for row in rows])
    return answers[0], answers[1]


def test_a_new_store_is_laid_out_as_by_release_0_17(store: OwnerStore, tmp_path: Path) -> None:
    with HermesFile(tmp_path / "hermes.db", 16) as hermes:
        ours, theirs = catalogue(store.path), catalogue(hermes.path)
        assert ours.keys() == theirs.keys()
        differing = {name for name in ours if ours[name] != theirs[name]}
        assert {name.split()[0] for name in differing} == {"trigger"}
        for table in ("sessions", "messages", "state_meta", "compression_locks", "schema_version"):
            assert columns(store.path, table) == columns(hermes.path, table)


def test_the_version_stands_where_hermes_looks_for_it(database: Database) -> None:
    assert database.rows("SELECT version FROM schema_version") == [(schema.VERSION,)]
    assert database.value("PRAGMA user_version") == 0
    assert database.value("PRAGMA application_id") == 0
    assert database.value("PRAGMA auto_vacuum") == 0
    assert database.value("PRAGMA encoding") == "UTF-8"


def test_two_new_stores_are_equal(store: OwnerStore, tmp_path: Path) -> None:
    create_store(tmp_path / "other.db").close()
    assert catalogue(tmp_path / "other.db") == catalogue(store.path)


def test_both_indexes_hold_content_tool_name_and_calls(store: OwnerStore, database: Database) -> None:
    store.messages.append("s", NewMessage("user", "where is the parser"))
    store.messages.append("s", NewMessage("assistant", "looking", tool_calls=[CALL]))
    store.messages.append("s", NewMessage("tool", "parser.py", tool_call_id="call_1", tool_name="terminal"))
    store.messages.append("s", NewMessage("assistant"))
    assert indexed(database) == indexed(database, "messages_fts_trigram")
    assert [text for _, text in indexed(database)] == [
        "where is the parser  ",
        f"looking  {store_calls(database)}",
        "parser.py terminal ",
        "  ",
    ]
    assert found(database, "parser") == ([1, 3], [1, 3])
    assert found(database, "terminal") == ([2, 3], [2, 3])


def store_calls(database: Database) -> object:
    return database.value("SELECT tool_calls FROM messages WHERE tool_calls IS NOT NULL")


def test_the_index_follows_inserts_updates_and_deletes(store: OwnerStore, database: Database) -> None:
    contents: list[str | list[object] | None] = [
        "first words",
        PHOTO,
        None,
        "",
        "数据库查询优化",
        "NUL \x00 inside",
        "\x00",
    ]
    for content in contents:
        store.messages.append("s", NewMessage("user", content))
    schema.check_index(database)
    database.execute("UPDATE messages SET content = 'second words' WHERE id = 1")
    database.execute("UPDATE messages SET tool_name = 'grep', tool_calls = '[]' WHERE id = 3")
    schema.check_index(database)
    assert found(database, "first") == ([], [])
    assert found(database, "second") == ([1], [1])
    assert found(database, "grep") == ([3], [3])
    assert found(database, "monstera") == ([2], [2])
    assert found(database, "据库查")[1] == [5]
    database.execute("DELETE FROM messages WHERE id <> 5")
    schema.check_index(database)
    assert found(database, "second") == ([], [])
    database.execute("DELETE FROM messages")
    schema.check_index(database)
    assert indexed(database) == indexed(database, "messages_fts_trigram") == []


def test_a_damaged_index_is_noticed(store: OwnerStore, database: Database) -> None:
    store.messages.append("s", NewMessage("user", "some words"))
    database.execute("UPDATE messages_fts_trigram_content SET c0 = 'other words'")
    with pytest.raises(StoreDamaged):
        schema.check_index(database)


@pytest.mark.parametrize("change", ["active = 0", "timestamp = 1.0", "platform_message_id = '7'", "reasoning = 'hm'"])
def test_an_update_of_what_is_not_indexed_leaves_the_index_alone(
    store: OwnerStore, database: Database, change: str
) -> None:
    store.messages.append("s", NewMessage("user", "some words"))
    tables = [f"{table}_data" for table in schema.FTS_TABLES]
    before = [database.rows(f"SELECT * FROM {table}") for table in tables]
    database.execute(f"UPDATE messages SET {change}")
    assert [database.rows(f"SELECT * FROM {table}") for table in tables] == before
    database.execute("UPDATE messages SET content = 'other words'")
    assert [database.rows(f"SELECT * FROM {table}") for table in tables] != before


def test_the_mark_of_a_list_of_parts_is_not_indexed(store: OwnerStore, database: Database) -> None:
    """SQLite 3.40 and 3.54 read past a NUL differently, so that one damages what the other indexed."""
    store.messages.append("s", NewMessage("user", PHOTO))
    assert str(database.value("SELECT content FROM messages")).startswith("\x00json:[")
    for table in schema.FTS_TABLES:
        assert str(indexed(database, table)[0][1]).startswith("json:[")


def test_what_is_declared_is_what_sqlite_keeps_of_it(database: Database) -> None:
    kept = {str(name): sql for name, sql in database.rows("SELECT name, sql FROM sqlite_schema")}
    assert [kept[declared.name] for declared in schema.objects()] == [declared.sql for declared in schema.objects()]
    others = kept.keys() - {declared.name for declared in schema.objects()}
    assert all(name.startswith(("sqlite_", *(f"{table}_" for table in schema.FTS_TABLES))) for name in others)


def test_every_part_of_an_index_knows_which(database: Database) -> None:
    parts = {declared.name: declared.index for declared in schema.objects() if declared.index}
    assert set(parts.values()) == set(schema.FTS_TABLES)
    assert len(parts) == 8
    assert all(
        name == table or name.removeprefix(table) in ("_insert", "_delete", "_update") for name, table in parts.items()
    )


def test_columns_are_declared_as_sqlite_understands_them(database: Database) -> None:
    by_name = {column.name: column for column in schema.columns("messages")}
    assert list(by_name) == [row[1] for row in database.rows("PRAGMA table_xinfo(messages)")]
    assert by_name["active"] == schema.Column("active", "INTEGER", required=True, default="1", key=False)
    assert by_name["id"].key
    assert not by_name["content"].required


def test_without_a_module_or_tokenizer_all_else_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "connection_hooks", [lambda connection: connection.drop_modules(["json_each"])])
    (tmp_path / "state.db").touch()
    database = Database(tmp_path / "state.db", "owner")
    assert [schema.can_index(database, table) for table in schema.FTS_TABLES] == [False, False]
    schema.create(database)
    made = {name for (name,) in database.rows("SELECT name FROM sqlite_schema")}
    assert {declared.name for declared in schema.objects() if declared.index is None} <= made
    assert not {declared.name for declared in schema.objects() if declared.index} & made
    assert database.rows("SELECT version FROM schema_version") == [(16,)]
    database.close()

"""The search index of a store of our own never keeps a message from being stored."""

from __future__ import annotations

import logging
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import IndexUnusable, SessionNotFound, StoreDamaged, UsageError
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import MARK, stale_tables
from hermes_sessions.storage.values import as_int
from hermes_sessions.storage.writing import index as index_module
from hermes_sessions.storage.writing import rebuild, schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.index import SearchIndex
from hermes_sessions.storage.writing.index_mark import triggers_of
from hermes_sessions.storage.writing.messages import MessageWriter
from hermes_sessions.storage.writing.owner import OwnerStore, create_store, own_store
from hermes_sessions.storage.writing.writer import Writer
from tests.builders import NOW, HermesFile
from tests.storage.writing.indexes import (
    MESSAGES,
    TRIGRAM,
    WORDS,
    catalogue,
    filled,
    found,
    indexed,
    notice,
    run_without_fts5,
    say,
    script,
    spoil,
    triggers,
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "PAUSE_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def never_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_warned", set())


GONE_TABLE = (
    "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = '{table}';"
    " CREATE VIEW told AS SELECT 1; DROP VIEW told"
)
OTHER_SHAPE = "DROP TABLE {table}_%s; CREATE TABLE {table}_%s (a, b)"
BREAKS = {
    **{f"{shadow} gone": f"DROP TABLE {{table}}_{shadow}" for shadow in rebuild.SHADOWS if shadow != "idx"},
    **{
        f"{shadow} of another shape": OTHER_SHAPE.replace("%s", shadow) for shadow in rebuild.SHADOWS if shadow != "idx"
    },
    "all shadow tables gone": ";".join(f"DROP TABLE {{table}}_{shadow}" for shadow in rebuild.SHADOWS),
    "data emptied": "DELETE FROM {table}_data",
    "config emptied": "DELETE FROM {table}_config",
    "config garbled": "UPDATE {table}_config SET v = x'ffff'",
    "structure garbled": "UPDATE {table}_data SET block = x'0102030405060708' WHERE id = 10",
    "table gone": GONE_TABLE,
}
"""What keeps a write from going through, whatever it is (SQLite 3.54). The rest shows in a check; see SILENT_BREAKS."""


@pytest.mark.parametrize("table", schema.FTS_TABLES)
@pytest.mark.parametrize("damage", BREAKS.values(), ids=BREAKS.keys())
def test_a_message_is_stored_though_an_index_is_broken_and_the_index_comes_back(
    store: OwnerStore, database: Database, table: str, damage: str
) -> None:
    whole = catalogue(database)
    script(database, damage.format(table=table))
    # A connection that has used an index before may not look at all of it again.
    store = OwnerStore(database, clock=lambda: NOW)
    new = say(store, "the zeppelin landed")
    store.index.run(lambda database: database.execute("UPDATE messages SET content = 'a yacht' WHERE id = 3"))
    store.index.run(lambda database: database.execute("DELETE FROM messages WHERE id = 4"))
    assert (found(store.path, "zeppelin"), found(store.path, "yacht"), found(store.path, "eppeli")) == (
        {new},
        {3},
        {new},
    )
    assert store.index.state.status != "usable"
    assert stale_tables(database) == {table}
    assert store.index.state.missing == MESSAGES
    assert any("search index" in text for text in store.notices)
    with pytest.raises(IndexUnusable, match=str(store.path)):
        store.index.check()

    assert store.index.catch_up()
    store.index.check()
    assert catalogue(database) == whole
    for each in schema.FTS_TABLES:
        assert (indexed(database, each, "zeppelin"), indexed(database, each, "yacht")) == ([new], [3])
        assert len(indexed(database, each, "parsers")) == MESSAGES - 2
    assert stale_tables(database) == frozenset()
    assert database.value("PRAGMA integrity_check") == "ok"


def test_only_the_broken_index_is_let_go_of(store: OwnerStore, database: Database) -> None:
    script(database, f"DELETE FROM {TRIGRAM}_data")
    new = say(store, "the zeppelin landed")
    assert triggers(database) == set(triggers_of(WORDS))
    assert indexed(database, WORDS, "zeppelin") == [new]
    assert found(store.path, "zeppelin") == {new}
    assert found(store.path, "eppeli") == {new}, "parts of words are found by reading then"


def test_both_are_let_go_of_when_both_are_broken(store: OwnerStore, database: Database) -> None:
    script(database, f"DELETE FROM {WORDS}_data; DELETE FROM {TRIGRAM}_data")
    new = say(store, "the zeppelin landed")
    assert triggers(database) == set()
    assert found(store.path, "zeppelin") == {new}
    assert "every message is read" in notice(store.path, "zeppelin")
    assert store.index.catch_up()
    store.index.check()


def test_an_index_that_fails_only_when_it_is_committed_fails_nobody(store: OwnerStore, database: Database) -> None:
    """FTS5 keeps what it was told in memory until then."""
    script(database, f"UPDATE {WORDS}_data SET block = x'00' WHERE id = 10")
    assert found(store.path, "zeppelin") == set()
    new = say(store, "the zeppelin landed")
    assert found(store.path, "zeppelin") == {new}


def test_a_row_can_be_deleted_whose_index_entry_another_sqlite_made_otherwise(
    store: OwnerStore, database: Database
) -> None:
    """SQLite 3.40 and 3.54 divide a text behind a NUL differently: what the one put in, the other cannot take out."""
    script(database, "DELETE FROM messages WHERE id > 1")
    script(database, f"UPDATE {TRIGRAM}_content SET c0 = c0 || hex(randomblob(200))")
    with pytest.raises(StoreDamaged):
        Writer(database).run(lambda database: database.execute("DELETE FROM messages"))
    store.index.run(lambda database: database.execute("DELETE FROM messages"))
    assert database.value("SELECT count(*) FROM messages") == 0
    assert stale_tables(database) == {TRIGRAM}
    assert store.index.catch_up()
    store.index.check()


def test_a_damaged_table_is_not_taken_for_a_damaged_index(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    filled(path).close()
    database = Database(path, "owner")
    whole = catalogue(database)
    root = as_int(database.value("SELECT rootpage FROM sqlite_schema WHERE name = 'idx_messages_session'"))
    database.close()
    spoil(path, root)
    database = Database(path, "owner")
    index = SearchIndex(Writer(database), database)
    with pytest.raises(StoreDamaged) as raised:
        MessageWriter(index, lambda: NOW).append("s", NewMessage("user", "lost"))
    assert not isinstance(raised.value, IndexUnusable)
    assert catalogue(database) == whole
    assert stale_tables(database) == frozenset()
    assert database.notices == []
    database.close()


def test_what_fails_for_another_reason_fails_as_before(store: OwnerStore, database: Database) -> None:
    whole = catalogue(database)
    with pytest.raises(StoreDamaged, match="nowhere"):
        store.index.run(lambda database: database.execute("INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(SessionNotFound):
        store.messages.append("no session", NewMessage("user", "x"))
    with pytest.raises(UsageError, match="FOREIGN KEY"):
        store.index.run(lambda database: database.execute("UPDATE messages SET session_id = 'nobody'"))
    assert catalogue(database) == whole
    assert stale_tables(database) == frozenset()


def test_it_is_said_once_for_each_process_and_path(
    store: OwnerStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        script(database, f"DELETE FROM {WORDS}_data")
        say(store, "one")
        say(store, "two")
        script(database, f"DELETE FROM {TRIGRAM}_data")
        say(store, "three")
    assert len([record for record in caplog.records if str(store.path) in record.getMessage()]) == 1


def test_triggers_of_newer_layouts_are_let_go_of_too(tmp_path: Path) -> None:
    """Of a layout whose index Hermes alone can fill: it stays marked, and readers read."""
    path = tmp_path / "state.db"
    with HermesFile(path, 31) as hermes:
        session = hermes.session()
        hermes.message(session, content="before")
        hermes.sql(f"DELETE FROM {WORDS}_data")
    database = Database(path, "owner")
    index = SearchIndex(Writer(database), database)
    new = MessageWriter(index, lambda: NOW).append(session, NewMessage("user", "the zeppelin landed"))
    assert found(path, "zeppelin") == {new}
    assert index.state.status == "stale"
    assert not index.catch_up()
    assert found(path, "zeppelin") == {new}
    database.close()


def test_an_index_with_a_tokenizer_that_only_hermes_has_is_let_go_of_alone(
    store: OwnerStore, database: Database
) -> None:
    hermes = apsw.Connection(str(store.path))
    hermes.register_fts5_tokenizer("cjk_unicode61", lambda *_: lambda text, *_: [text.decode()])
    statements = (
        "CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content, tokenize='cjk_unicode61');"
        " CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages BEGIN"
        " INSERT INTO messages_fts_cjk(rowid, content) VALUES (new.id, new.content); END"
    )
    hermes.execute(statements).fetchall()
    hermes.close()
    new = say(store, "the zeppelin landed")
    assert stale_tables(database) == {"messages_fts_cjk"}
    assert triggers(database) == {name for table in schema.FTS_TABLES for name in triggers_of(table)}
    assert (found(store.path, "zeppelin"), notice(store.path, "zeppelin")) == ({new}, "")
    assert "no such tokenizer: cjk_unicode61" in store.notices[0]


def test_an_index_of_hermes_0_19_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with HermesFile(path, 22) as hermes:
        session = hermes.session()
        for content in ("first words", [{"type": "text", "text": "a monstera"}], None, b"\xff\xfe not text"):
            hermes.message(session, content=content)
        hermes.sql(f"DELETE FROM {TRIGRAM}_data")
    database = Database(path, "owner")
    index = SearchIndex(Writer(database), database)
    MessageWriter(index, lambda: NOW).append(session, NewMessage("user", "the zeppelin landed"))
    assert index.catch_up()
    index.check()
    assert indexed(database, TRIGRAM, "monstera") == [2]
    database.close()


def test_a_store_works_without_fts5_and_is_searched_through_its_index_once_there_is(tmp_path: Path) -> None:
    path = tmp_path / "own" / "state.db"
    without = """
store = own_store(sys.argv[1])
store.sessions.create("s", source="cli")
for text in ("the zeppelin landed", "数据库查询优化", "a third thing"):
    store.messages.append("s", NewMessage("user", text))
reader = open_store(sys.argv[1])
catalog = reader.sessions.catalog()
print([item.id for item in catalog])
print([message.text for message in reader.messages.get([1, 2, 3]).values()])
for query in ("zeppelin", "eppeli", "查询", "nothing"):
    result = reader.search.run(query, catalog)
    print([hit.message_id for item in result.conversations for hit in item.hits], result.notice != "")
print(store.index.state)
"""
    lines = run_without_fts5(path, without)
    assert lines[:2] == ["['s']", "['the zeppelin landed', '数据库查询优化', 'a third thing']"]
    assert lines[2:6] == ["[1] True", "[1] True", "[2] True", "[] True"]
    assert "no such module: fts5" in lines[6]

    store = own_store(path)
    assert store.index.state.status == "usable"
    store.index.check()
    database = Database(path)
    assert [indexed(database, table, "zeppelin") for table in schema.FTS_TABLES] == [[1], [1]]
    assert [found(path, query) for query in ("zeppelin", "eppeli", "查询", "nothing")] == [{1}, {1}, {2}, set()]
    assert notice(path, "zeppelin") == ""
    assert store.notices == ()
    fresh = create_store(tmp_path / "fresh.db")
    other = Database(fresh.path)
    assert catalogue(database) == catalogue(other)
    for each in (database, other, fresh, store):
        each.close()


def test_what_a_process_without_fts5_changed_is_made_up_for(store: OwnerStore, database: Database) -> None:
    """Of an index that was whole before, only what has changed is written again."""
    before = set(database.rows(f"SELECT id, block FROM {WORDS}_data WHERE id > 10"))
    code = """
store = own_store(sys.argv[1])
store.messages.append("s", NewMessage("user", "the zeppelin landed"))
store.index.run(lambda database: database.execute("UPDATE messages SET content = 'a yacht' WHERE id = 3"))
store.index.run(lambda database: database.execute("DELETE FROM messages WHERE id = 4"))
print(store.index.state)
"""
    assert run_without_fts5(store.path, code) == [
        f"IndexState(status='stale', reason='no such module: fts5', missing={1})"
    ]
    assert triggers(database) == set()
    new = say(store, "and another")
    assert found(store.path, "another") == {new}
    assert store.index.catch_up()
    store.index.check()
    assert [found(store.path, word) for word in ("zeppelin", "yacht", "another")] == [
        {MESSAGES + 1},
        {3},
        {MESSAGES + 2},
    ]
    assert indexed(database, WORDS, "parsers") == [id for id in range(1, MESSAGES + 1) if id not in (3, 4)]
    after = set(database.rows(f"SELECT id, block FROM {WORDS}_data WHERE id > 10"))
    assert before & after, "what was there has stayed"


def test_a_store_that_cannot_be_completed_here_stays_as_it_is(store: OwnerStore, database: Database) -> None:
    code = 'own_store(sys.argv[1]).messages.append("s", NewMessage("user", "the zeppelin landed"))'
    run_without_fts5(store.path, code)
    before = catalogue(database), database.rows("SELECT * FROM state_meta")
    assert run_without_fts5(store.path, "print(own_store(sys.argv[1]).index.catch_up())") == ["False"]
    assert (catalogue(database), database.rows("SELECT * FROM state_meta")) == before


def test_rows_written_while_hermes_has_put_its_triggers_back_are_not_taken_for_all(
    store: OwnerStore, database: Database
) -> None:
    run_without_fts5(store.path, 'own_store(sys.argv[1]).messages.append("s", NewMessage("user", "not indexed"))')
    script(database, ";".join(it.sql for it in schema.objects() if it.kind == "trigger"))
    new = say(store, "was indexed")
    assert indexed(database, WORDS, "indexed") == [new]
    assert found(store.path, "indexed") == {new - 1, new}
    assert store.index.state.status == "stale"
    assert store.index.catch_up()
    store.index.check()
    assert indexed(database, WORDS, "indexed") == [new - 1, new]


def test_what_the_triggers_of_hermes_indexed_with_a_nul_is_indexed_anew(store: OwnerStore, database: Database) -> None:
    """It may have used another SQLite, of which ours cannot take out again what it put in."""
    append = 'own_store(sys.argv[1]).messages.append("s", NewMessage("user", "without FTS5"))'
    run_without_fts5(store.path, append)
    with HermesFile(store.path.with_name("hermes.db"), 16) as hermes:
        theirs = hermes.sql("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
    script(database, ";".join(sql for (sql,) in theirs))
    new = say(store, "x")
    database.execute("UPDATE messages SET content = ? WHERE id = ?", ('\x00json:["a monstera"]', new))
    assert str(database.value(f"SELECT c0 FROM {TRIGRAM}_content WHERE id = ?", (new,))).startswith("\x00")
    for table in schema.FTS_TABLES:
        script(database, ";".join(f"DROP TRIGGER {name}" for name in triggers_of(table)))
    assert store.index.catch_up()
    store.index.check()
    assert indexed(database, TRIGRAM, "monstera") == [new]
    assert str(database.value(f"SELECT c0 FROM {TRIGRAM}_content WHERE id = ?", (new,))).startswith("json:")


@pytest.mark.parametrize("stored", ["{}", "[]", "no JSON", '{"claim": null, "tables": {"messages_fts": {"new": 1}}}'])
def test_a_mark_that_nobody_can_read_means_that_the_index_is_made_anew(
    store: OwnerStore, database: Database, stored: str
) -> None:
    session = store.sessions.create(source="cli")
    store.messages.append(session, NewMessage("user", "needle"))
    store._database.execute("INSERT INTO state_meta VALUES (?, ?)", (MARK, stored))
    assert store.index.state.status == "stale"
    assert store.index.catch_up()
    store.index.check()
    store.messages.append(session, NewMessage("user", "needle"))
    assert stale_tables(database) == frozenset()

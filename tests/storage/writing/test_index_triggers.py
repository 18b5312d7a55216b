"""The triggers keep both search indexes like the messages, whatever is done to those."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue, as_int
from hermes_sessions.storage.writing import rebuild, schema
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store
from tests.storage.writing.indexes import indexed, say

NASTY = [
    "",
    "\x00",
    "\x00json:[]",
    "NUL \x00 inside",
    "🦊👩‍👩‍👧 fox",
    "数据库查询优化",
    "half \ud83d a pair",
    "ÅǺ e\u0301",
    "\u202e",
    "a",
]
STORED = st.one_of(
    st.sampled_from([text for text in NASTY if "\ud83d" not in text]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.binary(max_size=20),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    st.none(),
)
SAID = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=60), st.none(), st.just([{"type": "text", "text": "monstera"}])
)
WHICH = st.integers(0, 50)


class AnySequence(RuleBasedStateMachine):
    """Appends, changes, deletions and rewinds in any order, by us and by whoever has SQL."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.store = create_store(Path(self.directory.name) / "state.db", durable=False)
        self.store.sessions.create("s", source="cli")
        self.database = Database(self.store.path, "owner")

    def id(self, which: int) -> int:
        ids = [as_int(id) for (id,) in self.database.rows("SELECT id FROM messages")]
        return ids[which % len(ids)] if ids else 0

    @rule(content=SAID, tool=st.sampled_from([None, "terminal", "词"]))
    def append(self, content: Any, tool: str | None) -> None:
        self.store.messages.append("s", NewMessage("user", content, tool_name=tool))

    @rule(contents=st.lists(SAID, max_size=4))
    def append_all(self, contents: list[Any]) -> None:
        self.store.messages.append_all("s", [NewMessage("user", content) for content in contents])

    @rule(which=WHICH, column=st.sampled_from(["content", "tool_name", "tool_calls"]), value=STORED)
    def change(self, which: int, column: str, value: SQLValue) -> None:
        self.database.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (value, self.id(which)))

    @rule(which=WHICH, column=st.sampled_from(["active", "timestamp", "reasoning"]))
    def change_what_is_not_indexed(self, which: int, column: str) -> None:
        before = [self.database.rows(f"SELECT * FROM {table}_data") for table in schema.FTS_TABLES]
        self.database.execute(f"UPDATE messages SET {column} = 0 WHERE id = ?", (self.id(which),))
        assert [self.database.rows(f"SELECT * FROM {table}_data") for table in schema.FTS_TABLES] == before

    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        self.database.execute("DELETE FROM messages WHERE id = ?", (self.id(which),))

    @rule(which=WHICH)
    def rewind(self, which: int) -> None:
        if self.id(which):
            self.store.messages.rewind("s", self.id(which))

    @rule()
    def make_anew(self) -> None:
        assert self.store.index.rebuild()

    @invariant()
    def both_indexes_hold_the_text_of_every_message(self) -> None:
        self.store.index.check()
        texts = self.database.rows(f"SELECT id, {rebuild.TEXT} FROM messages ORDER BY id")
        for table in schema.FTS_TABLES:
            assert self.database.rows(f"SELECT rowid, content FROM {table} ORDER BY rowid") == texts

    def teardown(self) -> None:
        self.database.close()
        self.store.close()
        self.directory.cleanup()


AnySequence.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestAnySequence = AnySequence.TestCase


def test_a_megabyte_in_one_line_is_indexed_changed_and_deleted(store: OwnerStore, database: Database) -> None:
    line = "".join(random.Random(1).choices("abcdefgh 数据库\x00🦊", k=1_000_000))
    id = say(store, line + " zeppelin")
    store.index.check()
    assert [indexed(database, table, "zeppelin") for table in schema.FTS_TABLES] == [[id], [id]]
    database.execute("UPDATE messages SET content = substr(content, 2) WHERE id = ?", (id,))
    store.index.check()
    database.execute("DELETE FROM messages WHERE id = ?", (id,))
    store.index.check()
    assert [indexed(database, table, "zeppelin") for table in schema.FTS_TABLES] == [[], []]

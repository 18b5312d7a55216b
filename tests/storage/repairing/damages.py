"""Damages, each made on a small store, and what a store says row by row.

A store is damaged in place, while nobody has it open. `pages_of` and the damages that take a page need SQLite's dbstat.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from hermes_sessions.storage import NewMessage, Usage, own_store
from tests.builders import NOW, HermesFile

PAGE = 4096
SESSIONS = 60
WORDS = ("deploy", "banana", "kubernetes", "Lötkolben", "日本語の検索", "refactor", "timeout")

Rows = dict[str, list[tuple[object, ...]]]


def our_store(path: Path) -> Path:
    """A store written by our own core."""
    clock = iter(range(int(NOW), int(NOW) + 100_000))
    store = own_store(path, clock=lambda: float(next(clock)), durable=False)
    parent = None
    for number in range(SESSIONS):
        session = store.sessions.create(f"s{number:03}", source="cli", parent_id=parent)
        store.sessions.set_title(session, f"Title {number}")
        store.messages.append_all(session, [NewMessage(*talk) for talk in _talk(number)])
        store.usage.add(session, Usage(estimated_usd=number / 100, status="estimated"))
        parent = session if number % 10 == 3 else None
    store.close()
    return path


def hermes_store(path: Path, version: int) -> Path:
    """A store in the layout of a release of Hermes."""
    with HermesFile(path, version) as file:
        for number in range(SESSIONS):
            session = file.session(
                f"s{number:03}", title=f"Title {number}", input_tokens=number, user_id=f"{number:040}"
            )
            for role, content in _talk(number):
                file.message(session, role, content)
            if number % 20 == 7:
                file.message(session, "user", [{"type": "text", "text": "what is in this picture"}])
    return path


def _talk(number: int) -> list[tuple[str, str]]:
    word = WORDS[number % len(WORDS)]
    text = " ".join(f"{word} {number} {part}" for part in range(2_000 if number % 25 == 11 else 40))
    return [("user", f"please {word} number {number}"), ("assistant", text), ("user", f"thanks {number}")]


def connect(path: Path) -> apsw.Connection:
    """A connection that reads and writes what it can, whatever the catalogue says."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.pragma("writable_schema", True)
    return connection


def run(path: Path, *statements: str) -> None:
    """Run statements and merge the log."""
    with closing(connect(path)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def contents(path: Path) -> Rows:
    """Every row of the tables that a person wrote to, in order."""
    found: Rows = {}
    with closing(connect(path)) as connection:
        for table in ("sessions", "messages", "state_meta", "schema_version"):
            if list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,))):
                found[table] = list(connection.execute(f"SELECT rowid, * FROM {table} NOT INDEXED ORDER BY rowid"))
    return found


def found_by_words(path: Path) -> dict[tuple[str, str], list[int]]:
    """What each search index answers to each word."""
    answers = {}
    with closing(connect(path)) as connection:
        for table in ("messages_fts", "messages_fts_trigram"):
            if list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,))):
                for word in (*WORDS, "thanks", "Titel"):
                    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
                    answers[table, word] = [id for (id,) in connection.execute(sql, (f'"{word}"',))]
    return answers


def pages_of(path: Path, name: str, kind: str) -> list[int]:
    """Numbers of the pages of a table or index; `kind` is leaf, internal or overflow."""
    with closing(connect(path)) as connection:
        sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path"
        return [page for (page,) in connection.execute(sql, (name, kind))]


def overwrite(path: Path, offset: int, content: bytes) -> None:
    """Write bytes over others."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def flip(path: Path, page: int, start: int = 0, length: int = 200) -> None:
    """Turn all bits of a part of a page."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE + start)
        old = file.read(length)
        file.seek((page - 1) * PAGE + start)
        file.write(bytes(byte ^ 0xFF for byte in old))


def zero(path: Path, page: int) -> None:
    """Nothing but zeros on a page."""
    overwrite(path, (page - 1) * PAGE, bytes(PAGE))


def cut(path: Path, share: float) -> None:
    """Leave the first part of a file, up to the end of a page."""
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        file.truncate(int(pages * share) * PAGE)


def doubled(path: Path) -> None:
    run(path, "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'messages_fts'")


def doubled_table(path: Path) -> None:
    run(path, "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name IN ('sessions', 'idx_sessions_source')")


def emptied_index(path: Path) -> None:
    run(path, "DELETE FROM messages_fts_data")


def garbled_index(path: Path) -> None:
    run(
        path,
        "UPDATE messages_fts_data SET block = randomblob(length(block))"
        " WHERE id = (SELECT max(id) FROM messages_fts_data)",
    )


def half_an_index(path: Path) -> None:
    """The entries of shadow tables are gone from the catalogue; their pages belong to nobody."""
    run(path, "DELETE FROM sqlite_schema WHERE name IN ('messages_fts_data', 'messages_fts_idx')")


def no_index(path: Path) -> None:
    """The triggers write to what is not there."""
    run(path, "DELETE FROM sqlite_schema WHERE type = 'table' AND name GLOB 'messages_fts*'")


def rows_missing_from_an_index(path: Path) -> None:
    """An ordinary index lacks what was written while the catalogue did not have it."""
    entry = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE name = 'idx_messages_session'"
    with closing(connect(path)) as connection:
        ((*values,),) = connection.execute(entry)
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'idx_messages_session'")
    with closing(connect(path)) as connection:
        connection.execute("UPDATE messages SET timestamp = timestamp + 0.5 WHERE id % 5 = 0")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", values)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def page_of(name: str, kind: str, which: float, harm: Callable[[Path, int], None]) -> Callable[[Path], None]:
    """Harm done to one page of a table or index, `which` of the way through them."""

    def damage(path: Path) -> None:
        pages = pages_of(path, name, kind)
        harm(path, pages[int(which * (len(pages) - 1))])

    return damage


def no_catalogue(path: Path) -> None:
    """Nothing says any more what is where: the first page, and those that it leads to."""
    for page in [page for kind in ("internal", "leaf") for page in pages_of(path, "sqlite_schema", kind)]:
        zero(path, page)


def no_tables(path: Path) -> None:
    """The catalogue does not have the tables any more; all else is there."""
    run(path, "DELETE FROM sqlite_schema WHERE type = 'table' AND name IN ('sessions', 'messages')")


def no_roots(path: Path) -> None:
    """No tree leads to a row any more, nor does an index say which there were."""
    with closing(connect(path)) as connection:
        sql = "SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('sessions', 'messages') AND rootpage > 0"
        roots = [root for (root,) in connection.execute(sql)]
    for root in roots:
        if path.stat().st_size and kind_of(path, root) in (2, 5):
            zero(path, root)


def kind_of(path: Path, page: int) -> int:
    """The first byte of a page: 2 and 5 lead to others, 10 and 13 are leaves."""
    with path.open("rb") as file:
        file.seek((page - 1) * PAGE)
        return file.read(1)[0]


def columns(path: Path, table: str) -> list[dict[str, object]]:
    """The rows of a table with the names of their columns."""
    with closing(connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        return [dict(zip(names, row, strict=True)) for row in connection.execute(f"SELECT * FROM {table} NOT INDEXED")]


def strictly(path: Path) -> None:
    """Raise what FTS5 says of a search index that is not what its text is."""
    with closing(connect(path)) as connection:
        for table in ("messages_fts", "messages_fts_trigram"):
            if list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,))):
                connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")


BINDINGS = "telegram_dm_topic_bindings"


def with_other_tables(path: Path) -> Path:
    """A store with tables that this program knows nothing of."""
    run(
        path,
        f"CREATE TABLE {BINDINGS} (chat_id TEXT NOT NULL, session_id TEXT, linked_at REAL, PRIMARY KEY (chat_id))",
        f"INSERT INTO {BINDINGS} VALUES ('77', 's003', 1.5), ('78', 's004', 2.5)",
        "CREATE TABLE messages_ftsnotes (note)",
        "INSERT INTO messages_ftsnotes VALUES ('precious')",
    )
    return path


def redefine(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Other words in the definition of one object."""
    sql = f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'"
    return lambda path: run(path, sql)


def rename(kind: str, old: str, new: str) -> Callable[[Path], None]:
    """Another name in the catalogue, beside the definition that has the old one."""
    sql = f"UPDATE sqlite_schema SET name = '{new}', tbl_name = '{new}' WHERE type = '{kind}' AND name = '{old}'"
    return lambda path: run(path, sql)


def swapped_pages(path: Path) -> None:
    """A page of sessions lies where one of messages should be, and the other way round."""
    first, second = pages_of(path, "messages", "leaf")[2], pages_of(path, "sessions", "leaf")[0]
    content = path.read_bytes()
    pages = [content[(page - 1) * PAGE : page * PAGE] for page in (first, second)]
    overwrite(path, (first - 1) * PAGE, pages[1])
    overwrite(path, (second - 1) * PAGE, pages[0])


def swapped_roots(path: Path) -> None:
    """The catalogue says of sessions where messages begin, and the other way round."""
    roots = "SELECT sum(rootpage) FROM sqlite_schema WHERE type = 'table' AND name IN ('sessions', 'messages')"
    where = "WHERE type = 'table' AND name IN ('sessions', 'messages')"
    run(path, f"UPDATE sqlite_schema SET rootpage = ({roots}) - rootpage {where}")


def shared_root(path: Path) -> None:
    """The catalogue says of sessions where messages begin."""
    root = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'messages'"
    run(path, f"UPDATE sqlite_schema SET rootpage = ({root}) WHERE type = 'table' AND name = 'sessions'")


def without_unique(path: Path, index: str, *statements: str) -> None:
    """Run statements that a unique index would not let pass, as if it had been damaged."""
    with closing(connect(path)) as connection:
        ((sql,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,))
        plain = str(sql).replace("UNIQUE ", "", 1)
        update = "UPDATE sqlite_schema SET sql = ? WHERE name = ?"
        connection.execute(f"DROP INDEX {index}").fetchall()
        connection.execute(plain).fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.execute(update, (sql, index)).fetchall()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def overwrite_text(path: Path, table: str, old: str, new: str) -> None:
    """Another text of the same length on the pages of a table, and not in its indexes."""
    content = path.read_bytes()
    for page in pages_of(path, table, "leaf"):
        found = content[(page - 1) * PAGE : page * PAGE].find(old.encode())
        if found >= 0:
            overwrite(path, (page - 1) * PAGE + found, new.encode())

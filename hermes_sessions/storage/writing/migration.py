"""Bringing an older store of ours to the present schema, and telling whether it needs that.

The declaration decides, not the number: what is missing is made, and what differs is replaced, until `sqlite_schema` of
the file says the same as that of a new one. All of it is one write transaction, so that nobody meets a half and the end
of the process takes nothing along. What the declaration does not know is kept: tables, indexes and triggers of others
as they are, unknown columns behind the declared ones.

Search indexes that are missing or not as declared are made and filled in the same transaction. Those that only lack
what feeds them were let go of by `index`, which completes them in its own way.
"""

from __future__ import annotations

import re
import secrets
from typing import Literal

import apsw

from hermes_sessions.errors import StoreDamaged, UsageError
from hermes_sessions.storage.database import DAMAGE_HINT, Database
from hermes_sessions.storage.values import as_int, as_text
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.index_mark import mark_unmarked, triggers_of
from hermes_sessions.storage.writing.rebuild import TEXT, Progress, drop_table
from hermes_sessions.storage.writing.titles import MAX_LENGTH, shorten
from hermes_sessions.storage.writing.writer import Writer

Standing = Literal["empty", "older", "current", "newer"]
ROWS_AT_ONCE = 2_000
ORPHANED = "__orphaned__"
"""What Hermes 0.17 puts in place of a parent that it can only guess was there."""

_TYPE = re.compile(r"[\w ]*(?:\([\d, +-]+\))?", re.ASCII)
_LITERAL = re.compile(r"[+-]?[\d.]+|'(?:[^']|'')*'|NULL|CURRENT_\w+", re.IGNORECASE)


def standing(database: Database) -> Standing:
    """How a file stands to the present schema: a newer one says so itself, any other is compared with it.

    Raises StoreDamaged for the database of another program.
    """
    if not _catalogue(database):
        return "empty"
    _require_session_store(database)
    if _version(database) > schema.VERSION:
        return "newer"
    return "older" if _differing(database) or _version(database) < schema.VERSION else "current"


def migrate(database: Database, writer: Writer, progress: Progress | None = None) -> None:
    """Make the file as `schema.sql` declares it, from nothing or any version up to ours; a newer one stays as it is.

    What a person should know is added to `database.notices`. Raises StoreBusy, StoreUnreadable when the disk is full,
    StoreDamaged when the rows cannot be read or copied; the file is as before then.
    """
    # Both are told to the connection before the transaction, where SQLite listens. A table may then be put in another's
    # place without the rows that refer to it being followed, and without references being bent to its old name.
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute("PRAGMA legacy_alter_table = ON")
    try:
        notices = writer.run(lambda database: _bring_up(database, progress))
    except UsageError as error:  # two rows of one id, for instance
        raise StoreDamaged(f"{database.path} cannot be brought up to date: {error.message}", DAMAGE_HINT) from error
    finally:
        database.execute("PRAGMA legacy_alter_table = OFF")
        database.execute("PRAGMA foreign_keys = ON")
        database.forget_layout()
    database.notices += notices


def _bring_up(database: Database, progress: Progress | None) -> list[str]:
    database.forget_layout()
    match standing(database):
        case "empty":
            schema.create(database)
            mark_unmarked(database)
            return []
        case "newer" | "current":
            # Another process was first.
            return []
    version = _version(database)
    differing = _differing(database)
    let_go = _clear_the_way(database, differing)
    work = _Work(database, differing, progress)
    for declared in schema.objects():
        if declared.kind == "table" and declared.index is None and declared.name in differing:
            work.make_table(declared)
    notices = _number_equal_titles(database)
    for declared in schema.objects():
        if declared.kind == "index":
            database.execute(declared.sql.replace(" INDEX ", " INDEX IF NOT EXISTS ", 1))
    if version < 16:
        _tag_delegates(database)
    for table in work.indexes_to_fill:
        work.make_index(table)
    for statement in let_go:
        database.execute(statement)
    database.execute("DELETE FROM schema_version")
    database.execute("INSERT INTO schema_version (version) VALUES (?)", (schema.VERSION,))
    mark_unmarked(database)
    return notices


# What the file has.


def _catalogue(database: Database) -> dict[str, str]:
    """CREATE text of everything in the file, by name, but for what SQLite makes by itself."""
    rows = database.rows("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    return {str(name): str(sql or "") for name, sql in rows}


def _require_session_store(database: Database) -> None:
    """Tables that hold what cannot be made up (ids, times, roles), or some of ours and none of anybody else's."""
    tables = {
        str(name)
        for (name,) in database.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
    }
    ours = {declared.name for declared in schema.objects() if declared.kind == "table"}
    missing = {"sessions", "messages"} - tables
    strangers = {name for name in tables - ours if not name.startswith(schema.FTS_TABLES[0])}
    if missing and (strangers or not tables):
        what = f"it has no table {' and no '.join(sorted(missing))}"
    else:
        lacking = [
            f"{table}.{column.name}"
            for table in ("schema_version", "sessions", "messages")
            if table in tables
            for column in schema.columns(table)
            if (column.key or (column.required and column.default is None)) and not database.has(table, column.name)
        ]
        if not lacking:
            return
        what = f"it has no column {' and no '.join(lacking)}"
    raise StoreDamaged(
        f"{database.path} is a database, but no session store: {what}.", "Nothing was changed. Choose another file."
    )


def _version(database: Database) -> int:
    if not database.has("schema_version", "version"):
        return 0
    return as_int(database.value("SELECT max(CAST(version AS INTEGER)) FROM schema_version"))


def _differing(database: Database) -> set[str]:
    """Names of the declared objects that the file lacks or has otherwise.

    Of the search indexes only what is there otherwise counts: what is missing may have been let go of by `index`.
    """
    catalogue = _catalogue(database)
    differing = set()
    for declared in schema.objects():
        found = catalogue.get(declared.name)
        if found == declared.sql:
            continue
        if declared.index is None:
            same = declared.kind == "table" and found is not None and found == _creation_text(database, declared)
        else:
            same = found is None or (declared.kind == "table" and not schema.can_index(database, declared.name))
        if not same:
            differing.add(declared.name)
    return differing


def _creation(database: Database, declared: schema.Object) -> list[str]:
    """The statements that make a declared table with the unknown columns of the one in the file behind its own."""
    known = {column.name.lower() for column in schema.columns(declared.name)}
    rows = database.rows("SELECT name, type, [notnull], dflt_value FROM pragma_table_xinfo(?)", (declared.name,))
    statements = [declared.sql]
    for name, kind, required, default in rows:
        if str(name).lower() not in known:
            definition = f"{_quoted(str(name))} {kind!s}" if _TYPE.fullmatch(str(kind)) else _quoted(str(name))
            if required:
                definition += " NOT NULL"
            if default is not None:
                definition += f" DEFAULT {default!s}" if _LITERAL.fullmatch(str(default)) else f" DEFAULT ({default!s})"
            statements.append(f"ALTER TABLE {declared.name} ADD COLUMN {definition}")
    return statements


def _creation_text(database: Database, declared: schema.Object) -> str:
    """What `sqlite_schema` says of a table made by `_creation`; nothing when it cannot be made."""
    scratch = apsw.Connection(":memory:")
    try:
        for statement in _creation(database, declared):
            scratch.execute(statement)
    except apsw.Error:
        # Said when it is tried in the file itself.
        return ""
    ((text,),) = scratch.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (declared.name,))
    return str(text)


# What is done about it.


def _clear_the_way(database: Database, differing: set[str]) -> list[str]:
    """Drop what is not as declared but for tables with rows; return the statements that bring back what is to stay.

    A table that is made anew takes its indexes and triggers along. The search index goes as a whole, where its table or
    one of its triggers differs: what other triggers, or another SQLite, put in there is not what ours take out.
    """
    searched = {table for table in schema.FTS_TABLES if differing & {table, *triggers_of(table)}}
    to_drop = differing.union(*(triggers_of(table) for table in searched))
    declared_indexes = {declared.name for declared in schema.objects() if declared.kind == "index"}
    statements = []
    for kind, name, table, sql in database.rows(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
    ):
        if name in to_drop or table in differing:
            database.execute(f"DROP {kind!s} {_quoted(str(name))}")
            if name not in to_drop | declared_indexes:
                statements.append(str(sql))
    for table in searched:
        if schema.can_index(database, table):
            drop_table(database, table)
    return statements


class _Work:
    """What takes long: tables copied into others, search indexes filled. Says how far it is."""

    def __init__(self, database: Database, differing: set[str], progress: Progress | None):
        catalogue = _catalogue(database)
        missing = (table for table in schema.FTS_TABLES if table not in catalogue)
        self.indexes_to_fill = [table for table in missing if schema.can_index(database, table)]
        self._database = database
        self._there = catalogue.keys()
        self._progress = progress
        self._done = 0
        to_read = [it.name for it in schema.objects() if it.kind == "table" and it.name in differing & catalogue.keys()]
        if "messages" in catalogue:
            to_read += ["messages"] * len(self.indexes_to_fill)
        self._total = sum(as_int(database.value(f"SELECT count(*) FROM {table}")) for table in to_read)

    def make_table(self, declared: schema.Object) -> None:
        """Make a table that is missing, or put one as declared in the place of one that is not, with all its rows.

        SQLite cannot move or retype a column, hence the copy. The old table is renamed and not, as SQLite's
        documentation has it, the new one: that would leave the name in quotes in `sqlite_schema`. What the
        documentation warns of is held off by `legacy_alter_table`.
        """
        database, table = self._database, declared.name
        if table not in self._there:
            database.execute(declared.sql)
            return
        creation = _creation(database, declared)
        old = f"{table}_{secrets.token_hex(4)}"
        database.execute(f"ALTER TABLE {table} RENAME TO {old}")
        for statement in creation:
            database.execute(statement)
        database.forget_layout()
        known = {column.name: column for column in schema.columns(table)}
        names = [name for name in _columns(database, table) if name.lower() in map(str.lower, _columns(database, old))]
        values = [_value_of(_quoted(name), known.get(name)) for name in names]
        self._run_in_parts(
            old, f"INSERT INTO {table} ({', '.join(map(_quoted, names))}) SELECT {', '.join(values)} FROM {old}"
        )
        if "AUTOINCREMENT" in declared.sql:
            # No id that was ever given may come again.
            given = database.value("SELECT max(seq) FROM sqlite_sequence WHERE name IN (?, ?)", (table, old))
            database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, given or 0))
        database.execute(f"DROP TABLE {old}")

    def make_index(self, table: str) -> None:
        """Make a search index, fill it from the messages, and have it kept up from then on."""
        for declared in schema.objects():
            if declared.name == table:
                self._database.execute(declared.sql)
                self._run_in_parts("messages", f"INSERT INTO {table} (rowid, content) SELECT id, {TEXT} FROM messages")
            elif declared.index == table:
                self._database.execute(declared.sql)

    def _run_in_parts(self, table: str, statement: str) -> None:
        """Run a statement that reads a table on some rows at a time, in their order."""
        database = self._database
        first = database.value(f"SELECT min(rowid) FROM {table}")
        while first is not None:
            part = f"SELECT rowid FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT {ROWS_AT_ONCE}"
            count, last = database.rows(f"SELECT count(*), max(rowid) FROM ({part})", (first,))[0]
            database.execute(f"{statement} WHERE rowid BETWEEN ? AND ? ORDER BY rowid", (first, last))
            first = database.value(f"SELECT min(rowid) FROM {table} WHERE rowid > ?", (last,))
            self._done += as_int(count)
            if self._progress:
                self._progress(self._done, self._total)


def _columns(database: Database, table: str) -> list[str]:
    """Names of a table's columns, in order; generated ones, which `Database.columns` leaves out, among them."""
    return [str(name) for (name,) in database.rows("SELECT name FROM pragma_table_xinfo(?)", (table,))]


def _value_of(name: str, column: schema.Column | None) -> str:
    """The expression a column is copied with: where there must be a value, NULL becomes the default, or nothing."""
    if column is None or not column.required:
        return name
    nothing = "''" if column.type == "TEXT" else "0"
    return f"COALESCE({name}, {column.default or nothing})"


def _number_equal_titles(database: Database) -> list[str]:
    """Make titles unique, which files older than their index need not be; return what to say about it.

    The session that was started last keeps its title. Others get one in brackets: with Hermes' " #2" they would read as
    parts of one conversation, and the title would lead to them.
    """
    database.execute("UPDATE sessions SET title = NULL WHERE title = ''")
    taken = {title for (title,) in database.rows("SELECT title FROM sessions WHERE title IS NOT NULL")}
    doubled = database.rows(
        "SELECT rowid, title FROM (SELECT rowid, title, row_number() OVER"
        " (PARTITION BY title ORDER BY started_at DESC, rowid DESC) AS place FROM sessions WHERE title IS NOT NULL)"
        " WHERE place > 1 ORDER BY title, place"
    )
    for rowid, title in doubled:
        number = 2
        while (numbered := _numbered(as_text(title) or "", number)) in taken:
            number += 1
        taken.add(numbered)
        database.execute("UPDATE sessions SET title = ? WHERE rowid = ?", (numbered, rowid))
    if not doubled:
        return []
    return [
        f"{len(doubled):,} titles of {database.path} belonged to more than one session. The newest keeps it, the others"
        f" got a number, as in “{numbered}”."
    ]


def _numbered(title: str, number: int) -> str:
    suffix = f" ({number})"
    return shorten(title, MAX_LENGTH - len(suffix)) + suffix


def _tag_delegates(database: Database) -> None:
    """Mark the sessions of subagents, as Hermes 0.17 does when it brings a file to version 16.

    A child that is neither a branch nor a continuation was started by its parent. An untitled session without parent
    and children that is short and used tools was most likely started by one that is gone. What is no JSON object in
    `model_config` is left alone.
    """
    database.execute(
        f"""
        UPDATE sessions AS child SET model_config = json_set(COALESCE(model_config, '{{}}'), '$._delegate_from',
            parent_session_id)
        WHERE parent_session_id IS NOT NULL AND {UNMARKED} AND NOT EXISTS (
            SELECT 1 FROM sessions parent WHERE parent.id = child.parent_session_id
            AND parent.end_reason IN ('branched', 'compression') AND child.started_at >= parent.ended_at)"""
    )
    database.execute(
        f"""
        UPDATE sessions AS lone SET model_config = json_set(COALESCE(model_config, '{{}}'), '$._delegate_from', ?)
        WHERE parent_session_id IS NULL AND title IS NULL AND message_count <= 25 AND {UNMARKED}
            AND EXISTS (SELECT 1 FROM messages WHERE session_id = lone.id AND role = 'tool')
            AND NOT EXISTS (SELECT 1 FROM sessions child WHERE child.parent_session_id = lone.id)""",
        (ORPHANED,),
    )


UNMARKED = """
    CASE WHEN model_config IS NULL THEN 1 WHEN json_valid(model_config) THEN json_type(model_config) = 'object'
        AND json_extract(model_config, '$._delegate_from') IS NULL
        AND json_extract(model_config, '$._branched_from') IS NULL
    ELSE 0 END"""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

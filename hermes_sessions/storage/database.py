"""One connection to one file: how it is opened, how rows are read, what SQLite's errors mean here.

A reader never writes, never creates the file, and holds no transaction once its rows are fetched. What the
rows mean is for the tables' own modules.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import apsw

from hermes_sessions.errors import (
    IndexUnusable,
    Interrupted,
    ReadOnlyStore,
    SessionsError,
    StoreBusy,
    StoreDamaged,
    StoreReplaced,
    StoreUnreadable,
    UsageError,
)
from hermes_sessions.storage.lock_holder import lock_holder
from hermes_sessions.storage.store_file import Identity, check_readable, check_there, identity_of
from hermes_sessions.storage.undecodable import undecodable_rows
from hermes_sessions.storage.values import SQLValue

if TYPE_CHECKING:
    from hermes_sessions.storage.remains import Remains

Mode = Literal["reader", "owner"]
Row = tuple[SQLValue, ...]

BUSY_TIMEOUT_MS = 5_000
CACHE_KIB = 4_000
VOCABULARY = "temp.trigram_vocabulary"
"""The terms of the trigram index. It must be made before `query_only` and lives in the connection's own memory."""

UNREADABLE = (apsw.CorruptError, apsw.TooBigError, apsw.NoMemError)
"""What a damaged page may raise: a row on it may claim to have any length."""

IO_RETRIES = 3
IO_RETRY_SECONDS = 0.05


class Database:
    """A connection that answers with whole lists of rows. One thread owns it; only `interrupt` is for any thread.

    Raises StoreMissing, StoreUnreadable, ReadOnlyStore, StoreDamaged or StoreBusy when the file cannot be opened in
    `mode`. An owner does not make the file either: who creates it decides who may read it (`writing.place`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "reader",
        *,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        partial: bool = False,
    ):
        self.path = Path(path)
        self.mode = mode
        self._partial = partial
        self.has_whole_catalogue = True
        self.notices: list[str] = []
        self.losses: Mapping[str, str] = {}
        """What of the file could not be read, by the names of tables, and the command that may help. For any thread."""
        self._layout_version: SQLValue = None
        check_there(self.path)
        self._watched = (self.path.absolute(), Path(f"{os.path.realpath(self.path)}-wal"))
        self._identity = identity_of(self._watched[0])
        if mode == "owner":
            self._log_identity: Identity | None = None
        with self._translated():
            self.connection = self._open(busy_timeout_ms)

    def rows(self, sql: str, params: Sequence[SQLValue] = ()) -> list[Row]:
        """All rows of a statement. Text that is not UTF-8 comes back with U+FFFD, and hides no other row.

        Raises Interrupted, StoreBusy, StoreDamaged and the other errors of the tree.
        """
        with self._translated():
            if self._has_remains:
                self.remains.follow()
            retries = IO_RETRIES if self.mode == "reader" else 0
            while True:
                try:
                    return self._fetch(sql, params)
                except apsw.IOError:
                    # Hermes documents passing I/O errors while another process restarts its WAL.
                    if not retries:
                        raise
                    retries -= 1
                    time.sleep(IO_RETRY_SECONDS)
                except UNREADABLE:
                    if not self._partial or not self.remains.stand_in(sql):
                        raise

    def row(self, sql: str, params: Sequence[SQLValue] = ()) -> Row | None:
        """The first row of a statement, or None."""
        return next(iter(self.rows(sql, params)), None)

    def value(self, sql: str, params: Sequence[SQLValue] = ()) -> SQLValue:
        """The first column of the first row, or None."""
        row = self.row(sql, params)
        return None if row is None else row[0]

    def execute(self, sql: str, params: Sequence[SQLValue] = ()) -> None:
        """Run a statement to its end for its effect."""
        with self._translated():
            for _ in self.connection.execute(sql, params):
                pass

    @cached_property
    def tables(self) -> Mapping[str, str]:
        """CREATE text of every table and view, by name. Layout is detected from it, never from a version number."""
        asked = "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view')"
        try:
            texts = {str(name): str(sql or "") for name, sql in self.rows(asked)}
        except StoreDamaged:
            if self.has_whole_catalogue:
                raise
            texts = {}
        if self.has_whole_catalogue or not self._partial:
            return texts
        # Only what SQLite itself could make of it, and what was put in the place of a table that is lost.
        names = "SELECT name FROM pragma_table_list WHERE schema IN ('main', 'temp') AND name NOT GLOB 'sqlite_*'"
        return {str(name): texts.get(str(name), "") for (name,) in self.rows(names)}

    def columns(self, table: str) -> frozenset[str]:
        """Names of a table's columns; empty when there is no such table."""
        if table not in self._columns:
            rows = self.rows("SELECT name FROM pragma_table_info(?)", (table,))
            self._columns[table] = frozenset(str(name) for (name,) in rows)
        return self._columns[table]

    @cached_property
    def _columns(self) -> dict[str, frozenset[str]]:
        return {}

    def has(self, table: str, column: str) -> bool:
        return column in self.columns(table)

    @cached_property
    def has_vocabulary(self) -> bool:
        """True when the trigram index's terms can be listed."""
        return bool(self.value("SELECT 1 FROM temp.sqlite_schema WHERE name = 'trigram_vocabulary'"))

    @cached_property
    def remains(self) -> Remains:
        """What stands in for damaged tables; made when one is met."""
        from hermes_sessions.storage.remains import Remains

        return Remains(self.connection, self.say_lost)

    @property
    def _has_remains(self) -> bool:
        return "remains" in self.__dict__

    def is_partial(self, table: str) -> bool:
        """Whether only what could be read of a table is answered with."""
        return self._has_remains and self.remains.has(table)

    def make_up(self, table: str) -> None:
        """Put what others tell of it in the place of a table that a damaged catalogue has lost."""
        with self._translated():
            self.remains.make_up(table)
        self.forget_layout()

    def say_lost(self, table: str, words: str) -> None:
        """Have it known that a table cannot be read, or no longer so when there are no words for it."""
        from hermes_sessions.storage.index_health import repair_command

        others = {name: loss for name, loss in self.losses.items() if name != table}
        # Another mapping each time: other threads read it.
        self.losses = others | ({table: f"{words} Try `{repair_command(self.path)}`."} if words else {})

    def forget_layout(self) -> None:
        """Look at tables and columns again when next asked: to be called after they were changed."""
        self.__dict__.pop("tables", None)
        self._columns.clear()

    def follow_layout(self) -> None:
        """Look at tables and columns again if another program has changed them since (PRAGMA schema_version)."""
        version = self.value("PRAGMA schema_version")
        if version != self._layout_version:
            self.forget_layout()
            self._layout_version = version

    def check_still_there(self) -> None:
        """Raise StoreReplaced when the path, or the log beside it, no longer names the file this owner has open.

        To be called in a write transaction before anything is written, and at the end. A file that was deleted or moved
        stays open and takes writes that nobody will ever find. Only the directory is asked (two `stat`, about 5 µs): to
        open and close the file would drop this process's locks on it. SQLite itself never deletes a log that is in use.
        """
        file, log = (identity_of(path) for path in self._watched)
        # In a transaction the log is there, unless the file is kept without one.
        self._log_identity = self._log_identity or log
        if file == self._identity and log == self._log_identity:
            return
        if file == self._identity:
            what = f"The write-ahead log of {self.path} was deleted or replaced"
        else:
            what = f"{self.path} {'is no longer there' if file is None else 'is now another file'}"
        raise StoreReplaced(
            f"{what} while this program had it open; nothing was written.",
            "Find out what did it and undo it if it was a mistake. Then open the store again.",
        )

    @property
    def replaced(self) -> bool:
        """Whether the path names another file now, as after a repair: the one that is open changes no more."""
        return identity_of(self._watched[0]) not in (None, self._identity)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        with self._translated():
            return self.connection.in_transaction

    def data_version(self) -> int:
        """A number that changes when another connection has committed (PRAGMA data_version), or the file is another."""
        self.follow_layout()
        return hash((self._identity, self.value("PRAGMA data_version")))

    def interrupt(self) -> None:
        """Make the running statement, if any, raise Interrupted. May be called from any thread."""
        self.connection.interrupt()

    def close(self) -> None:
        if self.mode == "owner":
            try:
                self.check_still_there()
            except StoreReplaced:
                with suppress(apsw.ConnectionClosedError):
                    # SQLite would delete the log by its name, which may be that of another file by now, in use.
                    self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self.connection.close()

    def _open(self, busy_timeout_ms: int) -> apsw.Connection:
        if self.mode == "owner":
            connection = apsw.Connection(str(self.path.absolute()), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                _prepare_owner(connection, busy_timeout_ms)
            except BaseException:
                connection.close()
                raise
            return connection
        connection = apsw.Connection(str(self.path.absolute()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            _prepare_reader(connection, busy_timeout_ms)
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            connection.close()
            if _is_cut_off(error):
                raise
            connection = self._open_unchanging()
            _prepare_reader(connection, busy_timeout_ms)
        except apsw.CorruptError as error:
            if not self._partial and "malformed database schema" not in str(error):
                raise
            # A bad entry or page of the catalogue, or an end that was cut off, stops every statement; under this flag
            # SQLite reads on without them. The connection cannot write, so nothing can be changed by it.
            connection.pragma("writable_schema", True)
            _prepare_reader(connection, busy_timeout_ms)
            self.has_whole_catalogue = False
            from hermes_sessions.storage.index_health import repair_command

            what = "The catalogue of the file" if "schema" in str(error) else "The file"
            self.notices.append(f"{what} is damaged ({error}). Try `{repair_command(self.path)}`.")
        return connection

    def _open_unchanging(self) -> apsw.Connection:
        """Open a WAL file in a directory where its `-shm` can neither be found nor made.

        Without a `-wal` no process is using the file and nothing is missing from it, so it may be read as one
        that does not change. With one, its committed rows would be missing: refuse.
        """
        check_readable(self.path)
        wal = Path(f"{self.path}-wal")
        if wal.exists() and wal.stat().st_size:
            raise StoreUnreadable(
                f"{self.path} has unmerged changes in {wal.name}, and its directory may not be written.",
                "Copy the file together with its -wal to a directory of yours and name the copy with --db.",
            )
        self.notices.append("The directory may not be written: changes made while this is open are not seen.")
        uri = f"file:{quote(str(self.path.absolute()))}?mode=ro&immutable=1"
        return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _fetch(self, sql: str, params: Sequence[SQLValue]) -> list[Row]:
        cursor = self.connection.cursor()
        try:
            return cursor.execute(sql, params).fetchall()
        except UnicodeDecodeError:
            cursor.close(True)
            return undecodable_rows(self.connection, sql, params)
        finally:
            cursor.close(True)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise self._meaning(error) from error
        except (UnicodeEncodeError, OverflowError, TypeError) as error:  # in binding what a caller gave
            raise UsageError(f"This cannot be stored: {error}.", "Nothing was written.") from error

    def _meaning(self, error: apsw.Error) -> SessionsError:
        match error:
            case apsw.InterruptError():
                return Interrupted()
            case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
                # A `Writer` asks often and names the holder once, when it gives up.
                holder = lock_holder(self.path) if self.mode == "reader" else None
                return StoreBusy(
                    f"{self.path} stayed locked by {holder or 'another program'}.", "Try again when it has finished."
                )
            case apsw.ReadOnlyError() if _is_cut_off(error):
                return StoreUnreadable(
                    f"A program stopped while it wrote to {self.path}; what it left is in {self.path.name}-journal.",
                    "Start Hermes once: it takes the half change back. Do not delete the journal: the file needs it.",
                )
            case apsw.ReadOnlyError():
                return ReadOnlyStore(
                    f"{self.path} may not be written.", "Check who owns the file and its -wal and -shm."
                )
            case apsw.ConstraintError() | apsw.TooBigError():
                return UsageError(f"{self.path} does not take this: {error}.", "Nothing was written.")
            case apsw.ConnectionClosedError() | apsw.ThreadingViolationError():
                return UsageError(f"{self.path} is not open in this thread: {error}.", "One thread owns an open store.")
            case apsw.NotADBError():
                return StoreDamaged(f"{self.path} is not a SQLite database.", DAMAGE_HINT)
            case apsw.CorruptError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
                return IndexUnusable(f"A search index of {self.path} is damaged: {error}.", INDEX_HINT)
            case apsw.CorruptError():
                return StoreDamaged(f"{self.path} is damaged: {error}.", DAMAGE_HINT)
            case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
                return StoreUnreadable(
                    f"{self.path} cannot be opened: {error}.", "Check the permissions of the file and its directory."
                )
            case apsw.FullError():
                return StoreUnreadable(
                    f"There is no room left for {self.path}; nothing was written.",
                    "Free some space on its disk and try again. What was stored before is whole.",
                )
            case apsw.IOError() | apsw.NoMemError():
                what = "read" if self.mode == "reader" else "read or written"
                return StoreUnreadable(f"{self.path} cannot be {what}: {error}.", "Check the disk and try again.")
            case _:
                return StoreDamaged(f"{self.path} does not answer as a session store: {error}.", DAMAGE_HINT)


DAMAGE_HINT = (
    "Nothing was changed. Keep a copy of the file with its -wal, then look at it with `hermes-sessions doctor`."
)

INDEX_HINT = "Sessions and messages are not affected. Look at the file with `hermes-sessions doctor`."


def _is_cut_off(error: apsw.Error) -> bool:
    """Whether a rollback journal holds what a writer that died has overwritten: without it the file is torn."""
    # The types of apsw do not know the attribute.
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_ROLLBACK


def _prepare_owner(connection: apsw.Connection, busy_timeout_ms: int) -> None:
    connection.set_busy_timeout(busy_timeout_ms)
    connection.pragma("foreign_keys", True)
    # Asked to write what it may only read, SQLite opens it for reading.
    if connection.readonly("main"):
        raise apsw.ReadOnlyError("the file may only be read")
    # Parses the whole catalogue, so that every fault of opening shows here and not in the first write.
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def _prepare_reader(connection: apsw.Connection, busy_timeout_ms: int) -> None:
    connection.set_busy_timeout(busy_timeout_ms)
    connection.pragma("trusted_schema", False)
    connection.pragma("cache_size", -CACHE_KIB)
    connection.pragma("temp_store", "memory")
    with suppress(apsw.SQLError):  # the table or FTS5 itself is missing: searching does without
        connection.execute(f"CREATE VIRTUAL TABLE {VOCABULARY} USING fts5vocab(main, messages_fts_trigram, row)")
    connection.pragma("query_only", True)
    # Has the whole catalogue parsed, so that every fault of opening shows here and not in the first question.
    connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()

"""What an owner does by itself about a damaged store of its own: at most once for each process and path.

Only for what takes no row away: a catalogue that SQLite does not accept is mended on a copy, as by `repair` and under
its lock, with the store as it was kept beside it; an index that does not answer is made anew. All else is for a person
to decide, and so is a store that Hermes itself keeps, which says a version above ours.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from hermes_sessions.errors import Refused, SessionsError, StoreBusy, StoreDamaged
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import repair_command
from hermes_sessions.storage.repairing.guard import only_repairer
from hermes_sessions.storage.repairing.watch import Watch
from hermes_sessions.storage.values import as_int
from hermes_sessions.storage.writing import schema
from hermes_sessions.storage.writing.index_mark import Mark, keeps_text
from hermes_sessions.storage.writing.rebuild import condemn
from hermes_sessions.storage.writing.writer import Writer

FIRST_PAUSE_SECONDS = 0.1

_mended: set[str] = set()
_condemned: set[str] = set()


def open_mended(path: Path, budget: float, open: Callable[[], Database]) -> Database:
    """What `open` returns, if need be after the catalogue of the file was mended, which its notices then say.

    Others who have the store open, or mend it themselves, are waited for as long as `budget` (seconds) allows. Raises
    what `open` raises; StoreDamaged says in its hint why the store was not mended.
    """
    real = Path(os.path.realpath(path))
    try:
        return open()
    except StoreDamaged as error:
        if not _is_malformed(error) and not real.with_name(f"{real.name}.repair.lock").exists():
            raise
        if _is_malformed(error) and not _is_ours(path):
            raise _left_alone(path, error, "It is not known to be a store of this program.") from error.__cause__
    deadline = time.monotonic() + budget
    pause = FIRST_PAUSE_SECONDS
    notice = ""
    while True:
        try:
            # Not while another one is about to replace the file: it would find it in use, or we a half of each.
            with only_repairer(real, Watch(lambda what, share: None), max(0.0, deadline - time.monotonic())):
                database = open()
            database.notices += [notice] if notice else []
            return database
        except StoreDamaged as error:
            if not _is_malformed(error):
                raise
            damaged = error
        try:
            notice = _mend(real)
        except SessionsError as error:
            if type(error) not in (Refused, StoreBusy) or time.monotonic() >= deadline:
                raise _left_alone(path, damaged, error.message) from damaged.__cause__
            time.sleep(random.uniform(pause / 2, pause * 3 / 2))
            pause *= 2


def condemn_silent(path: Path, database: Database, writer: Writer) -> None:
    """Mark those search indexes that are whole in the catalogue and do not answer, so that they are made anew."""
    known = Mark.read(database).tables
    tables = [table for table in schema.FTS_TABLES if table not in known and keeps_text(database, table)]
    silent = [table for table in tables if not _answers(database, table)]
    if silent and _first_time(_condemned, path):
        writer.run(lambda database: condemn(database, silent))


def _is_malformed(error: StoreDamaged) -> bool:
    cause = error.__cause__
    return isinstance(cause, apsw.CorruptError) and "malformed database schema" in str(cause)


def _mend(path: Path) -> str:
    """Repair the catalogue; return what to say. Raises Refused and its kinds, StoreBusy, StoreDamaged."""
    from hermes_sessions.storage.repairing.repair import repair

    if str(path) in _mended:
        raise StoreDamaged("This program has tried to once.")
    try:
        done = repair(path, gentle=True)
    except (Refused, StoreBusy):
        raise
    except StoreDamaged:
        _mended.add(str(path))
        raise
    _mended.add(str(path))
    if done.healthy:
        return ""  # somebody else was first
    return f"{path} was damaged and has been repaired. As it was, it is kept in {done.backup}."


def _left_alone(path: Path, error: StoreDamaged, why: str) -> StoreDamaged:
    return StoreDamaged(error.message, f"It was not repaired: {why} {error.hint} Try `{repair_command(path)}`.")


def _is_ours(path: Path) -> bool:
    """Whether a file says a version that stores of ours have; a reader gets past what is malformed."""
    try:
        with closing(Database(path)) as database:
            return 1 <= as_int(database.value("SELECT max(version) FROM schema_version")) <= schema.VERSION
    except StoreDamaged:
        return False


def _answers(database: Database, table: str) -> bool:
    """Whether an index can be asked. One that this SQLite knows no module or tokenizer for is no damaged one."""
    try:
        database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH '\"the\"' LIMIT 1")
        # Without its list of pages an index finds nothing and says nothing.
        pages = f"EXISTS (SELECT 1 FROM {table}_idx) OR NOT EXISTS (SELECT 1 FROM {table}_docsize)"
        return database.value(f"SELECT {pages}") == 1
    except StoreDamaged as error:
        return not isinstance(error.__cause__, apsw.CorruptError)


def _first_time(done: set[str], path: Path) -> bool:
    name = os.path.realpath(path)
    if name in done:
        return False
    done.add(name)
    return True

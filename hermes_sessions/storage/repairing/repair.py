"""A repair from beginning to end: looked at, copied, mended, checked, and put in the place of the store.

The store itself is only read until the last step, which is one `os.replace` (see `swap`). Whoever stops the repair
before that leaves the store as it was, and after that the new one whole.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import (
    Interrupted,
    ReadOnlyStore,
    SessionsError,
    StoreDamaged,
    StoreMissing,
    StoreUnreadable,
    UsageError,
)
from hermes_sessions.model import Lease
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.repairing import guard
from hermes_sessions.storage.repairing.backups import SIDES, copy_again, copy_store, forget_old, keep, size
from hermes_sessions.storage.repairing.damage import Damage, counted, dangling, examine
from hermes_sessions.storage.repairing.remedies import REMEDIES
from hermes_sessions.storage.repairing.salvage import salvage
from hermes_sessions.storage.repairing.swap import make_ready, put_back, put_in_place, refuse_changed, standing
from hermes_sessions.storage.repairing.unfinished import (
    CUT_LOG,
    CUT_PAGE,
    FOREIGN_JOURNAL,
    HALF_A_CHANGE,
    Blemish,
    blemish,
    fill_up,
    has_journal,
)
from hermes_sessions.storage.repairing.watch import Show, Watch
from hermes_sessions.storage.store_file import NO_MORE_THAN_EMPTY, check_readable

SCRATCH = "repair-scratch-"
SIDES_WITHOUT_JOURNAL = ("", "-wal")
SALVAGED = "Copied what can be read into a new file"
HINT = "Nothing was changed. Keep the file with its -wal, and put a backup in its place if there is one."
OTHER_NAMES = "The file had other names (hard links): those still are the store as it was."
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class TableRows(NamedTuple):
    """Rows of a table before, if they could be counted, and after; and how many could not be read, if that is known."""

    name: str
    before: int | None
    after: int
    lost: int | None


class Repair(NamedTuple):
    """What a repair found and did, or with `dry_run` would do."""

    store: str
    dry_run: bool
    damage: tuple[str, ...]
    steps: tuple[str, ...]
    tables: tuple[TableRows, ...]
    notes: tuple[str, ...]
    backup: str | None

    @property
    def healthy(self) -> bool:
        """Whether there was nothing to repair."""
        return not self.damage


def repair(
    path: str | os.PathLike[str],
    *,
    dry_run: bool = False,
    gentle: bool = False,
    leases: Callable[[], Sequence[Lease]] = tuple,
    show: Show = lambda what, share: None,
    clock: Callable[[], float] = time.time,
    free: Callable[[Path], int] = guard.free_space,
) -> Repair:
    """Bring a damaged store back, as gently as it can be, and say what was done.

    `leases` tells who uses sessions of this store, `free` how many bytes may be written in a folder. `show` is told
    how far it is; what it raises stops the repair, until it is too late for that: then it is not asked any more. A dry
    run does all of it to a copy in the system's folder for temporary files, and does no more to the store than any
    reader. A `gentle` repair mends the catalogue and indexes, and never makes do with the rows that can be read.

    Raises Refused or one of its kind when it must not be done now, StoreBusy when another repair goes on for too long,
    StoreDamaged when nothing better than what is there can be had. The store is as it was then.
    """
    path = Path(os.path.realpath(path))
    _require_file(path)
    if path.stat().st_size <= NO_MORE_THAN_EMPTY:
        return Repair(str(path), dry_run, (), (), (), ("The file is empty: nothing was written to it yet.",), None)
    with Watch(show) as watch, _translated(path):
        if dry_run:
            return _tried(path, leases, free, watch, gentle=gentle)
        return _done(path, leases, clock, free, watch, gentle=gentle)


def _tried(
    path: Path, leases: Callable[[], Sequence[Lease]], free: Callable[[Path], int], watch: Watch, *, gentle: bool
) -> Repair:
    guard.refuse_in_use(path, leases())
    folder = Path(tempfile.gettempdir())
    guard.refuse_little_space(folder, path, free)
    with _scratch(folder, path, watch) as scratch:
        with _unchanging(path):
            copy_store(path, scratch / "original", watch)
        found, _ = _mend(scratch, path, None, watch, gentle=gentle)
    return found._replace(store=str(path), dry_run=True)


def _done(
    path: Path,
    leases: Callable[[], Sequence[Lease]],
    clock: Callable[[], float],
    free: Callable[[Path], int],
    watch: Watch,
    *,
    gentle: bool,
) -> Repair:
    with guard.only_repairer(path, watch):
        _clean_up(path)
        guard.refuse_in_use(path, leases())
        seen, damage = standing(path), None
        # Where something is unfinished SQLite would finish it as soon as it looks, and there is no copy yet.
        if not has_journal(path) and not blemish(path):
            watch.begin("Looking at the store")
            damage = examine(path, _telling(watch, path))
            if damage == Damage():
                return Repair(str(path), False, (), (), (), (), None)
        guard.refuse_mounted(path)
        guard.refuse_little_space(path.parent, path, free)
        with guard.alone(path) as held, _scratch(path.parent, path, watch) as scratch:
            before = standing(path)
            digest = copy_store(path, scratch / "original", watch)
            found, mended = _mend(scratch, path, damage if before == seen else None, watch, gentle=gentle)
            if mended is None:
                return found._replace(store=str(path))
            make_ready(mended, path, watch)
            watch.begin("Putting it in the place of the store")
            guard.refuse_in_use(path, leases())
            refuse_changed(path, before)
            others = path.stat().st_nlink - 1
            backup = keep(scratch / "original", path, digest, clock(), watch)
            put_in_place(mended, path, held)
        notes = [*found.notes, *([OTHER_NAMES] if others else [])]
        try:
            forget_old(path, backup)
        except OSError as error:
            notes.append(f"An older copy beside the store could not be deleted: {error.strerror}.")
        return found._replace(store=str(path), backup=str(backup), notes=tuple(notes))


def _mend(
    scratch: Path, path: Path, damage: Damage | None, watch: Watch, *, gentle: bool
) -> tuple[Repair, Path | None]:
    """Mend a copy, whose damage may be known; return what was done, and the file, None when there was nothing to do."""
    work, original = scratch / "work", scratch / "original"
    sides: Sequence[str] = SIDES
    unfinished = []
    if damage is None:
        damage, found = _looked_at(original, work, SIDES, watch)
        if has_journal(original):
            unfinished.append(HALF_A_CHANGE)
            if damage.pages or damage.unreadable:
                without, found_without = _looked_at(original, work, SIDES_WITHOUT_JOURNAL, watch)
                if _complaints(without) < _complaints(damage):
                    damage, found = without, found_without
                    sides, unfinished = SIDES_WITHOUT_JOURNAL, [FOREIGN_JOURNAL]
                else:
                    copy_again(original, work, watch)
        if found and (found is CUT_LOG or not (damage.pages or damage.unreadable)):
            unfinished.append(found)
    else:
        copy_again(original, work, watch)
    done = tuple(each.step for each in unfinished)
    report = Repair("", False, (*(each.words for each in unfinished), *damage.words()), done, (), (), None)
    if damage == Damage() and not unfinished:
        return report, None
    watch.begin("Counting rows")
    before, dangling_before = counted(work), dangling(work)
    if not damage.pages and not damage.unreadable:
        steps, left = _remedied(work, damage, watch)
        after = counted(work)
        if left == Damage() and after == before and _no_worse(work, dangling_before):
            unsure = {"sessions", "messages"} if any(each.costs for each in unfinished) else set()
            counts = ((name, rows) for name, rows in after.items() if rows is not None)
            tables = tuple(TableRows(name, rows, rows, None if name in unsure else 0) for name, rows in counts)
            return report._replace(steps=(*done, *steps), tables=tables), work
        if gentle:
            raise StoreDamaged(f"{path} cannot be repaired gently: {' '.join(left.words())}", HINT)
        # What was tried may have written over what can still be read.
        copy_again(original, work, watch, sides)
    elif gentle:
        raise StoreDamaged(f"{path} cannot be repaired gently: {' '.join(damage.words())}", HINT)
    return _salvaged(work, path, report, before, dangling_before, watch)


def _looked_at(original: Path, work: Path, sides: Sequence[str], watch: Watch) -> tuple[Damage, Blemish | None]:
    """Copy the copy once more, and say what is wrong with it when SQLite has opened it, and was before."""
    copy_again(original, work, watch, sides)
    found = blemish(work)
    if found is CUT_PAGE:
        fill_up(work)
    watch.begin("Looking at the copy")
    return examine(work, _telling(watch, work)), found


def _complaints(damage: Damage) -> float:
    return float("inf") if damage.unreadable else len(damage.pages)


def _remedied(work: Path, damage: Damage, watch: Watch) -> tuple[tuple[str, ...], Damage]:
    """Try what is gentle, one after the other, each once; return what helped, and the damage that is left."""
    steps: list[str] = []
    for remedy in REMEDIES:
        if not remedy.serves(damage):
            continue
        watch.begin(remedy.doing)
        try:
            remedy.apply(work, damage)
        except Interrupted:
            raise
        except (apsw.Error, SessionsError):
            # The next one may be able to, and there is no need to look again before that.
            continue
        watch.begin("Looking at the copy")
        left = examine(work, _telling(watch, work))
        if left != damage:
            steps.append(f"{remedy.words}.")
        damage = left
    return tuple(steps), damage


def _salvaged(
    source: Path,
    path: Path,
    report: Repair,
    before: dict[str, int | None],
    dangling_before: int | None,
    watch: Watch,
) -> tuple[Repair, Path]:
    new = source.with_name("new")
    try:
        found = salvage(source, new, lambda what: watch.begin(what, grows=(new, size(source))))
    except (StoreDamaged, UsageError) as error:
        raise StoreDamaged(f"{path} cannot be repaired: {error.message}", HINT) from error
    watch.begin("Looking at the new file")
    left = examine(new, _telling(watch, new))
    rows = {table.table: table.rows for table in found.tables}
    lost = {table.table: table.lost for table in found.tables}
    if left != Damage():
        raise StoreDamaged(f"{path} cannot be repaired: {' '.join(left.words())}", HINT)
    if not rows.get("sessions") and not rows.get("messages"):
        raise StoreDamaged(f"{path} cannot be repaired: no session and no message in it can be read.", HINT)
    fewer = [
        name
        for name, count in before.items()
        if count is not None and (missing := lost.get(name, 0)) is not None and rows.get(name, 0) + missing < count
    ]
    if fewer:
        raise StoreDamaged(f"{path} cannot be repaired: rows of {', '.join(fewer)} would be lost.", HINT)
    if not _no_worse(new, dangling_before):
        raise StoreDamaged(f"{path} cannot be repaired: rows would refer to others that are lost.", HINT)
    tables = tuple(TableRows(table.table, before.get(table.table), table.rows, table.lost) for table in found.tables)
    return report._replace(steps=(*report.steps, f"{SALVAGED}."), tables=tables, notes=found.notes), new


def _telling(watch: Watch, file: Path) -> Callable[[str, float], None]:
    """What `examine` is to call with what it looks at."""
    return lambda what, reads: watch.begin(what, reads=reads * size(file))


def _no_worse(copy: Path, dangling_before: int | None) -> bool:
    after = dangling(copy)
    return after is not None and (dangling_before is None or after <= dangling_before)


@contextmanager
def _scratch(folder: Path, path: Path, watch: Watch) -> Iterator[Path]:
    """A folder for the copies, which nobody else may look into, and which goes at the end."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f"{path.name}.{SCRATCH}", dir=folder))
    except OSError as error:
        raise ReadOnlyStore(
            f"Nothing can be written in {folder}: {error.strerror}.", "Nothing was changed. Check who may write there."
        ) from error
    watch.copies_in(scratch)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _clean_up(path: Path) -> None:
    """Delete what repairs left that were killed; none goes on now. A log of the store is put back."""
    name = re.compile(rf"{re.escape(path.name)}\.{SCRATCH}\w+", re.ASCII)
    for left in path.parent.iterdir():
        if name.fullmatch(left.name) and left.is_dir() and not left.is_symlink():
            put_back(left, path)
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _unchanging(path: Path) -> Iterator[None]:
    """Hold a reading transaction while a store is copied, where it can be read: nothing is merged into it meanwhile."""
    with ExitStack() as opened:
        with suppress(StoreDamaged, StoreUnreadable):
            database = opened.enter_context(closing(Database(path)))
            database.execute("BEGIN")
            database.row("SELECT 1 FROM sqlite_schema")
        yield


def _require_file(path: Path) -> None:
    """Raises StoreMissing, StoreUnreadable for what is no file, StoreDamaged for a log beside an empty file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise StoreMissing(f"There is no session store at {path}.", "Name one with --db or --home.") from None
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be looked at: {error.strerror}.", "Check the path.") from error
    if not path.is_file():
        raise StoreUnreadable(f"{path} is no file.", "Name the file itself, usually state.db, with --db.")
    check_readable(path)
    if status.st_size <= NO_MORE_THAN_EMPTY and size(path) > status.st_size:
        # SQLite would delete them, whoever opens the file.
        raise StoreDamaged(f"{path} is empty, and what is in its log cannot be read without it.", HINT)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except SessionsError:
        raise
    except apsw.FullError as error:
        raise StoreUnreadable(f"There is no room to repair {path}.", "Nothing was changed. Free some space.") from error
    except (apsw.IOError, apsw.NoMemError) as error:
        raise StoreUnreadable(
            f"{path} cannot be repaired: {error}.", "Nothing was changed. Check the disk, and how much room it has."
        ) from error
    except apsw.Error as error:
        raise StoreDamaged(f"{path} cannot be repaired: {error}.", HINT) from error
    except OSError as error:
        if error.errno in FULL:
            raise StoreUnreadable(
                f"There is no room to repair {path}.", "Nothing was changed. Free some space."
            ) from error
        raise StoreUnreadable(
            f"{path} cannot be repaired: {error.strerror or error}.", "Nothing was changed. Check the disk."
        ) from error

"""A repair from beginning to end: looked at, copied, mended, checked, and put in the place of the store.

The store itself is only read until the last step, which is one `os.replace`. Whoever stops the repair before that
leaves the store as it was, and after that the new one whole.
"""

from __future__ import annotations

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

from hermes_sessions.errors import ReadOnlyStore, SessionsError, StoreDamaged, StoreMissing, StoreUnreadable
from hermes_sessions.model import Lease
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.repairing import guard
from hermes_sessions.storage.repairing.backups import SIDES, copy_store, forget_old, keep, size, sync_folder
from hermes_sessions.storage.repairing.damage import Damage, counted, dangling, examine
from hermes_sessions.storage.repairing.remedies import REMEDIES
from hermes_sessions.storage.repairing.salvage import salvage

SCRATCH = "repair-scratch-"
MENDED = "mended"
SALVAGED = "Copied what can be read into a new file"
HINT = "Nothing was changed. Keep the file with its -wal, and put a backup in its place if there is one."


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
    leases: Callable[[], Sequence[Lease]] = tuple,
    clock: Callable[[], float] = time.time,
    free: Callable[[Path], int] = guard.free_space,
) -> Repair:
    """Bring a damaged store back, as gently as it can be, and say what was done.

    `leases` tells who uses sessions of this store, `free` how many bytes may be written in a folder. A dry run does
    all of it to a copy in the system's folder for temporary files, and does no more to the store than any reader.

    Raises Refused or one of its kind when it must not be done now, StoreBusy when another repair goes on for too long,
    StoreDamaged when nothing better than what is there can be had. The store is as it was then.
    """
    path = Path(os.path.realpath(path))
    _require_file(path)
    if size(path) == 0:
        return Repair(str(path), dry_run, (), (), (), ("The file is empty: nothing was written to it yet.",), None)
    with ExitStack() as done, _translated(path):
        if not dry_run:
            done.enter_context(guard.only_repairer(path))
            _clean_up(path)
        guard.refuse_in_use(path, leases())
        held = None if dry_run else done.enter_context(guard.alone(path))
        folder = Path(tempfile.gettempdir()) if dry_run else path.parent
        guard.refuse_little_space(folder, path, free)
        scratch = done.enter_context(_scratch(folder, path))
        with _unchanging(path) if dry_run else ExitStack():
            digest = copy_store(path, scratch / "original")
        found, mended = _mend(scratch, path)
        if mended is None or dry_run:
            return found._replace(store=str(path), dry_run=dry_run)
        guard.refuse_in_use(path, leases())
        backup = keep(scratch / "original", path, digest, clock())
        _put_in_place(mended, path, held)
        forget_old(path, backup)
        return found._replace(store=str(path), backup=str(backup))


def _mend(scratch: Path, path: Path) -> tuple[Repair, Path | None]:
    """Mend a copy; return what was done, and the file, which is None when there was nothing to do."""
    work = scratch / "work"
    _again(scratch, work)
    damage = examine(work)
    report = Repair("", False, damage.words(), (), (), (), None)
    if damage == Damage():
        return report, None
    before, dangling_before = counted(work), dangling(work)
    if not damage.pages and not damage.unreadable:
        steps, left = _remedied(work, damage)
        after = counted(work)
        if left == Damage() and after == before and _no_worse(work, dangling_before):
            tables = tuple(TableRows(name, rows, rows, 0) for name, rows in after.items() if rows is not None)
            return report._replace(steps=steps, tables=tables), work
    return _salvaged(scratch, path, report, before, dangling_before)


def _remedied(work: Path, damage: Damage) -> tuple[tuple[str, ...], Damage]:
    """Try what is gentle, one after the other, each once; return what helped, and the damage that is left."""
    steps: list[str] = []
    for remedy in REMEDIES:
        if not remedy.serves(damage):
            continue
        with suppress(apsw.Error, StoreDamaged):
            remedy.apply(work, damage)
        left = examine(work)
        if left != damage:
            steps.append(f"{remedy.words}.")
        damage = left
    return tuple(steps), damage


def _salvaged(
    scratch: Path, path: Path, report: Repair, before: dict[str, int | None], dangling_before: int | None
) -> tuple[Repair, Path]:
    source, new = scratch / "damaged", scratch / "new"
    _again(scratch, source)
    try:
        found = salvage(source, new)
    except StoreDamaged as error:
        raise StoreDamaged(f"{path} cannot be repaired: {error.message}", HINT) from error
    left = examine(new)
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
    return report._replace(steps=(f"{SALVAGED}.",), tables=tables, notes=found.notes), new


def _no_worse(copy: Path, dangling_before: int | None) -> bool:
    after = dangling(copy)
    return after is not None and (dangling_before is None or after <= dangling_before)


def _again(scratch: Path, to: Path) -> None:
    """Another copy of the copy, for what writes to it: nobody has the first one open."""
    for side in SIDES:
        if (file := Path(f"{scratch / 'original'}{side}")).exists():
            shutil.copyfile(file, f"{to}{side}")


def _put_in_place(new: Path, path: Path, held: apsw.Connection | None) -> None:
    """Replace the store by a file that needs no log. The log of the old one must be gone before: it would be taken for
    the new one's. It is merged into the old file, as by any connection that is closed as the last one."""
    status = path.stat()
    with closing(Database(new, "owner")) as database:
        database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    if Path(f"{new}-wal").exists() and Path(f"{new}-wal").stat().st_size:
        raise StoreDamaged(f"The log of the repaired copy of {path} cannot be merged into it.", HINT)
    new.chmod(status.st_mode & 0o7777)
    if os.name == "posix" and (status.st_uid, status.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
    _sync(new)
    if held:
        with suppress(apsw.Error):
            held.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    mended = new.rename(_mended(new.parent, path))
    for side in ("-wal", "-journal"):
        # What could not be merged is put back by `_clean_up` if this goes no further.
        if (log := Path(f"{path}{side}")).exists():
            log.rename(Path(f"{mended}{side}"))
    Path(f"{path}-shm").unlink(missing_ok=True)
    mended.replace(path)
    sync_folder(path.parent)


def _mended(scratch: Path, path: Path) -> Path:
    """The name of the file that is about to replace the one that is now at `path`."""
    status = path.stat()
    return scratch / f"{MENDED}-{status.st_ino}-{status.st_mtime_ns}"


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _scratch(folder: Path, path: Path) -> Iterator[Path]:
    """A folder for the copies, which nobody else may look into, and which goes at the end."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f"{path.name}.{SCRATCH}", dir=folder))
    except OSError as error:
        raise ReadOnlyStore(
            f"Nothing can be written in {folder}: {error.strerror}.", "Nothing was changed. Check who may write there."
        ) from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _clean_up(path: Path) -> None:
    """Delete what repairs left that were killed; none goes on now. A log of the store is put back."""
    name = re.compile(rf"{re.escape(path.name)}\.{SCRATCH}\w+", re.ASCII)
    for left in path.parent.iterdir():
        if name.fullmatch(left.name) and left.is_dir() and not left.is_symlink():
            for side in ("-wal", "-journal"):
                mended, place = _mended(left, path), Path(f"{path}{side}")
                if mended.exists() and size(Path(f"{mended}{side}")) and not size(place):
                    Path(f"{mended}{side}").replace(place)
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
    if status.st_size == 0 and size(path):
        raise StoreDamaged(f"{path} is empty, and what is in its log cannot be read without it.", HINT)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except SessionsError:
        raise
    except apsw.FullError as error:
        raise StoreUnreadable(f"There is no room to repair {path}.", "Nothing was changed. Free some space.") from error
    except apsw.Error as error:
        raise StoreDamaged(f"{path} cannot be repaired: {error}.", HINT) from error
    except OSError as error:
        raise StoreUnreadable(
            f"{path} cannot be repaired: {error.strerror or error}.", "Nothing was changed. Check the disk."
        ) from error

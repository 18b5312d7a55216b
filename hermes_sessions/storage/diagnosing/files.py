"""The file itself, as `stat` tells: what it is, who may read and write it, and what else lies in its folder."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from hermes_sessions.model import Check
from hermes_sessions.storage.diagnosing.figures import amount, counted
from hermes_sessions.storage.diagnosing.visit import Visit
from hermes_sessions.storage.index_health import repair_command

LITTLE_SPACE = 256 << 20
"""Bytes free on the disk below which a day of work may not be saved."""

LEFT = re.compile(
    r"\.(?P<scratch>repair-scratch-\w+)|\.(?P<backup>(?:repair|malformed)-backup-.+|bak|backup|old)|"
    r"\.(?P<other>retired-wal-.+|repair-scratch)",
    re.ASCII,
)
"""What repairs of this program and of Hermes leave beside a store, by what follows its name."""

SIDES = ("-wal", "-shm")


def kind_check(visit: Visit) -> Check:
    """Whether there is a file that could be a store."""
    path = visit.path
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        means = "There is no history to look at: name the file with --db, or its folder with --home."
        return Check("file", "fail", "There is no such file.", "hermes-sessions browse --demo", means)
    except OSError as error:
        means = "Nobody can read the history from here: check who owns its folder."
        command = f"ls -ld {quote(str(path.parent))}"
        return Check("file", "fail", f"It cannot be looked at: {error.strerror}.", command, means)
    if not stat.S_ISREG(status.st_mode):
        directory = stat.S_ISDIR(status.st_mode)
        inside = path / "state.db"
        command = f"hermes-sessions doctor --db {quote(str(inside))}" if directory and inside.is_file() else ""
        means = "A store is a file, usually state.db: name that with --db."
        what = "a directory" if directory else _kind(status.st_mode)
        return Check("file", "fail", f"It is {what}, no regular file.", command, means)
    if status.st_size == 0 and visit.size("-wal") == 0:
        means = (
            "It is a history to come. If Hermes has used it before, its messages are gone: put a backup in its place."
        )
        return Check("file", "warn", "It is empty: nothing was written to it yet.", "", means)
    return Check("file", "ok", amount(status.st_size))


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a disk"),
    )
    return next((what for is_kind, what in kinds if is_kind(mode)), "something else")


def permission_checks(visit: Visit) -> Iterator[Check]:
    """Who may read the history besides its owner, and whether this user may write to it."""
    if os.name != "posix":
        return
    path = visit.path
    status = path.stat()
    modes = {path.name: status}
    for side in SIDES:
        try:
            modes[f"{path.name}{side}"] = Path(f"{path}{side}").stat()
        except OSError:
            continue
    yield _reading_check(path, {name: stat.S_IMODE(found.st_mode) for name, found in modes.items()})
    if foreign := [name for name, found in modes.items() if found.st_uid != status.st_uid]:
        detail = f"{' and '.join(foreign)} belong to another user than {path.name}."
        names = " ".join(quote(str(path.with_name(name))) for name in foreign)
        command = f"sudo chown --reference={quote(str(path))} {names}"
        means = (
            "Hermes can save nothing any more. Close it everywhere, then give these files to the owner of the store."
        )
        yield Check("owner", "warn", detail, command, means)
    unwritable = [name for name in modes if not os.access(path.with_name(name), os.W_OK)]
    if not os.access(path.parent, os.W_OK):
        unwritable.append(f"the folder {path.parent}")
    if unwritable:
        means = "It can be read, but Hermes can save nothing when you start it: it must belong to you."
        command = f"ls -la {quote(str(path.parent))}"
        yield Check("writable", "warn", f"You may not write to {', '.join(unwritable)}.", command, means)
    else:
        yield Check("writable", "ok", "you may write to the file and its folder")


def _reading_check(path: Path, modes: dict[str, int]) -> Check:
    folders = [stat.S_IMODE(folder.stat().st_mode) for folder in path.parents]
    everyone = all(mode & 0o001 for mode in folders)
    group = all(mode & 0o011 for mode in folders)
    open_to_all = [name for name, mode in modes.items() if mode & 0o006 and everyone]
    open_to_group = [name for name, mode in modes.items() if mode & 0o060 and group]
    told = f"mode {modes[path.name]:03o}, folder {folders[0]:03o}"
    if not open_to_all and not open_to_group:
        return Check("permissions", "ok", f"only you may read it ({told})")
    who = "Everybody on this machine" if open_to_all else "Your group"
    exposed = open_to_all or open_to_group
    what = "it" if path.name in exposed else " and ".join(exposed)
    means = "Whatever was said to Hermes, passwords in it too, can be read by them."
    return Check("permissions", "warn", f"{who} may use {what} ({told}).", f"chmod go= {quote(str(path))}*", means)


def space_check(visit: Visit) -> Check | None:
    """Room on the disk, for Hermes to go on and for a repair."""
    try:
        free = shutil.disk_usage(visit.path.parent).free
    except OSError:
        return None
    if free < LITTLE_SPACE:
        means = "A full disk keeps Hermes from saving what is said. Make room on it."
        return Check("disk", "warn", f"Only {amount(free)} are free.", f"df -h {quote(str(visit.path.parent))}", means)
    return Check("disk", "ok", f"{amount(free)} free")


def leftover_check(visit: Visit) -> Check:
    """What repairs have left beside the store."""
    found: dict[str, list[Path]] = {"scratch": [], "backup": [], "other": []}
    try:
        names = sorted(entry.name for entry in visit.path.parent.iterdir())
    except OSError:
        names = []
    for name in names:
        match = LEFT.fullmatch(name.removeprefix(visit.path.name)) if name.startswith(visit.path.name) else None
        if match and match.lastgroup:
            found[match.lastgroup].append(visit.path.parent / name)
    if scratch := found["scratch"]:
        means = "A repair was stopped half-way, and left copies of the history there. The next one removes them."
        detail = f"{counted(len(scratch), 'folder')} of a repair: {', '.join(path.name for path in scratch[:3])}."
        return Check("leftovers", "warn", detail, repair_command(visit.path), means)
    kept = [*found["backup"], *found["other"]]
    if not kept:
        return Check("leftovers", "ok", "none of a repair beside it")
    total = sum(_bytes(path) for path in kept)
    return Check("leftovers", "ok", f"{counted(len(kept), 'older copy', 'older copies')} beside it, {amount(total)}")


def _bytes(path: Path) -> int:
    try:
        if not path.is_dir():
            return path.lstat().st_size
        return sum(file.lstat().st_size for file in path.iterdir())
    except OSError:
        return 0

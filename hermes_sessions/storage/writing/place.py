"""The place of a store of our own: its folder and its file, which nobody but their owner may look into.

SQLite gives -wal, -shm and -journal the mode of the file, so all depends on the file being there, with the right mode,
before SQLite sees it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hermes_sessions.errors import FileExists, ReadOnlyStore, StoreUnreadable
from hermes_sessions.storage.store_file import check_name

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def claim(path: Path) -> bool:
    """Make an empty file at `path`, and the folders it lacks, whatever the umask. Return False when one is there.

    Raises StoreUnreadable for what can be no file (a folder in its place, a file in the place of a folder, a link that
    leads nowhere or in a circle), ReadOnlyStore where nothing may be written.
    """
    check_name(path)
    try:
        _make_folder(path.parent)
        try:
            _make_file(path)
        except FileExistsError:
            _require_file(path)
            return False
        # A umask takes bits away, also the owner's own.
        path.chmod(FILE_MODE)
        return True
    except PermissionError as error:
        raise ReadOnlyStore(
            f"{path} cannot be created: {error.strerror}.", f"Check who may write in {path.parent}, or choose another."
        ) from error
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be created: {error.strerror}.", "Check the path.") from error


def claim_new(path: Path) -> None:
    """As `claim`, but raises FileExists when anything is there, also a link that leads nowhere."""
    if path.is_symlink() or not claim(path):
        raise FileExists(f"{path} exists already.", "Nothing was changed. Choose another place.")


def tighten(path: Path) -> str | None:
    """Take a file that everyone on the machine may read away from them; return what to say about it, if it was so.

    Hermes up to 0.19 makes its files as the umask has it. One that only a group may read was shared on purpose.
    """
    loose = False
    for file in (path, Path(f"{os.path.realpath(path)}-wal"), Path(f"{os.path.realpath(path)}-shm")):
        try:
            mode = file.stat().st_mode
            if stat.S_ISREG(mode) and mode & stat.S_IRWXO:
                file.chmod(FILE_MODE)
                loose = True
        except OSError:
            # Not there, or somebody else's, who decides about it.
            continue
    return f"{path} could be read by everyone on this machine; now only its owner may." if loose else None


def _make_folder(folder: Path) -> None:
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        try:
            each.mkdir(FOLDER_MODE)
            each.chmod(FOLDER_MODE)
        except FileExistsError:
            # Another process made it meanwhile.
            continue


def _make_file(path: Path) -> None:
    try:
        # Not opened, hence not closed, which would drop the locks that another thread has on the file by then.
        os.mknod(path, FILE_MODE | stat.S_IFREG)
    except (AttributeError, PermissionError):
        # Windows has no such call, and macOS keeps it for root.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))


def _require_file(path: Path) -> None:
    """Raises StoreUnreadable for a link to nowhere or in a circle and what is no file, ReadOnlyStore for its folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise StoreUnreadable(
            f"{path} is a link to {path.readlink()}, and there is nothing.",
            "Make what it leads to available, or remove the link.",
        ) from None
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be opened: {error.strerror}.", "Check the path.") from error
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise StoreUnreadable(f"{path} is {what}, not a session store.", "Name the file state.db in it, or another.")
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ReadOnlyStore(
            f"{folder} may not be written, and SQLite keeps a log beside {path.name}.", "Check who owns the folder."
        )

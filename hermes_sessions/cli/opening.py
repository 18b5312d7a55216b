"""Which store a command reads, and how it is opened: told when it is missing, stopped when Ctrl+C is pressed."""

from __future__ import annotations

import os
import signal
import threading
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hermes_sessions import errors, paths
from hermes_sessions.cli.output import PROGRAM, Output
from hermes_sessions.storage.store import Store, open_store


def store_path(arguments: Namespace, environ: Mapping[str, str]) -> Path:
    """The history file that the command line and the environment name. Raises `UsageError`."""
    if arguments.db is not None and (arguments.home is not None or arguments.profile is not None):
        raise errors.UsageError("--db names the file itself: it goes with neither --home nor --profile.")
    return paths.store_path(arguments.db, arguments.home, arguments.profile, environ)


def other_profiles(arguments: Namespace, environ: Mapping[str, str], path: Path) -> str:
    """A sentence that names the profiles beside the one that was read; empty when there are none."""
    if arguments.db is not None:
        return ""
    root = Path(arguments.home).expanduser() if arguments.home is not None else paths.hermes_root(environ)
    stores = {name: paths.store_path(None, root, name, environ) for name in paths.profiles(root)}
    names = [name for name, store in stores.items() if store != path and not is_missing(store)]
    return f"Other profiles: {', '.join(names)} (-p NAME)." if names else ""


def is_missing(path: Path) -> bool:
    """Whether there is nothing at the path; what may not be looked at is there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


@contextmanager
def what_else_there_is(arguments: Namespace, environ: Mapping[str, str]) -> Iterator[None]:
    """Where there is no store, what could be looked at instead."""
    try:
        yield
    except errors.StoreMissing as missing:
        others = other_profiles(arguments, environ, store_path(arguments, environ))
        hint = f"{others} Another file: --db FILE. A made-up history: {PROGRAM} browse --demo"
        raise errors.StoreMissing(missing.message, hint.strip()) from None


@contextmanager
def opened(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> Iterator[Store]:
    """The store, open for reading; what a person should know about it is told first, what could not be read last."""
    with what_else_there_is(arguments, environ):
        store = open_store(store_path(arguments, environ))
    try:
        if not output.as_json:
            for notice in store.notices:
                output.talk(notice)
        with _stopped_by_ctrl_c(store):
            yield store
        for words in store.losses:
            output.talk(words)
    finally:
        store.close()


@contextmanager
def _stopped_by_ctrl_c(store: Store) -> Iterator[None]:
    """Python runs its signal handlers between two steps of its own, and a query is a single step, however long. The
    byte that the interpreter writes at once wakes a thread, which stops the query; then KeyboardInterrupt arrives."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        while (woken := os.read(reader, 1)) and woken[0] != 0:
            if woken[0] == signal.SIGINT:
                store.interrupt()

    watcher = threading.Thread(target=watch, name="hermes-sessions ctrl+c", daemon=True)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(writer, b"\0")
        watcher.join()
        os.close(reader)
        os.close(writer)

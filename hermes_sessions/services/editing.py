"""A text shown in the person's own editor or pager, as a copy that is gone afterwards.

Whoever has the terminal gives it away before and takes it back after. No shell stands in between.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from hermes_sessions.errors import CommandMissing

VARIABLES = ("VISUAL", "EDITOR", "PAGER")
PAGERS = ("less", "more")
HINT = "Set VISUAL or EDITOR to a program that is there."

NOTE = "A copy to read: what is changed here is not kept."
_NOTES = {".md": f"<!-- {NOTE} -->\n\n", ".diff": f"# {NOTE}\n"}
"""How a file says so itself, where its format has room for that. All of them say it in their names."""


class Shown(NamedTuple):
    """How it ended."""

    code: int
    """The program's exit code; below 0 the signal that ended it."""
    changed: bool
    """Whether the person changed the copy."""


def editor(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the command to show a file with: $VISUAL, $EDITOR, $PAGER, else `less` or `more`.

    Raises CommandMissing if what is named cannot be read, or is not there.
    """
    path = environ.get("PATH")
    for name in VARIABLES:
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError:
            raise CommandMissing(f"${name} is no command: {environ[name]}", HINT) from None
        if not words or words == ["cat"]:  # which would be gone before anybody has read it
            continue
        if (found := shutil.which(words[0], path=path)) is None:
            raise CommandMissing(f"There is no command {words[0]!r}, which ${name} names.", HINT)
        return found, *words[1:]
    found = next(filter(None, (shutil.which(name, path=path) for name in PAGERS)), None)
    if found is None:
        raise CommandMissing("There is no editor and no pager here.", HINT)
    return (found,)


def show(command: Sequence[str], text: str, name: str, suffix: str, environ: Mapping[str, str] = os.environ) -> Shown:
    """Show a copy of `text` with `command` and wait until that ends. Only the person can read the file meanwhile.

    Raises CommandMissing if the program cannot be started or there is no room for the file.
    """
    content = _NOTES.get(suffix, "") + text + ("" if text.endswith("\n") else "\n")
    stored = content.encode("utf-8", "replace")
    try:
        with tempfile.TemporaryDirectory(prefix="hermes-sessions-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / f"{name}-copy{suffix}"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
                file.write(stored)
            code = _run([*command, str(path)], environ)
            return Shown(code, path.exists() and path.read_bytes() != stored)
    except OSError as error:
        raise CommandMissing(f"{command[0]} cannot be started: {error.strerror or error}", HINT) from None


def _run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    with _keys_for_the_child() as pass_on:
        child = subprocess.Popen(argv, env=dict(environ))
        pass_on.append(child)
        return child.wait()


@contextmanager
def _keys_for_the_child() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Leave Ctrl+C, Ctrl+\\ and Ctrl+Z to the child as a shell does, and give it the signals that are to end us.

    An event loop hears of signals by way of a file descriptor; it must not take those that the child was sent. What
    was to end us does so once the child is gone.
    """
    children: list[subprocess.Popen[bytes]] = []
    ending: list[int] = []

    def nothing(number: int, frame: FrameType | None) -> None:  # not SIG_IGN, which the child would inherit
        pass

    def end(number: int, frame: FrameType | None) -> None:
        ending.append(number)
        for child in children:
            child.terminate()

    handlers = {"SIGINT": nothing, "SIGQUIT": nothing, "SIGTERM": end, "SIGHUP": end}
    handlers |= dict.fromkeys(("SIGTSTP", "SIGCONT"), signal.SIG_DFL)  # type: ignore[arg-type]
    wake_up = signal.set_wakeup_fd(-1)
    before = {
        number: signal.signal(number, handler)
        for name, handler in handlers.items()
        if (number := getattr(signal, name, None)) is not None
    }
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wake_up)
        for number in ending:
            signal.raise_signal(number)

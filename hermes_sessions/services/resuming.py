"""How to go on with a conversation in Hermes: the command, its directory and its environment.

Whoever has the terminal starts it; nothing is started here, and no shell stands in between.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes_sessions.errors import CommandMissing
from hermes_sessions.model import Conversation
from hermes_sessions.paths import DEFAULT_PROFILE, STORE_NAME

COMMAND = "hermes"
HOME = "HERMES_HOME"


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """What to start: `argv`, whose first word is a path, in `cwd` (None: where we are), with `environ`."""

    argv: tuple[str, ...]
    cwd: str | None
    environ: Mapping[str, str]

    def as_shell(self) -> str:
        """The same as one line to paste into a shell."""
        enter = f"cd {shlex.quote(self.cwd)} && " if self.cwd is not None else ""
        home = f"{HOME}={shlex.quote(self.environ[HOME])} " if HOME in self.environ else ""
        return f"{enter}{home}{shlex.join([COMMAND, *self.argv[1:]])}"


def resume_command(
    conversation: Conversation, store: Path, environ: Mapping[str, str] = os.environ, *, anywhere: bool = False
) -> ResumePlan:
    """How to resume the tip of a conversation of this store, in the directory it ran in.

    Hermes is told the home that the store lies in, which may be a profile's. Raises CommandMissing, whose hint is the
    command to copy, if no `hermes` is on the PATH, or if the directory is gone; with `anywhere` Hermes then starts
    where we are.
    """
    cwd = _directory_of(conversation)
    gone = cwd is not None and not _may_enter(cwd)
    executable = shutil.which(COMMAND, path=environ.get("PATH"))
    plan = ResumePlan(
        # An absolute path, since one from a relative entry of PATH would not hold after the change of directory.
        argv=(os.path.abspath(executable or COMMAND), *_profile(store), *_resume(conversation.id)),  # noqa: PTH100
        cwd=None if gone else cwd,
        # Hermes reads no file of another name, so a store called otherwise is in no home: the environment decides.
        environ={**environ, HOME: str(store.parent)} if store.name == STORE_NAME else environ,
    )
    if executable is None:
        raise CommandMissing(f"There is no command {COMMAND!r} on the PATH.", plan.as_shell())
    if gone and not anywhere:
        raise CommandMissing(f"The directory of this session is gone, or may not be entered: {cwd}", plan.as_shell())
    return plan


def _resume(session_id: str) -> list[str]:
    """The words that name the session; an id that looks like an option must not be taken for one."""
    return [f"--resume={session_id}"] if session_id.startswith("-") else ["--resume", session_id]


def _profile(store: Path) -> list[str]:
    """The words that keep Hermes in this home: a root's sticky profile would lead it out, even with HERMES_HOME set."""
    try:
        sticky = (store.parent / "active_profile").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return []
    return ["--profile", DEFAULT_PROFILE] if sticky and sticky != DEFAULT_PROFILE else []


def _directory_of(conversation: Conversation) -> str | None:
    """The directory that the newest session of the chain names, if it names one at all."""
    cwd = next((session.cwd for session in reversed(conversation.sessions) if session.cwd), None)
    return cwd if cwd is not None and os.path.isabs(cwd) else None  # noqa: PTH117 - any text may be stored


def _may_enter(directory: str) -> bool:
    try:
        return os.path.isdir(directory) and os.access(directory, os.X_OK)  # noqa: PTH112
    except ValueError:  # a NUL in it
        return False

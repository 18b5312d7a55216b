"""The clipboards that programs of this machine keep, and a file for what is too large for any other way.

What the terminal itself can take, by OSC 52, is the screen's business.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_sessions.errors import Refused
from hermes_sessions.paths import state_directory

TMUX = ("tmux", "load-buffer", "-w", "-")
"""tmux passes on to its terminal what it loads, but by default nothing that a program in it sends."""


def programs(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[tuple[str, ...]]:
    """Return the commands that take a text for a clipboard the person can reach, tmux's first.

    Over SSH a Mac's own clipboard is that of the wrong machine.
    """
    found: list[tuple[str, ...]] = []
    if environ.get("TMUX"):
        found.append(TMUX)
    if environ.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if environ.get("DISPLAY"):
        found.append(("xclip", "-selection", "clipboard"))
        found.append(("xsel", "--clipboard", "--input"))
    if platform == "darwin" and not environ.get("SSH_CONNECTION"):
        found.append(("pbcopy",))
    there = [command for command in found if shutil.which(command[0], path=environ.get("PATH"))]
    return there[: 1 + (TMUX in there)]


async def feed(command: Sequence[str], text: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Give `text` to a command, and say whether it took it."""
    nowhere = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=dict(environ)
        )
        await process.communicate(text.encode("utf-8", "replace"))
    except OSError:
        return False
    return process.returncode == 0


def save(text: str, suffix: str = ".md", folder: Path | None = None) -> Path:
    """Write `text` to a new file that only its owner can read, and return where. It stays until they delete it.

    Raises Refused if it cannot be written.
    """
    folder = folder or state_directory() / "copied"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=folder, prefix="copy-", suffix=suffix, delete=False) as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise Refused(f"The copy cannot be saved in {folder}: {error.strerror or error}") from None
    return Path(file.name)

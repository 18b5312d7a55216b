"""The screen saved as a picture and as text, under a name of its own. Nothing is ever written over."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hermes_sessions.errors import Refused

STEM = "hermes-sessions-%Y-%m-%d-%H%M%S"


def save_screen(picture: str, lines: Sequence[str], now: float, directories: Sequence[Path]) -> tuple[Path, Path]:
    """Write an SVG and the text beside it into the first of `directories` that takes them, and return their paths.

    They are named by the local time. Raises Refused when none of the directories takes them.
    """
    stem = time.strftime(STEM, time.localtime(now))
    text = "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"
    reason = ""
    for directory in directories:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _write_both(directory.resolve(strict=True), stem, picture, text)
        except OSError as error:
            reason = f"{directory}: {error.strerror}."
    raise Refused("The screen could not be saved.", reason)


def _write_both(directory: Path, stem: str, picture: str, text: str) -> tuple[Path, Path]:
    for number in range(1, 1_000):
        named = directory / (stem if number == 1 else f"{stem}-{number}")
        paths = named.with_name(named.name + ".svg"), named.with_name(named.name + ".txt")
        if not any(os.path.lexists(path) for path in paths):
            break
    written: list[Path] = []
    try:
        for path, content in zip(paths, (picture, text), strict=True):
            with path.open("x", encoding="utf-8", errors="replace") as file:
                written.append(path)
                file.write(content)
    except OSError:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
    return paths

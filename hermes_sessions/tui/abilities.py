"""What the terminal can show, as far as the environment tells."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal

AUTO = "auto"
"""The value of settings that leave something to the terminal."""

ASCII_TERMINALS = frozenset({"linux"})
"""Their fonts have 256 or 512 signs."""

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python puts into LC_CTYPE where it finds the locale C (PEP 538)."""


def colours(environ: Mapping[str, str]) -> Literal["none", "few", "many"]:
    """Return how many colours there are: few are sixteen. Rich tells by the same variables."""
    if environ.get("NO_COLOR"):
        return "none"
    if sys.platform == "win32" or environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "many"
    kind = environ.get("TERM", "").strip().lower().rpartition("-")[2]
    return "many" if kind in ("256color", "kitty", "direct") else "few"


def is_light(environ: Mapping[str, str], told: object = None) -> bool:
    """Return whether the background is light: by COLORFGBG, which rxvt, Konsole and others set, else as it was `told`
    last time."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15") if background else told is True


def ascii_only(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal may show nothing but ASCII: the Linux console, or a locale that is not UTF-8."""
    if sys.platform == "win32":
        return False
    if environ.get("TERM") in ASCII_TERMINALS:
        return True
    names = [environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    if names[1] in _COERCED and names[2] in ("C", "POSIX"):
        names[1] = ""
    locale = next(filter(None, names), "").lower().replace("-", "")
    return locale != "" and "utf8" not in locale


def frame(borders: str, environ: Mapping[str, str]) -> str:
    """Return Textual's name for the borders that the settings ask for."""
    if borders == AUTO:
        return "ascii" if ascii_only(environ) else "round"
    return "solid" if borders == "square" else borders

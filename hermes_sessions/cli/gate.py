"""May the full screen start here? Asked before Textual is imported, so this file knows the standard library alone.

Textual reads standard input and draws on standard error. On anything but a terminal it hangs, spins or draws for
nobody, so that everything it cannot serve is named here and gets the numbered list instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

MIN_COLUMNS, MIN_ROWS = 20, 5
STREAMS = ((0, "standard input"), (1, "standard output"), (2, "standard error"))
PLAIN_TERMINALS = frozenset({"", "dumb", "unknown", "emacs", "network"})
UNICODE_ENCODINGS = frozenset({"utf8", "cp65001"})
VT_PROCESSING = 4


def why_plain(environ: Mapping[str, str], *, plain: bool = False, pick: bool = False) -> str | None:
    """The reason why the numbered list must be shown, in words for a person; None when the full screen may start.

    With `pick` standard output may be a pipe: only the chosen id is written there.
    """
    if plain:
        return "--plain was asked for"
    if environ.get("HERMES_SESSIONS_PLAIN"):
        return "HERMES_SESSIONS_PLAIN is set"
    for descriptor, name in STREAMS:
        if pick and descriptor == 1:
            continue
        try:
            if not os.isatty(descriptor):
                return f"{name} is no terminal"
        except OSError:
            return f"{name} is closed"
    if sys.__stdin__ is None or sys.__stderr__ is None:
        return "a standard stream is closed"
    return (
        _why_not_this_console() or _why_not_this_terminal(environ) or _why_not_this_encoding() or _why_not_this_size()
    )


def _why_not_this_terminal(environ: Mapping[str, str]) -> str | None:
    if sys.platform == "win32":
        return None
    kind = environ.get("TERM", "")
    if kind in PLAIN_TERMINALS:
        return f"TERM is {kind!r}" if kind else "TERM is not set"
    try:
        if os.getpgrp() != os.tcgetpgrp(0):
            return "this is a background job"
    except OSError:
        return "there is no controlling terminal"
    return None


def _why_not_this_console() -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes

    kernel = ctypes.windll.kernel32
    handle = kernel.GetStdHandle(-12)
    mode = ctypes.c_ulong()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return "standard error is no console"
    if not kernel.SetConsoleMode(handle, mode.value | VT_PROCESSING):
        return "the console knows no escape sequences"
    return None


def _why_not_this_encoding() -> str | None:
    encoding = (sys.__stderr__.encoding or "") if sys.__stderr__ else ""
    if encoding.lower().replace("-", "").replace("_", "") not in UNICODE_ENCODINGS:
        return f"the terminal's encoding is {encoding or 'unknown'}"
    return None


def _why_not_this_size() -> str | None:
    try:
        columns, rows = os.get_terminal_size(2)
    except OSError:
        return "the terminal has no size"
    if (columns and columns < MIN_COLUMNS) or (rows and rows < MIN_ROWS):
        return f"the terminal is too small ({columns} by {rows})"
    return None

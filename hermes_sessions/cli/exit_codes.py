"""The exit codes of the command line, and which error ends in which. The only place that knows the numbers."""

from __future__ import annotations

from enum import IntEnum

from hermes_sessions import errors


class ExitCode(IntEnum):
    """What a script may rely on; the numbers never change their meaning."""

    OK = 0
    NO_MATCH = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    DAMAGED = 5
    BUSY = 7
    OUR_FAULT = 70
    INTERRUPTED = 130
    READER_LEFT = 141


CODES: dict[type[errors.SessionsError], ExitCode] = {
    errors.UsageError: ExitCode.USAGE,
    errors.NotFound: ExitCode.NOT_FOUND,
    errors.Refused: ExitCode.REFUSED,
    errors.StoreDamaged: ExitCode.DAMAGED,
    errors.StoreBusy: ExitCode.BUSY,
    errors.Interrupted: ExitCode.INTERRUPTED,
}
"""A class stands for everything below it in the tree."""


def exit_code_for(error: BaseException) -> ExitCode:
    """The code a command ends with when `error` reaches `main`. What nobody foresaw is our own fault."""
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return ExitCode.READER_LEFT
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return ExitCode.OUR_FAULT


def kind_of(error: BaseException) -> str:
    """The error's name for scripts, as in `session_not_found`."""
    if type(error) is errors.SessionsError or not isinstance(error, errors.SessionsError):
        return "our_fault"
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in type(error).__name__).lstrip("_")

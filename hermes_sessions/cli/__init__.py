"""The command line. `main` parses, runs one command, and turns every way it can end into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hermes_sessions import errors
from hermes_sessions.cli.exit_codes import ExitCode, exit_code_for
from hermes_sessions.cli.output import Output
from hermes_sessions.cli.parser import HelpAsked, parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (default: the process's arguments) names, and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    output = Output(sys.stdout, sys.stderr, as_json=_asks_for_json(words))
    try:
        try:
            code: int = _run(words, output)
            output.flush()
        except BrokenPipeError:
            raise
        except Exception as error:
            code = exit_code_for(error)
            _report(error, output, debug="--debug" in words)
    except (BrokenPipeError, KeyboardInterrupt) as end:
        code = exit_code_for(end)
    return int(code)


def _run(words: Sequence[str], output: Output) -> int:
    try:
        arguments = parse(words)
    except HelpAsked as help_asked:
        output.line(str(help_asked).rstrip())
        return ExitCode.OK
    output.use_color(arguments.color)
    # A copy: Hermes is handed the environment as it was, whatever the screen needs it to be meanwhile.
    environ = dict(os.environ)
    # Imported here, so that help waits for no storage engine, and the full screen for no tables and filters.
    from hermes_sessions.cli import handover

    if not arguments.version and arguments.command in handover.COMMANDS:
        return handover.COMMANDS[arguments.command](arguments, output, environ)
    from hermes_sessions.cli import commands

    return commands.run(arguments, output, environ)


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether JSON was asked for, known before the words are parsed, since parsing can fail."""
    ours = words[: words.index("--")] if "--" in words else words
    return "--json" in ours


def _report(error: Exception, output: Output, *, debug: bool) -> None:
    """Say what went wrong; what nobody foresaw is said in one line too."""
    if debug:
        import traceback

        output.trace("".join(traceback.format_exception(error)))
    if not isinstance(error, errors.SessionsError):
        error = errors.SessionsError(
            f"Unexpected {type(error).__name__}: {error}", "A fault of hermes-sessions itself; --debug shows where."
        )
    output.error(error)

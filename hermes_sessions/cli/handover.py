"""The commands that hand the terminal to somebody: to the full screen, to the numbered list, to Hermes."""

from __future__ import annotations

import os
import stat
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from hermes_sessions import errors
from hermes_sessions.cli import gate
from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.opening import opened, store_path, what_else_there_is
from hermes_sessions.cli.output import PROGRAM, Output, command_line
from hermes_sessions.model import BrowseResult, Conversation
from hermes_sessions.paths import CONFIG_VARIABLE, STORE_NAME, config_file, state_directory

if TYPE_CHECKING:
    from hermes_sessions.services.past_searches import PastSearches
    from hermes_sessions.services.resuming import ResumePlan
    from hermes_sessions.services.state import State


def browse(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> int:
    """Let a person find a session, in the full screen or in the numbered list, and do with it what they chose."""
    if arguments.print_config:
        return _print_config(arguments, output, environ)
    reason = gate.why_plain(environ, plain=arguments.plain, pick=arguments.pick)
    code = 0
    with _store_to_browse(arguments) as chosen:
        if reason is None:
            result, code = _browse_full_screen(chosen, environ)
        else:
            if not arguments.plain and sys.stdin is not None and sys.stdin.isatty():
                output.talk(f"This is the plain list, since {reason}.")
            result = _browse_plain_list(chosen, output, environ)
    if result is None:
        return code
    if result.action == "pick":
        output.line(output.safe(result.conversation.id))
        return ExitCode.OK
    return _hand_over(result.conversation, arguments, output, environ)


def resume(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> int:
    """Become the Hermes command that goes on with a session, or print it."""
    from hermes_sessions.services.lookup import find

    with opened(arguments, output, environ) as store:
        conversation = find(store, " ".join(arguments.session))
    if not arguments.print_only:
        return _hand_over(conversation, arguments, output, environ)
    try:
        command = _resume_plan(conversation, arguments, environ).as_shell()
    except errors.CommandMissing as missing:
        # It may be meant for another place, so what is missing here does not matter.
        output.talk(missing.message)
        command = missing.hint
    output.line(output.safe(command))
    return ExitCode.OK


def demo(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    """Write the made-up history."""
    from hermes_sessions.services.demo import write_demo

    path = Path(arguments.directory).expanduser() / STORE_NAME
    write_demo(path, time.time())
    output.line(output.safe(str(path)))
    output.talk(f"To look at it: {command_line([PROGRAM, 'browse', '--db', str(path)])}")
    return ExitCode.OK


@contextmanager
def _store_to_browse(arguments: Namespace) -> Iterator[Namespace]:
    """The arguments, which name a made-up history for as long as it is looked at if they ask for one."""
    if not arguments.demo:
        yield arguments
        return
    from hermes_sessions.services.demo import demo_home

    with demo_home() as home:
        yield Namespace(**{**vars(arguments), "db": None, "home": str(home), "profile": None})


def _browse_full_screen(arguments: Namespace, environ: Mapping[str, str]) -> tuple[BrowseResult | None, int]:
    from hermes_sessions.services.history import History

    # Reading begins here, while Textual is being imported.
    with what_else_there_is(arguments, environ), History(store_path(arguments, environ)) as history:
        from hermes_sessions.tui import run_browser

        with _standard_output_on_the_terminal():
            return run_browser(
                history,
                resume=lambda conversation: _resume_plan(conversation, arguments, environ),
                query=arguments.query,
                pick=arguments.pick,
                directory=_here(),
                past_searches=None if arguments.demo else _past_searches,
                config=lambda: _config_file(arguments, environ),
                state=None if arguments.demo else _state,
                theme=arguments.theme,
                mouse=not arguments.no_mouse,
            )


def _config_file(arguments: Namespace, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The file with the person's settings, and whether they named it, so that it ought to be there."""
    if arguments.config is not None:
        return Path(arguments.config).expanduser().absolute(), True
    return config_file(environ), bool(environ.get(CONFIG_VARIABLE, "").strip())


def _state() -> State:
    from hermes_sessions.services.state import State

    return State(state_directory() / "state.json")


def _print_config(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    """The configuration in effect, and on standard error what is wrong with the file."""
    from hermes_sessions.tui.preparing import print_config

    path, named = _config_file(arguments, environ)
    words, problems = print_config(path, _state(), named=named)
    for line in words.split("\n")[:-1]:
        output.line(line)
    for problem in problems:
        output.talk(problem)
    return ExitCode.USAGE if problems else ExitCode.OK


def _past_searches() -> PastSearches:
    from hermes_sessions.services.past_searches import PastSearches

    return PastSearches(state_directory() / "searches.json")


@contextmanager
def _standard_output_on_the_terminal() -> Iterator[None]:
    """Textual draws on standard error, but asks standard output for the size of the terminal. Where that is a pipe,
    which waits for the id of a pick, it is the terminal too for as long as the screen is there."""
    if os.isatty(1):
        yield
        return
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        # Somebody removed the directory we are in.
        return None


def _browse_plain_list(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> BrowseResult | None:
    from hermes_sessions.cli.picker import Picker

    # Standard output is kept for the id alone.
    rows = output.for_talk() if arguments.pick else output
    action: Literal["pick", "resume"] = "pick" if arguments.pick else "resume"
    with opened(arguments, rows, environ) as store:
        rows.talk(f"Store: {store.path}")
        asks = _may_ask(sys.stdin, rows)
        picker = Picker(
            store,
            rows,
            _read_line,
            clock=time.time,
            action=action,
            asks=asks,
            resume=lambda conversation: _resume_plan(conversation, arguments, environ),
        )
        return picker.run(arguments.query)


def _may_ask(stdin: TextIO | None, rows: Output) -> bool:
    """Whether anything can answer: a person who sees the rows, or what feeds a pipe or a file."""
    if stdin is None:
        return False
    try:
        if stdin.isatty():
            return rows.is_terminal
        return not stat.S_ISCHR(os.fstat(stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _read_line() -> str:
    return sys.stdin.buffer.readline().decode("utf-8", "replace")


def _resume_plan(conversation: Conversation, arguments: Namespace, environ: Mapping[str, str]) -> ResumePlan:
    """How Hermes goes on with a conversation. Raises `CommandMissing` when it cannot."""
    from hermes_sessions.services.resuming import resume_command

    if arguments.command == "browse" and arguments.demo:
        raise errors.CommandMissing("A made-up session cannot be resumed.", "Browse without --demo to resume your own.")
    return resume_command(conversation, store_path(arguments, environ), environ)


def _hand_over(conversation: Conversation, arguments: Namespace, output: Output, environ: Mapping[str, str]) -> int:
    """Become the Hermes command, or where there is no such thing, run it and return its exit code."""
    plan = _resume_plan(conversation, arguments, environ)
    output.flush()
    try:
        if sys.platform == "win32":
            # There, exec starts a new process and lets the shell go on beside it.
            import subprocess

            return subprocess.run(plan.argv, cwd=plan.cwd, env=dict(plan.environ), check=False).returncode
        if plan.cwd is not None:
            os.chdir(plan.cwd)
        os.execvpe(plan.argv[0], plan.argv, plan.environ)
    except OSError as error:
        raise errors.CommandMissing(
            f"{plan.argv[0]} could not be started: {error.strerror}.", plan.as_shell()
        ) from error


COMMANDS: Mapping[str, Callable[[Namespace, Output, Mapping[str, str]], int]] = {
    "browse": browse,
    "resume": resume,
    "demo": demo,
}

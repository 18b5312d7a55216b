"""The command that brings a damaged store back, and what it says about it."""

from __future__ import annotations

import signal
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from hermes_sessions import errors
from hermes_sessions.cli.doctor import Progress
from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.opening import store_path, what_else_there_is
from hermes_sessions.cli.output import Output

if TYPE_CHECKING:
    from hermes_sessions.storage.repairing.repair import Repair, TableRows

    Show = Callable[[str, float | None], None]

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl+C; the system or a person ends the program; the terminal is closed. Not every system has all of them."""


class _Stop(BaseException):
    """Ends a repair from inside of whatever it does."""


def repair(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    """Repair the store, or with `--dry-run` say what that would do. Raises the errors of the tree."""
    from hermes_sessions.services.live import leases_of
    from hermes_sessions.storage.repairing.repair import repair

    path = store_path(arguments, environ)
    try:
        with what_else_there_is(arguments, environ), _stoppable(Progress(output).show) as show:
            done = repair(path, dry_run=arguments.dry_run, leases=lambda: leases_of(path.parent).leases, show=show)
    finally:
        output.passing("")
    if output.as_json:
        output.json(_record(done))
    else:
        _tell(done, output)
    return ExitCode.OK


@contextmanager
def _stoppable(show: Show) -> Iterator[Show]:
    """`show`, which stops the repair once somebody wants that. Raises Interrupted.

    That is only noted when it happens: an exception at that very moment could come between two renames, or while the
    copies are removed. So a second Ctrl+C does no harm. Signals that are ignored, as under nohup(1), stay so.
    """
    wanted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        wanted.set()

    def shown(what: str, share: float | None) -> None:
        if wanted.is_set():
            show("Stopping", None)
            raise _Stop
        show(what, share)

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
        before = {number: signal.signal(number, note) for number in numbers if _is_heard(number)}
    try:
        yield shown
    except _Stop:
        raise errors.Interrupted("Stopped. The store is as it was, and the copies are gone.") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _is_heard(number: int) -> bool:
    return signal.getsignal(number) is not signal.SIG_IGN


def _record(done: Repair) -> dict[str, object]:
    return {
        "schema_version": 1,
        "store": done.store,
        "dry_run": done.dry_run,
        "healthy": done.healthy,
        "damage": list(done.damage),
        "steps": list(done.steps),
        "tables": [table._asdict() for table in done.tables],
        "notes": list(done.notes),
        "backup": done.backup,
    }


def _tell(done: Repair, output: Output) -> None:
    output.line(f"Store: {output.paint(output.safe(done.store), 'bold')}")
    if done.healthy:
        for note in done.notes:
            output.line(output.safe(note))
        output.line(output.paint("No damage found: nothing to repair, and nothing was changed.", "bold", "green"))
        return
    _list("Found", done.damage, output)
    _list("Tried on a copy" if done.dry_run else "Done", done.steps, output)
    lost = [words for table in done.tables if (words := _lost(table))]
    _list("Left out, since it cannot be read", lost, output)
    _list("To know", done.notes, output)
    rows = {table.name: table.after for table in done.tables}
    there = f"{rows.get('sessions', 0):,} sessions and {rows.get('messages', 0):,} messages"
    whole = "and nothing is lost" if not lost else "all that can be read"
    verdict = f"A repair would leave {there}, {whole}." if done.dry_run else f"Repaired: {there}, {whole}."
    output.line(output.paint(verdict, "bold", "yellow" if lost else "green"))
    if done.dry_run:
        from hermes_sessions.storage.index_health import repair_command

        output.line("Nothing was changed. To repair it, close every Hermes and run:")
        output.line(f"  {output.paint(output.safe(repair_command(Path(done.store))), 'bold')}")
    if done.backup:
        output.line(f"The store as it was: {output.safe(done.backup)}")
        why = "since what could not be read is still in it" if lost else "until you have seen that all is well"
        output.line(f"Keep that file {why}. Hermes can be started again.")


def _list(heading: str, lines: Sequence[str], output: Output) -> None:
    if lines:
        output.line(output.paint(heading, "bold"))
    for line in lines:
        output.line(f"  {output.safe(line)}")


def _lost(table: TableRows) -> str:
    """What is missing from a table; empty when nothing is."""
    if table.lost == 0:
        return ""
    name = table.name if table.name in ("sessions", "messages") else f"rows of {table.name}"
    if table.lost is None:
        return f"some {name}, if any were there: nothing tells how many there were"
    return f"{table.lost:,} of {table.after + table.lost:,} {name}"

"""The command that brings a damaged store back, and what it says about it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.opening import store_path, what_else_there_is
from hermes_sessions.cli.output import Output

if TYPE_CHECKING:
    from hermes_sessions.storage.repairing.repair import Repair


def repair(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    """Repair the store, or with `--dry-run` say what that would do. Raises the errors of the tree."""
    from hermes_sessions.services.live import leases_of
    from hermes_sessions.storage.repairing.repair import repair

    path = store_path(arguments, environ)
    with what_else_there_is(arguments, environ):
        done = repair(path, dry_run=arguments.dry_run, leases=lambda: leases_of(path.parent).leases)
    if output.as_json:
        output.json(_record(done))
    else:
        _tell(done, output)
    return ExitCode.OK


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
    output.line(f"Store: {output.safe(done.store)}")
    if done.healthy:
        output.line("Nothing to repair.")
    for damage in done.damage:
        output.line(output.safe(damage))
    if done.dry_run and done.steps:
        output.line("Tried on a copy; the store was not changed:")
    for step in done.steps:
        output.line(output.safe(step))
    for table in done.tables:
        count = "nobody knows how many" if table.lost is None else f"{table.lost:,}"
        lost = "" if table.lost == 0 else f", {count} could not be read"
        output.line(f"  {output.safe(table.name)}: {table.after:,} rows{lost}")
    for note in done.notes:
        output.line(output.safe(note))
    if done.backup:
        output.line(f"The store as it was: {output.safe(done.backup)}")

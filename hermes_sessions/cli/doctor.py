"""The command that looks whether a store is whole, and how its findings are laid out for a person."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping

from hermes_sessions import errors, text
from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.opening import is_missing, store_path, what_else_there_is
from hermes_sessions.cli.output import Output, Style
from hermes_sessions.cli.records import doctor_record
from hermes_sessions.model import Check, CheckStatus, Diagnosis

STYLES: Mapping[CheckStatus, Style] = {"ok": "green", "warn": "yellow", "fail": "red"}

WIDEST = 100
"""Cells beyond which a line is hard to read."""

PATIENCE_SECONDS = 0.4
BEAT_SECONDS = 0.1
"""When to say how far it is for the first time, and how often then."""

BAR = 24
MARGIN = " " * 8


class Progress:
    """One line on the terminal that says what is being looked at, and how far it is. Nothing for a quick visit."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._begun = time.monotonic()
        self._next = self._begun + PATIENCE_SECONDS

    def show(self, what: str, share: float | None) -> None:
        """To be called as often as one likes."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + BEAT_SECONDS
        done = min(BAR, int(BAR * share)) if share is not None else 0
        bar = "" if share is None else f"[{'#' * done}{'.' * (BAR - done)}] {min(99, int(100 * share))} %, "
        self._output.passing(f"{what} {bar}{now - self._begun:.0f} s")


def doctor(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    """Look at the store and tell. Raises StoreMissing where there is none."""
    from hermes_sessions.storage.diagnosis import diagnose

    path = store_path(arguments, environ)
    if is_missing(path):
        with what_else_there_is(arguments, environ):
            raise errors.StoreMissing(f"There is no session store at {path}.")
    try:
        diagnosis = diagnose(path, clock=time.time, full=arguments.full, show=Progress(output).show)
    finally:
        output.passing("")
    if output.as_json:
        output.json(doctor_record(diagnosis))
    else:
        _tell(diagnosis, output)
    if diagnosis.stopped:
        return ExitCode.INTERRUPTED if diagnosis.stopped == "interrupted" else ExitCode.BUSY
    return ExitCode.OK if diagnosis.healthy else ExitCode.DAMAGED


def _tell(diagnosis: Diagnosis, output: Output) -> None:
    output.line(f"Store: {output.paint(output.safe(diagnosis.store), 'bold')}")
    if diagnosis.stored_version is not None:
        output.line(output.safe(f"{diagnosis.layout}; version {diagnosis.stored_version}"))
    names = max((text.cell_width(output.safe(check.name)) for check in diagnosis.checks), default=0)
    group = None
    for check in diagnosis.checks:
        if check.group != group:
            group = check.group
            output.line(output.paint(group, "bold"))
        _tell_check(check, names, output)
    output.line(_sum(diagnosis, output))


def _tell_check(check: Check, names: int, output: Output) -> None:
    status = output.paint(f"{check.status:<4}", STYLES[check.status])
    indent = " " * (2 + 4 + 2 + names + 2)
    width = max(20, min(output.width, WIDEST) - len(indent))
    first, *rest = _lines(check.detail, width, output) or [""]
    output.line(f"  {status}  {text.pad(output.safe(check.name), names)}  {first}".rstrip())
    for line in rest:
        output.line(f"{indent}{line}")
    for line in _lines(check.means, min(output.width, WIDEST) - len(MARGIN), output):
        output.line(f"{MARGIN}{line}")
    if check.fix:
        # Never broken: it is there to be copied.
        output.line(f"{MARGIN}{output.paint('$', 'dim')} {output.paint(output.safe(check.fix), 'bold')}")


def _lines(words: str, width: int, output: Output) -> list[str]:
    safe = output.safe(words)
    return [safe[start:end].rstrip() for start, end in text.wrap(safe, width)] if safe else []


def _sum(diagnosis: Diagnosis, output: Output) -> str:
    statuses = [check.status for check in diagnosis.checks]
    warned, failed = statuses.count("warn"), statuses.count("fail")
    looked_at = f"{len(statuses)} checks" if len(statuses) != 1 else "1 check"
    warnings = f"{warned} warning{'' if warned == 1 else 's'}"
    if diagnosis.stopped:
        why = "Stopped" if diagnosis.stopped == "interrupted" else "Not finished, as the store is locked"
        return output.paint(f"{why}: {looked_at} done, {failed} failed, {warnings}.", "bold", "yellow")
    if failed:
        return output.paint(f"{failed} of {looked_at} failed, {warnings}.", "bold", "red")
    if warned:
        return output.paint(f"No damage found: {looked_at}, {warnings}.", "bold", "yellow")
    return output.paint(f"No damage found: {looked_at}, nothing to complain of.", "bold", "green")

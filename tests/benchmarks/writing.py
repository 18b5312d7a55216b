"""Appends beside Hermes' own, by one process and by several that contend: throughput, and how long one takes.

Ours and theirs take turns on stores of the same kind, and the messages are the same. Both are measured as they are
(`synchronous=FULL`) and with the lesser setting, under which the last appends may be lost when the power fails.
"""

from __future__ import annotations

import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hermes_sessions.storage.writing.owner import create_store
from tests.appending import Appender

CROWDS = ((1, 800), (8, 500))
"""How many processes append, and how much each."""
ROUNDS = 5


class Figures(NamedTuple):
    """Of one round: appends a second, and milliseconds that an append takes."""

    throughput: float
    median: float
    p99: float
    worst: float
    log_mebibytes: float


def measure(hermes: str | None, rounds: int = ROUNDS) -> None:
    """Print the medians over the rounds, and the ratios to Hermes where its Python is given."""
    for processes, appends in CROWDS:
        print(f"  {processes} process{'es' if processes > 1 else ''}, {appends} appends each, {rounds} rounds")
        for setting, durable in (("FULL", True), ("NORMAL", False)):
            writers = {"ours": None, "Hermes": hermes} if hermes else {"ours": None}
            figures: dict[str, list[Figures]] = {name: [] for name in writers}
            for _ in range(rounds):
                for name, python in writers.items():
                    figures[name].append(_round(processes, appends, python, durable))
            for name, measured in figures.items():
                print(f"    {setting:6} {name:6} {_words(_medians(measured))}")
            if hermes:
                print(f"    {setting:6} ratio  {_ratios(_medians(figures['ours']), _medians(figures['Hermes']))}")
    print(f"  load of the machine at the end: {os.getloadavg()[0]:.1f}")


def _round(processes: int, appends: int, hermes: str | None, durable: bool) -> Figures:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "state.db"
        store = create_store(path)
        for number in range(processes):
            store.sessions.create(f"s{number}", source="cli")
        store.close()
        appenders = [
            stack.enter_context(Appender(path, f"s{number}", appends, hermes=hermes, durable=durable))
            for number in range(processes)
        ]
        for appender in appenders:
            appender.wait_ready()
        started = time.perf_counter()
        for appender in appenders:
            appender.go()
        log = 0
        for appender in appenders:
            appender.wait_done()
            log = max(log, _size(Path(f"{path}-wal")))
        elapsed = time.perf_counter() - started
        times = sorted(seconds * 1000 for appender in appenders for seconds in appender.finish())
    return Figures(
        len(times) / elapsed, statistics.median(times), times[len(times) * 99 // 100], times[-1], log / 2**20
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _medians(figures: list[Figures]) -> Figures:
    return Figures(*map(statistics.median, zip(*figures, strict=True)))


def _words(figures: Figures) -> str:
    return (
        f"{figures.throughput:6.0f}/s  median {figures.median:6.2f} ms  p99 {figures.p99:7.1f} ms"
        f"  worst {figures.worst:7.0f} ms  log {figures.log_mebibytes:4.1f} MiB"
    )


def _ratios(ours: Figures, theirs: Figures) -> str:
    return "  ".join(
        f"{name} {getattr(ours, name) / getattr(theirs, name):.2f} x"
        for name in ("throughput", "median", "p99", "worst")
    )

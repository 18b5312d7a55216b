"""Process start to first screen, beside a bare Textual app with one table."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from tests.benchmarks.terminal import Terminal

BARE = """
from textual.app import App
from textual.widgets import DataTable

class Bare(App):
    def compose(self):
        yield DataTable()

    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("title", "when")
        table.add_rows([("FIRST ROW", str(number)) for number in range(20)])

Bare().run()
"""


def first_screen(command: list[str], pattern: bytes) -> tuple[float, float]:
    """Seconds until `pattern` shows, and mebibytes in use a moment later."""
    terminal = Terminal(command)
    try:
        seconds = terminal.wait_for(pattern)
        terminal.settle()
        return seconds, terminal.resident_mebibytes()
    finally:
        terminal.close()


def measure(stores: dict[str, tuple[Path, bytes]], rounds: int = 9) -> None:
    """Print the medians for each store and their ratios to the bare app, in interleaved rounds."""
    program = [sys.executable, "-m", "hermes_sessions"]
    candidates = {"bare app": ([sys.executable, "-c", BARE], b"FIRST ROW")}
    for name, (path, pattern) in stores.items():
        candidates[name] = ([*program, "--db", str(path), "browse"], pattern)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    memory: dict[str, list[float]] = {name: [] for name in candidates}
    for command, pattern in candidates.values():
        first_screen(command, pattern)  # fills the disk cache
    for _ in range(rounds):
        for name, (command, pattern) in candidates.items():
            seconds, mebibytes = first_screen(command, pattern)
            times[name].append(seconds)
            memory[name].append(mebibytes)
    bare = statistics.median(times["bare app"])
    for name, measured in times.items():
        median = statistics.median(measured)
        print(
            f"  {name:24} median {median * 1000:6.0f} ms  min {min(measured) * 1000:6.0f} ms"
            f"  {median / bare:5.2f} x bare  {statistics.median(memory[name]):5.0f} MiB"
        )

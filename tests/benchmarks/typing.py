"""Typing in the search line of the whole browser: the last screen, the longest wait of the event loop, the memory."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from pathlib import Path

from textual import events

from hermes_sessions.services.history import History
from hermes_sessions.services.resuming import resume_command
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.setting import Setting
from tests.benchmarks.waits import TICK, Waits

BETWEEN_KEYS = 0.02
"""Seconds: faster than anybody types."""

ROUNDS = 10
WORDS = ("self", "import", "docker nginx", "错误", "zzzznothing")


def measure(path: Path) -> None:
    """Print for each word how long after its last letter the answer to it is on the screen, and the longest wait."""
    asyncio.run(_measure(path))


async def _measure(path: Path) -> None:
    history = History(path)
    app = BrowserApp(
        history, Setting("", False, None, time.time), resume=lambda item: resume_command(item, history.path)
    )
    waits = Waits()
    async with app.run_test(size=(120, 36)):
        screen = app.screen
        assert isinstance(screen, BrowserScreen)
        while not screen._store.catalog.whole:
            await asyncio.sleep(TICK)
        screen.search_bar.input.focus()
        await asyncio.sleep(1)  # what follows the first screen is over
        gc.collect()
        gc.freeze()  # as the browser itself does when nobody types
        for word in WORDS:
            answered, longest = [], []
            before = _resident_mebibytes()
            for _ in range(ROUNDS):
                async with waits.watch():
                    answered.append(await _typed(screen, word) * 1000)
                    await asyncio.sleep(0.3)
                longest.append(waits.longest * 1000)
                async with waits.watch():
                    await _erased(screen, word)
                longest.append(waits.longest * 1000)
            print(
                f"  {word:14} answer on the screen after {statistics.median(answered):5.0f} ms, worst"
                f" {max(answered):5.0f}; longest wait of the loop {max(longest):4.0f} ms, median"
                f" {statistics.median(longest):3.0f}; memory {before:.0f} -> {_resident_mebibytes():.0f} MiB"
            )
    history.close()


async def _typed(screen: BrowserScreen, word: str) -> float:
    """Seconds from the last key to the screen that answers what was typed."""
    for letter in word:
        await asyncio.sleep(BETWEEN_KEYS)
        started = time.perf_counter()
        screen.app.post_message(events.Key(letter if letter != " " else "space", letter))
    while screen.search_bar.text != word or not _answers(screen, word):
        await asyncio.sleep(TICK)
    return time.perf_counter() - started


async def _erased(screen: BrowserScreen, word: str) -> None:
    for _ in word:
        await asyncio.sleep(BETWEEN_KEYS)
        screen.app.post_message(events.Key("backspace", None))
    while screen.search_bar.text or not _answers(screen, ""):
        await asyncio.sleep(TICK)


def _answers(screen: BrowserScreen, text: str) -> bool:
    search = screen._search
    return search.text == text and not search.waiting


def _resident_mebibytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

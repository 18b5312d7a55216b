"""Words that are left out alone, and conditions on conversations beside words: first answers, whole ones, giving up."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from hermes_sessions.errors import Interrupted
from hermes_sessions.model import Catalog
from hermes_sessions.services.answers import Answers
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.query import parse

ROUNDS = 3

QUERIES = (
    *("-art", "-self", "-the", "-zzzz", "-function", "-go", "-C++", "-数据", "-数据库", '-"import os"', "-art* -self"),
    *("cost:>1 self", "source:cli self", "title:docker re", "messages:>100 docker", "has:cost 数据", "-art cost:>1"),
    *("is:error self", "cost:>100000 self"),
)

GIVEN_UP_AFTER = (0.002, 0.01, 0.05, 0.2, 0.6)
"""Seconds from a question to the moment when it is given up."""


def measure(path: Path) -> None:
    """Print the seconds to the first and to the last answer, and how long the thread is held when one is given up."""
    store = open_store(path)
    catalog = store.sessions.catalog()
    list(store.search.stream("warm", catalog))
    print("  words left out, and conditions on conversations:    first answer        cpu      whole answer")
    for query in QUERIES:
        rounds = [_answered(store, catalog, query) for _ in range(ROUNDS)]
        first, cpu, whole, found = min(rounds)
        print(f"    {query!r:42} {first * 1000:12.1f} ms {cpu * 1000:8.1f} {whole * 1000:11.0f} ms {found:8,} found")
    held = {(query, after): _given_up(store, catalog, query, after) for query in QUERIES for after in GIVEN_UP_AFTER}
    ordered = sorted(held.values())
    print(
        f"    given up {len(ordered)} times, the thread was free after: median {ordered[len(ordered) // 2] * 1000:.2f}"
        f" ms, p95 {ordered[int(len(ordered) * 0.95)] * 1000:.1f} ms, worst {ordered[-1] * 1000:.1f} ms"
        f" ({max(held, key=held.__getitem__)})"
    )
    store.close()


def _answered(store: Store, catalog: Catalog, query: str) -> tuple[float, float, float, int]:
    """Seconds to the first conversations, by the clock and of the processor, and to the last, and how many there are.

    Nothing is known yet of any conversation.
    """
    first: tuple[float, float] | None = None
    found = 0
    started, spent = time.perf_counter(), time.process_time()
    for answer in Answers(store, time.time).stream(parse(f"{query} "), catalog):
        found = len(answer.conversations)
        if first is None and (found or answer.complete):
            first = time.perf_counter() - started, time.process_time() - spent
    assert first is not None
    return (*first, time.perf_counter() - started, found)


def _given_up(store: Store, catalog: Catalog, query: str, after: float) -> float:
    """Seconds from giving up until the thread is free, interrupted as `services.background` does."""
    given_up = threading.Event()
    ended: list[float] = []

    def ask() -> None:
        try:
            for _ in Answers(store, time.time).stream(parse(f"{query} "), catalog, cancelled=given_up.is_set):
                if given_up.is_set():
                    break
        except Interrupted:
            pass
        ended.append(time.perf_counter())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(after)
    given_up.set()
    stopped = time.perf_counter()
    while thread.is_alive():
        store.interrupt()
        thread.join(0.02)
    return max(0.0, ended[0] - stopped)

"""`python -m tests.benchmarks STORE [--hermes PYTHON] [--only NAME]`: the figures of every budget."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hermes_sessions.services.demo import write_demo
from hermes_sessions.storage import open_store
from tests.benchmarks import asking, reading, searching, startup, typing, writing


def in_the_model(path: Path) -> None:
    """Print how long the store takes for what the screen asks of it."""
    store = open_store(path)
    catalog = store.sessions.catalog()
    screen = list(catalog)[:40]
    overviews = store.sessions.overviews(catalog)
    longest = max(catalog, key=lambda item: overviews[item.id].message_count)
    stubs = store.messages.outline(longest)
    questions: dict[str, Callable[[], object]] = {
        "newest 200 conversations": lambda: store.sessions.catalog(recent=200),
        f"all {len(catalog):,} conversations": store.sessions.catalog,
        "a screen of overviews": lambda: store.sessions.overviews(screen),
        f"outline of {len(stubs):,} messages": lambda: store.messages.outline(longest),
        "64 messages of it": lambda: store.messages.get(stub.id for stub in stubs[-64:]),
        "cost by model": lambda: store.costs.summary("model"),
        "cost by day": lambda: store.costs.summary("day"),
    }
    for name, question in questions.items():
        times = []
        for _ in range(5):
            started = time.perf_counter()
            question()
            times.append(time.perf_counter() - started)
        print(f"  {name:32} median {statistics.median(times) * 1000:7.1f} ms")
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "store", type=Path, nargs="?", help="a big store; with --hermes a copy, since Hermes opens it for writing"
    )
    parser.add_argument("--hermes", metavar="PYTHON", help="a Python that has hermes-agent installed")
    parser.add_argument("--only", choices=["startup", "model", "search", "typing", "writing", "reading"])
    arguments = parser.parse_args()
    if arguments.store is None and arguments.only not in ("writing", "reading"):
        parser.error("all but --only writing and --only reading look at a store")
    with TemporaryDirectory() as folder:
        demo = Path(folder) / "state.db"
        write_demo(demo, time.time())
        if arguments.only in (None, "startup"):
            print("start to first screen")
            startup.measure(
                {"demo store": (demo, first_title(demo)), "big store": (arguments.store, first_title(arguments.store))}
            )
    if arguments.only in (None, "model"):
        print("in the model")
        in_the_model(arguments.store)
    if arguments.only in (None, "search"):
        print("search")
        searching.measure(arguments.store, arguments.hermes)
        asking.measure(arguments.store)
    if arguments.only in (None, "typing"):
        print("typing")
        typing.measure(arguments.store)
    if arguments.only in (None, "writing"):
        print("writing")
        writing.measure(arguments.hermes)
    if arguments.only in (None, "reading"):
        print("reading")
        reading.measure()


def first_title(path: Path) -> bytes:
    """A word of the first row that the browser shows for this store."""
    store = open_store(path)
    shown = next(item for item in store.sessions.catalog(recent=50) if item.kind == "conversation" and not item.empty)
    text = shown.title or store.sessions.overviews([shown])[shown.id].preview or shown.id
    store.close()
    return text.split()[0].encode()


if __name__ == "__main__":
    main()

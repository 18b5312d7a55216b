"""Reading conversations: how long the first screen takes, the end, a hit, a new size, and the longest wait of a key.

The message view alone, over a store of its own: from the question to lines that are all there and drawn. Times are
medians of several rounds; a wait is the longest that the event loop was busy at a stretch, when other work of the
process (the store's threads) may have had the processor, too. Memory is the whole browser's, on a terminal.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, ComposeResult

from hermes_sessions.model import Conversation
from hermes_sessions.services.history import History
from hermes_sessions.storage import open_store
from hermes_sessions.tui.message_view import MessageView
from hermes_sessions.tui.themes import DARK, THEMES, role_colours
from tests.benchmarks.terminal import Terminal
from tests.benchmarks.waits import TICK, Waits
from tests.builders import HermesFile

MEGABYTES = 10
SIZES = ((120, 36), (100, 30))
ROUNDS = 5
WALK = 200
NEEDLE = "needle"

PROSE = "Some **words** about `code.py`, and a [link](https://example.org/path) to it.\n\n- one item\n- another\n\n"
CODE = "def function(argument: int = 7) -> str:\n    # why\n    return f'{argument}' + \"text\"\n\n"


def measure() -> None:
    """Print the figures."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        with HermesFile(path, 6) as file:
            for name, messages in talks().items():
                session = file.session(id=name, source="cli", title=name)
                for role, text in messages:
                    file.message(session, role, text)
        asyncio.run(_measure(path))
        with HermesFile(Path(folder) / "many" / "state.db", 6) as file:
            for number in range(WALK + 20):
                session = file.session(id=f"s{number}", source="cli", title=f"title{number:03}")
                for place, (role, text) in enumerate(_prose(40)):
                    file.message(session, role, f"{number} {place} {text}")
        _walk(Path(folder) / "many" / "state.db")


def talks() -> dict[str, list[tuple[str, str]]]:
    """The conversations by their names: role and text of each message, the needle in the middle."""
    huge = MEGABYTES * 1_000_000
    lines = PROSE * (huge // len(PROSE))
    rows = [{"path": f"src/file{number}.py", "line": number, "text": "some text"} for number in range(huge // 90)]
    rows[len(rows) // 2]["text"] = NEEDLE
    output = _with_needle("a line of output, and nothing else in it\n" * (huge // 41))
    code = CODE * (huge // len(CODE))
    return {
        "60 messages": _prose(60),
        "6,000 messages": _prose(6_000),
        "one line": _only("assistant", "word " * (huge // 5)),
        "many lines": _only("assistant", lines),
        "Chinese": _only("assistant", "这是一个很长的文本，没有空格。" * (huge // 45)),
        "JSON": _only("tool", json.dumps({"total": len(rows), "matches": rows})),
        "an output": _only("tool", json.dumps({"output": output, "exit_code": 0})),
        "code in a fence": _only("assistant", f"See:\n```python\n{code}```"),
        "code of 60 KB": _only("assistant", f"See:\n```python\n{CODE * (60_000 // len(CODE))}```"),
    }


def _only(role: str, text: str) -> list[tuple[str, str]]:
    return [("user", "Please."), (role, _with_needle(text) if role != "tool" else text)]


def _with_needle(text: str) -> str:
    middle = len(text) // 2
    return f"{text[:middle]} {NEEDLE} {text[middle:]}"


def _prose(count: int) -> list[tuple[str, str]]:
    said = [
        ("assistant" if number % 2 else "user", f"{number}\n\n{PROSE * (number % 5 + 1)}") for number in range(count)
    ]
    said[count // 2] = ("assistant", f"{NEEDLE} {PROSE}\n```python\n{CODE}```")
    return said


class _Reader(App[None]):
    """Nothing but a message view."""

    def __init__(self) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK
        self.view = MessageView(id="view")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return role_colours(self.current_theme)

    def compose(self) -> ComposeResult:
        yield self.view


async def _measure(path: Path) -> None:
    history = History(path)
    history.ready()
    conversations = {item.id: item for item in await history.catalog()}
    app = _Reader()
    waits = Waits()
    print(
        f"  {'':18}{'first screen':>14}{'end':>8}{'hit':>8}{'resize':>9}{'its end':>9}{'opened':>9}   longest wait, ms"
    )
    async with app.run_test(size=SIZES[0]):
        baseline = 0.0
        for name in talks():
            times: dict[str, list[float]] = {}
            longest: dict[str, float] = {}
            for number in range(ROUNDS):
                for step, action in _steps(app, history, conversations[name], number):
                    async with waits.watch():
                        started = time.perf_counter()
                        await action()
                        times.setdefault(step, []).append((time.perf_counter() - started) * 1000)
                    longest[step] = max(longest.get(step, 0.0), waits.longest * 1000)
            medians = {step: statistics.median(values) for step, values in times.items()}
            baseline = baseline or medians["first"]
            waited = "  ".join(f"{step} {value:.0f}" for step, value in longest.items())
            print(
                f"  {name:18}{medians['first']:8.0f} ms{medians['end']:8.0f}{medians['hit']:8.0f}"
                f"{medians['resize']:9.0f}{medians['bottom']:9.0f}{medians['open']:9.0f}   {waited}"
                f"   first screen {medians['first'] / baseline:.1f} x 60 messages"
            )
    history.close()


def _steps(
    app: _Reader, history: History, conversation: Conversation, number: int
) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
    view = app.view

    async def first() -> None:
        stubs = await history.outline(conversation)
        await view.show(conversation, stubs, history.messages, at=stubs[len(stubs) // 3].id)
        await _drawn(view)

    async def end() -> None:
        view.action_last()
        await _drawn(view)

    async def hit() -> None:
        found = asyncio.create_task(view.hits.find(NEEDLE))
        while not _seen(view) and not found.done():
            await asyncio.sleep(TICK)
        assert _seen(view)
        await _drawn(view)
        found.cancel()
        view.hits.forget()

    async def resize() -> None:
        width, height = SIZES[(number + 1) % 2]
        view.styles.width, view.styles.height = width, height
        while view.outer_size != (width, height) or view.viewport.page != view.page:
            await asyncio.sleep(TICK)
        await _drawn(view)

    async def shut() -> None:
        view.action_last()
        view.viewport.transcript.toggle(view.viewport.cursor, None)
        view.viewport.go_to_end()

    async def opened() -> None:
        view.action_fold()
        await _drawn(view)

    steps = {"first": first, "end": end, "hit": hit, "resize": resize, "bottom": end, "shut": shut, "open": opened}
    return iter(steps.items())


def _seen(view: MessageView) -> bool:
    """Whether the hit is on the screen."""
    line = view.hits.line if view.hits.finder.hit else None
    return line is not None and view.viewport.y <= line < view.viewport.y + view.page


async def _drawn(view: MessageView) -> None:
    """Until all that is seen is there; then draw it."""
    while view.viewport.transcript.missing(view.viewport.around):
        await asyncio.sleep(TICK)
    for y in range(view.size.height):
        view.render_line(y)


def _walk(path: Path) -> None:
    """Print the browser's memory before and after it has shown so many conversations."""
    store = open_store(path)
    titles = [item.title for item in store.sessions.catalog() if item.title]
    store.close()
    terminal = Terminal([sys.executable, "-m", "hermes_sessions", "--db", str(path), "browse"])
    try:
        terminal.wait_for(titles[0].encode())
        terminal.settle()
        before = terminal.resident_mebibytes()
        for title in titles[1 : WALK + 1]:
            terminal.press(b"j", title.encode())
            terminal.settle(0.1)
        after = terminal.resident_mebibytes()
    finally:
        terminal.close()
    print(f"  memory: {before:.0f} MiB with one conversation, {after:.0f} MiB after {WALK} of them")

"""Processes that append to one store at the same time, by this program or by a real Hermes, and what they must leave.

What each is to write follows from the session and the number of the message alone, so that whoever looks afterwards
knows it to the letter. Run as a program by the Python of either, hence the standard library only at the top.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
WORDS = [
    "".join(random.Random(number).choices("etaoinshrdlucmfwypvbgkqjxz", k=2 + number % 8)) for number in range(2_000)
]
LENGTHS = (40, 200, 800, 800, 2_000, 6_000)
TURNS = (1, 1, 1, 4)
"""How many messages go into one call, in turn, where batches are asked for."""


class Said(NamedTuple):
    """A message as it is handed over."""

    role: str
    content: str
    tool_calls: list[dict[str, Any]] | None = None


def said(session: str, number: int, largest: int) -> Said:
    """The message of this number. A few are as long as `largest`, the others from 40 to 6,000 characters."""
    chosen = random.Random(f"{session} {number}")
    length = largest if number % 100 == 60 else min(largest, chosen.choice(LENGTHS))
    content = f"{session} {number} {' '.join(chosen.choices(WORDS, k=length // 6))}"[:length]
    if number % 5:
        return Said("user", content)
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}
    return Said("assistant", content, [call] * (1 + number % 2))


def turns(count: int, batches: bool) -> Iterator[range]:
    """The numbers of the messages of each call, `count` messages in all."""
    first = 0
    call = 0
    while first < count:
        end = min(count, first + (TURNS[call % len(TURNS)] if batches else 1))
        yield range(first, end)
        first, call = end, call + 1


class Appender:
    """A process that appends `count` messages to a session of a store, once it is told to.

    With `hermes`, the Python of one, it is that Hermes' SessionDB that does. Use it in a `with`, which ends it.
    """

    def __init__(
        self,
        path: Path,
        session: str,
        count: int,
        *,
        hermes: str | None = None,
        durable: bool = True,
        batches: bool = False,
        largest: int = 6_000,
    ):
        self.session, self.count, self.batches, self.largest = session, count, batches, largest
        options = {"durable": durable, "batches": batches, "largest": largest, "hermes": hermes is not None}
        self._heard: list[str] = []
        self._process = subprocess.Popen(
            [hermes or sys.executable, __file__, str(path), session, str(count), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ({} if hermes else {"PYTHONPATH": str(ROOT)}),
            text=True,
        )

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def wait_ready(self) -> None:
        """Return when the store is open and the messages are made up."""
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> int:
        """Kill it with SIGKILL and return how many messages were acknowledged."""
        self._process.kill()
        output, _ = self._process.communicate()
        return sum(int(line.split()[0]) for line in output.splitlines(keepends=True) if line.endswith("\n"))

    def wait_done(self) -> None:
        """Return when the last call is acknowledged."""
        assert self._process.stdout
        missing = self.count
        while missing:
            line = self._process.stdout.readline()
            assert line, f"{self.session} failed"
            self._heard.append(line)
            missing -= int(line.split()[0])

    def finish(self) -> list[float]:
        """Wait for its end and return the seconds that each call took. Every call must have succeeded."""
        output, _ = self._process.communicate()
        assert self._process.returncode == 0, f"{self.session} failed"
        acknowledged = [line.split() for line in (*self._heard, *output.splitlines())]
        assert sum(int(messages) for messages, _ in acknowledged) == self.count
        return [float(seconds) for _, seconds in acknowledged]

    def expected(self, count: int | None = None) -> list[Said]:
        """The first `count` messages of the session, or all of them."""
        return [said(self.session, number, self.largest) for number in range(self.count if count is None else count)]

    def ends(self) -> set[int]:
        """How many messages there may be when no call is half there."""
        return {0} | {turn.stop for turn in turns(self.count, self.batches)}


def _ours(path: Path, session: str, durable: bool) -> Callable[[list[Said]], object]:
    from hermes_sessions.storage.database import Database
    from hermes_sessions.storage.writing.entries import NewMessage
    from hermes_sessions.storage.writing.owner import OwnerStore

    # Not `own_store`, which would turn a store without a WAL into one that has it.
    store = OwnerStore(Database(path, "owner"), durable=durable)
    return lambda turn: store.messages.append_all(session, [NewMessage(*message[:2], message[2]) for message in turn])


def _hermes(path: Path, session: str, durable: bool) -> Callable[[list[Said]], object]:
    from hermes_state import SessionDB  # type: ignore[import-not-found]

    database = SessionDB(path)
    if not durable:
        database._conn.execute("PRAGMA synchronous=NORMAL")

    def append(turn: list[Said]) -> None:
        for message in turn:
            database.append_message(session, message.role, message.content, tool_calls=message.tool_calls)

    return append


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("session")
    parser.add_argument("count", type=int)
    parser.add_argument("options", type=json.loads)
    arguments = parser.parse_args()
    options = arguments.options
    opened = _hermes if options["hermes"] else _ours
    append = opened(arguments.path, arguments.session, options["durable"])
    work = [
        [said(arguments.session, number, options["largest"]) for number in turn]
        for turn in turns(arguments.count, options["batches"])
    ]
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in work:
        started = time.perf_counter()
        append(turn)
        print(len(turn), time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()

"""Writes the sample history: three months of believable conversations, the same for the same `now`.

What is said stands in `demo_history`. Here it gets its times, ids, tokens and prices, and is played through the storage
core in the order of time, as if it had happened.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path

from hermes_sessions.services.demo_history import talks
from hermes_sessions.services.demo_history.billing import ROUTES, usages
from hermes_sessions.services.demo_history.script import Talk, seconds
from hermes_sessions.storage.writing.entries import NewMessage, Usage
from hermes_sessions.storage.writing.owner import OwnerStore, create_store

HOME = "/home/mara"
SYSTEM_PROMPT = "You are Hermes, an agent that helps Mara with her work and her household."
CONFIG = {"max_iterations": 90, "reasoning_config": {"enabled": True, "effort": "medium"}}
LINKS = ("continues", "branches", "delegate of")
INHERITED = ("source", "model", "via")
CHAT_SOURCES = frozenset({"telegram", "discord", "slack", "whatsapp"})

Event = tuple[float, Callable[[OwnerStore], object]]


def write_demo(path: Path, now: float) -> None:
    """Write the sample store to `path`, ending at `now` (epoch seconds). Equal times give equal rows.

    Raises FileExists when something is there, and StoreUnreadable when it cannot be written.
    """
    clock = _Clock(now)
    # Losing a sample to a power cut is no loss, and not waiting for the disk makes it several times faster.
    store = create_store(path, clock=clock.read, durable=False)
    try:
        for moment, happen in sorted(_events(now), key=lambda event: event[0]):
            clock.now = moment
            happen(store)
    finally:
        store.close()


@contextmanager
def demo_home(now: float | None = None) -> Iterator[Path]:
    """A Hermes home with the sample store in it, only for this user, gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="hermes-sessions-demo-") as home:
        write_demo(Path(home) / "state.db", time.time() if now is None else now)
        yield Path(home)


class _Clock:
    def __init__(self, now: float):
        self.now = now

    def read(self) -> float:
        return self.now


def _events(now: float) -> Iterator[Event]:
    told: dict[str, _Telling] = {}
    for talk in talks():
        told[talk.key] = _Telling(talk, now, told)
    for telling in told.values():
        yield from telling.events()


class _Telling:
    """One talk with its times and its id. What it continues, branches from or helps with is among `others`."""

    def __init__(self, talk: Talk, now: float, others: Mapping[str, _Telling]):
        self._facts = dict(talk.facts)
        self._messages = [step.message for step in talk.steps]
        self._parent = next((others[self._facts[word]] for word in LINKS if word in self._facts), None)
        if self._parent and "delegate of" not in self._facts:
            self._facts = {name: self._parent._facts[name] for name in INHERITED} | self._facts
        last = now - seconds(self._facts["ago"])
        offsets = list(accumulate(step.gap for step in talk.steps))
        self._times = [round(last - offsets[-1] + offset, 3) for offset in offsets]
        self._started = round((self._times or [last])[0] - 0.25, 3)
        self._id = _session_id(talk.key, self._facts, self._started)
        self._asked: int | None = None

    def events(self) -> Iterator[Event]:
        facts = self._facts
        yield self._started, self._begin
        used = usages(self._messages, facts["model"], ROUTES[facts["via"]])
        for moment, message in zip(self._times, self._messages, strict=True):
            if message is None:
                yield moment, self._rewind
                continue
            yield moment, partial(self._say, message)
            if message.role == "assistant":
                yield moment, partial(self._pay, next(used))
        if "title" in facts:
            title = facts["title"].replace("{weekday}", time.strftime("%A", time.gmtime(self._started)))
            yield self._started + 20, partial(self._name, title)
        if "end" in facts:
            reason, delay = facts["end"].split(" +")
            ended = (self._times or [self._started])[-1] + seconds(delay)
            yield ended, partial(self._end, reason)
            if "archived" in facts:
                yield ended + 1, self._archive

    def _begin(self, store: OwnerStore) -> None:
        facts, parent = self._facts, self._parent
        if parent and "continues" in facts:
            store.lineage.compress(parent._id, self._id)
        elif parent and "branches" in facts:
            store.lineage.branch(parent._id, self._id)
        else:
            store.sessions.create(
                self._id,
                source=facts.get("source", "subagent"),
                model=facts["model"],
                model_config=CONFIG | ({"_delegate_from": parent._id} if parent else {}),
                system_prompt=SYSTEM_PROMPT,
                parent_id=parent._id if parent else None,
                user_id=facts.get("person"),
                cwd=facts["cwd"].replace("~", HOME, 1) if "cwd" in facts else None,
            )

    def _say(self, message: NewMessage, store: OwnerStore) -> None:
        message_id = store.messages.append(self._id, message)
        if message.role == "user":
            self._asked = message_id

    def _pay(self, usage: Usage, store: OwnerStore) -> None:
        store.usage.add(self._id, usage)

    def _name(self, title: str, store: OwnerStore) -> None:
        store.sessions.set_title(self._id, title)

    def _end(self, reason: str, store: OwnerStore) -> None:
        store.sessions.end(self._id, reason)

    def _archive(self, store: OwnerStore) -> None:
        store.sessions.archive(self._id)

    def _rewind(self, store: OwnerStore) -> None:
        assert self._asked is not None
        store.messages.rewind(self._id, self._asked)


def _session_id(key: str, facts: dict[str, str], started: float) -> str:
    """An id in the form Hermes gives each source. Time in UTC and digits from the key: the same everywhere."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(started))
    match facts.get("source"):
        case "cron":
            return f"cron_{facts['job']}_{stamp}"
        case "acp":
            return str(uuid.UUID(digest[:32], version=4))
        case source:
            return f"{stamp}_{digest[: 8 if source in CHAT_SOURCES else 6]}"

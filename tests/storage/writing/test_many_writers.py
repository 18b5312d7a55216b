"""Many processes write one store: every message is there once and in order, whoever reads meanwhile."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.owner import create_store, own_store
from tests.appending import Appender, Said

MEBIBYTE = 2**20


def prove_many_writers(path: Path, processes: int, appends: int, largest: int, hermes: str | None = None) -> str:
    """Have that many processes append to a store without a fault, one Hermes more where its Python is given.

    Return what was seen, in words.
    """
    sessions = [f"s{number}" for number in range(processes)]
    store = create_store(path)
    for session in [*sessions, *(["hermes"] if hermes else [])]:
        store.sessions.create(session, source="cli")
    store.close()
    with ExitStack() as stack:
        appenders = [
            stack.enter_context(Appender(path, session, appends, batches=number % 2 == 1, largest=largest))
            for number, session in enumerate(sessions)
        ]
        if hermes:
            appenders.append(stack.enter_context(Appender(path, "hermes", appends, hermes=hermes, largest=largest)))
        for appender in appenders:
            appender.wait_ready()
        for appender in appenders:
            appender.go()
        looks = look_on(path, appenders)
        times = {appender.session: appender.finish() for appender in appenders}
    assert_all_there(path, appenders)
    ours = sorted(seconds for session in sessions for seconds in times[session])
    words = (
        f"{sum(appender.count for appender in appenders)} messages of {len(appenders)} processes are all there,"
        f" looked at {looks} times meanwhile; 99 of 100 calls took at most {ours[len(ours) * 99 // 100]:.2f} s,"
        f" the slowest {ours[-1]:.2f} s"
    )
    return f"{words}, the slowest of Hermes {max(times['hermes']):.2f} s" if hermes else words


def look_on(path: Path, appenders: list[Appender]) -> int:
    """Read the store as the browser does while it is written. Return how often all was as it should be.

    What was there once stays, in its place, and what is there is from the beginning on without a gap.
    """
    store = open_store(path)
    seen: Counter[str] = Counter()
    for look in count(1):
        running = any(appender.running for appender in appenders)
        catalog = store.sessions.catalog()
        assert len(catalog) == len(appenders)
        overviews = store.sessions.overviews(catalog)
        for conversation in catalog:
            outline = store.messages.outline(conversation)
            page = outline[-20:]
            messages = store.messages.get(stub.id for stub in page)
            numbers = [int(messages[stub.id].text.split()[1]) for stub in page]
            assert numbers == list(range(len(outline) - len(page), len(outline)))
            assert len(outline) >= overviews[conversation.id].message_count >= seen[conversation.id]
            seen[conversation.id] = len(outline)
        if not running:
            store.close()
            return look
    raise AssertionError("unreachable")


def assert_all_there(path: Path, appenders: list[Appender]) -> None:
    """Every message of every appender once and in order, counters and both indexes right, the file sound."""
    database = Database(path)
    for appender in appenders:
        assert in_session(database, appender.session) == appender.expected()
    assert_sound(database)
    database.close()
    store = own_store(path)
    store.index.check()
    store.close()


def in_session(database: Database, session: str) -> list[Said]:
    rows = database.rows(
        "SELECT role, content, json(tool_calls) FROM messages WHERE session_id = ? ORDER BY id", (session,)
    )
    return [Said(str(role), str(text), json.loads(str(calls)) if calls else None) for role, text, calls in rows]


def assert_sound(database: Database) -> None:
    """The file is undamaged, and the counters say how many messages and calls there are."""
    assert database.value("PRAGMA integrity_check") == "ok"
    assert (
        database.rows(
            "SELECT id, message_count, tool_call_count FROM sessions"
            " EXCEPT SELECT sessions.id, count(messages.id), COALESCE(sum(json_array_length(tool_calls)), 0)"
            " FROM sessions LEFT JOIN messages ON session_id = sessions.id GROUP BY sessions.id"
        )
        == []
    )


def test_what_many_processes_write_is_all_there_and_whoever_reads_sees_it_grow(tmp_path: Path) -> None:
    """`python -m tests.benchmarks.proofs` does so with more of all, and a real Hermes among them."""
    prove_many_writers(tmp_path / "state.db", processes=4, appends=70, largest=MEBIBYTE // 4)

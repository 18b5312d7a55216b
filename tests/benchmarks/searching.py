"""Key to first results in the model, over mixed queries; giving up; and Hermes' own search on the same file."""

from __future__ import annotations

import json
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hermes_sessions.errors import Interrupted
from hermes_sessions.model import Catalog, SearchResult
from hermes_sessions.storage import Store, open_store
from hermes_sessions.storage.finding import NOT_AS_WORDS, NOT_IN_AN_INDEX
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.query import parse
from hermes_sessions.storage.texts import texts_of

ROUNDS = 5

QUERIES = (
    *("docker", "webhook", "self", "import", "return", "postgres", "invoice", "zzzznothing", "ezekiel", "telegram"),
    *("import os", "docker nginx", "raise ValueError", "return None", "def self", "sqlite backup restore"),
    *('"import os"', '"raise ValueError"', '"not there at all"'),
    *("a", "e", "t", "re", "th", "zz", "imp", "doc", "ret", "eze", "seri", "kube", "docker t", "self re"),
    *("数据库", "数据", "配", "错误", "错", "錯", "日本語", "検索", "한국어", "검색", "检索 设定", "数据库 锁定"),
    *("C++", "#2", "100%", "mm/slub.c", "os.path.join", "foo.bar", "self.assert", "https://x.y", "don't", "TODO:"),
    *("--error", "config.yaml", "%", "_", "'", "😀", "sp_new", "__init__", "a.b.c.d", "()", "=="),
    *("docker -nginx", "self -import", "return OR webhook", "docker role:user", "self role:tool", "import has:tools"),
)
"""Common and rare words, phrases, prefixes of one to three letters, one to three Chinese characters and their like,
punctuation, exclusions, filters, nothing found."""

CANCELLED_AFTER = (0.001, 0.005, 0.02, 0.06, 0.15)
"""Seconds from a question to the moment when it is given up."""

HERMES_PAGE, HERMES_HITS = 20, 200
"""Hits that Hermes is asked for when it is timed, and when it is asked what it finds."""

EQUAL = 0.0001
"""Seconds by which nobody is called slower: where nothing is found, both spend nearly all of their time in the same
question to the index, and no person sees the rest."""

HERMES = """
import json, re, sys, time
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
rounds, page, limit = map(int, sys.argv[3:])
answers = {}
for query in json.loads(sys.argv[2]):
    role = re.search(r" role:(\\w+)", query)
    words = re.sub(r" (role|has):\\w+", "", query)
    words = re.sub(r" -(\\w)", r" NOT \\1", words)
    roles = [role[1]] if role else None
    times, cpu = [], []
    for _ in range(rounds):
        started, spent = time.perf_counter(), time.process_time()
        db.search_messages(words, role_filter=roles, limit=page)
        times.append(time.perf_counter() - started)
        cpu.append(time.process_time() - spent)
    found = [row["id"] for row in db.search_messages(words, role_filter=roles, limit=limit)]
    answers[query] = [min(times), min(cpu), found]
print(json.dumps(answers))
"""


class Answer(NamedTuple):
    """The best of some rounds: seconds by the clock, and of the processor's time."""

    seconds: float
    cpu: float


def measure(path: Path, hermes_python: str | None) -> None:
    """Print the spread of first answers and the slowest ones, how long it takes to give up, and how Hermes compares.

    A first answer are the first conversations, or that there is nothing: nothing at all, or nothing that an index has.

    Hermes opens the file for writing: give it a copy.
    """
    store = open_store(path)
    catalog = store.sessions.catalog()
    list(store.search.stream("warm", catalog))
    firsts = {query: _first_answer(store, catalog, query) for query in QUERIES}
    _print_spread("first answer", firsts)
    ranked = {query: _ranked(store, catalog, query) for query in QUERIES}
    _print_spread("ranked", ranked)
    _print_giving_up(store, catalog)
    if hermes_python:
        _print_beside_hermes(store, catalog, path, hermes_python, firsts)
    store.close()


def _first_answer(store: Store, catalog: Catalog, query: str, hits: int = 0) -> Answer:
    """Until so many hits are there, or all; without a number, until something is shown or it is said that there is
    nothing."""
    times, cpu = [], []
    for _ in range(ROUNDS):
        started, spent = time.perf_counter(), time.process_time()
        answers = store.search.stream(query, catalog)
        next(answer for answer in answers if answer.complete or _hits(answer) >= (hits or 1) or _says_no(answer, hits))
        times.append(time.perf_counter() - started)
        cpu.append(time.process_time() - spent)
        answers.close()  # type: ignore[attr-defined]
    return Answer(min(times), min(cpu))


def _says_no(answer: SearchResult, hits: int) -> bool:
    return not hits and answer.notice in (NOT_AS_WORDS, NOT_IN_AN_INDEX)


def _hits(answer: SearchResult) -> int:
    """How many messages were found, titles not counted."""
    titles = sum(hit.message_id is None for found in answer.conversations for hit in found.hits)
    return sum(found.hit_count for found in answer.conversations) - titles


def _ranked(store: Store, catalog: Catalog, query: str) -> Answer:
    """Until the best are known."""
    started, spent = time.perf_counter(), time.process_time()
    answers = store.search.stream(query, catalog, order="relevance")
    next(answer for answer in answers if answer.conversations or answer.complete or _says_no(answer, 0))
    answer = Answer(time.perf_counter() - started, time.process_time() - spent)
    answers.close()  # type: ignore[attr-defined]
    return answer


def _print_spread(name: str, answers: dict[str, Answer]) -> None:
    for kind in ("seconds", "cpu"):
        ordered = sorted(getattr(answer, kind) for answer in answers.values())
        print(
            f"  {name}, {len(ordered)} queries, {'wall' if kind == 'seconds' else 'cpu '}: median"
            f" {statistics.median(ordered) * 1000:.2f} ms, p95 {ordered[int(len(ordered) * 0.95)] * 1000:.1f} ms,"
            f" worst {ordered[-1] * 1000:.1f} ms"
        )
    for query in sorted(answers, key=lambda query: answers[query].seconds, reverse=True)[:6]:
        print(f"    {query!r:26} {answers[query].seconds * 1000:7.1f} ms")


def _print_giving_up(store: Store, catalog: Catalog) -> None:
    """How long the thread is still held when a question is given up at some moment, over all queries."""
    held = {}
    for query in QUERIES:
        for after in CANCELLED_AFTER:
            given_up = threading.Event()
            ended: list[float] = []

            def ask(query: str = query, given_up: threading.Event = given_up, ended: list[float] = ended) -> None:
                try:
                    for _ in store.search.stream(query, catalog, cancelled=given_up.is_set):
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
            store.interrupt()
            thread.join()
            held[query, after] = ended[0] - stopped
    ordered = sorted(max(0.0, seconds) for seconds in held.values())
    print(
        f"  given up {len(ordered)} times, the thread was free after: median {statistics.median(ordered) * 1000:.2f}"
        f" ms, p95 {ordered[int(len(ordered) * 0.95)] * 1000:.1f} ms, worst {ordered[-1] * 1000:.1f} ms"
        f" ({max(held, key=held.__getitem__)})"
    )


def _print_beside_hermes(store: Store, catalog: Catalog, path: Path, python: str, firsts: dict[str, Answer]) -> None:
    """Hermes gives whole answers of up to a page: ours is timed until its first results, and until it holds as much.

    Where Hermes finds less than a page, these are the very messages that it finds, as far as they hold what was typed;
    where it finds nothing, until it is said that nothing holds it as words.
    """
    numbers = map(str, (ROUNDS, HERMES_PAGE, HERMES_HITS))
    command = [python, "-c", HERMES, str(path), json.dumps(QUERIES), *numbers]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # Hermes answers what FTS5 calls a syntax error, or has no word in it, with nothing and without asking.
    asked = {query for query, (seconds, _, ids) in theirs.items() if ids or seconds > 0.0005 or query.isalnum()}
    answered = [query for query in QUERIES if query in asked]
    ours = {
        query: _first_answer(store, catalog, query, _as_many(store, catalog, query, theirs[query][2][:HERMES_PAGE]))
        for query in answered
    }
    print(f"  Hermes search_messages, {len(answered)} queries:")
    for name, kind, index, times in (
        ("first results", "wall", 0, firsts),
        ("first results", "cpu ", 1, firsts),
        ("as much as its page", "wall", 0, ours),
        ("as much as its page", "cpu ", 1, ours),
    ):
        ratios = sorted(theirs[query][index] / times[query][index] for query in answered)
        slower = [query for query in answered if times[query][index] > theirs[query][index] + EQUAL]
        print(
            f"    {name}, {kind}: it takes {statistics.median(ratios):.1f} x as long in the median,"
            f" {ratios[0]:.2f} x at least; ours is slower by over {EQUAL * 1000:.1f} ms on {len(slower)} {slower or ''}"
        )
    for query in sorted(answered, key=lambda query: theirs[query][0] / ours[query].seconds)[:8]:
        print(f"    {query!r:26} {theirs[query][0] * 1000:8.2f} ms against {ours[query].seconds * 1000:7.2f} ms")
    unanswered = [query for query in QUERIES if query not in asked]
    print(f"  {len(unanswered)} queries that Hermes does not look for (nothing, at once): {' '.join(unanswered)}")
    comparable = {query: ids for query, (_, _, ids) in theirs.items() if ids and "has:" not in query}
    _print_hits(store, catalog, comparable)


def _as_many(store: Store, catalog: Catalog, query: str, ids: Sequence[int]) -> int:
    """How many of our hits, the newest first, hold as much as one page of Hermes' answer."""
    wanted = _holding(store, query, ids)
    if len(ids) >= HERMES_PAGE or not wanted:
        return min(HERMES_PAGE, len(wanted))
    for number, found in enumerate(store.search.messages(query, catalog), 1):
        wanted.discard(found)
        if not wanted:
            return number
    raise AssertionError(f"{query!r} does not find {wanted}")


def _holding(store: Store, query: str, ids: Sequence[int]) -> set[int]:
    """Those of these messages in which a person sees what was typed: Hermes looks for "C" where "C++" was typed, for
    any of two words where one of them is Chinese, and in the names of JSON that nobody is shown."""
    needles = Needles(parse(query))
    return {id for id, text in texts_of(store.search._database, ids).items() if text.fits(needles)}


def _print_hits(store: Store, catalog: Catalog, theirs: dict[str, Sequence[int]]) -> None:
    """Whether all that Hermes finds is in our whole answer, but for messages that do not hold what was typed."""
    lost: dict[str, int] = {}
    other: dict[str, int] = {}
    for query, ids in theirs.items():
        missing = set(ids)
        for found in store.search.messages(query, catalog):
            missing.discard(found)
            if not missing:
                break
        holding = _holding(store, query, list(missing))
        if holding:
            lost[query] = len(holding)
        if missing - holding:
            other[query] = len(missing - holding)
    total = sum(map(len, theirs.values()))
    print(
        f"  of {total:,} hits that Hermes finds, {sum(lost.values()):,} are not among ours {lost or ''}, and"
        f" {sum(other.values()):,} more do not hold what was typed: {other or ''}"
    )

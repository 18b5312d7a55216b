"""Key to first results in the model, over mixed queries; beside Hermes' own search on the same file."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path

from hermes_sessions.storage import open_store

QUERIES = (
    *("docker", "webhook", "self", "import", "return", "postgres", "invoice", "zzzznothing", "ezekiel", "telegram"),
    *("import os", "docker nginx", "raise ValueError", "return None", "def self", "sqlite backup restore"),
    *('"import os"', '"raise ValueError"', '"not there at all"'),
    *("a", "e", "t", "re", "th", "zz", "imp", "doc", "ret", "eze", "seri", "kube"),
    *("数据库", "数据", "配", "错误", "錯", "日本語", "検索", "한국어", "검색", "检索 设定", "数据库 锁定"),
    *("C++", "#2", "100%", "mm/slub.c", "os.path.join", "foo.bar", "self.assert", "https://x.y", "don't", "TODO:"),
    *("--error", "config.yaml", "%", "_", "'", "😀", "sp_new", "__init__", "a.b.c.d", "()", "=="),
)

HERMES = """
import json, sys, time
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
times = {}
for query in json.loads(sys.argv[2]):
    best = []
    for _ in range(3):
        started = time.perf_counter()
        db.search_messages(query, limit=20)
        best.append(time.perf_counter() - started)
    times[query] = min(best)
print(json.dumps(times))
"""


def measure(path: Path, hermes_python: str | None) -> None:
    """Print the spread of first answers, the slowest ones, and the ratios to Hermes where its Python is given.

    Hermes opens the file for writing: give it a copy.
    """
    store = open_store(path)
    catalog = store.sessions.catalog()
    list(store.search.stream("warm", catalog))
    firsts: dict[str, float] = {}
    for query in QUERIES:
        best = []
        for _ in range(3):
            started = time.perf_counter()
            answers = store.search.stream(query, catalog)
            # The first answer that shows something, or says that there is nothing.
            next(answer for answer in answers if answer.conversations or answer.complete)
            best.append(time.perf_counter() - started)
            answers.close()  # type: ignore[attr-defined]
        firsts[query] = min(best)
    store.close()
    ordered = sorted(firsts.values())
    print(
        f"  first answer to {len(ordered)} queries: median {statistics.median(ordered) * 1000:.1f} ms,"
        f" p95 {ordered[int(len(ordered) * 0.95)] * 1000:.1f} ms, worst {ordered[-1] * 1000:.1f} ms"
    )
    for query in sorted(firsts, key=firsts.__getitem__, reverse=True)[:5]:
        print(f"    {query!r:24} {firsts[query] * 1000:6.1f} ms")
    if hermes_python:
        command = [hermes_python, "-c", HERMES, str(path), json.dumps(QUERIES)]
        theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        ratios = sorted(theirs[query] / firsts[query] for query in QUERIES)
        print(
            f"  Hermes search_messages takes {statistics.median(ratios):.1f} x as long in the median,"
            f" {ratios[0]:.2f} x at least; ours is slower on {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}"
        )
        for query in sorted(QUERIES, key=lambda query: theirs[query] / firsts[query])[:6]:
            print(f"    {query!r:24} {theirs[query] * 1000:8.2f} ms against {firsts[query] * 1000:6.2f} ms")

"""The sample history that a person without one looks at."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hermes_sessions.errors import FileExists
from hermes_sessions.services.demo import demo_home, write_demo
from hermes_sessions.services.demo_history import talks
from hermes_sessions.services.demo_history.script import read, seconds
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing import schema
from tests.builders import NOW

TABLES = ("sessions", "messages", "state_meta", "schema_version", "messages_fts", "messages_fts_trigram")
DAY = 86_400


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "state.db"
    write_demo(path, NOW)
    return path


@pytest.fixture
def rows(demo: Path) -> Any:
    database = Database(demo)
    yield database.rows
    database.close()


def test_equal_times_give_equal_rows(demo: Path, tmp_path: Path) -> None:
    write_demo(tmp_path / "again.db", NOW)
    one, two = Database(demo), Database(tmp_path / "again.db")
    for table in TABLES:
        sql = f"SELECT rowid, * FROM {table}"
        assert one.rows(sql) == two.rows(sql)
    one.close()
    two.close()


def test_everything_moves_with_the_time_it_is_written_at(demo: Path, tmp_path: Path) -> None:
    write_demo(tmp_path / "later.db", NOW + 1000)
    one, two = Database(demo), Database(tmp_path / "later.db")
    times = "SELECT timestamp FROM messages ORDER BY id"
    pairs = zip(one.rows(times), two.rows(times), strict=True)
    assert {round(float(str(b[0])) - float(str(a[0])), 3) for a, b in pairs} == {1000.0}
    one.close()
    two.close()


def test_it_shows_what_there_is_to_show(demo: Path) -> None:
    store = open_store(demo)
    catalog = store.sessions.catalog()
    talked = [item for item in catalog if item.kind == "conversation"]
    assert len(talked) >= 60
    assert {"cli", "tui", "telegram", "discord", "slack", "whatsapp", "cron", "acp"} <= {
        item.root.source for item in talked
    }
    assert Counter(len(item.sessions) for item in talked) == {1: len(talked) - 1, 3: 1}
    assert sum(item.branched_from is not None for item in talked) == 1
    assert [len(item.delegates) for item in talked if item.delegates] == [3]
    assert sum(item.archived for item in talked) == 1
    assert sum(item.empty for item in talked) == 2
    assert sum(item.title is None for item in talked) >= 5
    overviews = store.sessions.overviews(talked)
    assert {overview.status for overview in overviews.values()} == {"complete", "interrupted", "error", "empty"}
    assert {overview.cost.basis for overview in overviews.values()} == {
        "actual",
        "estimated",
        "included",
        "mixed",
        "unknown",
    }
    assert max(overview.message_count for overview in overviews.values()) > 200
    store.close()


def test_every_script_is_answered(rows: Any) -> None:
    for alphabet in ("[一-鿿]", "[぀-ヿ]", "[가-힯]", "[؀-ۿ]", "[а-я]", "[ऀ-ॿ]", "[α-ω]", "ß", "😀", "\x1b\\[", "\u202e"):
        assert any(re.search(alphabet, str(content)) for (content,) in rows("SELECT content FROM messages")), alphabet


def test_messages_are_of_every_kind(rows: Any) -> None:
    contents = [str(content) for (content,) in rows("SELECT content FROM messages")]
    for sign in ("\x00json:[", "\n@@ -", "Traceback (most recent call last)", "\n|---|", "\n```python\n", "\n## "):
        assert any(sign in content.replace("\\n", "\n") for content in contents), sign
    assert max(map(len, contents)) > 10_000
    assert rows("SELECT count(*) FROM messages WHERE reasoning IS NOT NULL")[0][0] >= 5
    assert rows("SELECT count(*) FROM messages WHERE observed")[0][0] >= 3
    assert rows("SELECT count(*) FROM messages WHERE NOT active")[0][0] == 2


def test_time_passes_in_the_order_of_the_ids_and_ends_before_now(rows: Any) -> None:
    times = [time for (time,) in rows("SELECT timestamp FROM messages ORDER BY id")]
    assert times == sorted(times)
    assert NOW - 60 < times[-1] < NOW
    assert NOW - 92 * DAY < times[0] < NOW - 80 * DAY
    assert all(start <= (end or NOW) <= NOW for start, end in rows("SELECT started_at, ended_at FROM sessions"))
    assert sum(time > NOW - 7 * DAY for time in times) > len(times) / 2


def test_a_message_lies_within_its_session(rows: Any) -> None:
    outside = rows(
        "SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id"
        " WHERE m.timestamp < s.started_at OR m.timestamp > s.ended_at"
    )
    assert outside == []


def test_the_counters_agree_with_the_rows(rows: Any) -> None:
    counted = "SELECT session_id, count(*), sum(json_array_length(COALESCE(tool_calls, '[]'))) FROM messages GROUP BY 1"
    assert sorted(rows(counted)) == sorted(
        rows("SELECT id, message_count, tool_call_count FROM sessions WHERE message_count > 0")
    )


def test_every_result_belongs_to_a_call_above_it(rows: Any) -> None:
    calls = {}
    for message_id, tool_calls in rows("SELECT id, tool_calls FROM messages WHERE tool_calls IS NOT NULL"):
        for call in json.loads(tool_calls):
            json.loads(call["function"]["arguments"])
            calls[call["id"]] = (message_id, call["function"]["name"])
    results = rows("SELECT id, tool_call_id, tool_name FROM messages WHERE role = 'tool'")
    assert results
    for message_id, call_id, name in results:
        asked, tool = calls[call_id]
        assert asked < message_id
        assert tool == name


def test_the_index_is_sound_and_the_file_for_its_owner_only(demo: Path) -> None:
    assert stat.S_IMODE(demo.stat().st_mode) == 0o600
    database = Database(demo, "owner")
    schema.check_index(database)
    assert database.value("PRAGMA integrity_check") == "ok"
    assert database.rows("PRAGMA foreign_key_check") == []
    database.close()


def test_nothing_is_written_over(demo: Path) -> None:
    before = demo.read_bytes()
    with pytest.raises(FileExists):
        write_demo(demo, NOW)
    assert demo.read_bytes() == before


def test_a_sample_home_is_private_and_gone_afterwards() -> None:
    with demo_home(NOW) as home:
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert [file.name for file in home.iterdir()] == ["state.db"]
    assert not home.exists()


def test_a_script_becomes_messages() -> None:
    (talk,) = read("""==== key
title: A title
ago: 1h

@user
one

two

@think
hm

@agent
looking

@call terminal command=ls -l

@output 2 +1m 5s
nothing

@call read_file {"path": "a.py"}

@file
import os

@rewind
""")
    assert talk.facts == {"title": "A title", "ago": "1h"}
    asked, answered, result, silent, read_back, rewound = (step.message for step in talk.steps)
    assert asked and answered and result and silent and read_back
    assert asked.content == "one\n\ntwo"
    assert (answered.content, answered.reasoning, answered.finish_reason) == ("looking", "hm", "tool_calls")
    assert json.loads(str(result.content)) == {"output": "nothing", "exit_code": 2}
    assert (result.tool_name, result.tool_call_id) == ("terminal", "call_key_1")
    assert silent.content is None
    assert json.loads(str(read_back.content)) == {"content": "1|import os", "total_lines": 1}
    assert rewound is None
    assert talk.steps[2].gap == seconds("1m 5s") == 65


def test_hunks_count_their_lines() -> None:
    """A diff that does not add up is what a developer sees first."""
    diffs = [
        json.loads(step.message.content)["diff"]
        for talk in talks()
        for step in talk.steps
        if step.message and step.message.tool_name == "patch" and isinstance(step.message.content, str)
    ]
    assert len(diffs) > 40
    for diff in diffs:
        _, *hunks = re.split(r"^@@ -\d+,(\d+) \+\d+,(\d+) @@.*\n", diff, flags=re.MULTILINE)
        for old, new, body in zip(hunks[::3], hunks[1::3], hunks[2::3], strict=True):
            lines = body.splitlines()
            assert sum(line[0] != "+" for line in lines) == int(old), diff
            assert sum(line[0] != "-" for line in lines) == int(new), diff

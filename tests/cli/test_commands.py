"""The reading commands on a small history: what they write, field by field, and how they end."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.builders import NOW, HermesFile
from tests.cli.conftest import Run
from tests.cli.shapes import CHECK, HIT, MESSAGE, SESSION, SUM, TOKENS, assert_shape


def test_no_store_is_told_with_its_path_and_the_demo(home: Path, run: Run) -> None:
    ended = run("list")
    assert (ended.code, ended.out) == (3, "")
    assert str(home / ".hermes" / "state.db") in ended.err and "browse --demo" in ended.err
    answer = run("list", "--json")
    assert (answer.code, answer.err) == (3, "")
    assert list(answer.json["error"]) == ["code", "kind", "message", "hint"]
    assert (answer.json["error"]["code"], answer.json["error"]["kind"]) == (3, "store_missing")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("content", [b"text that is no database " * 40, b""])
def test_what_is_no_store_is_not_taken_for_an_empty_one(home: Path, run: Run, content: bytes) -> None:
    path = home / "state.db"
    path.write_bytes(content)
    ended = run("list", "--db", str(path))
    assert ended.code == (5 if content else 0)
    assert str(path) in ended.err and path.read_bytes() == content


def test_a_directory_is_refused(home: Path, run: Run) -> None:
    ended = run("list", "--db", str(home))
    assert ended.code in (3, 4, 5) and str(home) in ended.err and len(ended.err.splitlines()) <= 2


def test_db_goes_with_neither_home_nor_profile(home: Path, run: Run) -> None:
    assert run("list", "--db", "x", "--home", "y").code == 2
    assert run("list", "--db", "x", "-p", "work").code == 2


def test_the_version_comes_with_the_store_in_use(home: Path, run: Run) -> None:
    ended = run("--version")
    assert ended.code == 0 and ended.out.splitlines()[1] == f"store: {home / '.hermes' / 'state.db'}"


def test_search_has_the_promised_fields(history: Path, run: Run) -> None:
    answer = run("search", "docker", "--json").json
    assert list(answer) == ["schema_version", "store", "query", "order", "complete", "notice", "conversations"]
    assert (answer["query"], answer["order"], answer["complete"]) == ("docker", "recent", True)
    (found,) = answer["conversations"]
    assert list(found) == ["session", "hit_count", "hits"]
    assert_shape(found["session"], SESSION)
    assert found["session"]["id"] == "tools"
    for hit in found["hits"]:
        assert_shape(hit, HIT)
        assert {hit["snippet"][start:end].lower() for start, end in hit["spans"]} == {"docker"}


def test_search_that_finds_nothing_says_so_by_its_code(history: Path, run: Run) -> None:
    ended = run("search", "nowhere-to-be-found", "--json")
    assert (ended.code, ended.json["conversations"]) == (1, [])
    assert run("search", "secretplan").code == 1


def test_search_takes_many_words_or_standard_input(history: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("search", "docker", "fail", "--json").json["query"] == "docker fail"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"question 2\n")))
    answer = run("search", "-", "--json").json
    assert answer["conversations"][0]["session"]["id"] == "chain-3"
    for nothing in ("  ", '""', '"'):
        assert run("search", nothing).code == 2
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b" \n")))
    assert run("search", "-", "--source", "cli").code == 2


def test_search_takes_the_query_language(history: Path, run: Run) -> None:
    def found(*words: str) -> list[str]:
        return [item["session"]["id"] for item in run("search", *words, "--json").json["conversations"]]

    assert found("question OR docker") == ["archived", "tools", "chain-3"]
    assert found("question", "-is:archived") == found("question", "-old") == ["chain-3"]
    assert found("docker", "source:cli") == []
    assert found("token", "role:assistant") == ["tools"] and found("token", "role:user") == []
    assert found("source:telegram") == ["tools"]
    assert found("question", "--title", "old") == ["archived"]
    assert found("-docker", "is:archived") == ["archived"]


def test_conditions_alone_list_conversations_without_hits(history: Path, run: Run) -> None:
    answer = run("search", "source:cli", "--limit", "1", "--json").json
    (found,) = answer["conversations"]
    assert (found["hit_count"], found["hits"], answer["complete"]) == (0, [], False)
    assert run("search", "source:cli", "--limit", "0", "--json").json["complete"] is True


@pytest.mark.parametrize("command", ["search", "list", "browse"])
def test_a_problem_in_a_query_is_pointed_at(history: Path, run: Run, command: str) -> None:
    ended = run(command, "数据", "is:archive", "x")
    assert (ended.code, ended.out) == (2, "")
    problem, query, carets, hint = ended.err.splitlines()[-4:]
    assert problem.startswith("hermes-sessions: is: takes one of archived, empty")
    assert query == "  数据 is:archive x"
    assert carets == "  " + " " * 8 + "^" * 7
    assert hint == "  Did you mean 'archived'?"


def test_a_problem_far_along_in_a_long_query_is_shown_in_a_piece(history: Path, run: Run) -> None:
    lines = run("search", "x\u202e\t" * 500 + "cost:much" + " y" * 500).err.splitlines()
    at = lines[2].index("^")
    assert lines[1][at : at + 4] == "much" and lines[2].strip() == "^^^^"
    assert all(len(line) < 160 for line in lines)


def test_a_name_that_nothing_has_is_said_where_nothing_is_found(history: Path, run: Run) -> None:
    for command, code in (("search", 1), ("list", 0)):
        ended = run(command, "source:telegrm")
        assert (ended.code, ended.out) == (code, "")
        assert "No session has 'telegrm' as its source. Did you mean 'telegram'?" in ended.err


def test_a_problem_in_a_query_is_an_error_in_json_too(history: Path, run: Run) -> None:
    ended = run("search", "x is:arch", "--json")
    assert (ended.code, ended.json["error"]["kind"], ended.err) == (2, "bad_query", "")
    place = {"query": "x is:arch", "start": 5, "stop": 9, "suggestion": "archived"}
    assert place.items() <= ended.json["error"].items()


def test_what_was_searched_for_is_said_as_it_was_typed(history: Path, run: Run) -> None:
    ended = run("search", 'zzz "quoted words"')
    assert '0 sessions found for “zzz "quoted words"”' in ended.err


def test_a_misspelt_key_is_said_where_nothing_is_found(history: Path, run: Run) -> None:
    ended = run("search", "sorce:cli")
    assert ended.code == 1
    assert "sorce: is no key, so it was searched as text. Did you mean 'source:cli'?" in ended.err


def test_a_pasted_text_finds_where_its_rare_words_were_said(
    hermes_file: HermesFile, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        hermes_file.talk(hermes_file.session(f"other{number}"), "the build failed with an error", "try again")
    hermes_file.talk(hermes_file.session("near"), "slub.c:1234 is odd", "KeyError?")
    hermes_file.talk(hermes_file.session("right"), "KeyError in /srv/app/mm/slub.c:1234 zorkmid", "look at zorkmid")
    pasted = b"Traceback:\n  the build failed with an error\n  at /home/me/mm/slub.c:1234 \xff\nKeyError: 'zorkmid'\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(pasted)))
    answer = run("search", "-", "--json").json
    assert answer["conversations"][0]["session"]["id"] == "right"
    assert answer["order"] == "relevance" and "zorkmid" in answer["notice"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(pasted)))
    conditions = run("search", "-", "id:near", "--json").json["conversations"]
    assert [found["session"]["id"] for found in conditions] == ["near"]


def test_search_for_a_person_shows_where(history: Path, run: Run) -> None:
    ended = run("search", "docker")
    assert ended.out.splitlines()[0].split("\t")[-2] == "tools"
    assert "docker" in ended.out.splitlines()[0].split("\t")[-1]
    assert str(history) in ended.err


def test_show_has_the_promised_fields(history: Path, run: Run) -> None:
    answer = run("show", "tools", "--json").json
    assert list(answer) == ["schema_version", "store", "session", "total", "offset", "messages"]
    assert_shape(answer["session"], SESSION)
    for message in answer["messages"]:
        assert_shape(message, MESSAGE)
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant", "tool", "assistant"]
    (call,) = answer["messages"][1]["tool_calls"]
    assert call == {"id": call["id"], "name": "terminal", "arguments": json.dumps({"cmd": "docker login"})}
    assert answer["messages"][3]["reasoning"] == "I should look at the token."


@pytest.mark.parametrize("name", ["chain-1", "chain-2", "chain-3", "Rollout night", "last", "chain-"])
def test_any_name_of_a_chain_shows_the_whole_talk_once(hermes_file: HermesFile, run: Run, name: str) -> None:
    hermes_file.chain(3, title="Rollout night")
    answer = run("show", name, "--json").json
    assert answer["session"]["id"] == "chain-3"
    said = [message["text"] for message in answer["messages"] if not message["summary"]]
    assert said == [f"{kind} {number}" for number in (1, 2, 3) for kind in ("question", "answer")]


def test_undone_messages_are_shown_on_request(history: Path, run: Run) -> None:
    assert "secretplan" not in run("show", "tools").out
    assert "secretplan" in run("show", "tools", "--rewound").out
    assert [m["rewound"] for m in run("show", "tools", "--rewound", "--json").json["messages"]][-1] is True


def test_tools_and_thoughts_are_folded_as_asked(history: Path, run: Run) -> None:
    short, full, off = (run("show", "tools", "--tools", how).out for how in ("short", "full", "off"))
    assert "terminal (4.9 KB) denied:" in short and "x" * 200 not in short
    assert "x" * 5_000 in full
    assert "terminal" not in off and "The token expired." in off
    assert "look at the token" not in short
    assert "look at the token" in run("show", "tools", "--reasoning").out
    assert all(not m["tool_calls"] for m in run("show", "tools", "--tools", "off", "--json").json["messages"])


def test_a_window_around_a_copy_is_one_around_what_it_repeats(hermes_file: HermesFile, run: Run) -> None:
    """Compaction writes the newest messages again: an id of such a row may come from anywhere."""
    first, _ = hermes_file.talk(hermes_file.session("a"), "the zebra plan", "yes")
    summary = hermes_file.compact_in_place("a", tail=2)
    ids = [
        message["id"]
        for message in run("show", "a", "--around", str(summary + 1), "--limit", "1", "--json").json["messages"]
    ]
    assert ids == [first]


def test_a_window_is_cut_around_a_message_or_from_the_end(hermes_file: HermesFile, run: Run) -> None:
    ids = hermes_file.talk(hermes_file.session("long"), *(f"text {number}" for number in range(1_000)))

    def shown(*words: str) -> list[int]:
        return [message["id"] for message in run("show", "long", "--json", *words).json["messages"]]

    assert shown() == ids
    assert shown("--limit", "3") == ids[-3:]
    assert shown("--around", str(ids[500]), "--limit", "5") == ids[498:503]
    assert shown("--around", str(ids[0]), "--limit", "5") == ids[:5]
    assert shown("--around", str(ids[-1]), "--limit", "5") == ids[-5:]
    assert len(shown("--around", str(ids[500]))) == 20
    answer = run("show", "long", "--json", "--limit", "3").json
    assert (answer["total"], answer["offset"]) == (1_000, 997)
    assert "messages 998 to 1,000 of 1,000" in run("show", "long", "--limit", "3").err
    assert run("show", "long", "--around", "999999").code == 3


def test_a_session_without_messages_is_found_and_says_so(history: Path, run: Run) -> None:
    ended = run("show", "empty")
    assert ended.code == 0 and "has no messages" in ended.err
    assert run("show", "empty", "--json").json["messages"] == []


def test_who_is_not_there_is_not_found(history: Path, run: Run) -> None:
    ended = run("show", "nosuch", "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (3, "session_not_found")


def test_several_that_fit_are_all_named(hermes_file: HermesFile, run: Run) -> None:
    for name in ("same-1", "same-2"):
        hermes_file.talk(hermes_file.session(name, title=f"Title of {name}"), "hello")
    ended = run("show", "same-", "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (3, "ambiguous_session")
    assert {candidate["id"] for candidate in ended.json["error"]["candidates"]} == {"same-1", "same-2"}
    said = run("show", "same-").err
    assert "same-1" in said and "Title of same-2" in said


def test_cost_has_the_promised_fields(history: Path, run: Run) -> None:
    for by in ("day", "week", "month", "provider", "model", "source", "session", "task"):
        answer = run("cost", "--by", by, "--json").json
        assert list(answer) == ["schema_version", "store", "by", "total", "groups"]
        assert answer["by"] == by
        assert_shape(answer["total"], SUM)
        assert_shape(answer["total"]["tokens"], TOKENS)
        for group in answer["groups"]:
            assert_shape(group, {"key": str, **SUM})
        assert answer["total"]["amount_usd"] == pytest.approx(0.42)


def test_cost_for_a_person_ends_in_the_total(history: Path, run: Run) -> None:
    ended = run("cost", "--by", "source")
    assert ended.out.splitlines()[-1].split("\t")[:2] == ["Total", "~$0.42"]
    assert str(history) in ended.err


def test_doctor_has_the_promised_fields(history: Path, run: Run) -> None:
    ended = run("doctor", "--json")
    keys = [
        "schema_version",
        "store",
        "healthy",
        "sqlite",
        "journal_mode",
        "stored_version",
        "layout",
        "complete",
        "checks",
    ]
    assert list(ended.json) == keys
    assert (ended.code, ended.json["healthy"], ended.json["store"]) == (0, True, str(history))
    for check in ended.json["checks"]:
        assert_shape(check, CHECK)
        assert check["status"] in ("ok", "warn", "fail")
    assert str(history) in run("doctor").out


def test_doctor_tells_no_store_from_a_damaged_one(home: Path, run: Run) -> None:
    assert run("doctor").code == 3
    (home / "state.db").write_bytes(b"text that is no database " * 40)
    ended = run("doctor", "--db", str(home / "state.db"), "--json")
    assert (ended.code, ended.json["healthy"]) == (5, False)


def test_nonsense_times_and_amounts_are_null(hermes_file: HermesFile, run: Run) -> None:
    hermes_file.talk(hermes_file.session("odd", started_at="rubbish", estimated_cost_usd="much"), "hello")
    hermes_file.sql("UPDATE messages SET timestamp = 9e999")
    hermes_file.sql("UPDATE sessions SET ended_at = -9e999, estimated_cost_usd = 9e999")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for words in (["list"], ["search", "hello"], ["show", "odd"], ["cost"]):
        json.loads(run(*words, "--json").out, parse_constant=refuse)
    (session,) = run("list", "--json").json["sessions"]
    assert (session["started_at"], session["ended_at"]) == (None, None)
    assert session["cost"]["amount_usd"] is None or math.isfinite(session["cost"]["amount_usd"])


HOSTILE = "ti\x1b]0;owned\x07tle\u202e\u2028\x9b31m[red]x[/red]"


def test_hostile_text_goes_out_safe_and_whole(hermes_file: HermesFile, run: Run) -> None:
    session = hermes_file.session("hostile", title=HOSTILE, source=HOSTILE, cwd=HOSTILE, model=HOSTILE)
    hermes_file.message(session, "user", HOSTILE * 3)
    hermes_file.tool_call(session, HOSTILE, HOSTILE, HOSTILE)
    bad = [chr(code) for code in (*range(9), *range(11, 32), *range(0x7F, 0xA0))] + ["\u202e", "\u2028"]
    for words in (["list"], ["search", "owned"], ["show", "hostile", "--tools", "full"], ["cost"], ["doctor"]):
        ended = run(*words)
        assert [control for control in bad if control in ended.out + ended.err and control != "\t"] == []
        raw = run(*words, "--json").out
        assert raw.isascii() and "\x7f" not in raw
    assert run("list", "--json").json["sessions"][0]["title"] == HOSTILE
    assert run("show", "hostile", "--json").json["messages"][0]["text"] == HOSTILE * 3


READING = [
    ["list", "--limit", "0", "--all"],
    ["search", "docker"],
    ["show", "tools", "--rewound"],
    ["cost", "--by", "day"],
    ["doctor"],
    ["resume", "tools", "--print"],
    ["--version"],
    ["browse", "--plain"],
]


def test_reading_changes_no_byte(history: Path, run: Run, tmp_path: Path) -> None:
    """Hashed before the first and after the last connection, never while one is open."""
    before = hashlib.sha256(history.read_bytes()).digest()
    elsewhere = sorted(tmp_path.rglob("*"))
    for words in READING:
        run(*words)
    assert hashlib.sha256(history.read_bytes()).digest() == before
    new = {path.name for path in set(tmp_path.rglob("*")) - set(elsewhere)}
    assert new <= {"state.db-wal", "state.db-shm"}
    assert all(path.stat().st_size == 0 for path in history.parent.glob("*-wal"))


@pytest.mark.parametrize("words", [["list"], ["search", "hello"], ["show", "last"], ["cost"], ["doctor"]])
def test_every_layout_is_read(any_layout: HermesFile, run: Run, words: list[str]) -> None:
    any_layout.talk(any_layout.session("one", title="First"), "hello", "world")
    ended = run(*words, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert NOW and ended.json["schema_version"] == 1


def test_a_session_in_use_is_marked_and_can_be_asked_for(hermes_file: HermesFile, run: Run) -> None:
    """Written to a moment ago, by the clock of the machine, and not ended."""
    hermes_file.talk(hermes_file.session("idle"), "hello", "hi")
    hermes_file.message(hermes_file.session("busy"), "user", "hello", t=time.time())
    listed = {session["id"]: session["live"] for session in run("list", "--json").json["sessions"]}
    assert listed == {"busy": True, "idle": False}
    assert [session["id"] for session in run("list", "--live", "--json").json["sessions"]] == ["busy"]
    assert run("show", "busy", "--json").json["session"]["live"] is True

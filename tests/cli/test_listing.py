"""`list`: which sessions it shows, in what order, and how it counts the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import HermesFile
from tests.cli.conftest import Run
from tests.cli.shapes import SESSION, TOKENS, assert_shape


def test_list_has_the_promised_fields(history: Path, run: Run) -> None:
    answer = run("list", "--json").json
    assert list(answer) == ["schema_version", "store", "total", "shown", "hidden", "paged", "sessions"]
    assert (answer["schema_version"], answer["store"]) == (1, str(history))
    assert list(answer["hidden"]) == ["archived", "empty", "subagent", "filtered"]
    for session in answer["sessions"]:
        assert_shape(session, SESSION)
        assert_shape(session["tokens"], TOKENS)
        assert list(session["cost"]) == ["amount_usd", "basis"]


def test_list_shows_talks_and_counts_the_others_once(history: Path, run: Run) -> None:
    answer = run("list", "--json").json
    assert [session["id"] for session in answer["sessions"]] == ["tools", "chain-3"]
    assert answer["hidden"] == {"archived": 1, "empty": 1, "subagent": 1, "filtered": 0}
    chain = answer["sessions"][1]
    assert (chain["root_id"], chain["segments"]) == ("chain-1", ["chain-1", "chain-2", "chain-3"])
    assert (chain["title"], chain["model"], chain["cwd"]) == ("Rollout night #3", "model-a", "/srv/rollout")
    assert answer["sessions"][0]["delegates"] == ["helper"]
    assert answer["sessions"][0]["cost"] == {"amount_usd": 0.42, "basis": "estimated"}
    assert chain["cost"] == {"amount_usd": None, "basis": "unknown"}


@pytest.mark.parametrize(
    "words", [[], ["--all"], ["--limit", "1"], ["--limit", "0"], ["--offset", "1"], ["--offset", "9"]]
)
def test_total_is_shown_and_hidden_and_paged(history: Path, run: Run, words: list[str]) -> None:
    answer = run("list", "--json", *words).json
    assert answer["shown"] == len(answer["sessions"])
    assert answer["total"] == answer["shown"] + sum(answer["hidden"].values()) + answer["paged"] == 5


def test_an_archived_empty_session_is_counted_once(hermes_file: HermesFile, run: Run) -> None:
    hermes_file.session("both", archived=1)
    hermes_file.delegate(hermes_file.session("starter"), "all three", archived=1)
    assert run("list", "--json").json["hidden"] == {"archived": 1, "empty": 1, "subagent": 1, "filtered": 0}


def test_all_adds_what_is_hidden_and_marks_it(history: Path, run: Run) -> None:
    answer = run("list", "--all", "--json").json
    assert {session["id"] for session in answer["sessions"]} == {"tools", "chain-3", "archived", "empty", "helper"}
    assert {session["id"] for session in answer["sessions"] if session["archived"]} == {"archived"}
    assert {session["id"] for session in answer["sessions"] if session["kind"] == "subagent"} == {"helper"}
    lines = run("list", "--all").out.splitlines()
    marks = {line.split("\t")[-1]: line.split("\t")[0] for line in lines}
    assert (marks["archived"], marks["helper"], marks["empty"]) == ("archived", "subagent", "empty")


def test_pages_are_cut_from_one_order(history: Path, run: Run) -> None:
    whole = [session["id"] for session in run("list", "--all", "--limit", "0", "--json").json["sessions"]]
    pages = [run("list", "--all", "--limit", "2", "--offset", str(start), "--json").json for start in (0, 2, 4)]
    assert [session["id"] for page in pages for session in page["sessions"]] == whole


@pytest.mark.parametrize(
    ("key", "first"),
    [("active", "helper"), ("started", "helper"), ("messages", "chain-3"), ("cost", "tools"), ("title", "empty")],
)
def test_a_list_is_sorted_by_a_key(history: Path, run: Run, key: str, first: str) -> None:
    assert run("list", "--all", "--sort", key, "--json").json["sessions"][0]["id"] == first


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--source", "telegram"], ["tools"]),
        (["--source", "telegram,cli"], ["tools", "chain-3"]),
        (["--title", "rollout"], ["chain-3"]),
        (["--cwd", "/srv"], ["chain-3"]),
        (["--min-messages", "6"], ["chain-3"]),
        (["--min-cost", "0.1", "--max-cost", "$1"], ["tools"]),
        (["--older-than", "10000d"], []),
        (["--archived"], ["archived"]),
        (["--archived", "--title", "rollout"], []),
        (["--all", "--max-messages", "0"], ["empty"]),
    ],
)
def test_a_filter_counts_what_it_hides(history: Path, run: Run, words: list[str], ids: list[str]) -> None:
    answer = run("list", "--json", *words).json
    assert [session["id"] for session in answer["sessions"]] == ids
    assert answer["total"] == answer["shown"] + sum(answer["hidden"].values()) + answer["paged"] == 5


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["source:telegram"], ["tools"]),
        (["source:telegram", "OR", "source:cli"], ["tools", "chain-3"]),
        (["title:rollout", "--source", "cli"], ["chain-3"]),
        (["-title:rollout"], ["tools"]),
        (["is:archived"], ["archived"]),
        (["question"], ["chain-3"]),
        (["question", "--all"], ["archived", "chain-3"]),
        (["question", "is:archived"], ["archived"]),
        (["has:tools"], ["tools"]),
        (["-docker"], ["chain-3"]),
        (["nowhere-to-be-found"], []),
    ],
)
def test_a_list_takes_a_query(history: Path, run: Run, words: list[str], ids: list[str]) -> None:
    answer = run("list", "--json", *words).json
    assert [session["id"] for session in answer["sessions"]] == ids
    assert answer["total"] == answer["shown"] + sum(answer["hidden"].values()) + answer["paged"] == 5


def test_a_filter_holds_for_search_and_cost_too(history: Path, run: Run) -> None:
    assert run("search", "docker", "--source", "cli").code == 1
    assert run("search", "docker", "--source", "telegram").code == 0
    assert run("cost", "--source", "cli", "--json").json["total"]["sessions"] == 5
    assert run("cost", "--source", "telegram", "--json").json["total"]["sessions"] == 1
    assert run("cost", "--until", "2000-01-01", "--json").json["total"]["sessions"] == 0
    assert run("cost", "--since", "2000-01-01", "--json").json["total"]["sessions"] == 7


@pytest.mark.parametrize(
    "words", [["list", "--before", "soon"], ["cost", "--since", "soon"], ["list", "--min-cost", "x"]]
)
def test_a_bad_filter_is_a_usage_error(history: Path, run: Run, words: list[str]) -> None:
    ended = run(*words, "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (2, "bad_filter")


def test_a_list_for_a_pipe_has_whole_titles_and_says_the_rest_beside_it(history: Path, run: Run) -> None:
    ended = run("list", "--limit", "1")
    assert ended.code == 0
    assert [line.split("\t")[1] for line in ended.out.splitlines()] == ["Fix the login"]
    assert ended.err.splitlines() == [
        "1 of 5 sessions · 1 on other pages (--offset 1) · 1 archived, 1 empty, 1 subagent (--all)",
        f"Store: {history}",
    ]


def test_an_empty_list_names_its_file_and_the_other_profiles(home: Path, run: Run) -> None:
    HermesFile(home / ".hermes" / "state.db").close()
    with HermesFile(home / ".hermes" / "profiles" / "work" / "state.db") as work:
        work.talk(work.session(), "hello")
    (home / ".hermes" / "profiles" / "unused").mkdir()
    ended = run("list")
    assert (ended.code, ended.out) == (0, "")
    assert str(home / ".hermes" / "state.db") in ended.err
    assert "Other profiles: work (-p NAME)." in ended.err
    assert run("list", "-p", "work", "--json").json["shown"] == 1

"""The grammar: every command has help, the store's options hold everywhere, complaints come in one form."""

from __future__ import annotations

import time

import pytest

from hermes_sessions import errors
from hermes_sessions.cli import commands, handover
from hermes_sessions.cli.parser import COST_KEYS, FILTERS, QUERY_KEYS, SORT_KEYS, build_parser, parse
from hermes_sessions.services import filters, sorting
from hermes_sessions.storage import conditions, costs
from tests.cli.conftest import Run

COMMANDS = (*handover.COMMANDS, *commands.COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, run: Run) -> None:
    ended = run(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"usage: hermes-sessions {command}")
    assert "--profile" in ended.out and ended.out.isascii()


def test_the_help_names_every_command_and_exit_code(run: Run) -> None:
    ended = run("--help")
    assert ended.code == 0
    assert all(f"    {command} " in ended.out for command in COMMANDS)
    assert all(str(code) in ended.out for code in (1, 2, 3, 4, 5, 7, 70, 130, 141))


def test_every_command_of_the_grammar_is_there() -> None:
    choices = next(action.choices for action in build_parser()._actions if action.dest == "command")
    assert choices is not None
    assert set(choices) == set(COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "work", "list"],
        ["list", "-p", "work"],
        ["list", "--limit", "3", "--profile", "work"],
        ["--profile=work", "list"],
        ["list", "-pwork"],
        ["-p", "other", "list", "-p", "work"],
    ],
)
def test_a_profile_is_taken_before_and_after_the_command(words: list[str]) -> None:
    arguments = parse(words)
    assert (arguments.command, arguments.profile) == ("list", "work")


def test_the_other_options_of_the_store_are_too() -> None:
    assert parse(["--db", "x", "list"]).db == parse(["list", "--db", "x"]).db == "x"
    assert parse(["--color", "never", "list"]).color == parse(["list", "--color", "never"]).color == "never"
    assert parse(["list"]).color == "auto"


def test_every_filter_is_one_that_the_services_know() -> None:
    offered = [flag.removeprefix("--").replace("-", "_") for flag, _, _ in FILTERS]
    assert offered == list(filters.FLAGS)
    assert SORT_KEYS == sorting.SORTS
    assert set(COST_KEYS) | {"total"} == set(costs.KEYS)


def test_no_command_is_browse() -> None:
    arguments = parse(["-p", "work"])
    assert (arguments.command, arguments.query, arguments.pick, arguments.profile) == ("browse", "", False, "work")


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert parse(["search", "a\udcff"]).query == "a\ufffd"
    assert parse(["browse", "\udcc3\udca9"]).query == "é"


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["search", "docker", "-compose"], "docker -compose"),
        (["list", "-is:archived", "source:cli"], "-is:archived source:cli"),
        (["search", "docker", "--limit", "3", "login", "--json", "-x"], "docker login -x"),
        (["search", "--limit=3", "docker", "-help"], "docker -help"),
        (["search", "--limit=3", "--", "-podman", "--flag"], "-podman --flag"),
        (["search", "-"], "-"),
        (["browse", "docker", '-"a b"'], 'docker -"a b"'),
        (["-p", "work", "list", "-x"], "-x"),
        (["list"], ""),
        ([], ""),
    ],
)
def test_the_words_of_a_query_are_one_text_wherever_options_stand(words: list[str], query: str) -> None:
    arguments = parse(words)
    assert arguments.query == query
    assert getattr(arguments, "limit", None) in (None, 3, 20)


def test_a_value_that_begins_with_a_dash_stays_what_it_is() -> None:
    assert parse(["list", "--title", "-draft", "x"]).title == "-draft"
    assert parse(["show", "list"]).session == ["list"]
    assert parse(["-p", "list", "show", "x"]).session == ["x"]


def test_the_help_of_a_query_names_every_key_and_the_zone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert QUERY_KEYS == conditions.KEYS
    for command in ("search", "list", "browse"):
        said = " ".join(run(command, "--help").out.split())
        assert ", ".join(QUERY_KEYS) in said
        assert f"UTC{time.strftime('%z')}" in said


def test_a_title_may_begin_with_dashes() -> None:
    assert parse(["resume", "--print", "--", "--version"]).session == ["--version"]


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["list", "--nonsense"],
        ["list", "--limit", "-1"],
        ["list", "--limit", "many"],
        ["list", "--js"],
        ["show"],
        ["show", "x", "--tools", "some"],
        ["search"],
        ["cost", "--by", "mood"],
        ["demo"],
        ["completion", "tcsh"],
        ["--db"],
    ],
)
def test_a_complaint_is_a_usage_error_of_one_line(words: list[str], run: Run) -> None:
    with pytest.raises(errors.UsageError) as caught:
        parse(words)
    assert "\n" not in caught.value.message and caught.value.hint.startswith("hermes-sessions")
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("hermes-sessions: ") and len(ended.err.splitlines()) == 2


def test_a_complaint_is_json_where_json_was_asked_for(run: Run) -> None:
    ended = run("list", "--limit", "many", "--json")
    assert (ended.code, ended.err) == (2, "")
    assert ended.json["error"]["code"] == 2
    assert ended.json["error"]["kind"] == "usage_error"
    assert ended.json["error"]["message"] and ended.json["error"]["hint"]


def test_json_behind_the_two_dashes_is_text(run: Run) -> None:
    ended = run("show", "--tools", "some", "--", "--json")
    assert (ended.code, ended.out) == (2, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_know_the_commands_and_their_options(shell: str, run: Run) -> None:
    ended = run("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert all(command in ended.out for command in COMMANDS)
    assert "hermes-sessions" in ended.out and "rewound" in ended.out

"""What the README says is what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from hermes_sessions.cli.parser import parse
from hermes_sessions.storage.conditions import CHOICES, KEYS
from hermes_sessions.storage.query import parse as parse_query
from tests.readme_tables import README, block, command_names, exit_codes, keys_table

TEXT = README.read_text(encoding="utf-8")


def test_the_keys_are_those_of_the_table() -> None:
    """To bring it up to date: `python -m tests.readme_tables`."""
    assert block("keys") == keys_table()


def test_every_command_is_there_once_and_takes_what_is_written() -> None:
    rows = re.findall(r"^\| `hermes-sessions (.+?)` \|", block("commands"), re.MULTILINE)
    assert [row.split()[0] for row in rows] == command_names()
    for row in rows:
        words = row.replace("[QUERY]", "x").replace("SHELL", "bash").split()
        assert parse(words).command == words[0]


def test_the_keys_of_a_query_are_those_of_the_code_and_the_examples_make_sense() -> None:
    rows = [row.split("|")[1:-1] for row in block("query keys").splitlines()[2:]]
    assert sorted(key for row in rows for key in re.findall(r"`(\w+):`", row[0])) == sorted(KEYS)
    for keys, words, examples in rows:
        for key, choices in CHOICES.items():
            if f"`{key}:`" in keys:
                assert set(re.findall(r"`(\w+)`", words)) == set(choices)
        for example in re.findall(r"`([^`]+)`", examples):
            query = parse_query(f"{example} ")
            assert query.problems == ()
            assert {f"`{condition.key}:`" for condition in query.conditions} <= set(keys.split())
            assert query.conditions


def test_the_exit_codes_are_those_of_the_code() -> None:
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", block("exit codes"), re.MULTILINE)] == exit_codes()


def test_the_commands_that_set_everything_up_are_the_promised_ones() -> None:
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/hermes-sessions browse --demo" in TEXT
    assert "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest" in TEXT


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"\]\((screenshots/[^)]+)\)", TEXT)
    assert pictures
    assert all((README.parent / picture).stat().st_size > 0 for picture in pictures)


def test_the_worked_example_prints_what_it_says(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (printed,) = re.findall(r"It prints `(.*)`", TEXT)
    command = [sys.executable, "-W", "error", "-c", example]
    environ = {"PYTHONPATH": str(README.parent), "PATH": ""}
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == (f"{printed}\n", "", 0)

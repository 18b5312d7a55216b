"""What the command line says of the settings of the full screen: printed, checked, and never in the way."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hermes_sessions.tui.keys import KEYS
from tests.cli.conftest import Run

CONFIG = 'sort = "cost"\nsrot = "title"\n\n[keys]\n"list.sort" = "f2"\n'


@pytest.fixture
def config(home: Path) -> Path:
    """A file of settings where a plain start finds it, with one mistake."""
    path = home / ".config" / "hermes-sessions" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG)
    return path


def test_the_configuration_in_effect_is_printed_as_one(run: Run, config: Path) -> None:
    ended = run("browse", "--print-config")
    printed = tomllib.loads(ended.out)
    assert printed["sort"] == "cost"
    assert printed["theme"] == "auto"
    assert printed["keys"]["list.sort"] == "f2"
    assert printed["keys"].keys() == {key.id for key in KEYS}


def test_what_is_wrong_is_said_beside_it(run: Run, config: Path) -> None:
    ended = run("browse", "--print-config")
    assert ended.code == 2
    assert ended.err == f"{config}, line 2: srot: there is no such setting. Did you mean sort?\n"


def test_another_file_can_be_named(run: Run, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.toml"
    other.write_text('theme = "nord"\n')
    ended = run("browse", "--print-config", "--config", str(other))
    assert (ended.code, ended.err) == (0, "")
    assert tomllib.loads(ended.out)["theme"] == "nord"
    monkeypatch.setenv("HERMES_SESSIONS_CONFIG", str(other))
    assert run("browse", "--print-config").out == ended.out
    assert tomllib.loads(run("browse", "--print-config", "--config", str(config)).out)["theme"] == "auto"


def test_what_is_printed_is_a_configuration_without_problems(run: Run, tmp_path: Path) -> None:
    first = run("browse", "--print-config")
    assert first.code == 0
    (tmp_path / "all.toml").write_text(first.out)
    again = run("browse", "--print-config", "--config", str(tmp_path / "all.toml"))
    assert (again.code, again.err) == (0, "")
    assert tomllib.loads(again.out) == tomllib.loads(first.out)


def test_a_theme_that_does_not_exist_is_a_problem_of_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('theme_light = "auto"\ntheme = "nrod"\n')
    ended = run("browse", "--print-config", "--config", str(tmp_path / "c.toml"))
    assert 'line 2: theme: there is no theme "nrod". Did you mean "nord"?' in ended.err
    assert 'line 1: theme_light: there is no theme "auto".' in ended.err
    assert tomllib.loads(ended.out)["theme"] == "auto"

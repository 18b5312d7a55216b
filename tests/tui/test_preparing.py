"""The configuration made ready for the screen: checked against the keys and themes that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_sessions.errors import UsageError
from hermes_sessions.services.settings import Settings
from hermes_sessions.services.state import State
from hermes_sessions.tui.keys import KEYS
from hermes_sessions.tui.preparing import begun, checked_theme, configured


def test_without_a_file_everything_is_as_usual(tmp_path: Path) -> None:
    config, keys = configured(tmp_path / "config.toml")
    assert config.problems == []
    assert keys is KEYS


def test_problems_of_every_kind_are_collected_in_one_place(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('sort = "moon"\ntheme = "nrod"\n[keys]\n"list.srot" = "x"\n"quit" = "Q"\n')
    config, keys = configured(file)
    assert [problem.removeprefix(f"{file}, ").split(": ")[:2] for problem in config.problems] == [
        ["line 1", "sort"],
        ["line 4", "keys.list.srot"],
        ["line 2", "theme"],
    ]
    assert config.settings.theme == "auto"
    assert next(key.keys for key in keys if key.id == "quit") == "Q"


def test_a_remembered_theme_that_is_gone_is_none(tmp_path: Path) -> None:
    config, _ = configured(tmp_path / "config.toml")
    state = State()
    state.put("sort", "cost")
    state.put("theme", "nord")
    assert begun(config, state) == Settings(sort="cost", theme="nord")
    state.put("theme", "a theme of last year")
    assert begun(config, state) == Settings(sort="cost")


def test_a_theme_of_the_command_line_must_exist() -> None:
    assert checked_theme(None) is None
    assert checked_theme("auto") == "auto"
    assert checked_theme("dracula") == "dracula"
    with pytest.raises(UsageError, match='--theme: there is no theme "dracul"\\. Did you mean "dracula"\\?'):
        checked_theme("dracul")

"""Whoever presses any keys, clicks anywhere and resizes as they like meets no fault, and Escape always leads back.

A few steps only: `python -m tests.tui.walk STORE` takes a thousand.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hermes_sessions.services.state import State
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.walk import walk

STEPS = 40
SEEDS = (1, 2)


@pytest.fixture
def mixed(hermes_file: HermesFile) -> Path:
    """Few sessions of every kind, with texts of every kind."""
    hermes_file.chain(3, "long", "A chain")
    hermes_file.talk(
        hermes_file.session("branched", title="[/] \x1b[31mred \u202e 漢字 👨‍👩‍👧"),
        "e\u0301",
        "**bold**\n```py\nx = 1\n```",
    )
    hermes_file.branch("branched", "fork")
    hermes_file.session("parent", title="Parent")
    hermes_file.delegate("parent", "child")
    hermes_file.session("empty")
    hermes_file.message(hermes_file.session("unasked"), "assistant", "I began.")
    hermes_file.tool_call(hermes_file.session("tools", cwd="/home/mara"), "terminal", {"command": "ls"}, "out\n" * 50)
    taken_back = hermes_file.session("back")
    ids = hermes_file.talk(taken_back, "one", "two", "three", "four")
    hermes_file.rewind(taken_back, ids[2])
    for number in range(40):
        hermes_file.talk(hermes_file.session(f"s{number:02}", source="cli"), f"docker {number}", "line\n" * number)
    return hermes_file.path


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("store", ["demo", "mixed"])
async def test_a_random_walk(
    request: pytest.FixtureRequest,
    open_browser: OpenBrowser,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    store: str,
    seed: int,
) -> None:
    monkeypatch.chdir(tmp_path)  # pictures of the screen are saved there
    await walk(open_browser(request.getfixturevalue(store), state=State(), hermes=False), seed, STEPS)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_random_walk_where_there_is_nothing(
    hermes_file: HermesFile, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    await walk(open_browser(hermes_file.path), 1, STEPS)

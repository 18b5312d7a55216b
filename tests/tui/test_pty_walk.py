"""Random keys, clicks, pastes and sizes at a real terminal, to any end: no fault, and the terminal is as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("There is no pty here.", allow_module_level=True)

import hermes_sessions
from tests.tui.pty_walk import pty_walk

STEPS = 60


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_typed_and_however_it_ends_the_terminal_is_as_before(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(hermes_sessions.__file__).parent.parent))
    monkeypatch.chdir(tmp_path)  # pictures of the screen are saved there
    pty_walk(demo, seed, STEPS)

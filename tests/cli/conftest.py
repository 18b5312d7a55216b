"""The command line run in process, and as a process of its own, on a small history with one session of each sort."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_sessions.cli import main
from tests.builders import HermesFile

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object it wrote."""
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def run(*words: str) -> Ended:
        capsys.readouterr()
        code = main(words)
        return Ended(code, *capsys.readouterr())

    return run


def start(*words: str, environ: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Starts the command line as a process; its streams are pipes unless `options` say otherwise."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})}
    command = [sys.executable, "-m", "hermes_sessions", *words]
    return subprocess.Popen(command, env=environment, **{**streams, **options})


def finish(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ended:
    """Waits for a process of `start`."""
    out, err = process.communicate(stdin, timeout=60)
    return Ended(process.returncode, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace"))


@pytest.fixture
def history(home: Path) -> Path:
    """The history a plain start reads: a chain of three, a talk with tools, one archived, one empty, a subagent's."""
    path = home / ".hermes" / "state.db"
    with HermesFile(path) as file:
        file.chain(3, title="Rollout night", model="model-a", cwd="/srv/rollout")
        tools = file.session("tools", title="Fix the login", source="telegram", estimated_cost_usd=0.42)
        file.message(tools, "user", "why does the docker login fail?")
        file.tool_call(tools, "terminal", {"cmd": "docker login"}, "denied: " + "x" * 5_000)
        file.message(tools, "assistant", "The token expired.", reasoning="I should look at the token.")
        undone = file.message(tools, "user", "the secretplan")
        file.rewind(tools, undone)
        file.talk(file.session("archived", title="Old news", archived=1), "old question", "old answer")
        file.session("empty", title="draft")
        file.delegate(tools, "helper", title=None)
    return path

"""When the full screen may start: decided before Textual is imported, with a reason for a person."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from hermes_sessions.cli import gate
from tests.cli.conftest import ROOT

ASK = """
import os, sys
from hermes_sessions.cli.gate import why_plain
print(why_plain(os.environ, pick="--pick" in sys.argv), file=open(os.environ["ANSWER"], "w"))
"""


def asked_on_a_terminal(
    answer: str,
    *words: str,
    size: tuple[int, int] = (80, 24),
    environ: Mapping[str, str] | None = None,
    streams: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """What the gate says in a process whose three streams are a terminal unless `streams` say otherwise."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "ANSWER": answer, **(environ or {})}
    try:
        subprocess.run(
            [sys.executable, "-c", CONTROLLING + ASK, *words],
            env=environment,
            start_new_session=True,
            timeout=60,
            check=True,
            stdin=streams.get("stdin", theirs),
            stdout=streams.get("stdout", theirs),
            stderr=streams.get("stderr", theirs),
        )
    finally:
        os.close(theirs)
        os.close(ours)
    with open(answer) as said:  # noqa: PTH123
        return said.read().strip()


CONTROLLING = """
import fcntl, os, termios
try:
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
except OSError:
    pass
"""


@pytest.fixture
def answer(tmp_path: Any) -> str:
    return str(tmp_path / "answer")


def test_a_terminal_may_have_the_full_screen(answer: str) -> None:
    assert asked_on_a_terminal(answer) == "None"


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_each_stream_must_be_a_terminal(answer: str, stream: str) -> None:
    reason = asked_on_a_terminal(answer, streams={stream: subprocess.DEVNULL})
    assert "is no terminal" in reason or "controlling" in reason


def test_a_pick_may_be_read_by_a_pipe(answer: str) -> None:
    assert asked_on_a_terminal(answer, "--pick", streams={"stdout": subprocess.PIPE}) == "None"


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"TERM": "dumb"}, "TERM is 'dumb'"),
        ({"TERM": ""}, "TERM is not set"),
        ({"TERM": "emacs"}, "TERM is 'emacs'"),
        ({"HERMES_SESSIONS_PLAIN": "1"}, "HERMES_SESSIONS_PLAIN is set"),
        ({"PYTHONIOENCODING": "latin-1"}, "the terminal's encoding is iso8859-1"),
        ({"LC_ALL": "C", "LANG": "C"}, "None"),
    ],
)
def test_the_surroundings_must_be_fit(answer: str, environ: Mapping[str, str], reason: str) -> None:
    assert asked_on_a_terminal(answer, environ=environ) == reason


@pytest.mark.parametrize(("size", "fits"), [((20, 5), True), ((19, 24), False), ((80, 4), False), ((0, 0), True)])
def test_the_terminal_must_have_room(answer: str, size: tuple[int, int], fits: bool) -> None:
    assert ("too small" not in asked_on_a_terminal(answer, size=size)) == fits


def test_a_wish_is_enough() -> None:
    assert gate.why_plain({"TERM": "xterm"}, plain=True) == "--plain was asked for"

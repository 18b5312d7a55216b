"""Browsers to drive: over the sample history, over one written by the test, and with answers that come when told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from hermes_sessions.errors import CommandMissing
from hermes_sessions.model import Conversation
from hermes_sessions.services.demo import write_demo
from hermes_sessions.services.history import History
from hermes_sessions.services.past_searches import PastSearches
from hermes_sessions.services.resuming import ResumePlan
from hermes_sessions.services.settings import Settings
from hermes_sessions.services.state import State
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.setting import Setting
from tests.builders import NOW

COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}

NEVER = 3_600.0
DEFAULTS = Settings()


class OpenBrowser(Protocol):
    """Makes the app over a store; its history is closed when the test is over."""

    def __call__(
        self,
        path: Path,
        query: str = "",
        *,
        pick: bool = False,
        directory: str | None = "/home/mara",
        poll_seconds: float = NEVER,
        theme: str | None = None,
        hermes: bool = True,
        kind: type[History] = History,
        stopwatch: Callable[[], float] = lambda: 0.0,
        past: PastSearches | None = None,
        state: State | None = None,
        settings: Settings = DEFAULTS,
        problems: tuple[str, ...] = (),
    ) -> BrowserApp: ...


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample history, written once."""
    path = tmp_path_factory.mktemp("sample") / "state.db"
    write_demo(path, NOW)
    return path


@pytest.fixture
def demo(sample: Path, home: Path) -> Path:
    """The sample history where a plain start finds it."""
    path = home / ".hermes" / "state.db"
    path.parent.mkdir()
    shutil.copy(sample, path)
    return path


@pytest.fixture
def open_browser() -> Iterator[OpenBrowser]:
    histories: list[History] = []

    def open_browser(
        path: Path,
        query: str = "",
        *,
        pick: bool = False,
        directory: str | None = "/home/mara",
        poll_seconds: float = NEVER,
        theme: str | None = None,
        hermes: bool = True,
        kind: type[History] = History,
        stopwatch: Callable[[], float] = lambda: 0.0,
        past: PastSearches | None = None,
        state: State | None = None,
        settings: Settings = DEFAULTS,
        problems: tuple[str, ...] = (),
    ) -> BrowserApp:
        history = kind(path, lambda: NOW)
        histories.append(history)
        history.ready()
        setting = Setting(query, pick, directory, lambda: NOW, stopwatch, poll_seconds, lambda: past or PastSearches())
        setting = setting._replace(settings=settings, state=state, problems=problems)
        return BrowserApp(history, setting, resume=plan if hermes else no_hermes, theme=theme, environ=COLOURS)

    yield open_browser
    for history in histories:
        history.close()


def plan(conversation: Conversation) -> ResumePlan:
    """How the session would be resumed if Hermes were here."""
    return ResumePlan(("/usr/bin/hermes", "--resume", conversation.id), None, {})


def no_hermes(conversation: Conversation) -> ResumePlan:
    raise CommandMissing("There is no command 'hermes' on the PATH.", f"hermes --resume {conversation.id}")

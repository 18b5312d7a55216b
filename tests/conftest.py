"""What every test stands on: no real home, a clock that stands still, a history file of any layout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import settings

from tests.builders import LAYOUTS, NOW, HermesFile

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("update_snapshots", default=False) and sys.version_info[:2] != (3, 11):
        raise pytest.UsageError("Pictures are made on Python 3.11 alone; the other versions only compare.")


def pytest_report_header() -> str:
    return f"SQLite {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory; nobody's own history, settings or trash is ever in reach of a test."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name, folder in (
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_RUNTIME_DIR", ".run"),
        ("APPDATA", "AppData/Roaming"),
        ("LOCALAPPDATA", "AppData/Local"),
    ):
        monkeypatch.setenv(name, str(home / folder))
    return home


@pytest.fixture
def clock() -> Callable[[], float]:
    """A clock that always says `NOW`."""
    return lambda: NOW


@pytest.fixture
def hermes_file(home: Path) -> Iterator[HermesFile]:
    """The history a plain start reads, as Hermes 0.19 lays it out, still open as by a running Hermes."""
    with HermesFile(home / ".hermes" / "state.db") as file:
        yield file


@pytest.fixture(params=LAYOUTS, ids=lambda version: f"v{version}")
def any_layout(request: pytest.FixtureRequest, home: Path) -> Iterator[HermesFile]:
    """The same history file in each layout in turn."""
    with HermesFile(home / ".hermes" / "state.db", request.param) as file:
        yield file


@pytest.fixture(autouse=True)
def steady_cursor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blinking cursor would decide about a picture."""
    if "snap_compare" in request.fixturenames:
        from textual.widgets import Input, TextArea

        monkeypatch.setattr(Input, "cursor_blink", False)
        monkeypatch.setattr(TextArea, "cursor_blink", False)

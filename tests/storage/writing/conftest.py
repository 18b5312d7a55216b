"""A store that may be written, in the layout this program makes and in others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.owner import OwnerStore
from tests.builders import LAYOUTS
from tests.storage.writing.indexes import filled
from tests.storage.writing.written import Clock, Written


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    """A store of our own."""
    written = Written(tmp_path / "state.db", Clock())
    yield written
    written.close()


@pytest.fixture(params=[16, 22, 31], ids=lambda version: f"v{version}")
def ownable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Written]:
    """A store of each layout that an owner may have open."""
    written = Written(tmp_path / "state.db", Clock(), request.param)
    yield written
    written.close()


@pytest.fixture(params=[22, 31], ids=lambda version: f"v{version}")
def newer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Written]:
    """A store of each layout with tables and columns that ours has not."""
    written = Written(tmp_path / "state.db", Clock(), request.param)
    yield written
    written.close()


@pytest.fixture
def newest(tmp_path: Path) -> Iterator[Written]:
    """A store of the newest layout that is known."""
    written = Written(tmp_path / "state.db", Clock(), 31)
    yield written
    written.close()


@pytest.fixture(params=LAYOUTS, ids=lambda version: f"v{version}")
def any_written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Written]:
    """A store of each layout of all."""
    written = Written(tmp_path / "state.db", Clock(), request.param)
    yield written
    written.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OwnerStore]:
    """A store of our own with some messages in one session, for what is done to its search index."""
    store = filled(tmp_path / "state.db")
    yield store
    store.close()


@pytest.fixture
def database(store: OwnerStore) -> Iterator[Database]:
    """Another connection to the file of `store`."""
    database = Database(store.path, "owner")
    yield database
    database.close()

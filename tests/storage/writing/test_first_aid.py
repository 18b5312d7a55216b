"""A store of our own is brought back by itself where no row is at stake: once, with the damaged file kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage import open_store
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.index_health import stale_tables
from hermes_sessions.storage.repairing.backups import backups
from hermes_sessions.storage.repairing.repair import repair
from hermes_sessions.storage.writing import first_aid
from hermes_sessions.storage.writing.entries import NewMessage
from hermes_sessions.storage.writing.owner import own_store
from tests.storage.repairing.damages import (
    connect,
    contents,
    doubled,
    doubled_table,
    emptied_index,
    found_by_words,
    hermes_store,
    our_store,
    page_of,
    zero,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return our_store(tmp_path_factory.mktemp("whole") / "state.db")


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    path = Path(shutil.copyfile(whole, tmp_path / "state.db"))
    path.chmod(0o600)
    return path


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_aid, "_mended", set())
    monkeypatch.setattr(first_aid, "_condemned", set())


@pytest.mark.parametrize("harm", [doubled, doubled_table])
def test_a_malformed_catalogue_is_mended_and_the_file_as_it_was_is_kept(
    path: Path, harm: Callable[[Path], None]
) -> None:
    before, found = contents(path), found_by_words(path)
    harm(path)
    damaged = path.read_bytes()
    with closing(own_store(path)) as store:
        (notice,) = store.notices
        assert "has been repaired" in notice
        (kept,) = backups(path)
        assert str(kept) in notice
        store.messages.append("s001", NewMessage("user", "zeppelin"))
    assert kept.read_bytes() == damaged
    after = contents(path)
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert after["sessions"][2:] == before["sessions"][2:]
    assert found_by_words(path) == found
    with closing(own_store(path)) as store:
        assert store.notices == ()


def test_a_second_time_it_is_said_and_left_to_a_person(path: Path) -> None:
    doubled(path)
    own_store(path).close()
    doubled(path)
    damaged = path.read_bytes()
    with pytest.raises(StoreDamaged, match="malformed database schema") as caught:
        own_store(path)
    assert "has tried to once" in caught.value.hint
    assert f"Try `hermes-sessions repair --db {path}`." in caught.value.hint
    assert path.read_bytes() == damaged
    assert repair(path).steps == ("Removed what the catalogue had twice.",)
    own_store(path).close()


def test_where_rows_would_be_lost_nothing_is_done(path: Path) -> None:
    page_of("messages", "leaf", 0.5, zero)(path)
    doubled(path)
    damaged = path.read_bytes()
    for hint in ("cannot be repaired gently", "has tried to once"):
        with pytest.raises(StoreDamaged) as caught:
            own_store(path)
        assert hint in caught.value.hint
    assert path.read_bytes() == damaged
    assert backups(path) == []


def test_a_store_of_hermes_is_left_to_a_person(tmp_path: Path) -> None:
    path = hermes_store(tmp_path / "state.db", 22)
    doubled(path)
    damaged = path.read_bytes()
    with pytest.raises(StoreDamaged) as caught:
        own_store(path)
    assert "not known to be a store of this program" in caught.value.hint
    assert path.read_bytes() == damaged
    assert not path.with_name("state.db.repair.lock").exists()


def test_a_reader_never_repairs(path: Path) -> None:
    doubled(path)
    damaged = path.read_bytes()
    with closing(open_store(path)) as store:
        assert len(store.sessions.catalog().by_session) == 60
        assert "hermes-sessions repair" in store.notices[0]
    assert path.read_bytes() == damaged
    assert backups(path) == []
    assert not path.with_name("state.db.repair.lock").exists()


def test_while_somebody_has_it_open_nothing_is_done(path: Path) -> None:
    doubled(path)
    damaged = path.read_bytes()
    with closing(connect(path)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM sessions").fetchall()
        with pytest.raises(StoreDamaged) as caught:
            own_store(path, budget=0.3)
        assert "in use" in caught.value.hint
    assert path.read_bytes() == damaged
    own_store(path).close()


def test_of_many_who_find_it_damaged_one_mends_it_and_all_go_on(path: Path) -> None:
    doubled(path)
    code = """
import sys
from hermes_sessions.storage import NewMessage, own_store
store = own_store(sys.argv[1])
store.messages.append("s001", NewMessage("user", "here I am"))
store.close()
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE) for _ in range(4)]
    ended = [(process.communicate()[1].decode(), process.returncode) for process in started]
    assert ended == [("", 0)] * 4
    assert len(backups(path)) == 1
    with closing(connect(path)) as connection:
        assert next(connection.execute("SELECT count(*) FROM messages WHERE content = 'here I am'")) == (4,)


def test_an_index_that_does_not_answer_is_made_anew_on_opening(path: Path) -> None:
    found = found_by_words(path)
    emptied_index(path)
    with closing(own_store(path)) as store:
        assert store.index.state.status == "usable"
    assert found_by_words(path) == found


def test_an_index_that_is_broken_again_is_not_made_again_and_again(path: Path) -> None:
    for _ in range(2):
        emptied_index(path)
        own_store(path).close()
    with closing(Database(path)) as database:
        assert stale_tables(database) == frozenset()
        assert database.rows("SELECT count(*) FROM messages_fts_data") == [(0,)]

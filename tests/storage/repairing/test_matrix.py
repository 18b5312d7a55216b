"""Every damage on our own layout and on those of Hermes: what the doctor says, what the repair does, what is left.

Each damage is done to a store of our own and to two layouts of Hermes, in turn, so that each layout has its share.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from hermes_sessions.errors import SessionsError, StoreDamaged, StoreUnreadable
from hermes_sessions.model import Diagnosis
from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.damage import Damage, examine
from hermes_sessions.storage.repairing.repair import Repair, repair
from tests.builders import LAYOUTS, NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import PAGE, Rows, connect, contents, found_by_words, page_of, pages_of

SALVAGED = "Copied what can be read into a new file."
Harm = Callable[[Path], object]


class Case(NamedTuple):
    """A damage, and the page of a table that it makes unreadable with all that is on it, if it does."""

    harm: Harm
    table: str = ""
    which: float = 0.0


def damaged_page(table: str, which: float, harm: Callable[[Path, int], None]) -> Case:
    return Case(page_of(table, "leaf", which, harm), table, which)


CASES = {
    "an index twice in the catalogue": Case(damages.doubled),
    "a table twice in the catalogue": Case(damages.doubled_table),
    "an empty index": Case(damages.emptied_index),
    "a garbled index": Case(damages.garbled_index),
    "half an index in the catalogue": Case(damages.half_an_index),
    "no index in the catalogue": Case(damages.no_index),
    "an index that was dropped under its triggers": Case(
        lambda path: damages.run(path, "DROP TABLE messages_fts"),
    ),
    "rows missing from an index": Case(damages.rows_missing_from_an_index),
    "a message that is not in the search index": Case(
        lambda path: (
            damages.run(path, "INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')")
            if keeps_no_text(path)
            else damages.run(path, "DELETE FROM messages_fts WHERE rowid = 7")
        )
    ),
    "a letter of a definition": Case(
        lambda path: damages.run(
            path,
            "UPDATE sqlite_schema SET sql = CAST(replace(CAST(sql AS BLOB), x'6d6f64656c20', x'6dff64656c20') AS TEXT)"
            " WHERE name = 'sessions'",
        )
    ),
    "a page of an index": Case(page_of("idx_messages_session", "leaf", 0.5, damages.flip)),
    "a zeroed page of an index": Case(page_of("idx_sessions_started", "leaf", 1.0, damages.zero)),
    "a page of a search index": Case(page_of("messages_fts_data", "leaf", 0.5, damages.flip)),
    "a zeroed page of a search index": Case(page_of("messages_fts_docsize", "leaf", 0.0, damages.zero)),
    "the root of a search index": Case(page_of("messages_fts_data", "internal", 0, damages.zero)),
    "the root of the messages": Case(page_of("messages", "internal", 0, damages.flip)),
    "the root of the sessions": Case(page_of("sessions", "internal", 0, damages.zero)),
    "a page of sessions among messages": Case(damages.swapped_pages),
    "roots in each other's place": Case(damages.swapped_roots),
    "one root for two tables": Case(damages.shared_root),
    "every root": Case(damages.no_roots),
    "the catalogue": Case(damages.no_catalogue),
    "the tables in the catalogue": Case(damages.no_tables),
    "the magic": Case(lambda path: damages.overwrite(path, 0, b"SQLite format 4\0")),
    "the header": Case(lambda path: damages.overwrite(path, 0, bytes(100))),
    "the page size": Case(lambda path: damages.overwrite(path, 16, b"\0\3")),
    "another page size": Case(lambda path: damages.overwrite(path, 16, b"\2\0")),
    "bytes set aside": Case(lambda path: damages.overwrite(path, 20, b"\xc8")),
    "an encoding that is none": Case(lambda path: damages.overwrite(path, 56, b"\0\0\0\7")),
    "UTF-16 in one order": Case(lambda path: damages.overwrite(path, 56, b"\0\0\0\2")),
    "UTF-16 in the other order": Case(lambda path: damages.overwrite(path, 56, b"\0\0\0\3")),
    "a collation that nobody has": Case(
        damages.redefine("idx_sessions_source", "sessions(source", "sessions(source COLLATE nocase_xx")
    ),
    "a format that is none": Case(lambda path: damages.overwrite(path, 44, b"\0\0\0\x09")),
    "a zeroed first page": Case(lambda path: damages.zero(path, 1)),
    "a flipped first page": Case(lambda path: damages.flip(path, 1, 0, PAGE)),
    "a garbled first page": Case(lambda path: damages.flip(path, 1, 100, 300)),
    "a text over the first page": Case(lambda path: damages.overwrite(path, 0, b"hello " * 682)),
    "the first page of the messages": damaged_page("messages", 0.0, damages.flip),
    "a zeroed page of the messages": damaged_page("messages", 0.5, damages.zero),
    "the last page of the messages": damaged_page("messages", 1.0, damages.flip),
    "a zeroed page of the sessions": damaged_page("sessions", 0.0, damages.zero),
    "the last page of the sessions": damaged_page("sessions", 1.0, damages.flip),
}


def keeps_no_text(path: Path) -> bool:
    with closing(connect(path)) as connection:
        return not list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'messages_fts_content'"))


def places() -> Iterator[tuple[str, int]]:
    """Each damage with the layouts that it is done to; 0 is our own."""
    for number, name in enumerate(CASES):
        yield name, 0
        yield name, LAYOUTS[number % len(LAYOUTS)]
        yield name, LAYOUTS[(number + 1 + number // len(LAYOUTS) % (len(LAYOUTS) - 1)) % len(LAYOUTS)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A store in a layout, to be copied."""
    made: dict[int, Path] = {}

    def make(layout: int) -> Path:
        if layout not in made:
            path = tmp_path_factory.mktemp(f"layout-{layout}") / "state.db"
            made[layout] = damages.hermes_store(path, layout) if layout else damages.our_store(path)
        return made[layout]

    return make


def copied(path: Path, folder: Path) -> Path:
    folder.mkdir()
    copy = Path(shutil.copy(path, folder / "state.db"))
    copy.chmod(0o600)
    return copy


def mend(path: Path) -> Repair:
    return repair(path, clock=lambda: NOW)


def look(path: Path) -> Diagnosis:
    return diagnose(path, clock=lambda: NOW, asked=lambda _: None)


def is_healthy(path: Path) -> bool:
    return look(path).healthy


def is_whole(path: Path, folder: Path) -> bool:
    """What the repair says."""
    copy = copied(path, folder)
    if Path(f"{path}-wal").exists():
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    return examine(copy) == Damage()


def rows_on_page(path: Path, table: str, which: float) -> int:
    pages = pages_of(path, table, "leaf")
    with path.open("rb") as file:
        file.seek((pages[int(which * (len(pages) - 1))] - 1) * PAGE)
        return int.from_bytes(file.read(5)[3:])


def require_all_but(before: Rows, after: Rows, table: str, lost: int) -> None:
    """Every row is there as it was, but for `lost` of one table."""
    for name in before:
        kept = [row for row in after[name] if row in before[name]]
        # A session of which only indexes tell may be as it was.
        assert len(kept) >= len(before[name]) - (lost if name == table else 0)
        assert len(after[name]) == len(before[name]) - (lost if name == table == "messages" else 0)


@pytest.mark.parametrize(("name", "layout"), places())
def test_doctor_and_repair_agree_and_every_row_comes_back_that_a_page_still_has(
    whole: Callable[[int], Path], tmp_path: Path, name: str, layout: int
) -> None:
    store = copied(whole(layout), tmp_path / "store")
    case = CASES[name]
    lost = rows_on_page(store, case.table, case.which) if case.table else 0
    case.harm(store)
    before, answers = contents(whole(layout)), found_by_words(whole(layout))
    if case.harm is damages.rows_missing_from_an_index:
        before = contents(store)
    fixes = {check.fix for check in look(store).checks if check.status == "fail"}
    assert f"hermes-sessions repair --db {store}" in fixes
    assert not is_whole(store, tmp_path / "copy")
    done = mend(store)
    assert done.steps
    assert is_healthy(store)
    assert mend(store).healthy
    damages.strictly(store)
    after = contents(store)
    require_all_but(before, after, case.table, lost)
    assert told(store) == told(whole(layout))
    there = {row[0] for row in after["messages"]}
    expected = {question: [id for id in ids if id in there] for question, ids in answers.items()}
    found = found_by_words(store)
    assert {question: found[question] for question in found if question in expected} == expected
    assert "messages_fts" in {table for table, _ in found}


def told(path: Path) -> dict[str, tuple[object, object]]:
    """What a list says of each session: its title, and the session that it goes on with."""
    with closing(connect(path)) as connection:
        sql = "SELECT id, title, parent_session_id FROM sessions"
        return {str(id): (title, parent) for id, title, parent in connection.execute(sql)}


@pytest.mark.parametrize("layout", [16, 31])
def test_pages_that_belong_to_nothing_are_seen_and_given_back(
    whole: Callable[[int], Path], tmp_path: Path, layout: int
) -> None:
    """SQLite does not look for them in a file that has views, as that of version 31."""
    store = copied(whole(layout), tmp_path / "store")
    damages.no_index(store)
    assert "pages" in {check.name for check in look(store).checks if check.status == "fail"}
    mend(store)
    with closing(connect(store)) as connection:
        counts = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
        assert list(connection.execute(counts)) == list(connection.execute("SELECT count(*) FROM dbstat"))


def log_alone(path: Path) -> None:
    """The last change is in the log, and what tells where in it is not there, as after a copy or a power cut."""
    with closing(connect(path)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("UPDATE sessions SET end_reason = 'only in the log' WHERE id = 's003'")
    assert Path(f"{path}-wal").stat().st_size
    Path(f"{path}-shm").unlink()


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


SOUND: dict[str, Harm] = {
    "garbage in the log": lambda path: Path(f"{path}-wal").write_bytes(b"rubbish" * 5_000),
    "no -shm beside the log": log_alone,
    "half a migration": lambda path: damages.run(path, "ALTER TABLE sessions ADD COLUMN next TEXT"),
    "two versions": lambda path: damages.run(path, "INSERT INTO schema_version VALUES (14)"),
}


@pytest.mark.parametrize("layout", (0, *LAYOUTS))
@pytest.mark.parametrize("name", SOUND)
def test_what_is_no_damage_is_left_alone(whole: Callable[[int], Path], tmp_path: Path, name: str, layout: int) -> None:
    store = copied(whole(layout), tmp_path / "store")
    SOUND[name](store)
    # Whoever looks at it merges the log.
    before = contents(Path(shutil.copytree(store.parent, tmp_path / "before")) / store.name)
    assert (is_healthy(store), is_whole(store, tmp_path / "copy")) == (True, True)
    assert mend(store).healthy
    assert contents(store) == before


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("layout", (0, *LAYOUTS))
def test_a_file_that_was_cut_off_gives_what_is_before_the_cut(
    whole: Callable[[int], Path], tmp_path: Path, layout: int, share: float
) -> None:
    store = copied(whole(layout), tmp_path / "store")
    damages.cut(store, share)
    before = contents(whole(layout))
    done = mend(store)
    after = contents(store)
    assert done.steps == (SALVAGED,)
    assert {row[0] for row in after["messages"]} <= {row[0] for row in before["messages"]}
    assert {row[2] for row in after["messages"]} <= {row[1] for row in after["sessions"]}
    assert is_healthy(store)


NO_STORE: dict[str, tuple[Harm, type[SessionsError]]] = {
    "a text": (lambda path: path.write_text("hello " * 1_000), StoreDamaged),
    "a few bytes": (lambda path: path.write_bytes(b"SQLite"), StoreDamaged),
    "zeros": (lambda path: path.write_bytes(bytes(10 * PAGE)), StoreDamaged),
    "noise": (lambda path: path.write_bytes(random.Random(1).randbytes(40 * PAGE)), StoreDamaged),
    "a directory": (as_directory, StoreUnreadable),
}


@pytest.mark.parametrize("name", NO_STORE)
def test_what_is_no_store_is_refused_by_both(whole: Callable[[int], Path], tmp_path: Path, name: str) -> None:
    store = copied(whole(0), tmp_path / "store")
    harm, refusal = NO_STORE[name]
    harm(store)
    found = look(store)
    assert not found.healthy
    assert {check.fix for check in found.checks if check.status == "fail"} == {""}
    with pytest.raises(refusal):
        mend(store)


def test_an_empty_file_is_a_store_to_come(tmp_path: Path) -> None:
    store = tmp_path / "state.db"
    store.touch()
    assert is_healthy(store)
    assert mend(store).healthy
    assert store.stat().st_size == 0

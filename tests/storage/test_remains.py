"""Whatever pages of a store are damaged: what can be read is shown, what cannot is counted, and nothing is changed."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_sessions.errors import Interrupted, StoreDamaged
from hermes_sessions.storage import Store, open_store, remains
from hermes_sessions.storage.messages import UNREADABLE
from tests.builders import NOW, HermesFile
from tests.storage.repairing.damages import connect, cut, flip, page_of, pages_of, run, zero

PAGE = 4096
LONG = " ".join(f"long {number}" for number in range(2_000))
TABLES = ("sessions", "messages")
INDEXES = ("idx_messages_session", "sqlite_autoindex_sessions_1", "idx_sessions_title_unique")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of Hermes 0.19 with interior pages, overflow pages, a chain, and texts of all lengths."""
    with HermesFile(tmp_path_factory.mktemp("whole") / "state.db") as file:
        for number in range(80):
            file.session(f"s{number:02}", title=f"Title {number}", input_tokens=number, model_config={"n": "x" * 300})
            file.talk(
                f"s{number:02}", f"please banana {number}", LONG if number % 16 == 5 else f"a{number} " * 60, "bye"
            )
        file.chain(3, title="Chain")
        file.sql("PRAGMA journal_mode = DELETE")
        return file.path


@pytest.fixture
def store_with(whole: Path, tmp_path: Path) -> Iterator[Callable[[Callable[[Path], object]], Store]]:
    """Makes a damage in a copy, and opens it."""
    opened: list[Store] = []

    def make(harm: Callable[[Path], object]) -> Store:
        path = tmp_path / "damaged.db"
        shutil.copyfile(whole, path)
        harm(path)
        opened.append(open_store(path))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


Make = Callable[[Callable[[Path], object]], Store]


def rows_one_by_one(path: Path, whole: Path) -> dict[str, set[str | int]]:
    """Ids of the sessions and messages that SQLite reads when it is asked for each row by itself."""
    readable: dict[str, set[str | int]] = {table: set() for table in TABLES}
    with closing(connect(whole)) as intact, closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as damaged:
        damaged.pragma("writable_schema", True)
        for table in TABLES:
            for (rowid,) in intact.execute(f"SELECT rowid FROM {table}").fetchall():
                try:
                    rows = damaged.execute(f"SELECT id, * FROM {table} NOT INDEXED WHERE rowid = ?", (rowid,))
                    readable[table].update(row[0] for row in rows)
                except (apsw.Error, UnicodeDecodeError):
                    continue
    return readable


def shown(store: Store) -> tuple[set[str], set[int]]:
    """Ids of the sessions and messages that a browser shows; all else that it asks is asked, too."""
    catalog = store.sessions.catalog()
    store.sessions.catalog(recent=10)
    messages: set[int] = set()
    for item in catalog:
        found = store.messages.get(stub.id for stub in store.messages.outline(item, rewound=True))
        messages.update(message.id for message in found.values() if message.role != UNREADABLE)
        store.messages.undone(item)
    conversations = list(catalog)
    store.sessions.overviews(conversations)
    store.sessions.facts(conversations)
    store.liveness.live_sessions(NOW)
    for key in ("day", "session", "total"):
        store.costs.summary(key)
    for order in ("recent", "relevance"):
        store.search.run("banana", catalog, limit=0, order=order)
    store.rare_words.run("please banana 17", catalog)
    return {session.id for item in catalog for session in item.sessions}, messages


def transcript(store: Store, session: str) -> list[str]:
    conversation = store.sessions.catalog().by_session[session]
    stubs = store.messages.outline(conversation)
    messages = store.messages.get(stub.id for stub in stubs)
    return [messages[stub.id].text for stub in stubs]


def pages_to_damage(whole: Path) -> list[int]:
    """The first pages, those of sessions, messages and their indexes, and some of all others."""
    chosen = set(range(1, 40, 2))
    for name in (*TABLES, *INDEXES):
        chosen.update(page for kind in ("leaf", "internal") for page in pages_of(whole, name, kind)[::5])
    chosen.update(range(1, whole.stat().st_size // PAGE + 1, 17))
    return sorted(chosen)


@pytest.mark.parametrize("harm", ["zeroed", "flipped", "scattered"])
def test_every_row_on_a_page_that_can_be_read_is_shown(whole: Path, tmp_path: Path, harm: str) -> None:
    path = tmp_path / "damaged.db"
    broken = 0
    for page in pages_to_damage(whole):
        shutil.copyfile(whole, path)
        chance = random.Random(page)
        match harm:
            case "zeroed":
                zero(path, page)
            case "flipped":
                flip(path, page)
            case "scattered":
                flip(path, page, chance.randrange(100, 4_000), 60)
        readable = rows_one_by_one(path, whole)
        try:
            with closing(open_store(path)) as store:
                sessions, messages = shown(store)
        except StoreDamaged:
            # Nothing leads to the rows: the first page, or the catalogue.
            broken += 1
            assert page == 1 or harm == "scattered" or not any(readable.values()), page
            continue
        assert readable["sessions"] <= sessions, page
        assert readable["messages"] <= messages, page
    assert broken < 10


def test_a_whole_store_never_learns_of_remains(whole: Path) -> None:
    code = """
import sys
from hermes_sessions.storage import open_store
store = open_store(sys.argv[1])
catalog = store.sessions.catalog()
store.messages.outline(next(iter(catalog)))
store.search.run("banana", catalog)
print(store.losses, "hermes_sessions.storage.remains" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(whole)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "() False"


def test_where_messages_are_missing_the_transcript_says_how_many(store_with: Make) -> None:
    def harm(path: Path) -> None:
        run(path, "DELETE FROM sqlite_sequence")
        page_of("messages", "leaf", 0.5, zero)(path)

    store = store_with(harm)
    catalog = store.sessions.catalog()
    texts = [text for session in catalog.by_session for text in transcript(store, session)]
    told = [text for text in texts if text.startswith("…")]
    counts = [int(text.split()[1]) for text in told]
    assert told
    assert all(text.endswith("could not be read here: damaged pages.") for text in told)
    assert store.losses == (
        f"{sum(counts)} messages cannot be read: pages of the file are damaged."
        f" Try `hermes-sessions repair --db {store.path}`.",
    )


def test_a_gap_stands_where_the_messages_were(store_with: Make) -> None:
    def harm(path: Path) -> None:
        run(path, "DELETE FROM messages WHERE id > 6", "VACUUM")
        run(path, f"UPDATE messages SET session_id = 's00', content = '{LONG}' WHERE id IN (2, 3)")
        run(path, "UPDATE messages SET session_id = 's00'")
        for page in pages_of(path, "messages", "overflow"):
            zero(path, page)

    store = store_with(harm)
    begins = [text[:20] for text in transcript(store, "s00")]
    assert begins == ["please banana 0", "… 2 messages could n", "please banana 1", "a1 a1 a1 a1 a1 a1 a1", "bye"]


def test_a_session_whose_messages_are_all_lost_is_not_empty(store_with: Make) -> None:
    store = store_with(page_of("messages", "internal", 0, zero))
    store.sessions.overviews(list(store.sessions.catalog()))
    assert all(session.has_messages for item in store.sessions.catalog() for session in item.sessions)
    assert transcript(store, "s07") == ["… 3 messages could not be read here: damaged pages."]


def test_what_indexes_tell_of_lost_sessions_is_shown(store_with: Make) -> None:
    """Titles, parents and starts; of what only the rows had, nothing is made up."""
    store = store_with(page_of("sessions", "internal", 0, zero))
    catalog = store.sessions.catalog()
    assert {session.title for item in catalog for session in item.sessions} >= {f"Title {n}" for n in range(80)}
    assert [session.id for session in catalog.by_session["chain-3"].sessions] == ["chain-3"]
    assert store.costs.summary("total").total.sessions == 83
    assert transcript(store, "s07")[0] == "please banana 7"
    assert "83 sessions cannot be read in full" in store.losses[0]


def test_sessions_of_which_only_messages_are_left_are_shown(store_with: Make) -> None:
    def harm(path: Path) -> None:
        roots = "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'sessions' AND rootpage > 0"
        with closing(connect(path)) as connection:
            pages = [page for (page,) in connection.execute(roots)]
        for page in pages:
            zero(path, page)

    store = store_with(harm)
    assert set(store.sessions.catalog().by_session) == {
        *(f"s{n:02}" for n in range(80)),
        "chain-1",
        "chain-2",
        "chain-3",
    }
    assert transcript(store, "s07")[0] == "please banana 7"


@pytest.mark.parametrize("index", INDEXES)
def test_a_broken_index_hides_no_row(store_with: Make, whole: Path, index: str) -> None:
    with closing(connect(whole)) as connection:
        root = next(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,)))[0]
    store = store_with(lambda path: zero(path, root))
    sessions, messages = shown(store)
    assert len(sessions) == 83
    assert len(messages) == 80 * 3 + 8
    assert all("An index of" in words for words in store.losses)


def test_a_file_that_was_cut_shows_what_is_left(store_with: Make) -> None:
    store = store_with(lambda path: cut(path, 0.7))
    sessions, messages = shown(store)
    assert sessions
    assert messages
    assert "hermes-sessions repair" in store.notices[0]


@pytest.mark.parametrize(("table", "sessions", "messages"), [("messages", 83, 0), ("sessions", 83, 248)])
def test_a_table_whose_catalogue_entry_is_garbled_takes_the_other_not_along(
    store_with: Make, table: str, sessions: int, messages: int
) -> None:
    store = store_with(
        lambda path: run(path, f"UPDATE sqlite_schema SET sql = 'CREATE NOTHING' WHERE name = '{table}'")
    )
    found = shown(store)
    assert (len(found[0]), len(found[1])) == (sessions, messages)
    assert store.losses[0].startswith(f"The {table} cannot be read: the catalogue of the file is damaged. Try `hermes-")


def test_the_effort_is_bounded(store_with: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more is damaged than can be looked at row by row, the largest parts come first."""
    monkeypatch.setattr(remains, "MOST_FAILURES", 12)
    store = store_with(page_of("messages", "leaf", 0.5, zero))
    messages = shown(store)[1]
    assert 150 < len(messages) < 248


def test_what_others_write_meanwhile_is_seen(store_with: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remains, "REST_FACTOR", 0.0)
    store = store_with(page_of("idx_messages_session", "leaf", 0.2, zero))
    assert len(store.sessions.catalog().by_session) == 83
    run(store.path, "INSERT INTO sessions (id, source, started_at) VALUES ('new', 'cli', 1780000000)")
    assert "new" in store.sessions.catalog().by_session


def test_a_survey_that_is_interrupted_leaves_nothing_behind(store_with: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(page_of("messages", "leaf", 0.5, zero))
    conversations = list(store.sessions.catalog())
    with monkeypatch.context() as patched:

        def interrupt(*_: object) -> None:
            raise apsw.InterruptError

        patched.setattr(remains.Remains, "_told_by_indexes", interrupt)
        with pytest.raises(Interrupted):
            store.sessions.overviews(conversations)
    assert not store.losses
    store.sessions.overviews(conversations)
    assert "messages cannot be read" in store.losses[0]


def test_the_damaged_file_is_not_changed(store_with: Make) -> None:
    store = store_with(page_of("messages", "leaf", 0.5, zero))
    before = store.path.read_bytes()
    shown(store)
    store.close()
    assert store.path.read_bytes() == before
    assert [file.name for file in store.path.parent.glob("damaged.db*")] == ["damaged.db"]

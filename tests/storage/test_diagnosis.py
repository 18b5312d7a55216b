"""What the doctor finds, and that looking changes nothing."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from hermes_sessions.model import Check, Diagnosis
from hermes_sessions.storage import index_health
from hermes_sessions.storage.diagnosis import diagnose
from tests.builders import NOW, HermesFile

IMAGE = [{"type": "text", "text": "what is in this picture"}, {"type": "image_url", "image_url": {"url": "data:x"}}]


def check(found: Diagnosis, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


def troubles(found: Diagnosis) -> dict[str, str]:
    return {check.name: check.status for check in found.checks if check.status != "ok"}


def look(path: Path) -> Diagnosis:
    return diagnose(path, clock=lambda: NOW, asked=lambda visit: None)


def fill(file: HermesFile, images: bool = True) -> None:
    file.path.chmod(0o600)
    for number in range(40):
        session = file.session()
        file.talk(session, f"Please deploy service number {number}", "Deployed successfully, everything passes")
        if images:
            file.message(session, "user", IMAGE)


def test_a_store_of_every_layout_is_healthy_and_left_as_it_is(any_layout: HermesFile) -> None:
    fill(any_layout)
    any_layout.close()
    before = hashlib.sha256(any_layout.path.read_bytes()).hexdigest()
    found = look(any_layout.path)
    assert troubles(found) == {}
    assert found.healthy
    assert (found.store, found.journal_mode, found.stored_version) == (
        str(any_layout.path),
        "wal",
        any_layout.version,
    )
    assert found.sqlite == apsw.sqlite_lib_version()
    assert "20 of 20 words" in check(found, "messages_fts").detail
    assert hashlib.sha256(any_layout.path.read_bytes()).hexdigest() == before


@pytest.mark.parametrize(
    ("version", "layout"),
    [
        (6, "Hermes before 0.13, search index external content"),
        (11, "Hermes 0.13 or 0.14, search index inline, with trigrams"),
        (16, "Hermes 0.16 or 0.17, search index inline, with trigrams"),
        (22, "Hermes 0.19, search index inline, with trigrams"),
        (31, "Hermes after 0.19, search index external content by views, with trigrams"),
    ],
)
def test_the_layout_is_told_by_what_is_there(tmp_path: Path, version: int, layout: str) -> None:
    with HermesFile(tmp_path / "state.db", version) as file:
        file.sql("UPDATE schema_version SET version = 99")
        found = look(file.path)
    assert (found.layout, found.stored_version) == (layout, 99)
    assert found.healthy


def test_an_empty_file_is_a_store_to_come(tmp_path: Path) -> None:
    """As every other command takes it: no sessions yet. A log beside it would hold some."""
    path = tmp_path / "state.db"
    path.touch()
    (check,) = look(path).checks
    assert (check.name, check.status) == ("file", "warn")
    Path(f"{path}-wal").write_bytes(b"x" * 100)
    assert not look(path).healthy


def test_what_is_no_store_fails_with_advice(tmp_path: Path, hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.close()
    whole = hermes_file.path.read_bytes()
    contents = {"text": b"x" * 100, "half": whole[: len(whole) // 2], "page": whole[:4096]}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "directory").mkdir()
    for name in (*contents, "directory", "missing", "text/state.db"):
        found = look(tmp_path / name)
        assert not found.healthy, name
        assert all(check.detail and check.means for check in found.checks if check.status == "fail")
        assert found.store == str(tmp_path / name)
    for name, content in contents.items():
        assert (tmp_path / name).read_bytes() == content


def test_a_database_of_something_else_is_no_store(tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / "x.db")).execute("CREATE TABLE messages (id)")
    found = look(tmp_path / "x.db")
    assert (check(found, "tables").status, check(found, "tables").detail) == ("fail", "Missing: sessions.")
    assert found.layout == "no session store"


def test_a_damaged_page_is_found(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    ((page,),) = hermes_file.sql("SELECT rootpage FROM sqlite_schema WHERE name = 'idx_messages_session'")
    hermes_file.close()
    with hermes_file.path.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 100)
    found = look(hermes_file.path)
    assert not found.healthy
    assert "repair" in check(found, "pages").fix


def test_a_doubled_entry_of_the_catalogue_is_found(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.sql("PRAGMA writable_schema = ON")
    hermes_file.sql("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'messages_fts'")
    hermes_file.close()
    assert troubles(look(hermes_file.path)) == {"catalogue": "fail"}


@pytest.mark.parametrize("table", ["messages_fts", "messages_fts_trigram"])
@pytest.mark.parametrize(
    ("damage", "images"),
    [
        ("zeroblob(length(block))", False),
        ("zeroblob(length(block))", True),
        ("substr(block, 1, 20)", True),
        ("x'ff' || substr(block, 2)", False),
    ],
)
def test_a_damaged_block_of_an_index_is_found_wherever_it_is(
    hermes_file: HermesFile, table: str, damage: str, images: bool
) -> None:
    """Words that happen to lie in other blocks say nothing about it."""
    fill(hermes_file, images)
    blocks = [id for (id,) in hermes_file.sql(f"SELECT id FROM {table}_data WHERE id > 10")]
    for id in (blocks[0], blocks[len(blocks) // 2], blocks[-1]):
        ((block,),) = hermes_file.sql(f"SELECT block FROM {table}_data WHERE id = ?", (id,))
        hermes_file.sql(f"UPDATE {table}_data SET block = {damage} WHERE id = ?", (id,))
        found = look(hermes_file.path)
        assert troubles(found) == {table: "fail"}
        assert "repair" in check(found, table).fix
        hermes_file.sql(f"UPDATE {table}_data SET block = ? WHERE id = ?", (block, id))
    assert look(hermes_file.path).healthy


def test_a_trigram_index_that_an_older_sqlite_filled_is_not_called_damaged(hermes_file: HermesFile) -> None:
    """Older releases indexed a text up to its first NUL; `quick_check` of a newer one calls that malformed."""
    fill(hermes_file)
    images = hermes_file.sql("SELECT id, content FROM messages WHERE hex(content) LIKE '00%'")
    for id, content in images:
        hermes_file.sql("DELETE FROM messages_fts_trigram WHERE rowid = ?", (id,))
        hermes_file.sql("INSERT INTO messages_fts_trigram (rowid, content) VALUES (?, '')", (id,))
        hermes_file.sql("UPDATE messages_fts_trigram_content SET c0 = ? || '  ' WHERE id = ?", (content, id))
    assert "messages_fts_trigram" in hermes_file.sql("PRAGMA quick_check")[0][0]
    assert troubles(look(hermes_file.path)) == {}


def test_messages_that_the_index_does_not_hold_are_found(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.sql("DROP TRIGGER messages_fts_insert")
    hermes_file.talk(hermes_file.session("new"), "Unheard words", "Another sentence")
    found = look(hermes_file.path)
    assert troubles(found) == {"triggers": "warn", "messages_fts": "warn", "entries": "fail"}
    assert check(found, "entries").detail == "2 messages not in messages_fts."
    assert check(found, "triggers").detail.startswith("Missing: INSERT for messages_fts.")
    assert check(found, "messages_fts").detail.startswith("2 of 20 ")


def test_an_index_that_hermes_is_still_filling_is_said_to_be(tmp_path: Path) -> None:
    with HermesFile(tmp_path / "state.db", 31) as file:
        fill(file)
        file.sql("INSERT INTO state_meta VALUES ('fts_rebuild_progress', '3'), ('fts_rebuild_high_water', '100')")
        found = look(file.path)
    assert troubles(found) == {"messages_fts": "warn", "messages_fts_trigram": "warn"}
    assert "97 older messages" in check(found, "messages_fts").detail


def test_a_store_without_an_index_is_searched_slowly_and_not_damaged(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    for (name,) in hermes_file.sql("SELECT name FROM sqlite_schema WHERE type = 'trigger'"):
        hermes_file.sql(f"DROP TRIGGER {name}")
    hermes_file.sql("DROP TABLE messages_fts; DROP TABLE messages_fts_trigram")
    found = look(hermes_file.path)
    assert troubles(found) == {"search": "warn"}
    assert found.layout == "Hermes 0.19, no search index"


def test_a_tokenizer_that_only_hermes_has_is_not_a_fault(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.sql("CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content)")
    hermes_file.sql("PRAGMA writable_schema = ON")
    hermes_file.sql(
        "UPDATE sqlite_schema SET sql = replace(sql, '(content)', '(content, tokenize=''cjk_unicode61'')')"
        " WHERE name = 'messages_fts_cjk'"
    )
    hermes_file.close()
    found = look(hermes_file.path)
    assert check(found, "messages_fts_cjk").detail == "not checked: only Hermes has its tokenizer, cjk_unicode61"
    assert found.healthy


def test_another_journal_is_said_and_left_as_it_is(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.sql("PRAGMA journal_mode = DELETE")
    hermes_file.close()
    found = look(hermes_file.path)
    assert (found.journal_mode, troubles(found)) == ("delete", {"journal": "warn"})
    assert apsw.Connection(str(hermes_file.path)).pragma("journal_mode") == "delete"


def test_sessions_in_use_are_counted(hermes_file: HermesFile) -> None:
    fill(hermes_file)
    hermes_file.message(hermes_file.session("now"), t=NOW - 5)
    assert check(look(hermes_file.path), "in use").detail == "1 session right now"


def test_looking_drops_no_lock_that_this_process_holds(hermes_file: HermesFile) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    fill(hermes_file)
    hermes_file.sql("BEGIN IMMEDIATE")
    look(hermes_file.path)
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    other = subprocess.run([sys.executable, "-c", code, str(hermes_file.path)], capture_output=True, text=True)
    assert "locked" in other.stderr
    hermes_file.sql("ROLLBACK")


def test_the_words_that_are_searched_for_are_divided_alike_everywhere() -> None:
    word: Callable[[str], str | None] = index_health._word_of
    assert word("a deployment, (really) done") == "deployment"
    assert word("foo_bar under_score x.y.z") is None
    assert word("naïve café caf\u0301e 漢字word wordé") is None
    assert word("\0json:[deployment]") is None
    assert word("") is None

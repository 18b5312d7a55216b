"""What `repair` says, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.storage.repairing import damages


def test_a_whole_store_has_nothing_to_repair(history: Path, run: Run) -> None:
    ended = run("repair")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Store: {history}\nNothing to repair.\n"


def test_a_damaged_store_is_repaired_and_the_copy_named(history: Path, run: Run) -> None:
    damages.doubled(history)
    assert run("list").code in (0, 5)
    ended = run("repair")
    (backup,) = history.parent.glob("state.db.repair-backup-*")
    assert ended.code == 0
    assert "The catalogue has more than one messages_fts." in ended.out
    assert f"The store as it was: {backup}" in ended.out
    assert run("repair").out == f"Store: {history}\nNothing to repair.\n"
    assert run("search", "secretplan").code in (0, 1)


def test_a_dry_run_changes_nothing(history: Path, run: Run) -> None:
    damages.emptied_index(history)
    before = history.read_bytes()
    ended = run("repair", "--dry-run")
    assert ended.code == 0
    assert "Tried on a copy; the store was not changed:\nRebuilt the search index from its text." in ended.out
    assert history.read_bytes() == before
    assert list(history.parent.glob("state.db.repair*")) == []


def test_rows_that_could_not_be_read_are_counted(history: Path, run: Run) -> None:
    damages.page_of("sessions", "leaf", 0, damages.zero)(history)
    ended = run("repair")
    assert ended.code == 0
    assert "could not be read" in ended.out
    assert "Copied what can be read into a new file." in ended.out


def test_json_has_the_promised_fields(history: Path, run: Run) -> None:
    damages.doubled(history)
    count = len(damages.contents(history)["messages"])
    record = run("repair", "--json").json
    assert (record["schema_version"], record["store"], record["dry_run"], record["healthy"]) == (
        1,
        str(history),
        False,
        False,
    )
    assert record["damage"] == ["The catalogue has more than one messages_fts."]
    assert record["steps"] == ["Removed what the catalogue had twice."]
    assert Path(record["backup"]).is_file()
    assert {"name": "messages", "before": count, "after": count, "lost": 0} in record["tables"]


@pytest.mark.parametrize(
    ("content", "code", "kind"), [(b"no database " * 100, 5, "store_damaged"), (None, 3, "store_missing")]
)
def test_what_cannot_be_repaired_ends_with_its_own_code(
    home: Path, run: Run, content: bytes | None, code: int, kind: str
) -> None:
    path = home / "state.db"
    if content is not None:
        path.write_bytes(content)
    ended = run("repair", "--db", str(path), "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (code, kind)
    assert content is None or path.read_bytes() == content


def test_a_directory_is_refused(home: Path, run: Run) -> None:
    assert run("repair", "--db", str(home)).code == 4

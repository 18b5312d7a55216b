"""No row goes with the definition of its table: what the catalogue says of a table may be damaged, or its name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_sessions.storage.diagnosis import diagnose
from hermes_sessions.storage.repairing.repair import Repair, repair
from tests.builders import NOW
from tests.storage.repairing import damages
from tests.storage.repairing.damages import BINDINGS, connect, contents, run

Harm = Callable[[Path], None]


@pytest.fixture(params=[0, 31])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "store" / "state.db"
    path.parent.mkdir()
    made = damages.hermes_store(path, request.param) if request.param else damages.our_store(path)
    return damages.with_other_tables(made)


def mend(path: Path) -> Repair:
    done = repair(path, clock=lambda: NOW)
    assert diagnose(path, clock=lambda: NOW, asked=lambda _: None).healthy
    assert repair(path, clock=lambda: NOW).healthy
    return done


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    with closing(connect(path)) as connection:
        return list(connection.execute(f"SELECT * FROM {table} ORDER BY rowid"))


UNDEFINED: dict[str, Harm] = {
    "a bracket too many": damages.redefine(BINDINGS, f"TABLE {BINDINGS} (", f"TABLE {BINDINGS} (("),
    "a letter of CREATE": damages.redefine(BINDINGS, "CREATE", "CRE@TE"),
    "a letter of TABLE": damages.redefine(BINDINGS, "TABLE", "TABLF"),
    "the type": lambda path: run(path, f"UPDATE sqlite_schema SET type = 'tablf' WHERE name = '{BINDINGS}'"),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_rows_of_a_table_without_a_definition_are_kept_under_another_name(store: Path, name: str) -> None:
    before, bindings = contents(store), rows(store, BINDINGS)
    UNDEFINED[name](store)
    done = mend(store)
    assert rows(store, f"recovered_{BINDINGS}") == bindings
    assert (contents(store), rows(store, "messages_ftsnotes")) == (before, [("precious",)])
    assert f"2 rows of it are in recovered_{BINDINGS} now" in " ".join(done.notes)
    assert [table.lost for table in done.tables if table.name == f"recovered_{BINDINGS}"] == [None]


def test_a_table_that_cannot_be_kept_is_said_to_be_left_out(store: Path) -> None:
    run(store, "CREATE TABLE odd (a TEXT PRIMARY KEY) WITHOUT ROWID", "INSERT INTO odd VALUES ('x')")
    damages.redefine("odd", "odd (", "odd ((")(store)
    done = mend(store)
    assert "odd was left out" in " ".join(done.notes)
    assert [table.lost for table in done.tables if table.name == "odd"] == [None]


@pytest.mark.parametrize("table", ["messages", "sessions", BINDINGS])
def test_a_table_is_called_what_its_definition_says(store: Path, table: str) -> None:
    before, bindings = contents(store), rows(store, BINDINGS)
    damages.rename("table", table, f"{table[:-1]}z")(store)
    mend(store)
    assert (contents(store), rows(store, BINDINGS)) == (before, bindings)


@pytest.mark.parametrize("table", ["messages", "sessions"])
def test_a_table_of_hermes_is_called_what_the_catalogue_says(store: Path, table: str) -> None:
    """Where its definition names none of Hermes."""
    before = contents(store)
    damages.redefine(table, f"TABLE {table}", f"TABLE {table[:-1]}z")(store)
    mend(store)
    assert contents(store) == before


def test_a_table_with_a_name_like_that_of_a_search_index_is_copied(store: Path) -> None:
    damages.page_of("messages", "internal", 0, damages.zero)(store)
    mend(store)
    assert rows(store, "messages_ftsnotes") == [("precious",)]


def test_a_row_that_its_table_would_not_take_is_copied(store: Path) -> None:
    run(store, "CREATE TABLE strict_notes (note)", "INSERT INTO strict_notes VALUES ('good'), ('bad')")
    damages.redefine("strict_notes", "(note)", "(note CHECK (note <> ''bad''))")(store)
    damages.page_of("messages", "internal", 0, damages.zero)(store)
    mend(store)
    assert rows(store, "strict_notes") == [("good",), ("bad",)]

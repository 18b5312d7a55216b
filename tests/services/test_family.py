"""The family of a conversation: all of it, in order, whatever the store says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Catalog, Session
from hermes_sessions.services.family import Kin, family
from hermes_sessions.storage import open_store
from hermes_sessions.storage.lineage import resolve
from tests.builders import HermesFile


def drawn(kin: tuple[Kin, ...]) -> list[str]:
    """Lines with two blanks for each level, the relation in front."""
    lines = []
    for line in kin:
        name = line.session.id if line.session else line.conversation.id if line.conversation else line.source
        lines.append("  " * len(line.rails) + f"{line.relation} {name}")
    return lines


def catalog_of(file: HermesFile) -> Catalog:
    store = open_store(file.path)
    try:
        return store.sessions.catalog()
    finally:
        store.close()


def test_parts_branches_and_subagents_stand_where_they_began(hermes_file: HermesFile) -> None:
    hermes_file.chain(2)
    hermes_file.branch("chain-1", "fork", ends_parent=False)
    hermes_file.delegate("chain-2", "helper")
    hermes_file.delegate("helper", "helper of helper")
    hermes_file.branch("fork", "fork of fork")
    hermes_file.talk(hermes_file.session("stranger"), "hello")
    catalog = catalog_of(hermes_file)
    lines = [
        "origin chain-2",
        "  part chain-1",
        "    branch fork",
        "      branch fork of fork",
        "  part chain-2",
        "    delegate helper",
        "      delegate helper of helper",
    ]
    for id in ("chain-1", "fork of fork", "helper of helper"):
        assert drawn(family(catalog, catalog.by_session[id])) == lines
    assert drawn(family(catalog, catalog.by_session["stranger"])) == ["origin stranger"]


def test_rails_say_what_follows(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("root"), "hello")
    hermes_file.delegate("root", "a")
    hermes_file.delegate("a", "b")
    hermes_file.delegate("root", "c")
    catalog = catalog_of(hermes_file)
    rails = [line.rails for line in family(catalog, catalog.by_session["c"])]
    assert rails == [(), (True,), (True, False), (False,)]


def test_a_parent_that_is_gone_is_named(hermes_file: HermesFile) -> None:
    hermes_file.talk(hermes_file.session("fork", parent="lost", model_config={"_branched_from": "lost"}), "hello")
    hermes_file.delegate("nobody", "orphan")
    catalog = catalog_of(hermes_file)
    assert drawn(family(catalog, catalog.by_session["fork"])) == ["gone lost", "branch fork"]
    assert drawn(family(catalog, catalog.by_session["orphan"])) == ["gone nobody", "delegate orphan"]


def test_hundreds_of_generations() -> None:
    rows = [row(f"s{number}", parent=f"s{number - 1}" if number else None, branch=True) for number in range(1500)]
    catalog = Catalog(tuple(resolve(rows)))
    lines = family(catalog, catalog.by_session["s700"])
    assert [line.conversation.id for line in lines if line.conversation] == [f"s{number}" for number in range(1500)]


IDS = "abcdef"
PARENTS = st.none() | st.sampled_from([*IDS, "gone"])


def row(id: str, parent: str | None, branch: bool, ended: bool = False, source: str = "cli") -> Session:
    marker = parent if branch else None
    reason = "compression" if ended else None
    return Session(id, source, None, None, None, parent, marker, None, None, 1.0, 2.0, reason, False, False, 1.5, True)


ROWS = st.tuples(PARENTS, st.booleans(), st.booleans(), st.sampled_from(["cli", "subagent"]))


@given(st.lists(ROWS, min_size=6, max_size=6))
def test_cycles_and_missing_parents_hide_nothing(facts: list[tuple[str | None, bool, bool, str]]) -> None:
    catalog = Catalog(tuple(resolve([row(id, *fact) for id, fact in zip(IDS, facts, strict=True)])))
    for item in catalog:
        lines = family(catalog, item)
        whole = [line.conversation.id for line in lines if line.conversation is not None and line.session is None]
        assert item.id in whole
        assert len(whole) == len(set(whole))
        kin = {id for member in whole for id in catalog.by_session[member].segments}
        for other in catalog:
            source = other.branched_from or (other.root.parent_id if other.kind == "subagent" else None)
            if source in kin and source in catalog.by_session:
                assert other.id in whole

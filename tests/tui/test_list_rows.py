"""Rows and where they stand; subagents below what started them: nothing is hidden, nothing stands there twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.tui.list_rows import Child, Folds, Heading, Row, Rows, children_of
from hermes_sessions.tui.picked import Marks, Picked
from tests.tui.conversations import conversation

GROUPS = st.lists(st.integers(1, 5), max_size=8)


def rows_of(groups: list[int], height: int) -> Rows:
    rows: list[Row] = []
    for number, size in enumerate(groups):
        items = [conversation(f"{number}-{place}") for place in range(size)]
        rows += [Heading(str(number), items), *items]
    return Rows(rows, height)


@given(GROUPS, st.integers(1, 3))
def test_every_line_belongs_to_one_row(groups: list[int], height: int) -> None:
    rows = rows_of(groups, height)
    places = [rows.locate(line) for line in range(rows.lines)]
    expected = []
    for index in range(len(rows)):
        expected += [(index, part) for part in range(1 if isinstance(rows[index], Heading) else height)]
    assert places == expected
    assert [rows.top(index) + part for index, part in places] == list(range(rows.lines))
    assert rows.locate(rows.lines) == (len(rows), 0)


@given(GROUPS, st.integers(-3, 60), st.sampled_from([1, -1]))
def test_the_cursor_never_stands_on_a_heading(groups: list[int], index: int, step: int) -> None:
    rows = rows_of(groups, 2)
    if groups:
        assert rows.conversation(rows.near(index, step)) is not None


def test_a_heading_is_passed_in_the_direction_of_the_way() -> None:
    rows = rows_of([2, 2], 1)
    assert rows.near(3, 1) == 4
    assert rows.near(3, -1) == 2
    assert rows.near(0, -1) == rows.first == 1


def shown(rows: Rows) -> list[str]:
    """Ids with two blanks for every level."""
    found = []
    for index in range(len(rows)):
        row, item = rows[index], rows.conversation(index)
        found.append(f"[{row.words}]" if isinstance(row, Heading) else "")
        if item is not None:
            found[-1] = "  " * (row.depth if isinstance(row, Child) else 0) + item.id
    return found


NESTED = Catalog(
    (
        conversation("boss", delegates=["one", "two", "gone"]),
        conversation("other"),
        conversation("two", kind="subagent", started_at=2.0),
        conversation("one", kind="subagent", started_at=1.0, delegates=["deep"]),
        conversation("deep", kind="subagent"),
    )
)


def unfold(listed: str, opened: str, catalog: Catalog = NESTED) -> list[str]:
    folds = Folds()
    folds.add(catalog.by_session[id] for id in opened.split())
    return shown(Rows(folds.rows([catalog.by_session[id] for id in listed.split()], catalog)))


@pytest.mark.parametrize(
    ("listed", "opened", "rows"),
    [
        ("boss other", "", ["boss", "other"]),
        ("boss other", "boss", ["boss", "  one", "  two", "other"]),
        ("boss other", "boss one", ["boss", "  one", "    deep", "  two", "other"]),
        ("boss other", "one", ["boss", "other"]),
        ("two boss one other", "boss", ["boss", "  one", "  two", "other"]),
        ("deep boss", "boss one", ["boss", "  one", "    deep", "  two"]),
    ],
)
def test_subagents_stand_below_what_started_them(listed: str, opened: str, rows: list[str]) -> None:
    assert unfold(listed, opened) == rows


def test_a_heading_without_rows_goes() -> None:
    folds = Folds()
    folds.add([NESTED.by_session["boss"]])
    boss, one, two = (NESTED.by_session[id] for id in ("boss", "one", "two"))
    rows: list[Conversation | Heading] = []
    for name, item in (("a", one), ("b", boss), ("c", two)):
        rows += (Heading(name, [item]), item)
    assert shown(Rows(folds.rows(rows, NESTED))) == ["[b]", "boss", "  one", "  two"]


def test_what_started_itself_or_each_other_is_shown_once() -> None:
    catalog = Catalog((conversation("a", delegates=["b", "a"]), conversation("b", delegates=["a"])))
    assert unfold("a b", "a b", catalog) == ["a", "  b"]
    assert unfold("b a", "a b", catalog) == ["b", "  a"]


IDS = "abcdefg"


@given(
    st.lists(st.lists(st.sampled_from(IDS), max_size=3), min_size=7, max_size=7),
    st.permutations(IDS),
    st.sets(st.sampled_from(IDS)),
    st.integers(0, 7),
)
def test_whatever_is_unfolded_nothing_is_lost_or_doubled(
    delegates: list[list[str]], order: list[str], opened: set[str], count: int
) -> None:
    catalog = Catalog(tuple(conversation(id, delegates=started) for id, started in zip(IDS, delegates, strict=True)))
    listed = order[:count]
    rows = [line.strip() for line in unfold(" ".join(listed), " ".join(opened), catalog)]
    assert len(rows) == len(set(rows))
    assert set(rows) >= set(listed)
    for id in opened & set(rows):
        assert {child.id for child in children_of(catalog.by_session[id], catalog)} <= set(rows)


def test_everything_above_a_subagent_is_unfolded_to_reach_it() -> None:
    folds = Folds()
    assert folds.open_above(NESTED.by_session["deep"], NESTED).id == "boss"
    assert "    deep" in shown(Rows(folds.rows([NESTED.by_session["boss"]], NESTED)))
    ring = Catalog((conversation("a", delegates=["b"]), conversation("b", delegates=["a"])))
    assert Folds().open_above(ring.by_session["a"], ring).id in "ab"


def test_a_picked_conversation_stays_picked_under_a_new_id() -> None:
    picked = Picked()
    picked.add([conversation("x"), conversation("root")])
    goes_on: Conversation = conversation("root", "tip")
    assert goes_on in picked
    assert [item.id for item in picked.known(Catalog((goes_on, conversation("y"))))] == ["tip"]
    picked.remove(goes_on)
    assert goes_on not in picked
    assert picked


def test_marking_again_unmarks() -> None:
    marks, item = Marks(), conversation("x")
    marks.turn(item)
    assert item in marks
    marks.turn(item)
    assert not marks
    assert marks.last is item
    marks.clear()
    assert marks.last is None

"""What was deleted, as a value: whole, and whole again after it was written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import UsageError
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.removed import Removed, Undecodable

FIRST = '{"format": "hermes-sessions removed rows", "version": 1, "rows": 1, "links": 0}'
VALUES: st.SearchStrategy[SQLValue] = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.binary(max_size=20).map(Undecodable),
)
ROWS = st.tuples(st.sampled_from(["sessions", "messages"]), st.dictionaries(st.text(min_size=1, max_size=5), VALUES))
LINKS = st.tuples(st.text(max_size=5), st.text(max_size=5))


@given(st.lists(ROWS, max_size=5), st.lists(LINKS, max_size=3))
def test_lines_of_json_hold_it_exactly(
    rows: list[tuple[str, dict[str, SQLValue]]], links: list[tuple[str, str]]
) -> None:
    removed = Removed(tuple(rows), tuple(links))
    lines = list(removed.lines())
    assert not any("\n" in line for line in lines)
    again = Removed.from_lines(lines)
    assert again == removed
    assert [[type(value) for value in row.values()] for _, row in again.rows] == [
        [type(value) for value in row.values()] for _, row in rows
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["no JSON"],
        ["[]"],
        ['{"format": "another"}'],
        [FIRST, '{"table": "messages"}'],
        [
            FIRST,
            '{"table": "messages", "row": {"a": {}}}',
        ],
        [
            FIRST,
            '{"table": "messages", "row": {"a": [1]}}',
        ],
        [FIRST, '{"chi'],
        [FIRST, "7"],
    ],
)
def test_what_is_no_such_list_is_refused(lines: list[str]) -> None:
    with pytest.raises(UsageError, match="no list of removed sessions"):
        Removed.from_lines(lines)


def test_a_list_that_ends_early_is_no_list() -> None:
    rows: tuple[tuple[str, dict[str, SQLValue]], ...] = (("sessions", {"id": "a"}), ("messages", {"id": 1}))
    lines = list(Removed(rows, (("b", "a"),)).lines())
    for end in range(1, len(lines)):
        with pytest.raises(UsageError):
            Removed.from_lines(lines[:end])

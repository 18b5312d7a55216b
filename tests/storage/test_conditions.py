"""What the values of a key mean. How they are written in a query is in `test_query`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import BadFilter
from hermes_sessions.storage.conditions import (
    CHOICES,
    KEYS,
    NUMBER_KEYS,
    TIME_KEYS,
    closest,
    may_become,
    read_condition,
)
from tests.builders import NOW


def test_an_operator_that_is_given_is_not_looked_for_in_the_value() -> None:
    assert read_condition("cost", ["1"], NOW, ">=").operator == ">="
    with pytest.raises(BadFilter):
        read_condition("cost", [">1"], NOW, ">=")


def test_values_are_taken_once_and_without_blanks_around_them() -> None:
    assert read_condition("source", [" cli ", "", "cli", "tui"], NOW).values == ("cli", "tui")
    assert read_condition("title", ["Two Words"], NOW).values == ("Two Words",)


@given(st.sampled_from(KEYS), st.lists(st.text(), max_size=3), st.sampled_from([None, "=", ">="]))
def test_a_value_is_read_or_refused_with_what_would_be_right(key: str, values: list[str], operator: None) -> None:
    try:
        condition = read_condition(key, values, NOW, operator)
    except BadFilter as error:
        assert error.message and error.hint
    else:
        assert condition.key == key
        assert bool(condition.values) is (key not in (*NUMBER_KEYS, *TIME_KEYS))


@pytest.mark.parametrize("whole", ["cost:>1.5k", "cost:$3", "cost:1..20", "before:2026-05-01", "older:>12h", "is:live"])
def test_every_beginning_of_what_is_right_may_become_right(whole: str) -> None:
    key, _, value = whole.partition(":")
    for length in range(len(value)):
        begun = value[:length]
        try:
            read_condition(key, [begun], NOW)
        except BadFilter:
            assert may_become(key, begun)
        else:
            assert key not in CHOICES or may_become(key, begun)


def test_what_is_meant_is_what_is_most_like_it() -> None:
    assert closest("archive", CHOICES["is"]) == "archived"
    assert closest("zzz", CHOICES["is"]) == closest("", ()) == ""
    assert closest("x" * 100_000, CHOICES["is"]) == ""

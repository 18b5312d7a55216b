"""What the cost pane says: nothing unknown as 0, nothing wider than the pane."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import CostLine, CostSummary, Tokens
from hermes_sessions.text import cell_width
from hermes_sessions.tui.cost_lines import TABLES, Line, bar, compact_lines, table_lines
from tests.builders import NOW


def cost(key: str, actual: float | None = None, estimated: float | None = None, **counts: int) -> CostLine:
    known = [amount for amount in (actual, estimated) if amount is not None]
    values = {"sessions": 1, "unpriced_sessions": 0, "included_sessions": 0, **counts}
    return CostLine(key, sum(known) if known else None, actual, estimated, tokens=Tokens(1000, 500), **values)


def written(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


UNKNOWN = CostSummary("day", cost("total", sessions=3, unpriced_sessions=3), (cost("2026-05-28", unpriced_sessions=1),))
KNOWN = CostSummary(
    "model",
    cost("total", 1.5, 2.5, sessions=9, unpriced_sessions=2, included_sessions=1),
    (cost("cheap", estimated=0.5), cost("unknown one"), cost("dear", 1.5, 2.0)),
)


def test_what_nobody_knows_is_no_zero() -> None:
    first, second, *_ = written(compact_lines({"day": UNKNOWN}, NOW, 60))
    assert first == "?  3 sessions · 4.5K tokens" or first.startswith("?  3 sessions")
    assert second == "3 unpriced"
    assert "$0" not in "".join(written(table_lines("day", UNKNOWN, 80)))


def test_the_parts_of_a_sum_are_named() -> None:
    assert written(compact_lines({"model": KNOWN}, NOW, 80))[1] == (
        "$1.50 actual · ~$2.50 estimated · 1 included · 2 unpriced"
    )


def test_the_dearest_comes_first_and_the_unknown_last() -> None:
    rows = [line.split()[0] for line in written(table_lines("model", KNOWN, 100))[-3:]]
    assert rows == ["dear", "cheap", "unknown"]


def test_days_come_newest_first() -> None:
    days = CostSummary("day", cost("total", 3.0), tuple(cost(f"2026-05-{day:02}", 1.0) for day in (1, 3, 2)))
    assert [line.split()[0] for line in written(table_lines("day", days, 100))[-3:]] == [
        "2026-05-03",
        "2026-05-02",
        "2026-05-01",
    ]


def test_the_days_up_to_today_are_a_row_of_bars() -> None:
    days = CostSummary("day", cost("total", 3.0), (cost("2026-05-28", 4.0), cost("2026-05-26", 1.0)))
    assert written(compact_lines({"day": days}, NOW, 50))[-1].startswith("·" * 21 + "▂·█")


@pytest.mark.parametrize(("share", "drawn"), [(1.0, "████"), (0.5, "██"), (0.03, "▏"), (0.0, ""), (0.99, "████")])
def test_a_bar_is_drawn_in_eighths(share: float, drawn: str) -> None:
    assert bar(share, 4) == drawn


@given(width=st.integers(20, 200), key=st.text(max_size=80), amount=st.floats(0, 1e9))
def test_no_line_of_a_table_is_wider_than_the_pane(width: int, key: str, amount: float) -> None:
    summary = CostSummary("model", cost("total", amount), (cost(key, amount), cost("b", estimated=amount / 3)))
    for by in TABLES:
        for line in written(table_lines(by, summary, width))[4:]:
            assert cell_width(line) <= max(width, 42)

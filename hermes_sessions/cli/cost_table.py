"""Sums of money and tokens as a table. Shared by `cost` and the numbered list."""

from __future__ import annotations

from hermes_sessions.cli.output import Column, Output
from hermes_sessions.model import Basis, CostLine, CostSummary, Money
from hermes_sessions.services import wording

COLUMNS = (
    Column("Cost", right=True, style="bold"),
    Column("Actual", right=True, spare=4),
    Column("Estimated", right=True, spare=3),
    Column("Sessions", right=True, spare=1),
    Column("Unpriced", right=True, spare=2),
    Column("Included", right=True, spare=6),
    Column("In", right=True, spare=5),
    Column("Out", right=True, spare=5),
)


def print_summary(output: Output, summary: CostSummary) -> None:
    """One row for each group, the total last. What nobody priced is counted apart, never as 0."""
    key = Column(summary.by.capitalize(), flexible=True)
    rows = [[line.key, *_cells(line)] for line in summary.groups]
    output.table((key, *COLUMNS), [*rows, ["Total", *_cells(summary.total)]])


def _cells(line: CostLine) -> list[str]:
    tokens = line.tokens
    basis: Basis = "actual"
    if line.actual_usd is None and line.estimated_usd is None and line.included_sessions:
        basis = "included"
    elif line.estimated_usd is not None:
        basis = "mixed"
    return [
        _amount(line.amount_usd, basis),
        _amount(line.actual_usd, "actual"),
        _amount(line.estimated_usd, "estimated"),
        wording.count(line.sessions),
        wording.count(line.unpriced_sessions),
        wording.count(line.included_sessions),
        wording.tokens(tokens.input + tokens.cache_read + tokens.cache_write),
        wording.tokens(tokens.output),
    ]


def _amount(amount: float | None, basis: Basis) -> str:
    return wording.money(Money(amount, basis))

"""Sums of money as lines of text: the small summary and the tables of the cost pane. Pure; nothing is drawn here.

A line is a row of texts, each with the name of its style. What nobody knows is said to be unknown, never counted as 0.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from hermes_sessions.model import CostLine, CostSummary, Money
from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, one_line, pad, steady

TABLES = ("day", "week", "month", "provider", "model", "source")
OF_TIME = frozenset({"day", "week", "month"})
COMPACT = ("day", "provider", "model")
"""The sums that the small pane is made of."""

AMOUNT, SESSIONS, UNPRICED, TOKENS = 12, 9, 9, 8
MIN_BAR = 10

SPARKS = "▁▂▃▄▅▆▇█"
MAX_DAYS = 60
EIGHTHS = " ▏▎▍▌▋▊▉█"

SHORT = {"actual": "act", "estimated": "est", "included": "incl", "unpriced": "unpr"}

Cell: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Cell]

WAITING: Line = [("…", "muted")]


def compact_lines(summaries: Mapping[str, CostSummary], now: float, width: int) -> list[Line]:
    """The five lines of the small pane, of those sums by `COMPACT` that are known so far."""
    if not summaries:
        return [WAITING]
    total = next(iter(summaries.values())).total
    lines = [_total(total), _split(total, width)]
    lines += [_ranking(summaries[by].groups, width) for by in ("provider", "model") if by in summaries]
    if "day" in summaries:
        lines.append(_sparks(summaries["day"].groups, now, width))
    return lines


def table_lines(by: str, summary: CostSummary | None, width: int) -> list[Line]:
    """The large pane: which table it is, the total, and a row for each group."""
    tabs: Line = []
    for name in TABLES:
        tabs += [(f" {name} ", "tab" if name == by else "muted"), (" ", "text")]
    if summary is None:
        return [tabs, [], WAITING]
    total, split = _total(summary.total), _split(summary.total, width)
    beside = [*total, ("   ", "text"), *split]
    groups = _ordered(summary.groups, by)
    names = [steady(one_line(group.key)) for group in groups]
    longest = max(map(cell_width, [by, *names]))
    most = max((group.amount_usd or 0.0 for group in groups), default=0.0)
    heads = (("cost", AMOUNT), ("sessions", SESSIONS), ("tokens", TOKENS), ("unpriced", UNPRICED))
    return [
        tabs,
        [],
        *([beside] if _width(beside) <= width else [total, split]),
        [],
        _row(width, longest, by, [(name, size, "muted") for name, size in heads], "muted", 0.0),
        *(_group(width, longest, name, group, most) for name, group in zip(names, groups, strict=True)),
    ]


def _total(total: CostLine) -> Line:
    if not total.sessions:
        return [("No sessions.", "muted")]
    return [
        (wording.money(_money(total)), "strong"),
        (f"  {wording.count(total.sessions)} {'session' if total.sessions == 1 else 'sessions'}", "text"),
        (f" · {wording.tokens(total.tokens.total)} tokens", "muted"),
    ]


def _split(total: CostLine, width: int) -> Line:
    """What the total rests on, in shorter words where there is no room. A part that is not there is not named."""
    amounts = (Money(total.actual_usd, "actual"), Money(total.estimated_usd, "estimated"))
    counts = ((total.included_sessions, "included"), (total.unpriced_sessions, "unpriced"))
    parts: Line = [(wording.money(money), money.basis) for money in amounts if money.amount_usd is not None]
    parts += [(wording.count(number), kind) for number, kind in counts if number]
    full = _joined([[(f"{amount} {kind}", kind)] for amount, kind in parts])
    return full if _width(full) <= width else _joined([[(f"{amount} {SHORT[kind]}", kind)] for amount, kind in parts])


def _ranking(groups: Sequence[CostLine], width: int) -> Line:
    """The dearest groups, as many as fit; at least one. Groups of which nothing is known stay for the table."""
    parts: list[Line] = []
    for group in _ordered([group for group in groups if group.amount_usd is not None], "amount"):
        part = [(f"{steady(one_line(group.key))} ", "text"), (wording.money(_money(group)), _kind(group))]
        if parts and _width(_joined([*parts, part])) > width:
            break
        parts.append(part)
    return _joined(parts)


def _sparks(groups: Sequence[CostLine], now: float, width: int) -> Line:
    """A bar a day, up to today; the dearest day is the highest."""
    amounts = {group.key: group.amount_usd or 0.0 for group in groups}
    days = max(1, min(MAX_DAYS, width - 26))
    today = datetime.date.fromtimestamp(now)
    row = [amounts.get((today - datetime.timedelta(days=back)).isoformat(), 0.0) for back in reversed(range(days))]
    most = max(row)
    if most <= 0:
        return [(f"no known cost in the last {days} days", "muted")]
    bars = [(_spark(amount / most), "bar" if amount > 0 else "muted") for amount in row]
    return [*bars, (f"  {days} days, most {wording.money(Money(most, 'actual'))}", "muted")]


def _spark(share: float) -> str:
    return SPARKS[math.ceil(share * len(SPARKS)) - 1] if share > 0 else "·"


def _group(width: int, longest: int, name: str, group: CostLine, most: float) -> Line:
    unpriced = wording.count(group.unpriced_sessions) if group.unpriced_sessions else ""
    columns = [
        (wording.money(_money(group)), AMOUNT, _kind(group)),
        (wording.count(group.sessions), SESSIONS, "muted"),
        (wording.tokens(group.tokens.total), TOKENS, "muted"),
        (unpriced, UNPRICED, "unpriced"),
    ]
    share = (group.amount_usd or 0.0) / most if most > 0 else 0.0
    return _row(width, longest, name, columns, "text", share)


def _row(width: int, longest: int, name: str, columns: Sequence[tuple[str, int, str]], kind: str, share: float) -> Line:
    """A name, then as many columns as fit, then a bar in what is left."""
    name_width = max(8, min(longest, width - AMOUNT - SESSIONS - TOKENS - 3))
    line = [(pad(name, name_width), kind)]
    room = width - name_width
    for text, size, style in columns:
        if room <= size:
            break
        line.append((" " + pad(text, size, right=True), style))
        room -= size + 1
    if room - 2 >= MIN_BAR:
        line.append(("  " + bar(share, room - 2), "bar"))
    return line


def bar(share: float, width: int) -> str:
    """A bar for `share` (0 to 1) of `width` cells, in eighths of a cell."""
    whole, part = divmod(round(share * width * 8), 8)
    return EIGHTHS[8] * whole + (EIGHTHS[part] if part else "")


def _money(line: CostLine) -> Money:
    """A sum and what it rests on. A part that nobody knows does not make the rest unknown."""
    if line.amount_usd is None:
        return Money(None, "unknown")
    if line.actual_usd is None and line.estimated_usd is None and line.included_sessions:
        return Money(line.amount_usd, "included")
    return Money(line.amount_usd, "actual" if line.estimated_usd is None else "estimated")


def _kind(line: CostLine) -> str:
    basis = _money(line).basis
    return "unpriced" if basis == "unknown" else basis


def _ordered(groups: Sequence[CostLine], by: str) -> list[CostLine]:
    """Newest first by time; else the dearest first, and what nobody knows last."""
    if by in OF_TIME:
        return sorted(groups, key=lambda group: group.key, reverse=True)
    return sorted(groups, key=lambda group: (group.amount_usd is None, -(group.amount_usd or 0.0), -group.tokens.total))


def _joined(parts: Sequence[Line]) -> Line:
    return list(chain.from_iterable([*part, (" · ", "muted")] for part in parts))[:-1]


def _width(line: Line) -> int:
    return sum(cell_width(text) for text, _ in line)

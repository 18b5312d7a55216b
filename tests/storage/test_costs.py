"""What sessions used and cost."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import CostLine, CostSummary, Money, Tokens
from hermes_sessions.storage.costs import KEYS, CostTable, add_money, regroup, row_money
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import as_time
from tests.builders import NOW, HermesFile

UNKNOWN = Money(None, "unknown")


@pytest.fixture
def costs(hermes_file: HermesFile) -> Iterator[CostTable]:
    database = Database(hermes_file.path)
    yield CostTable(database)
    database.close()


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def use(file: HermesFile, session: str, model: str = "m", task: str = "", **columns: Any) -> None:
    """A row of `session_model_usage`, as Hermes 0.19 writes it."""
    keys = {"billing_provider": "anthropic", "billing_base_url": "", "billing_mode": ""}
    file.insert("session_model_usage", session_id=session, model=model, task=task, **{**keys, **columns})


def line(summary: CostSummary, key: str) -> CostLine:
    return next(line for line in summary.groups if line.key == key)


def assert_adds_up(summary: CostSummary) -> None:
    """The groups are the total, in money and in every class of tokens."""
    for name in ("amount_usd", "actual_usd", "estimated_usd"):
        amounts = [getattr(group, name) or 0.0 for group in summary.groups]
        assert math.fsum(amounts) == pytest.approx(getattr(summary.total, name) or 0.0, abs=1e-9)
    assert sum((group.tokens for group in summary.groups), Tokens()) == summary.total.tokens


@pytest.mark.parametrize(
    ("actual", "estimated", "status", "money"),
    [
        (0.5, 0.6, "actual", Money(0.5, "actual")),
        (0.5, 0.6, "estimated", Money(0.5, "actual")),
        (0.0, 0.6, "estimated", Money(0.6, "estimated")),
        (0.0, 0.0, "actual", Money(0.0, "actual")),
        (None, 0.6, "actual", Money(0.6, "estimated")),
        (None, 0.6, "estimated", Money(0.6, "estimated")),
        (None, 0.0, "estimated", Money(0.0, "estimated")),
        (None, 0.6, None, Money(0.6, "estimated")),
        (None, 0.0, None, UNKNOWN),
        (None, None, None, UNKNOWN),
        (None, None, "estimated", UNKNOWN),
        (None, 0.0, "unknown", UNKNOWN),
        (None, 0.6, "unknown", Money(0.6, "mixed")),
        (None, 0.0, "included", Money(0.0, "included")),
        (None, None, "included", Money(0.0, "included")),
        (0.0, 0.6, "included", Money(0.6, "estimated")),
        ("much", b"more", "estimated", UNKNOWN),
        (math.nan, math.inf, None, UNKNOWN),
        (-1.0, 1e300, None, UNKNOWN),
    ],
)
def test_the_amount_of_a_row(actual: Any, estimated: Any, status: Any, money: Money) -> None:
    assert row_money(actual, estimated, status) == money


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        ([], UNKNOWN),
        ([UNKNOWN, UNKNOWN], UNKNOWN),
        ([Money(0.5, "actual"), Money(0.25, "actual")], Money(0.75, "actual")),
        ([Money(0.5, "actual"), Money(0.25, "estimated")], Money(0.75, "mixed")),
        ([Money(0.5, "estimated"), UNKNOWN], Money(0.5, "mixed")),
        ([Money(0.0, "included"), Money(0.5, "estimated")], Money(0.5, "estimated")),
        ([Money(0.0, "included"), Money(0.0, "included")], Money(0.0, "included")),
        ([Money(0.0, "included"), UNKNOWN], UNKNOWN),
        ([Money(0.5, "mixed"), Money(0.5, "actual")], Money(1.0, "mixed")),
    ],
)
def test_the_sum_of_amounts(amounts: list[Money], total: Money) -> None:
    assert add_money(amounts) == total


@given(st.lists(st.sampled_from([Money(0.1, "actual"), Money(0.2, "estimated"), Money(0.0, "included"), UNKNOWN])))
def test_the_order_of_adding_money_does_not_matter(amounts: list[Money]) -> None:
    assert add_money(amounts) == add_money(reversed(amounts))


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_money_is_added_exactly(amounts: list[float]) -> None:
    assert add_money(Money(amount, "actual") for amount in amounts) == Money(math.fsum(amounts), "actual")


def test_sql_and_python_have_one_rule(hermes_file: HermesFile, costs: CostTable) -> None:
    values = (None, 0, 0.0, 0.25, 1, -1.0, 1e9, 1e300, math.inf, "much", b"\xff", "0.5")
    statuses = (None, "actual", "estimated", "included", "unknown", "odd", 7, b"actual\xff")
    for actual, estimated, status in itertools.product(values, values, statuses):
        hermes_file.session(actual_cost_usd=actual, estimated_cost_usd=estimated, cost_status=status)
    rows = Database(hermes_file.path).rows("SELECT id, actual_cost_usd, estimated_cost_usd, cost_status FROM sessions")
    expected = {str(id): row_money(*row) for id, *row in rows}
    assert len(expected) == len(values) ** 2 * len(statuses)
    assert {id: money for id, (_, money) in costs.of_sessions().items()} == expected
    total = costs.summary("total").total
    assert total.amount_usd == pytest.approx(math.fsum(money.amount_usd or 0.0 for money in expected.values()))
    bases = [money.basis for money in expected.values()]
    assert (total.unpriced_sessions, total.included_sessions) == (bases.count("unknown"), bases.count("included"))


def test_every_layout_is_summed_up(any_layout: HermesFile) -> None:
    any_layout.session(
        "a", "cli", model="opus", billing_provider="anthropic", estimated_cost_usd=0.5, cost_status="estimated"
    )
    any_layout.session("b", "telegram", input_tokens=3)
    table = CostTable(Database(any_layout.path))
    for by in KEYS:
        summary = table.summary(by)
        assert_adds_up(summary)
        assert (summary.by, summary.total.amount_usd, summary.total.tokens) == (by, 0.5, Tokens(3))
        assert (summary.total.sessions, summary.total.unpriced_sessions) == (2, 1)


def test_a_file_without_tables_and_one_without_cost_columns_cost_nothing_known(hermes_file: HermesFile) -> None:
    hermes_file.sql("DROP TABLE session_model_usage")
    hermes_file.session("a")
    for column in ("actual_cost_usd", "estimated_cost_usd", "cost_status", "billing_provider", "cache_read_tokens"):
        hermes_file.sql(f"ALTER TABLE sessions DROP COLUMN {column}")
    table = CostTable(Database(hermes_file.path))
    assert table.summary("provider").groups == (CostLine("unknown", None, None, None, 1, 1, 0, Tokens()),)
    hermes_file.sql("PRAGMA foreign_keys = OFF; DROP TABLE messages; DROP TABLE sessions")
    table = CostTable(Database(hermes_file.path))
    for by in KEYS:
        assert table.summary(by) == CostSummary(by, CostLine("total", None, None, None, 0, 0, 0, Tokens()), ())


def test_each_row_counts_once_whatever_it_is_to_others(hermes_file: HermesFile, costs: CostTable) -> None:
    """A continuation, a delegate and a branch are rows of their own; a conversation is the sum of its chain."""
    priced: dict[str, Any] = {"cost_status": "estimated"}
    hermes_file.session("p", estimated_cost_usd=0.01, **priced)
    hermes_file.talk("p", "question")
    hermes_file.branch("p", "b", ends_parent=False, estimated_cost_usd=0.5, **priced)
    hermes_file.delegate("p", "c1", estimated_cost_usd=0.04, **priced)
    hermes_file.end("p", "compression")
    hermes_file.session("k", parent="p", estimated_cost_usd=0.02, **priced)
    summary = costs.summary("session")
    assert summary.total.amount_usd == pytest.approx(0.57)
    assert [group.key for group in summary.groups] == ["b", "c1", "k", "p"]
    folded = regroup(summary, lambda id: "k" if id == "p" else id)
    assert line(folded, "k").amount_usd == pytest.approx(0.03)
    assert line(folded, "k").sessions == 2
    assert_adds_up(folded)
    assert costs.summary("total", ["p", "k", "c1"]).total.amount_usd == pytest.approx(0.07)


def test_copies_of_messages_add_nothing(hermes_file: HermesFile, costs: CostTable) -> None:
    hermes_file.session("a", input_tokens=100, output_tokens=20)
    hermes_file.message("a", "assistant", "answer", token_count=20)
    hermes_file.compact_in_place("a")
    hermes_file.branch("a", "b")
    assert costs.summary("total").total.tokens == Tokens(100, 20)


def test_all_five_classes_of_tokens_are_kept_apart(hermes_file: HermesFile, costs: CostTable) -> None:
    counts: dict[str, Any] = {"input_tokens": 1_000, "output_tokens": 500, "cache_read_tokens": 200_000}
    hermes_file.session("a", **counts, cache_write_tokens=5_000, reasoning_tokens=400)
    tokens = Tokens(1_000, 500, 200_000, 5_000, 400)
    assert costs.of_sessions(["a"]) == {"a": (tokens, UNKNOWN)}
    assert tokens.total == 206_500


def test_nonsense_in_number_columns_counts_as_nothing(hermes_file: HermesFile, costs: CostTable) -> None:
    for value in ("many", b"\xff\xfe", -5, math.inf, 2**62, 1e300, 7.9):
        hermes_file.session(input_tokens=value, output_tokens=value)
    assert costs.summary("total").total.tokens == Tokens(7, 7)


def test_unpriced_is_counted_and_never_zero(hermes_file: HermesFile, costs: CostTable) -> None:
    hermes_file.session("free", "cli", cost_status="included", estimated_cost_usd=0.0)
    hermes_file.session("dark", "cron", cost_status="unknown", estimated_cost_usd=0.0)
    hermes_file.session("paid", "cli", cost_status="actual", actual_cost_usd=0.25, estimated_cost_usd=0.3)
    summary = costs.summary("source")
    assert line(summary, "cron") == CostLine("cron", None, None, None, 1, 1, 0, Tokens())
    assert line(summary, "cli") == CostLine("cli", 0.25, 0.25, None, 2, 0, 1, Tokens())
    assert line(costs.summary("session"), "free").amount_usd == 0.0
    assert (summary.total.unpriced_sessions, summary.total.included_sessions) == (1, 1)


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles", "Asia/Kathmandu", "UTC"])
def test_the_days_of_every_zone_add_up_to_the_total(
    hermes_file: HermesFile, costs: CostTable, in_zone: Callable[[str], None], zone: str
) -> None:
    """Around midnight, on both days of the change of clocks, and with times that are none."""
    in_zone(zone)
    starts: list[Any] = ["2026-04-09T12:00:00", "2026-04-09T12:00:00+02:00", "nonsense", 0.0, -5.0, 1e300, b"\xff"]
    for year, month, day in ((2026, 5, 1), (2026, 3, 8), (2026, 4, 5), (2026, 9, 27), (2026, 11, 1)):
        for hour, minute in ((23, 50), (0, 10), (2, 30)):
            starts.append(time.mktime((year, month, day, hour, minute, 0, 0, 0, -1)))
    for number, started_at in enumerate(starts):
        hermes_file.session(f"s{number}", started_at=started_at, estimated_cost_usd=0.1 * (number + 1))
    for by, form in (("day", "%Y-%m-%d"), ("week", "%G-W%V"), ("month", "%Y-%m")):
        expected: dict[str, float] = {}
        for number, started_at in enumerate(starts):
            moment = as_time(started_at)
            key = "unknown" if moment is None else time.strftime(form, time.localtime(moment))
            expected[key] = expected.get(key, 0.0) + 0.1 * (number + 1)
        summary = costs.summary(by)
        assert {group.key: group.amount_usd for group in summary.groups} == pytest.approx(expected)
        assert [group.key for group in summary.groups] == sorted(expected, key=lambda key: (key == "unknown", key))
        assert_adds_up(summary)
        assert summary.total.sessions == len(starts)


def test_a_span_of_time_is_half_open_and_leaves_out_what_has_no_time(hermes_file: HermesFile, costs: CostTable) -> None:
    for id, started_at in (("a", NOW), ("b", NOW + 10), ("c", NOW + 20), ("d", "nonsense"), ("e", "2031-01-01")):
        hermes_file.session(id, started_at=started_at)

    def chosen(**span: Any) -> set[str]:
        return {group.key for group in costs.summary("session", **span).groups}

    assert chosen(since=NOW + 10) == {"b", "c", "e"}
    assert chosen(until=NOW + 10) == {"a"}
    assert chosen(since=NOW, until=NOW + 20) == {"a", "b"}
    assert chosen(session_ids=["c", "d", "gone"], since=NOW) == {"c"}
    assert chosen(session_ids=[]) == set()


def test_usage_splits_a_session_by_model_and_the_rest_stays_with_the_session(
    hermes_file: HermesFile, costs: CostTable
) -> None:
    spent: dict[str, Any] = {"cost_status": "estimated", "cost_source": "official_docs_snapshot"}
    hermes_file.session("a", model="opus", input_tokens=100, estimated_cost_usd=1.0, billing_provider="p", **spent)
    use(hermes_file, "a", "opus", input_tokens=50, estimated_cost_usd=0.5, **spent)
    use(hermes_file, "a", "haiku", input_tokens=30, estimated_cost_usd=0.2, billing_provider="q", **spent)
    summary = costs.summary("model")
    assert line(summary, "opus") == CostLine("opus", 0.8, None, 0.8, 1, 0, 0, Tokens(70))
    assert line(summary, "haiku") == CostLine("haiku", 0.2, None, 0.2, 1, 0, 0, Tokens(30))
    assert summary.total == CostLine("total", 1.0, None, 1.0, 1, 0, 0, Tokens(100))
    provider = costs.summary("provider")
    assert {group.key: group.tokens.input for group in provider.groups} == {"anthropic": 50, "p": 20, "q": 30}


def test_auxiliary_calls_are_in_every_total_once(hermes_file: HermesFile, costs: CostTable) -> None:
    hermes_file.session("a", model="opus", input_tokens=100, estimated_cost_usd=1.0, cost_status="estimated")
    use(hermes_file, "a", "opus", input_tokens=100, estimated_cost_usd=1.0, cost_status="estimated")
    use(hermes_file, "a", "flash", "compression", input_tokens=12, estimated_cost_usd=0.25)
    use(hermes_file, "a", "flash", "title", input_tokens=2)
    hermes_file.session("b")
    for by in KEYS:
        summary = costs.summary(by)
        assert_adds_up(summary)
        assert summary.total == CostLine("total", 1.25, None, 1.25, 2, 1, 0, Tokens(114))
    tasks = costs.summary("task")
    assert [group.key for group in tasks.groups] == ["main", "compression", "title"]
    assert line(tasks, "title") == CostLine("title", None, None, None, 1, 1, 0, Tokens(2))
    assert line(tasks, "main").sessions == 2
    assert costs.of_sessions(["a"]) == {"a": (Tokens(114), Money(1.25, "mixed"))}


def test_usage_beyond_the_sessions_own_row_counts_too(hermes_file: HermesFile, costs: CostTable) -> None:
    hermes_file.session("a", model="opus")
    use(hermes_file, "a", "opus", output_tokens=5, estimated_cost_usd=0.5)
    use(hermes_file, "a", "haiku", output_tokens=7, actual_cost_usd=0.25, cost_status="actual")
    use(hermes_file, "gone", "haiku", output_tokens=9, actual_cost_usd=9.0)
    for by in KEYS:
        summary = costs.summary(by)
        assert_adds_up(summary)
        assert summary.total == CostLine("total", 0.75, 0.25, 0.5, 1, 0, 0, Tokens(0, 12))


def test_a_usage_table_without_tasks_is_all_main_loop(hermes_file: HermesFile, costs: CostTable) -> None:
    hermes_file.sql("DROP TABLE session_model_usage")
    hermes_file.sql("CREATE TABLE session_model_usage (session_id, model, input_tokens)")
    hermes_file.session("a", model="opus", input_tokens=5)
    hermes_file.insert("session_model_usage", session_id="a", model="haiku", input_tokens=3)
    assert {group.key: group.tokens.input for group in costs.summary("model").groups} == {"opus": 2, "haiku": 3}
    assert [group.key for group in costs.summary("task").groups] == ["main"]


def test_all_views_of_a_store_with_usage_have_one_total(hermes_file: HermesFile, costs: CostTable) -> None:
    dice = random.Random(7)
    amounts = (None, 0.0, 0.1, 0.7, 1.3, "text", -1.0)
    statuses = (None, "actual", "estimated", "included", "unknown")

    def columns() -> dict[str, Any]:
        return {
            "input_tokens": dice.choice((0, 10, 500)),
            "output_tokens": dice.choice((0, 3, "text")),
            "cost_status": dice.choice(statuses),
            "actual_cost_usd": dice.choice(amounts) or 0.0,
            "estimated_cost_usd": dice.choice(amounts) or 0.0,
        }

    for number in range(200):
        id = hermes_file.session(f"s{number}", model=dice.choice(("x", "y", None, "")), **columns())
        for model, task in itertools.product(("x", "y", "z"), ("", "title")):
            if dice.random() < 0.3:
                use(hermes_file, id, model, task, **columns())
    total = costs.summary("total").total
    assert total.sessions == 200
    for by in KEYS:
        summary = costs.summary(by)
        assert_adds_up(summary)
        assert summary.total.tokens == total.tokens
        assert summary.total.amount_usd == pytest.approx(total.amount_usd)
        assert (summary.total.unpriced_sessions, summary.total.included_sessions) == (
            total.unpriced_sessions,
            total.included_sessions,
        )
    each = costs.of_sessions()
    assert add_money(money for _, money in each.values()).amount_usd == pytest.approx(total.amount_usd)
    assert sum((tokens for tokens, _ in each.values()), Tokens()) == total.tokens


def test_a_key_that_is_not_text_is_text_and_no_key_is_unknown(hermes_file: HermesFile, costs: CostTable) -> None:
    for model in (None, "", "unknown", b"\xffodd", 7):
        hermes_file.session(model=model, input_tokens=1)
    assert {group.key: group.sessions for group in costs.summary("model").groups} == {
        "unknown": 3,
        "\ufffdodd": 1,
        "7": 1,
    }


def test_an_unknown_key_is_refused(costs: CostTable) -> None:
    with pytest.raises(ValueError, match="colour"):
        costs.summary("colour")

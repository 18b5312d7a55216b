"""Tokens and money, written."""

from __future__ import annotations

from dataclasses import replace

from hermes_sessions.model import Tokens
from hermes_sessions.storage.values import SQLValue
from hermes_sessions.storage.writing.entries import Usage
from tests.storage.writing.written import Written

TOKENS = "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"
ROUTE = "model", "billing_provider", "billing_base_url", "billing_mode"
LABELS = "cost_status", "cost_source", "pricing_version"

FIRST = Usage(Tokens(1, 2, 3, 4, 5), 1, 0.25, None, "estimated", "docs", "v1", "opus", "anthropic", "https://a", "docs")
SECOND = Usage(Tokens(10, 20, 30, 40, 50), 2, 0.5, 0.75, "actual", model="x", provider="y")


def by_model(written: Written, *columns: str) -> list[tuple[SQLValue, ...]]:
    return written.rows(f"SELECT {', '.join(columns)} FROM session_model_usage ORDER BY rowid")


def test_usage_adds_up_and_the_first_route_stays(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    ownable.usage.add("s", FIRST)
    ownable.usage.add("s", SECOND)
    assert ownable.session("s", *TOKENS, "api_call_count") == (11, 22, 33, 44, 55, 3)
    assert ownable.session("s", "estimated_cost_usd", "actual_cost_usd") == (0.75, 0.75)
    assert ownable.session("s", *LABELS) == ("actual", "docs", "v1")
    assert ownable.session("s", *ROUTE) == ("opus", "anthropic", "https://a", "docs")
    (conversation,) = ownable.catalog()
    overview = ownable.reader.sessions.overviews([conversation])["s"]
    assert overview.tokens == Tokens(11, 22, 33, 44, 55)


def test_old_layouts_have_no_place_for_the_number_of_requests(any_written: Written) -> None:
    any_written.sessions.create("s", source="cli")
    assert any_written.usage.add("s", FIRST)
    any_written.usage.set("s", FIRST)
    assert any_written.session("s", *TOKENS, "model") == (1, 2, 3, 4, 5, "opus")


def test_the_route_that_answered_first_replaces_the_one_a_session_was_begun_with(written: Written) -> None:
    """As in Hermes 0.19: the first may have failed, and another took its place."""
    written.sessions.create("s", source="cli", model="opus")
    written.usage.add("s", Usage(Tokens(), 0, model="opus", provider="anthropic"))
    assert written.session("s", *ROUTE) == ("opus", None, None, None)
    written.usage.add("s", replace(FIRST, model="gpt", provider="openai", base_url=None))
    assert written.session("s", *ROUTE) == ("gpt", "openai", None, "docs")
    written.usage.add("s", FIRST)
    assert written.session("s", "model", "billing_provider") == ("gpt", "openai")


def test_an_unknown_price_is_marked_by_its_status(written: Written) -> None:
    written.sessions.create("s", source="cli")
    written.usage.add("s", Usage(Tokens(100, 10), status="unknown"))
    assert written.session("s", "estimated_cost_usd", "actual_cost_usd", "cost_status") == (0.0, None, "unknown")


def test_totals_replace_the_sums(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    ownable.usage.add("s", FIRST)
    ownable.usage.set("s", SECOND)
    ownable.usage.set("s", replace(SECOND, actual_usd=None, estimated_usd=None, status=None))
    assert ownable.session("s", *TOKENS, "api_call_count") == (10, 20, 30, 40, 50, 2)
    assert ownable.session("s", "estimated_cost_usd", "actual_cost_usd", *LABELS) == (0.0, 0.75, "actual", "docs", "v1")
    assert ownable.session("s", *ROUTE) == ("opus", "anthropic", "https://a", "docs")


def test_each_amount_is_kept_by_model_and_route(newer: Written) -> None:
    newer.sessions.create("s", source="cli")
    assert newer.usage.add("s", FIRST)
    assert newer.usage.add("s", FIRST)
    assert newer.usage.add("s", SECOND)
    newer.usage.set("s", FIRST)
    assert by_model(
        newer, "model", "billing_provider", "billing_base_url", "task", "input_tokens", "api_call_count"
    ) == [
        ("opus", "anthropic", "https://a", "", 2, 2),
        ("x", "y", "", "", 10, 2),
    ]
    assert by_model(newer, "estimated_cost_usd", "actual_cost_usd", "cost_status", "cost_source") == [
        (0.5, 0.0, "estimated", "docs"),
        (0.5, 0.75, "actual", None),
    ]
    ((first_seen, last_seen),) = by_model(newer, "first_seen", "last_seen")[:1]
    assert (first_seen, last_seen) == (newer.clock.now - 2, newer.clock.now - 1)


def test_what_was_not_said_of_a_route_is_the_sessions(newer: Written) -> None:
    newer.sessions.create("s", source="cli")
    newer.usage.add("s", FIRST)
    newer.usage.add("s", Usage(Tokens(7)))
    newer.usage.add("s", Usage(Tokens(7), provider="openai"))
    assert by_model(newer, *ROUTE, "input_tokens") == [
        ("opus", "anthropic", "https://a", "docs", 8),
        ("opus", "openai", "", "", 7),
    ]


def test_a_side_task_is_no_part_of_the_sessions_sums(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    ownable.usage.add("s", FIRST)
    has_rows = "session_model_usage" in ownable.database.tables
    assert ownable.usage.add("s", Usage(Tokens(100), provider="google"), task="vision") is has_rows
    assert ownable.session("s", "input_tokens", "api_call_count") == (1, 1)
    if has_rows:
        assert by_model(ownable, "model", "billing_provider", "task", "input_tokens")[1:] == [
            ("unknown", "google", "vision", 100)
        ]


def test_nothing_used_is_no_row(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    ownable.usage.add("s", Usage(requests=0, model="m", provider="p"))
    assert ownable.session("s", *ROUTE) == (None,) * 4
    if "session_model_usage" in ownable.database.tables:
        assert by_model(ownable, "model") == []


def test_another_route_from_now_on(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli", system_prompt="Provider: anthropic")
    ownable.usage.add("s", FIRST)
    ownable.usage.set_route("s", "openai", "https://o")
    assert ownable.session("s", *ROUTE, "system_prompt") == ("opus", "openai", "https://o", "docs", None)


def test_an_amount_that_is_no_number_leaves_what_was_counted(ownable: Written) -> None:
    ownable.sessions.create("s", source="cli")
    ownable.usage.add("s", Usage(Tokens(1, 2), estimated_usd=1.5, actual_usd=1.25))
    for amount in (float("nan"), float("inf")):
        ownable.usage.add("s", Usage(Tokens(1, 2), estimated_usd=amount, actual_usd=amount))
    assert ownable.session("s", "input_tokens", "estimated_cost_usd", "actual_cost_usd") == (3, 1.5, 1.25)

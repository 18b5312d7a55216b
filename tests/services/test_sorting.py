"""The orders of a list."""

from __future__ import annotations

import pytest

from hermes_sessions.services.sorting import SORTS, SORTS_BY_FACTS, arrange
from hermes_sessions.storage import open_store
from tests.builders import NOW, HermesFile


@pytest.mark.parametrize(
    ("by", "ids", "reversed_ids"),
    [
        ("active", "small big free plain", "plain free big small"),
        ("started", "small free big plain", "plain big free small"),
        ("messages", "big small free plain", "plain small free big"),
        ("cost", "big small free plain", "free small big plain"),
        ("tokens", "small big free plain", "big free plain small"),
        ("title", "free big small plain", "small big free plain"),
        ("source", "free plain big small", "small big plain free"),
    ],
)
def test_each_order_has_its_unknown_values_last(hermes_file: HermesFile, by: str, ids: str, reversed_ids: str) -> None:
    rows = [
        ("big", "cron", "beta", NOW - 900, 1.5, "estimated", ("a", "b", "c"), 0),
        ("small", "telegram", "Gamma", NOW - 300, 0.5, "actual", ("a", "b"), 7),
        ("free", "acp", "Alpha", NOW - 600, 0.0, "included", ("a", "b"), 0),
        ("plain", "cli", None, NOW - 9_000, None, None, ("a",), 0),
    ]
    for id, source, title, started_at, cost, status, texts, tokens in rows:
        hermes_file.session(
            id, source, title, started_at=started_at, estimated_cost_usd=cost, cost_status=status, input_tokens=tokens
        )
        hermes_file.talk(id, *texts)
    for id, ago in (("small", 100), ("big", 200), ("free", 300), ("plain", 400)):
        hermes_file.sql("UPDATE messages SET timestamp = ? WHERE session_id = ?", (NOW - ago, id))
    store = open_store(hermes_file.path)
    catalog = store.sessions.catalog()
    facts = store.sessions.facts(catalog)
    store.close()
    assert [item.id for item in arrange(catalog, by, facts)] == ids.split()
    assert [item.id for item in arrange(catalog, by, facts, reverse=True)] == reversed_ids.split()
    if by in SORTS_BY_FACTS:
        assert [item.id for item in arrange(catalog, by)] == [item.id for item in catalog]


def test_every_order_takes_an_empty_list() -> None:
    for by in SORTS:
        assert arrange([], by) == []

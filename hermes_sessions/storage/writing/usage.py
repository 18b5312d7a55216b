"""What requests to models used and cost, added to their session. Each method is one transaction.

The session holds the sums of the main loop. Where the layout has `session_model_usage` (Hermes 0.19), each amount is
also added there, by model and route, and what was spent on side tasks is kept there alone
(`SessionDB.update_token_counts` and `record_auxiliary_usage`). How it is summed up and shown is `costs`' business.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.values import SQLValue, as_int, as_text
from hermes_sessions.storage.writing.entries import Usage, storable
from hermes_sessions.storage.writing.sessions import require
from hermes_sessions.storage.writing.transactions import Transactions

COUNTERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
ROUTE = ("model", "billing_provider", "billing_base_url", "billing_mode")
LABELS = ("cost_status", "cost_source", "pricing_version")


class UsageWriter:
    """Tokens and money of a store that may be written."""

    def __init__(self, writer: Transactions, clock: Callable[[], float] = time.time):
        self._run = writer.run
        self._clock = clock

    def add(self, session_id: str, usage: Usage, *, task: str = "") -> bool:
        """Add tokens and money to a session. Status, source and price table: the last one said stays; model and route:
        the first that was used, which need not be the one the session was begun with.

        What was spent on a side `task` ("compression", "vision", …) is no part of the session's sums. Return whether
        the layout had a place for it: before Hermes 0.19 a side task has none. As in Hermes an estimate nobody made
        counts as 0, so the status must say "unknown". Raises SessionNotFound.
        """
        now = self._clock()

        def write(database: Database) -> bool:
            require(database, session_id)
            if not task:
                _set_first_route(database, session_id, usage)
                _write(
                    database,
                    session_id,
                    usage,
                    "{0} = COALESCE({0}, 0) + ?",
                    "actual_cost_usd = COALESCE(actual_cost_usd, 0) + ?",
                )
            return _add_by_model(database, session_id, usage, task, now)

        return self._run(write) or not task

    def set(self, session_id: str, usage: Usage) -> None:
        """Set the sums of a session to these totals, for callers that count themselves. Labels and route as in `add`.

        Totals cannot be told apart by model, so `session_model_usage` stays as it is. Raises SessionNotFound.
        """

        def write(database: Database) -> None:
            require(database, session_id)
            _write(database, session_id, usage, "{0} = ?", "actual_cost_usd = ?")

        self._run(write)

    def set_route(self, session_id: str, provider: str, base_url: str, billing_mode: str | None = None) -> None:
        """Bill on another route from now on, as when a person changes the model in the middle. Raises SessionNotFound.

        The stored system prompt names the old route and goes, as in Hermes (`update_session_billing_route`).
        """
        route = (storable(provider), storable(base_url), storable(billing_mode), session_id)

        def write(database: Database) -> None:
            require(database, session_id)
            hashed = ", system_prompt_hash = NULL" if database.has("sessions", "system_prompt_hash") else ""
            database.execute(
                "UPDATE sessions SET billing_provider = ?, billing_base_url = ?,"
                f" billing_mode = COALESCE(?, billing_mode), system_prompt = NULL{hashed} WHERE id = ?",
                route,
            )

        self._run(write)


def _counts(usage: Usage) -> tuple[int, ...]:
    tokens = usage.tokens
    return tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.reasoning


def _route(usage: Usage) -> tuple[str | None, ...]:
    return tuple(map(storable, (usage.model, usage.provider, usage.base_url, usage.billing_mode)))


def _is_accounted(usage: Usage) -> bool:
    """Whether anything was used; a call that failed says nothing about the route."""
    return any((*_counts(usage), usage.requests, _known(usage.estimated_usd), _known(usage.actual_usd)))


def _known(amount: float | None) -> float | None:
    """An amount that can be added; what is not finite would swallow all that was counted before."""
    return amount if amount is not None and math.isfinite(amount) else None


def _set_first_route(database: Database, session_id: str, usage: Usage) -> None:
    """The route of the first request that was answered replaces the one the session was begun with (Hermes 0.19)."""
    if not (_is_accounted(usage) and usage.model and usage.provider and database.has("sessions", "api_call_count")):
        return
    if as_int(database.value("SELECT api_call_count FROM sessions WHERE id = ?", (session_id,))):
        return
    places = ", ".join(f"{name} = ?" for name in ROUTE)
    route = _route(usage)
    database.execute(
        f"UPDATE sessions SET {places} WHERE id = ? AND (model IS NOT ? OR billing_provider IS NOT ?)",
        (*route, session_id, *route[:2]),
    )


def _write(database: Database, session_id: str, usage: Usage, counter: str, actual: str) -> None:
    """Update the session's sums. `counter` and `actual` say in SQL how a stored number and the given one become one."""
    sets: list[tuple[str, str, SQLValue]] = [
        (name, counter.format(name), count) for name, count in zip(COUNTERS, _counts(usage), strict=True)
    ]
    sets.append(("api_call_count", counter.format("api_call_count"), usage.requests))
    sets.append(("estimated_cost_usd", counter.format("estimated_cost_usd"), _known(usage.estimated_usd) or 0.0))
    if (amount := _known(usage.actual_usd)) is not None:
        sets.append(("actual_cost_usd", actual, amount))
    said = map(storable, (usage.status, usage.source, usage.pricing_version))
    sets += [(name, f"{name} = COALESCE(?, {name})", label) for name, label in zip(LABELS, said, strict=True)]
    if _is_accounted(usage):
        sets += [
            (name, f"{name} = COALESCE({name}, ?)", value) for name, value in zip(ROUTE, _route(usage), strict=True)
        ]
    known = [(assignment, value) for name, assignment, value in sets if database.has("sessions", name)]
    database.execute(
        f"UPDATE sessions SET {', '.join(assignment for assignment, _ in known)} WHERE id = ?",
        (*(value for _, value in known), session_id),
    )


def _add_by_model(database: Database, session_id: str, usage: Usage, task: str, now: float) -> bool:
    """Add to the row of this model, route and task. Return whether the layout has such rows."""
    if not database.has("session_model_usage", "model") or (task and not database.has("session_model_usage", "task")):
        return False
    if not _is_accounted(usage):
        return True
    key: dict[str, SQLValue] = {"session_id": session_id, **_effective_route(database, session_id, usage, task)}
    if database.has("session_model_usage", "task"):
        key["task"] = storable(task)
    amounts: dict[str, SQLValue] = dict(zip(COUNTERS, _counts(usage), strict=True))
    amounts["api_call_count"] = usage.requests
    amounts |= {
        "estimated_cost_usd": _known(usage.estimated_usd) or 0.0,
        "actual_cost_usd": _known(usage.actual_usd) or 0.0,
    }
    labels: dict[str, SQLValue] = {"cost_status": storable(usage.status), "cost_source": storable(usage.source)}
    row = {**key, **amounts, **labels, "first_seen": now, "last_seen": now}
    sets = [f"{name} = {name} + excluded.{name}" for name in amounts]
    sets += [f"{name} = COALESCE(excluded.{name}, {name})" for name in labels]
    database.execute(
        f"INSERT INTO session_model_usage ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {', '.join(sets)}, last_seen = excluded.last_seen",
        tuple(row.values()),
    )
    return True


def _effective_route(database: Database, session_id: str, usage: Usage, task: str) -> dict[str, SQLValue]:
    """The route of a row by model. What was not said of the main loop's is the session's.

    Hermes takes single columns from there, which can pair a provider with the address of another; here the session's
    address and mode go with its provider alone.
    """
    given = _route(usage)
    row = database.row(f"SELECT {', '.join(ROUTE)} FROM sessions WHERE id = ?", (session_id,)) if not task else None
    stored = [as_text(value) for value in row or (None,) * len(ROUTE)]
    if given[1] and given[1] != stored[1]:
        stored[2:] = [None, None]
    model, *others = (said or held for said, held in zip(given, stored, strict=True))
    return dict(zip(ROUTE, (model or "unknown", *(other or "" for other in others)), strict=True))

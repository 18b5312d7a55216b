"""What requests to models used and cost, added to their session. Each method is one transaction."""

from __future__ import annotations

from hermes_sessions.storage.database import Database
from hermes_sessions.storage.writing.entries import Usage
from hermes_sessions.storage.writing.sessions import require
from hermes_sessions.storage.writing.writer import Writer


class UsageWriter:
    """Tokens and money of a store that may be written."""

    def __init__(self, writer: Writer):
        self._run = writer.run

    def add(self, session_id: str, usage: Usage) -> None:
        """Add tokens and money to a session. Status, source and prices: the last one said stays; model and route: the
        first one. Raises SessionNotFound.

        As in Hermes an estimate nobody made counts as 0, so the status must say "unknown".
        """
        tokens = usage.tokens

        def write(database: Database) -> None:
            require(database, session_id)
            database.execute(
                USAGE_SQL,
                (
                    tokens.input,
                    tokens.output,
                    tokens.cache_read,
                    tokens.cache_write,
                    tokens.reasoning,
                    usage.requests,
                    usage.estimated_usd,
                    usage.actual_usd,
                    usage.actual_usd,
                    usage.status,
                    usage.source,
                    usage.pricing_version,
                    usage.model,
                    usage.provider,
                    usage.base_url,
                    usage.billing_mode,
                    session_id,
                ),
            )

        self._run(write)


USAGE_SQL = """
    UPDATE sessions SET
        input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
        cache_read_tokens = cache_read_tokens + ?, cache_write_tokens = cache_write_tokens + ?,
        reasoning_tokens = reasoning_tokens + ?, api_call_count = COALESCE(api_call_count, 0) + ?,
        estimated_cost_usd = COALESCE(estimated_cost_usd, 0) + COALESCE(?, 0),
        actual_cost_usd = CASE WHEN ? IS NULL THEN actual_cost_usd ELSE COALESCE(actual_cost_usd, 0) + ? END,
        cost_status = COALESCE(?, cost_status), cost_source = COALESCE(?, cost_source),
        pricing_version = COALESCE(?, pricing_version), model = COALESCE(model, ?),
        billing_provider = COALESCE(billing_provider, ?), billing_base_url = COALESCE(billing_base_url, ?),
        billing_mode = COALESCE(billing_mode, ?)
    WHERE id = ?"""
"""`SessionDB.update_token_counts` of release 0.17.0, increments."""

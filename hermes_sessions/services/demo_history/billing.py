"""What the sample conversations would have used and cost: who billed them, at which prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hermes_sessions.model import Tokens
from hermes_sessions.storage.writing.entries import NewMessage, Usage

CHARACTERS_A_TOKEN = 3.6
SYSTEM_TOKENS = 36_000
"""Instructions, memories, notes on the project, descriptions of tools: there before anything is said."""
RESULT_TOKENS = 900
"""What a real tool's result has more than ours, which are kept short to be read."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who billed the tokens, and how sure the price is."""

    provider: str
    base_url: str
    mode: str
    status: str
    source: str
    pricing_version: str | None


ROUTES = {
    "anthropic": Route(
        "anthropic",
        "https://api.anthropic.com",
        "official_docs_snapshot",
        "estimated",
        "official_docs_snapshot",
        "anthropic-pricing-2026-05",
    ),
    "openai": Route(
        "openai",
        "https://api.openai.com/v1",
        "official_docs_snapshot",
        "estimated",
        "official_docs_snapshot",
        "openai-pricing-2026-05",
    ),
    "deepseek": Route(
        "deepseek",
        "https://api.deepseek.com",
        "official_docs_snapshot",
        "estimated",
        "official_docs_snapshot",
        "deepseek-pricing-2026-05",
    ),
    "nous": Route(
        "nous",
        "https://inference-api.nousresearch.com/v1",
        "official_models_api",
        "estimated",
        "provider_models_api",
        "nous-models-api",
    ),
    "openrouter": Route(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "official_models_api",
        "actual",
        "provider_generation_api",
        "openrouter-models-api",
    ),
    "codex": Route(
        "openai-codex",
        "https://chatgpt.com/backend-api/codex",
        "subscription_included",
        "included",
        "none",
        "included-route",
    ),
    "local": Route("custom", "http://localhost:11434/v1", "unknown", "unknown", "none", None),
}

# USD for a million tokens: input, output, cache read, cache write.
PRICES = {
    "claude-opus-4-7": (5.0, 25.0, 0.5, 6.25),
    "claude-sonnet-4-6": (3.0, 15.0, 0.3, 3.75),
    "anthropic/claude-sonnet-4.6": (3.0, 15.0, 0.3, 3.75),
    "claude-haiku-4-5": (1.0, 5.0, 0.1, 1.25),
    "gpt-5.5-mini": (0.25, 2.0, 0.025, 0.25),
    "google/gemini-3-pro": (2.0, 12.0, 0.2, 2.0),
    "google/gemini-3-flash": (0.3, 2.5, 0.03, 0.3),
    "qwen/qwen3-coder": (0.22, 0.95, 0.22, 0.22),
    "hermes-4-405b": (1.0, 3.0, 1.0, 1.0),
    "deepseek-chat": (0.28, 0.42, 0.028, 0.28),
}


def usages(messages: Sequence[NewMessage | None], model: str, route: Route) -> Iterator[Usage]:
    """What each answer used: the talk so far from the cache, what is new as input, the answer as output."""
    cached, fresh = 0, SYSTEM_TOKENS
    for message in messages:
        if message is None:
            continue
        said = int(len(str(message.content or "")) / CHARACTERS_A_TOKEN) + 4
        if message.role != "assistant":
            fresh += said + (RESULT_TOKENS if message.role == "tool" else 0)
            continue
        thought = int(len(message.reasoning or "") / CHARACTERS_A_TOKEN)
        called = 40 * len(message.tool_calls or ())
        tokens = Tokens(input=fresh, output=said + called + thought, cache_read=cached, reasoning=thought)
        if "claude" in model:
            tokens = Tokens(4, tokens.output, cached, fresh, thought)
        price = _price(tokens, model, route)
        yield Usage(
            tokens=tokens,
            estimated_usd=price,
            actual_usd=price if route.status == "actual" else None,
            status=route.status,
            source=route.source,
            pricing_version=route.pricing_version,
            model=model,
            provider=route.provider,
            base_url=route.base_url,
            billing_mode=route.mode,
        )
        cached, fresh = cached + fresh, tokens.output


def _price(tokens: Tokens, model: str, route: Route) -> float | None:
    if route.status == "unknown":
        return None
    if route.status == "included":
        return 0.0
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    return round(sum(count * price for count, price in zip(counts, PRICES[model], strict=True)) / 1e6, 6)

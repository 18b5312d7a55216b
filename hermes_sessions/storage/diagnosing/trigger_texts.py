"""The triggers over messages that releases of Hermes and this program have written, each known by its text.

A text is in here as `triggers.fingerprint` has it. One that is not says nothing bad: a newer release may have
written it.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, frozenset[str]] = {
    name: frozenset(texts.split())
    for name, texts in {
        # Versions 6; 11 to 22; after 22; and 16 as this program writes it.
        "messages_fts_insert": "bf10a9fbbf25 e55b3761aec5 e5c50710eaf5 11523264ec79",
        "messages_fts_delete": "6b0f21bb2582 2585f75c4ede 8008c05f6bfd",
        "messages_fts_update": "ed431231ee43 137081b0fb1d e677ce38d5fd c0aafa6c7e67",
        "messages_fts_trigram_insert": "ccbaa8cffcec 5ad1534f6d29 fae8d68ccb4b",
        "messages_fts_trigram_delete": "e9d389a71446 9be1441c09f4",
        "messages_fts_trigram_update": "fe9c3030e181 ddae111c30d2 1c8d9e735108",
        "messages_display_order_insert": "70696fd2f999",
        "messages_display_visibility_update": "fe3feb5b6215",
        "messages_display_identity_update": "05e2d6129ba7",
        "messages_display_identity_delete": "4d4849ebc4d0",
    }.items()
}

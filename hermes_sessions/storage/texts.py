"""The searchable text of messages: what was said, the tools that were called, the tool that answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from hermes_sessions.model import Place, Snippet
from hermes_sessions.storage.content import decode_text, decode_tool_calls
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.matching import Needles, fold, plain, snippet
from hermes_sessions.storage.unfolding import shown_arguments, shown_result
from hermes_sessions.storage.values import SQLValue, as_int, as_text

_APART = "\x00"
"""Stands between two texts, so that nothing is found across them."""


class MessageText:
    """The texts of one message as a transcript shows them, by the place where a hit can be.

    What only stands in the stored JSON, such as the names of its fields where they are not shown, is nowhere.
    """

    def __init__(self, role: str | None, content: SQLValue, calls: SQLValue, tool: SQLValue) -> None:
        self.tool_name = as_text(tool) or ""
        self._role = role
        self._stored_content = content
        self._stored_calls = calls

    def fits(self, needles: Needles, *, word_starts: bool = False) -> bool:
        """Whether the message as a whole holds what is looked for."""
        texts = (self._content, self.tool_name, *(text for call in self._calls for text in call))
        return needles.fit(_APART.join(texts), word_starts=word_starts)

    def hit(self, words: Sequence[str]) -> tuple[Place, Snippet]:
        """The place that shows most of the words, what was said before what was called, and its snippet."""
        if self._content and _words_in(self._content, words) == len(words):
            return "content", snippet(self._content, words)
        places: tuple[tuple[Place, str], ...] = (
            ("content", self._content),
            ("tool_call", "\n".join(f"{name} {arguments}" for name, arguments in self._calls)),
            ("tool_name", self.tool_name),
        )
        place, text = max(places, key=lambda place: _words_in(place[1], words))
        return place, snippet(text, words)

    @cached_property
    def _content(self) -> str:
        text = decode_text(self._stored_content)
        return plain(shown_result(text) if self._role == "tool" else text)

    @cached_property
    def _calls(self) -> tuple[tuple[str, str], ...]:
        """The names and the arguments of the calls."""
        calls = decode_tool_calls(self._stored_calls)
        return tuple((plain(call.name), plain(shown_arguments(call.arguments))) for call in calls)


def texts_of(database: Database, ids: Sequence[int]) -> dict[int, MessageText]:
    """The texts of these messages, by id."""
    calls, name = (column if database.has("messages", column) else "NULL" for column in ("tool_calls", "tool_name"))
    rows = database.rows(
        f"SELECT id, role, content, {calls}, {name} FROM messages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {as_int(identity): MessageText(as_text(role), *texts) for identity, role, *texts in rows}


def _words_in(text: str, words: Sequence[str]) -> int:
    folded = " ".join(fold(text).split())
    return sum(word in folded for word in words)

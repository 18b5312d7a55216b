"""The searchable text of messages: what was said, the tools that were called, the tool that answered."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from hermes_sessions.model import Place, Snippet
from hermes_sessions.storage.content import decode_text, decode_tool_calls
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.matching import fold, snippet
from hermes_sessions.storage.values import as_int, as_text

_ESCAPED = re.compile(r'\\(["\\/nrt])')
_WHITE = {"n": "\n", "r": "\n", "t": "\t"}


class MessageText(NamedTuple):
    """The decoded texts of one message, by the place where a hit can be."""

    content: str
    tool_call: str
    tool_name: str

    @property
    def whole(self) -> str:
        """All of it, for checking whether a term is anywhere."""
        return "\n".join(self)

    def hit(self, folded_terms: Sequence[str]) -> tuple[Place, Snippet]:
        """The place that shows most of the terms, what was said before what was called, and its snippet."""
        if self.content and _terms_in(self.content, folded_terms) == len(folded_terms):
            return "content", snippet(self.content, folded_terms)
        places: tuple[tuple[Place, str], ...] = (
            ("content", self.content),
            ("tool_call", self.tool_call),
            ("tool_name", self.tool_name),
        )
        place, text = max(places, key=lambda place: _terms_in(place[1], folded_terms))
        return place, snippet(text, folded_terms)


def texts_of(database: Database, ids: Sequence[int]) -> dict[int, MessageText]:
    """The texts of these messages, by id."""
    calls, name = (column if database.has("messages", column) else "NULL" for column in ("tool_calls", "tool_name"))
    rows = database.rows(
        f"SELECT id, content, {calls}, {name} FROM messages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {
        as_int(identity): MessageText(decode_text(content), _calls_text(as_text(calls)), as_text(tool) or "")
        for identity, content, calls, tool in rows
    }


def _calls_text(stored: str | None) -> str:
    """Names and arguments of tool calls as a person would write them: `C:\\dir`, where JSON has `C:\\\\dir`."""
    return "\n".join(f"{call.name} {_plain(call.arguments)}" for call in decode_tool_calls(stored))


def _plain(arguments: str) -> str:
    try:
        text = json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
    return _ESCAPED.sub(lambda escape: _WHITE.get(escape[1], escape[1]), text)


def _terms_in(text: str, folded_terms: Sequence[str]) -> int:
    folded = fold(text)
    return sum(term in folded for term in folded_terms)

"""Which conversations hold a word that is left out, asked for a few conversations at a time.

A word means what it means beside others (`matching`): no message that may be found, no title and no id may hold it. The
text of a message decides. Which messages to look at say the indexes, asked for the messages of these conversations
alone; what they do not vouch for is read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, zip_longest

from hermes_sessions.errors import Interrupted, StoreDamaged
from hermes_sessions.model import Conversation
from hermes_sessions.storage.blind_spots import BlindSpots
from hermes_sessions.storage.coverage import DAMAGED, Coverage, message_ids
from hermes_sessions.storage.database import Database
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.message_conditions import visible
from hermes_sessions.storage.query import SearchQuery, Term
from hermes_sessions.storage.routing import MOST_TERMS, TRIGRAM, WORDS, readable_condition, trigram_match, words_match
from hermes_sessions.storage.texts import texts_of
from hermes_sessions.storage.values import SQLValue, as_int

TOGETHER = 64
"""Conversations that are asked about at once."""

CHECKED_AT_ONCE = 64
"""Messages that are looked at between two moments in which the question can be given up."""

NEAR = 5_000
"""Ids between two messages up to which an index is asked for all between them: to go through these costs no more than
to ask once more."""

BEFORE_A_WORD = ("[^0-9a-z]", "\\[bfnrt]")
"""What a word of ASCII stands behind, as GLOB: no letter, or an escape of JSON, which ends in one."""


class Exclusion:
    """Tells the conversations that hold none of some words."""

    def __init__(
        self, database: Database, excluded: Sequence[Term], coverage: Coverage, blind_spots: BlindSpots
    ) -> None:
        self._database = database
        self._coverage = coverage
        self._blind_spots = blind_spots
        self._needles = Needles(SearchQuery("", excluded=tuple(excluded)))
        words = tuple(term._replace(prefix=False) for term in excluded if term.route == "word")
        self._words = words_match(SearchQuery("", clauses=(words,)))[0] if words else ""
        self._trigrams = _trigrams_of(excluded)
        self._visible = visible(database)
        self._holding, self._values = holding_condition(excluded, self._text_columns())

    @property
    def notice(self) -> str:
        """Why every message has to be read, if that is so."""
        return self._coverage.notice

    def without(self, conversations: Sequence[Conversation], cancelled: Callable[[], bool]) -> list[Conversation]:
        """Those of these conversations that hold nothing of it, in their order.

        Raises Interrupted (also when `cancelled` says so), StoreBusy, StoreDamaged.
        """
        kept: list[Conversation] = []
        for start in range(0, len(conversations), TOGETHER):
            some = [item for item in conversations[start : start + TOGETHER] if not self._is_named(item)]
            if cancelled():
                raise Interrupted
            owners = {session.id: item.id for item in some for session in item.sessions}
            try:
                holding = self._conversations_holding(owners, cancelled)
            except StoreDamaged:
                if self._coverage.missing:
                    raise
                self._coverage = Coverage(False, False, "", message_ids(self._database), DAMAGED)
                holding = self._conversations_holding(owners, cancelled)
            kept += [item for item in some if item.id not in holding]
        return kept

    def _is_named(self, conversation: Conversation) -> bool:
        excluded_from = self._needles.excluded_from
        return any(excluded_from(session.title or "") or excluded_from(session.id) for session in conversation.sessions)

    def _conversations_holding(self, owners: Mapping[str, str], cancelled: Callable[[], bool]) -> set[str]:
        """Ids of the conversations with a message that holds something of it. `owners` are theirs, by session id."""
        rows = self._database.rows(
            "SELECT m.id, want.value FROM json_each(?) want CROSS JOIN messages m ON m.session_id = want.value",
            (json.dumps(list(owners), ensure_ascii=False),),
        )
        messages = {as_int(id): owners[str(session)] for id, session in rows}
        spans = json.dumps(_spans(messages))
        holding: set[str] = set()

        def check() -> None:
            if cancelled():
                raise Interrupted

        def look_at(ids: Iterable[int], condition: str, values: Sequence[SQLValue]) -> None:
            """Each conversation's newest message first: of what is common, that one tells."""
            waiting: dict[str, list[int]] = defaultdict(list)
            for id in sorted(ids, reverse=True):
                waiting[messages[id]].append(id)
            turns = zip_longest(*waiting.values())
            undecided = (id for turn in turns for id in turn if id is not None and messages[id] not in holding)
            while some := list(islice(undecided, CHECKED_AT_ONCE)):
                check()
                texts = texts_of(self._database, self._those(some, condition, values))
                holding.update(messages[id] for id, text in texts.items() if not text.fits(self._needles))

        if self._words and self._coverage.words:
            look_at(self._matching(WORDS, self._words, spans).intersection(messages), self._visible, ())
        left = [id for id, conversation in messages.items() if conversation not in holding]
        look_at(self._unseen_by_words(left, spans, check), f"{self._visible} AND {self._holding}", self._values)
        return holding

    def _unseen_by_words(self, ids: Sequence[int], spans: str, check: Callable[[], None]) -> Iterable[int]:
        """Those of these messages, all within the spans, that may hold something of it which is no word to an index."""
        if not (self._trigrams and self._coverage.trigram):
            return ids
        unread = [id for id in ids if id in self._coverage.unread]
        if len(unread) == len(ids):
            return ids
        told = self._matching(TRIGRAM, self._trigrams, spans) | self._hollow(spans)
        # Not all that is seen in a text is stored so; lists of parts are no blind spots of their own.
        told |= self._matching(WORDS, self._coverage.parts_match, spans) if self._coverage.words else set()
        told |= self._blind_spots.among(set(ids).difference(told, unread), check)
        return [*unread, *told.intersection(ids).difference(unread)]

    def _matching(self, table: str, match: str, spans: str) -> set[int]:
        """Ids of the messages within the spans that an index has under an expression."""
        rows = self._database.rows(
            f"""
            SELECT {table}.rowid FROM json_each(?) span CROSS JOIN {table}
            WHERE {table} MATCH ? AND {table}.rowid BETWEEN span.value ->> 0 AND span.value ->> 1
            """,
            (spans, match),
        )
        return {as_int(id) for (id,) in rows}

    def _hollow(self, spans: str) -> set[int]:
        """Ids of the messages within the spans of which the trigram index holds nothing: releases of SQLite before 3.42
        saw nothing of a text that begins with a NUL, as one with images does.
        """
        rows = self._database.rows(
            f"""
            SELECT entry.id FROM json_each(?) span CROSS JOIN {TRIGRAM}_docsize entry
            ON entry.id BETWEEN span.value ->> 0 AND span.value ->> 1 WHERE entry.sz = x'00'
            """,
            (spans,),
        )
        return {as_int(id) for (id,) in rows}

    def _those(self, ids: Sequence[int], condition: str, values: Sequence[SQLValue]) -> list[int]:
        rows = self._database.rows(
            f"SELECT m.id FROM json_each(?) want CROSS JOIN messages m ON m.id = want.value WHERE {condition}",
            (json.dumps(ids), *values),
        )
        return [as_int(id) for (id,) in rows]

    def _text_columns(self) -> list[str]:
        names = ("content", "tool_calls", "tool_name")
        return [f"m.{name}" for name in names if self._database.has("messages", name)]


def holding_condition(excluded: Sequence[Term], columns: Sequence[str]) -> tuple[str, list[SQLValue]]:
    """An SQL condition that holds for every message which holds one of these terms, and for few others, and its values.
    Pure.
    """
    if len(excluded) > MOST_TERMS:
        return "1", []
    conditions: list[str] = []
    values: list[SQLValue] = []
    for term in excluded:
        if term.route == "word" and term.text.isascii() and not term.prefix:
            word = term.text.lower().replace(" ", "*")
            conditions += map(_standing_alone, columns)
            values += [f"*{before}{word}[^0-9a-z]*" for before in BEFORE_A_WORD] * len(columns)
        else:
            condition, bound = readable_condition(SearchQuery("", clauses=((term,),)), columns)
            conditions.append(condition)
            values += bound
    return f"({' OR '.join(conditions)})", values


def _trigrams_of(excluded: Sequence[Term]) -> str:
    """What to ask the trigram index for. Empty: it cannot tell. A blank may be any white space, which is other letters
    to it: the words of a phrase are asked for each by itself."""
    phrases = [tuple((Term(word, term.route),) for word in term.text.split()) for term in excluded[: MOST_TERMS + 1]]
    matches = [trigram_match(SearchQuery("", clauses=words), lambda _: None) for words in phrases]
    return " OR ".join(matches) if all(matches) and len(matches) <= MOST_TERMS else ""


def _standing_alone(column: str) -> str:
    text = f"' ' || lower({column}) || ' '"
    beyond_ascii = f"length({column}) <> octet_length({column})"
    # A code that colours a text ends in a letter, too, and any letter with an accent may be an escape.
    escaped = f"instr({column}, '\\') AND ({text} GLOB ? OR {column} GLOB '*\\u*')"
    return f"({text} GLOB ? OR {escaped} OR {beyond_ascii} OR {column} GLOB '*\x1b*')"


def _spans(ids: Iterable[int]) -> list[list[int]]:
    """The first and the last of messages that are near each other."""
    spans: list[list[int]] = []
    for id in sorted(ids):
        if spans and id - spans[-1][1] <= NEAR:
            spans[-1][1] = id
        else:
            spans.append([id, id])
    return spans

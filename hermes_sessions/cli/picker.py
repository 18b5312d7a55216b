"""The numbered plain list: the same power as the full screen for a terminal that can do nothing, or for a pipe.

One line is asked for and answered at a time. Numbers count through all pages, so that what was seen can be named.
Imports nothing of Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from hermes_sessions.cli import cost_table, listing, transcript
from hermes_sessions.cli.output import PROGRAM, Output, command_line
from hermes_sessions.errors import SessionsError
from hermes_sessions.model import BrowseResult, Catalog, Conversation, ConversationHits
from hermes_sessions.services.live import live_sessions
from hermes_sessions.storage.store import Store

PAGE = 20
SEARCH_LIMIT = 200
READ_LIMIT = 40
"""Messages that `v` shows at a terminal; `show` has the others."""

COMMANDS = "N {action} · v N read · /words search · / all · m more · c cost · q quit"


class Picker:
    """Shows rows, takes answers. `read_line` returns a line with its end, or an empty text when there are no more."""

    def __init__(
        self,
        store: Store,
        output: Output,
        read_line: Callable[[], str],
        *,
        clock: Callable[[], float],
        action: Literal["resume", "pick"],
        asks: bool,
    ) -> None:
        self._store = store
        self._output = output
        self._read_line = read_line
        self._clock = clock
        self._action = action
        self._asks = asks
        self._catalog: Catalog = store.sessions.catalog()
        self._listing = listing.choose(self._catalog)
        self._found: Mapping[str, ConversationHits] | None = None
        self._rows: tuple[Conversation, ...] = self._listing.conversations
        self._shown = 0

    def run(self, query: str = "") -> BrowseResult | None:
        """Show the list, or what `query` finds, and answer until somebody chooses, leaves or says no more.

        Returns what was chosen, None for nothing.
        """
        if query.strip():
            self._search(query)
        else:
            self._show_all()
        while self._asks:
            self._output.prompt(self._question())
            line = self._read_line()
            if not line:
                self._output.end_prompt()
                return None
            words = line.strip()
            if words in ("q", "Q", "quit", "exit"):
                return None
            try:
                chosen = self._answer(words)
            except SessionsError as error:
                self._output.error(error)
                continue
            if chosen is not None:
                return BrowseResult(self._action, chosen)
        return None

    def _question(self) -> str:
        return COMMANDS.format(action=self._action) + ": "

    def _answer(self, words: str) -> Conversation | None:
        """Do what was typed; the conversation that was chosen, if one was."""
        if words.isdecimal():
            return self._numbered(words)
        if words.startswith("/"):
            query = words[1:].strip()
            if query:
                self._search(query)
            else:
                self._show_all()
        elif words == "m":
            self._show_more()
        elif words == "c":
            self._show_cost()
        elif words.startswith("v") and words[1:].strip().isdecimal():
            if (conversation := self._numbered(words[1:].strip())) is not None:
                self._read(conversation)
        elif words:
            self._output.talk(f"{words!r} is none of these.")
        return None

    def _numbered(self, digits: str) -> Conversation | None:
        number = int(digits[:9])
        if 1 <= number <= self._shown:
            return self._rows[number - 1]
        self._output.talk(f"There is no row {digits[:20]}; the rows are 1 to {self._shown}.")
        return None

    def _show_all(self) -> None:
        self._found = None
        self._rows = self._listing.conversations
        self._shown = 0
        self._show_more()

    def _search(self, query: str) -> None:
        from hermes_sessions.services.answers import Answers, understood

        asked = understood(query, self._clock())
        result = Answers(self._store, self._clock).run(asked, self._catalog, limit=SEARCH_LIMIT)
        if result.notice:
            self._output.talk(result.notice)
        if not result.conversations:
            # The rows that were numbered before stay what the numbers mean.
            self._output.talk(f"Nothing matches {query!r}.")
            return
        self._found = {found.conversation.id: found for found in result.conversations}
        self._rows = tuple(found.conversation for found in result.conversations)
        self._shown = 0
        self._show_more()

    def _show_more(self) -> None:
        page = self._rows[self._shown : self._shown + PAGE]
        if not page and self._shown:
            self._output.talk("There are no more.")
            return
        overviews = self._store.sessions.overviews(page, live_sessions(self._store, self._clock()))
        listing.print_rows(self._output, page, overviews, self._clock(), first_number=self._shown + 1, hits=self._found)
        self._shown += len(page)
        if self._found is None:
            self._output.talk(listing.sum_line(self._shown, self._listing, "m"))
        else:
            self._output.talk(f"{self._shown} of {listing.sessions(len(self._rows))} found")

    def _read(self, conversation: Conversation) -> None:
        found = (self._found or {}).get(conversation.id)
        around = found.hits[0].message_id if found is not None and found.hits else None
        stubs = self._store.messages.outline(conversation)
        if around is not None and all(stub.id != around for stub in stubs):
            around = None
        part = transcript.part_of(stubs, around=around, limit=READ_LIMIT)
        transcript.print_messages(
            self._output,
            transcript.messages(self._store, part.stubs),
            tools="short",
            reasoning=False,
            marked=around,
        )
        rest = f"; all: {command_line([PROGRAM, 'show', conversation.id])}" if len(part.stubs) < part.total else ""
        self._output.talk(f"{transcript.sum_line(part)}{rest}")

    def _show_cost(self) -> None:
        ids = [session.id for conversation in self._rows for session in conversation.sessions]
        cost_table.print_summary(self._output, self._store.costs.summary("model", ids))

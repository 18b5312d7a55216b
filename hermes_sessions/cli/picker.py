"""The numbered plain list: the same power as the full screen for a terminal that can do nothing, or for a pipe.

One line is asked for and answered at a time. Numbers count through all pages, so that what was seen can be named.
Imports nothing of Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from hermes_sessions.cli import cost_table, listing, transcript
from hermes_sessions.cli.output import PROGRAM, Column, Output, command_line
from hermes_sessions.cli.parser import COST_KEYS, SORT_KEYS
from hermes_sessions.errors import CommandMissing, SessionsError
from hermes_sessions.model import BrowseResult, Catalog, Conversation, ConversationHits, MessageStub, SearchOrder
from hermes_sessions.services import wording
from hermes_sessions.services.live import live_sessions
from hermes_sessions.services.resuming import ResumePlan
from hermes_sessions.storage.store import Store

PAGE = 20
SEARCH_LIMIT = 200
READ_LIMIT = 40
"""Messages that are read at a time."""

QUESTION = "N {action} · v N read · /words search · m more · ? all commands · q quit: "

COMMANDS = (
    ("N", "{action} the session of row N"),
    ("v N", "read it, at its end or where it was found; v N M at its message M"),
    ("n  b", "go on reading, or back"),
    ("t N", "list what you asked in it"),
    ("i N", "its id, its directory, and the command that goes on with it"),
    ("l N", "list its family: what it came from, branches and subagents"),
    ("/words", "search; / alone lists all sessions again"),
    ("o", "what was found by relevance, or the newest first"),
    ("s KEY", f"sort by {', '.join(SORT_KEYS)}; the same again turns it round"),
    ("a", "list archived and empty sessions and subagents, too, or no more"),
    ("m", "more rows"),
    ("c KEY", f"what these cost by {', '.join(COST_KEYS)}"),
    ("?", "these commands"),
    ("q", "quit"),
)

PROMPT_COLUMNS = (Column("Message", right=True), Column("Time"), Column("Asked", flexible=True))


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
        resume: Callable[[Conversation], ResumePlan],
    ) -> None:
        self._store = store
        self._output = output
        self._read_line = read_line
        self._clock = clock
        self._action = action
        self._asks = asks
        self._resume = resume
        self._catalog: Catalog = store.sessions.catalog()
        self._everything = False
        self._sort = "active"
        self._reverse = False
        self._order: SearchOrder = "recent"
        self._listing = listing.choose(self._catalog)
        self._query = ""
        """What was searched for; empty while all sessions are listed."""
        self._found: Mapping[str, ConversationHits] | None = None
        self._rows: Sequence[Conversation] = ()
        self._shown = 0
        self._reading: Sequence[MessageStub] = ()
        """The messages of the session that is read, of which those before `_read_to` have been."""
        self._read_from = self._read_to = 0

    def run(self, query: str = "") -> BrowseResult | None:
        """Show the list, or what `query` finds, and answer until somebody chooses, leaves or says no more.

        Returns what was chosen, None for nothing.
        """
        if query.strip():
            self._search(query)
        else:
            self._list_all()
        while self._asks:
            self._output.prompt(QUESTION.format(action=self._action))
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

    def _answer(self, words: str) -> Conversation | None:
        """Do what was typed; the conversation that was chosen, if one was."""
        if words.isdecimal():
            return self._numbered(words)
        if words.startswith("/"):
            if query := words[1:].strip():
                self._search(query)
            else:
                self._list_all()
            return None
        command, rest = words[:1], words[1:].split()
        match command, rest:
            case "v", [number, *at] if number.isdecimal() and all(map(str.isdecimal, at[:1])) and len(at) < 2:
                if (conversation := self._numbered(number)) is not None:
                    self._read(conversation, int(at[0][:9]) if at else None)
            case "t" | "i" | "l", [number] if number.isdecimal():
                if (conversation := self._numbered(number)) is not None:
                    told = {"t": self._list_prompts, "i": self._say_how_to_resume, "l": self._list_family}
                    told[command](conversation)
            case "s", [key] if key in SORT_KEYS:
                self._sort_by(key)
            case "c", [] | [_] if not rest or rest[0] in COST_KEYS:
                self._show_cost(*rest)
            case "n" | "b", []:
                self._read_on(1 if command == "n" else -1)
            case "o", []:
                self._turn_order()
            case "a", []:
                self._everything = not self._everything
                self._list_all()
            case "m", []:
                self._show_more()
            case "?", []:
                for keys, help in COMMANDS:
                    self._output.line(f"{keys:7} {help.format(action=self._action)}")
            case _ if words:
                self._output.talk(f"{words!r} is none of these. ? lists the commands.")
        return None

    def _numbered(self, digits: str) -> Conversation | None:
        number = int(digits[:9])
        if 1 <= number <= self._shown:
            return self._rows[number - 1]
        rows = f"the rows are 1 to {self._shown}" if self._shown else "there are no rows"
        self._output.talk(f"There is no row {digits[:20]}; {rows}.")
        return None

    def _list_all(self) -> None:
        self._query, self._found = "", None
        self._listing = listing.choose(self._catalog, everything=self._everything)
        self._rows = listing.sort(self._store, self._listing.conversations, self._sort, self._reverse)
        self._shown = 0
        self._show_more()

    def _sort_by(self, key: str) -> None:
        self._reverse = key == self._sort and not self._reverse
        self._sort = key
        self._list_all()

    def _turn_order(self) -> None:
        if not self._query:
            self._output.talk("That orders what was found; s KEY sorts the sessions.")
            return
        self._order = "relevance" if self._order == "recent" else "recent"
        self._search(self._query)

    def _search(self, query: str) -> None:
        from hermes_sessions.services.answers import Answers, understood

        asked = understood(query, self._clock())
        result = Answers(self._store, self._clock).run(asked, self._catalog, limit=SEARCH_LIMIT, order=self._order)
        if result.notice:
            self._output.talk(result.notice)
        if not result.conversations:
            # The rows that were numbered before stay what the numbers mean.
            self._output.talk(f"Nothing matches “{query}”.")
            return
        self._query = query
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
            self._output.talk(listing.sum_line(self._shown, self._listing, "m", "a"))
        elif not any(found.hits for found in self._found.values()):
            self._output.talk(f"{self._shown} of {listing.sessions(len(self._rows))} found")
        else:
            order = "newest first (o: the best)" if self._order == "recent" else "the best first (o: the newest)"
            self._output.talk(f"{self._shown} of {listing.sessions(len(self._rows))} found, {order}")

    def _read(self, conversation: Conversation, number: int | None) -> None:
        """Read it around a message by its number, else around what was found, else its end."""
        stubs = self._store.messages.outline(conversation)
        marked = None
        if number is not None:
            if not 1 <= number <= len(stubs):
                self._output.talk(f"There is no message {number}; it has {wording.count(len(stubs))}.")
                return
            marked = stubs[number - 1].id
        elif (found := (self._found or {}).get(conversation.id)) is not None and found.hits:
            marked = found.hits[0].message_id
            if all(stub.id != marked for stub in stubs):  # found in a copy that a compression made
                original = self._store.messages.copies(conversation).get(marked) if marked is not None else None
                marked = original.id if original is not None else None
        part = transcript.part_of(stubs, around=marked, limit=READ_LIMIT)
        self._reading, self._read_from, self._read_to = stubs, part.offset, part.offset + len(part.stubs)
        self._print_part(part, marked)
        if len(part.stubs) < part.total:
            self._output.talk(f"n goes on, b back; all of it: {command_line([PROGRAM, 'show', conversation.id])}")

    def _read_on(self, step: int) -> None:
        if not self._reading:
            self._output.talk("Nothing is being read; v N reads row N.")
            return
        start = self._read_to if step > 0 else max(0, self._read_from - READ_LIMIT)
        stop = min(len(self._reading), start + READ_LIMIT) if step > 0 else self._read_from
        if start >= stop:
            self._output.talk(f"This is its {'end' if step > 0 else 'beginning'}.")
            return
        self._read_from, self._read_to = start, stop
        self._print_part(transcript.Part(tuple(self._reading[start:stop]), start, len(self._reading)))

    def _print_part(self, part: transcript.Part, marked: int | None = None) -> None:
        messages = transcript.messages(self._store, part.stubs)
        transcript.print_messages(self._output, messages, tools="short", reasoning=False, marked=marked)
        self._output.talk(transcript.sum_line(part))

    def _list_prompts(self, conversation: Conversation) -> None:
        """What the person asked in it, each with its number among the messages."""
        stubs = self._store.messages.outline(conversation)
        numbers = {stub.id: number for number, stub in enumerate(stubs, 1)}
        asked = [stub for stub in stubs if stub.role == "user"]
        rows = [
            [
                wording.count(numbers[message.id]),
                wording.moment(message.timestamp),
                " ".join(message.text[:400].split()),
            ]
            for message in transcript.messages(self._store, asked)
        ]
        self._output.table(PROMPT_COLUMNS, rows)
        self._output.talk(f"{wording.count(len(rows))} of {wording.count(len(stubs))} messages; v N M reads at M")

    def _list_family(self, conversation: Conversation) -> None:
        """List it with its relatives instead of what was listed, each with what it came from."""
        from hermes_sessions.services.family import RELATION_WORDS, family

        notes: dict[Conversation, str] = {}
        for kin in family(self._catalog, conversation):
            if kin.conversation is None:
                self._output.talk(f"{self._output.safe(kin.source or '')} is no longer in the store.")
            elif kin.session is None:
                words = RELATION_WORDS.get(kin.relation)
                notes[kin.conversation] = f"{words} {self._output.safe(kin.source or '')}" if words else ""
        self._query, self._found, self._rows = "", None, tuple(notes)
        overviews = self._store.sessions.overviews(self._rows, live_sessions(self._store, self._clock()))
        listing.print_rows(
            self._output,
            self._rows,
            overviews,
            self._clock(),
            first_number=1,
            notes=tuple(notes.values()) if any(notes.values()) else (),
        )
        self._shown = len(self._rows)
        self._output.talk(f"The family of {self._output.safe(conversation.id)}; / lists all sessions again.")

    def _say_how_to_resume(self, conversation: Conversation) -> None:
        try:
            command = self._resume(conversation).as_shell()
        except CommandMissing as missing:
            self._output.talk(missing.message)
            command = missing.hint
        for words in (conversation.id, conversation.tip.cwd, command):
            if words:
                self._output.line(self._output.safe(words))

    def _show_cost(self, by: str = "model") -> None:
        ids = [session.id for conversation in self._rows for session in conversation.sessions]
        cost_table.print_summary(self._output, self._store.costs.summary(by, ids))

"""The question in the search line and what came of it so far. Nothing is drawn here.

The answers come from `services.history`, which drops those to an earlier question.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Problem, SearchOrder, SearchResult
from hermes_sessions.services import wording
from hermes_sessions.services.history import SEARCH_LIMIT, History
from hermes_sessions.text import one_line

MORE_FACTOR = 4


class LiveSearch:
    """One question at a time.

    `found(first)` is called for every answer, `first` being the first one to a question; `going_on()` when nothing is
    found yet, but there is something to say about how it is looked for.
    """

    def __init__(
        self,
        history: History,
        found: Callable[[bool], None],
        going_on: Callable[[], None],
        stopwatch: Callable[[], float],
    ) -> None:
        self.text = ""
        self.result: SearchResult | None = None
        """The newest answer. While the first one to a new question is on its way, that to the question before."""
        self.error: SessionsError | None = None
        self.waiting = False
        """Whether no answer to this question has come yet."""
        self.notice = ""
        """Why it is slower or weaker than usual, or how far it is, if that is so."""
        self.order: SearchOrder = "recent"
        self._history = history
        self._found = found
        self._going_on = going_on
        self._stopwatch = stopwatch
        self._finished = True
        self._again = False
        """Whether what is shown answers the question that is on its way, too."""
        self._limit = SEARCH_LIMIT
        self._started = 0.0
        self._milliseconds = 0.0

    @property
    def active(self) -> bool:
        """Whether anything is asked."""
        return bool(self.text.strip())

    def ask(self, text: str, catalog: Catalog) -> None:
        """Ask something else. Nothing, or blanks only, is no question: what was found is forgotten."""
        self.text = text
        self.error = None
        self.notice = ""
        self._limit = SEARCH_LIMIT
        if not self.active:
            self._history.cancel_search()
            self.result = None
            self.waiting = False
            self._finished = True
        elif catalog.whole:
            self._start(catalog, first=True)
        else:
            # Hits in conversations that are not known yet would be lost.
            self._history.cancel_search()
            self.waiting = True

    def turn(self, catalog: Catalog) -> None:
        """Ask for the same in the other order."""
        self.order = "relevance" if self.order == "recent" else "recent"
        self.ask(self.text, catalog)

    def renew(self, catalog: Catalog) -> None:
        """The store has changed: ask the same again, unless the answer is still on its way."""
        if self.active and self._finished:
            self._start(catalog, first=self.waiting)

    def ask_more(self, catalog: Catalog) -> None:
        """Ask for more conversations than came, if there may be more."""
        if self.active and self._finished and self.result is not None and not self.result.complete:
            self._limit *= MORE_FACTOR
            self._start(catalog, first=False)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What makes no sense in the question, once its answer is there."""
        return () if self.waiting or self.error is not None or self.result is None else self.result.problems

    @property
    def words(self) -> tuple[str, ...]:
        """What came of it, from the longest to the shortest way to say it."""
        if not self.active:
            return ("",)
        if self.error is not None:
            hint = f" {self.error.hint}" if self.error.hint else ""
            return (one_line(self.error.message + hint), one_line(self.error.message))
        if self.waiting or self.result is None:
            return (f"searching … {self.notice}".strip(), "searching …", "…")
        if self.problems:
            message, suggestion = self.problems[0].message, self.problems[0].suggestion
            if not suggestion:
                return (one_line(message),)
            meant = f"Did you mean {suggestion}?"
            wrong = self.text[self.problems[0].start : self.problems[0].stop]
            return tuple(map(one_line, (f"{message} {meant}", f"{wrong}? {meant}", meant)))
        entries = self.result.conversations
        plus = "" if self.result.complete else "+"
        hits = sum(entry.hit_count for entry in entries)
        if not entries:
            return ("nothing found" if self._finished else "searching …",)
        among = f"{wording.count(len(entries))}{plus} {'conversation' if len(entries) == 1 else 'conversations'}"
        speed = f"{self._milliseconds:,.1f} ms" if self._milliseconds < 10 else f"{self._milliseconds:,.0f} ms"
        if not hits:  # conversations were asked for, not what is said in them
            return (f"{among} · {speed}", among, f"{wording.count(len(entries))}{plus}")
        found = f"{wording.count(hits)}{plus} {'hit' if hits == 1 and not plus else 'hits'}"
        order = "newest" if self.result.order == "recent" else "best"
        return (
            f"{found} in {among} · {speed} · {order}",
            f"{found} in {among} · {order}",
            f"{found} in {wording.count(len(entries))}{plus} · {order}",
            f"{found} in {wording.count(len(entries))}{plus}",
            f"{wording.count(hits)}{plus}/{wording.count(len(entries))}{plus}",
        )

    def _start(self, catalog: Catalog, first: bool) -> None:
        self.waiting = first
        self._again = not first
        self._finished = False
        self._started = self._stopwatch()
        self._history.search(self.text, catalog, self._arrived, limit=self._limit, order=self.order)

    def _arrived(self, answer: SearchResult | SessionsError, finished: bool) -> None:
        self.notice = "" if isinstance(answer, SessionsError) else one_line(answer.notice)
        if isinstance(answer, SearchResult) and not finished and (self._again or not answer.conversations):
            # The newest messages hold nothing, or less than is known: what stands on the screen stays, and the cursor.
            if self.notice:
                self._going_on()
            return
        first, self.waiting = self.waiting, False
        self._finished = finished
        if answer is self.result and self.result.conversations:
            return  # the end of an answer that is shown already
        if isinstance(answer, SessionsError):
            self.error = answer
        else:
            self.error = None
            self.result = answer
            if first:
                self._milliseconds = (self._stopwatch() - self._started) * 1000
        self._found(first)

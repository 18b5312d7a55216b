"""What the full screen asks of a store: everything awaited, nothing of storage shown.

Three threads with a connection each, so that a slow question delays only its like: what is on the screen, what
reads the whole store, and the search. The search answers the newest question only: a new one interrupts the one
that runs, and no answer reaches the screen once another question was asked.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import (
    Catalog,
    Conversation,
    CostSummary,
    Message,
    MessageStub,
    Overview,
    SearchOrder,
    SearchResult,
    SessionFacts,
)
from hermes_sessions.services.background import Call, StoreThread
from hermes_sessions.services.live import live_sessions
from hermes_sessions.storage import Store, open_store

if TYPE_CHECKING:
    from hermes_sessions.services.answers import Answers
    from hermes_sessions.services.completion import Vocabulary

RECENT_CONVERSATIONS = 200
"""Enough for any first screen, few enough to be read while Textual is still being imported."""

SEARCH_LIMIT = 200

BREATH_SECONDS = 0.025
"""How long a search leaves the processor to the screen after each answer, so that it is drawn without a stutter."""

Deliver: TypeAlias = Callable[[SearchResult | SessionsError, bool], None]
"""Takes an answer, and whether it was the last one to its question."""


class History:
    """One store, asked from an event loop. Every question may raise the errors of `errors.SessionsError`.

    Reading starts in the constructor, which needs no event loop: the first answers are there when Textual is.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.notices: tuple[str, ...] = ()
        """What a person should know about this store, known once `ready` has returned."""
        self._clock = clock
        self._stores: list[Store] = []
        self._screen = StoreThread(self._open, "screen")
        self._whole = StoreThread(self._open, "whole store")
        self._search = StoreThread(self._open, "search")
        self._answers: tuple[Store, Answers] | None = None
        self._question: Call[None] | None = None
        self._given_up = threading.Event()
        self._version: int | None = None
        self._recent = self._screen.submit(self._first_read)

    @property
    def losses(self) -> tuple[str, ...]:
        """What of a damaged store could not be read, as far as it was asked for."""
        stores = [store for store in tuple(self._stores) if not store.replaced]
        return tuple(dict.fromkeys(words for store in stores for words in store.losses))

    def now(self) -> float:
        """What the clock says."""
        return self._clock()

    def ready(self) -> None:
        """Wait until the store is open and its newest part is read. For use before there is an event loop."""
        self._recent.result()

    async def recent(self) -> Catalog:
        """The newest part of the store, read since the start."""
        return await asyncio.wrap_future(self._recent)

    async def catalog(self) -> Catalog:
        """Every conversation of the store."""

        def read(store: Store) -> Catalog:
            catalog = store.sessions.catalog()
            _ = catalog.by_session  # made here, where it keeps no key waiting
            # Tens of thousands of values that form no cycles: looked at by the cycle collector again and again, they
            # would stop every thread for 80 ms at a time. Plain counting of references still frees them.
            gc.freeze()
            return catalog

        return await self._whole.call(read)

    async def renewed(self, catalog: Catalog) -> Catalog:
        """`catalog` with its newest part as it is now: quick in a store of any size, but blind to older changes."""

        def read(store: Store) -> Catalog:
            return with_newest(catalog, store.sessions.catalog(recent=RECENT_CONVERSATIONS))

        return await self._screen.call(read)

    async def overviews(self, conversations: Iterable[Conversation]) -> dict[str, Overview]:
        """What the list shows of these conversations, by conversation id."""
        wanted = tuple(conversations)

        def read(store: Store) -> dict[str, Overview]:
            return store.sessions.overviews(wanted, live_sessions(store, self._clock()))

        return await self._screen.call(read)

    async def facts(self, conversations: Iterable[Conversation]) -> dict[str, SessionFacts]:
        """What sorting asks of these conversations, by conversation id."""
        wanted = tuple(conversations)
        return await self._whole.call(lambda store: store.sessions.facts(wanted))

    async def outline(self, conversation: Conversation, rewound: bool = False) -> tuple[MessageStub, ...]:
        """The conversation's messages in order, without their text."""
        return await self._screen.call(lambda store: store.messages.outline(conversation, rewound=rewound))

    async def origin(self, conversation: Conversation) -> Conversation | None:
        """The conversation that this one was branched from; None if it was not, or if that is gone."""
        source = conversation.branched_from
        if source is None:
            return None
        return await self._screen.call(lambda store: store.sessions.family([source]).by_session.get(source))

    async def undone(self, conversation: Conversation) -> int:
        """How many messages of the conversation the person took back; an outline has them only when asked for."""
        return await self._screen.call(lambda store: store.messages.undone(conversation))

    async def original(self, conversation: Conversation, message_id: int) -> int:
        """The message that the transcript shows for this one: what a compaction copied stands where it was said."""

        def read(store: Store) -> int:
            copied = store.messages.copies(conversation).get(message_id)
            return message_id if copied is None else copied.id

        return await self._screen.call(read)

    async def messages(self, stubs: Iterable[MessageStub]) -> dict[int, Message]:
        """These messages with their text, by message id. One that was deleted since is missing."""
        ids = tuple(stub.id for stub in stubs)
        return await self._screen.call(lambda store: store.messages.get(ids))

    async def costs(self, by: str, session_ids: Collection[str] | None = None) -> CostSummary:
        """Money and tokens of these sessions, or of all, summed by one key."""
        return await self._whole.call(lambda store: store.costs.summary(by, session_ids))

    async def changed(self) -> bool:
        """Say whether another program has written to the store since this was last asked, or since the start."""
        version = await self._screen.call(lambda store: store.data_version())
        before, self._version = self._version, version
        return before is not None and version != before

    async def vocabulary(self, catalog: Catalog) -> Vocabulary:
        """What Tab completes in the search line: see `services.completion`."""

        def read(store: Store) -> Vocabulary:
            from hermes_sessions.services.completion import vocabulary_of

            return vocabulary_of(store, catalog)

        return await self._whole.call(read)

    def search(
        self,
        text: str,
        catalog: Catalog,
        deliver: Deliver,
        limit: int = SEARCH_LIMIT,
        order: SearchOrder = "recent",
    ) -> None:
        """Ask for what `text` finds in `catalog`'s conversations, instead of anything asked before.

        The text may still be typed: see `storage.query.parse`. `deliver` is called on the running event loop with
        growing answers or with the one error, as long as nothing else was asked and the search was not cancelled.
        """
        self.cancel_search()
        given_up = self._given_up = threading.Event()
        loop = asyncio.get_running_loop()

        def arrive(answer: SearchResult | SessionsError, finished: bool) -> None:
            if not given_up.is_set():
                deliver(answer, finished)

        def run(store: Store) -> None:
            from hermes_sessions.storage.query import parse

            query = parse(text, self._clock(), typing=True)
            before = result = None
            for result in self._answers_of(store).stream(
                query, catalog, limit=limit, order=order, cancelled=given_up.is_set
            ):
                loop.call_soon_threadsafe(arrive, result, result.complete)
                shown = result is not before and bool(result.conversations) and not result.complete
                before = result
                if given_up.wait(BREATH_SECONDS if shown else 0):
                    return
            if result is not None and not result.complete:
                loop.call_soon_threadsafe(arrive, result, True)

        def ended(future: asyncio.Future[None]) -> None:
            error = None if future.cancelled() else future.exception()
            if isinstance(error, SessionsError):
                arrive(error, True)
            elif error is not None:
                raise error  # a fault of ours: the event loop's handler must hear of it

        self._question = self._search.submit(run)
        asyncio.wrap_future(self._question).add_done_callback(ended)

    def cancel_search(self) -> None:
        """Ask nothing any more: the running search is interrupted and nothing is delivered."""
        self._given_up.set()
        if self._question is not None:
            self._question.cancel()
            self._question = None

    def close(self) -> None:
        """Interrupt whatever runs and let go of the store. Quick, whatever the queries do."""
        self.cancel_search()
        for thread in (self._search, self._whole, self._screen):
            thread.close()

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Store:
        store = open_store(self.path)
        self._stores.append(store)
        return store

    def _answers_of(self, store: Store) -> Answers:
        """What answers on the search's own thread, with all that it has learnt. Imported for the first."""
        if self._answers is None or self._answers[0] is not store:
            from hermes_sessions.services.answers import Answers

            self._answers = store, Answers(store, self._clock)
        return self._answers[1]

    def _first_read(self, store: Store) -> Catalog:
        # The version before the catalogue: what is committed in between counts as a change.
        self._version = store.data_version()
        catalog = store.sessions.catalog(recent=RECENT_CONVERSATIONS)
        self.notices = store.notices
        return catalog


def with_newest(catalog: Catalog, newest: Catalog) -> Catalog:
    """`catalog` after the conversations of `newest`, which replace those that have a session of theirs."""
    if newest.whole:
        return newest
    known = newest.by_session
    older = [item for item in catalog.conversations if not any(session.id in known for session in item.sessions)]
    merged = Catalog((*newest.conversations, *older), catalog.whole)
    _ = merged.by_session
    return merged

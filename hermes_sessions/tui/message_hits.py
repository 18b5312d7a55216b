"""The way from one found place to the next in what a message view shows.

What is looked for and where it stands is `message_finder`'s business; this asks it on behalf of the view, takes the
person there, and tells the pane.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Message
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.findings import Hit, Place
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block
from hermes_sessions.tui.message_finder import MessageFinder
from hermes_sessions.tui.reading import without_frames

if TYPE_CHECKING:
    from hermes_sessions.tui.message_view import MessageView
    from hermes_sessions.tui.viewport import Here

MOST_COUNTED_BYTES = 8 * 1024 * 1024
"""Conversations up to this size are looked through for the words of a search before anybody asks for the next."""


class MessageHits:
    """What is found in one view: a find of the person, or else the words of the search that led here."""

    def __init__(self, view: MessageView) -> None:
        self.words = Matcher(())
        """What the search of the whole store looked for."""
        self.finder = MessageFinder(self._fetch, self._compose, self._reach, self._report)
        self._view = view

    async def find(self, text: str, start: Here | None = None) -> None:
        """Look for `text` in the whole conversation and go to the first place from `start` on, else from the top of the
        screen on; blank text ends it."""
        start = start or self._view.viewport.here()
        await self._do(self.finder.find(Matcher([text]), start.place if start else Place(0), self._count))

    async def next(self, step: int = 1) -> None:
        """Go to the next found place, or with -1 to the one before. Without a find, to the words of the search.

        That is the next one seen from the place the person was taken to, or from the top of the screen once they have
        left it.
        """
        view, finder = self._view, self.finder
        if not finder.matcher or not (finder.round_about or finder.complete):
            await self.first_word(view.viewport.cursor, step)
        elif finder.hit is None and not finder.round_about:
            # It was opened at a place that the search has found: that is the first of its message.
            await self._do(finder.step(step, Place(view.viewport.cursor), there=True))
        elif (here := view.viewport.here()) is not None:
            line, top = self.line, view.viewport.y
            is_seen = line is not None and top <= line < top + view.page
            await self._do(finder.step(step, None if is_seen else here.place))

    async def first_word(self, start: int = 0, beyond: int = 0) -> None:
        """Go to the first of the search's words from message number `start` on, or as far `beyond` it."""
        await self._do(self.finder.find(self.words, Place(start), self._count, beyond=beyond, round_about=False))

    async def count_words(self) -> None:
        """Know where all of the search's words are, and go nowhere; not in a very large conversation."""
        stubs = self._view.viewport.transcript.stubs
        if self.words and not self.finder.matcher and sum(stub.size for stub in stubs) <= MOST_COUNTED_BYTES:
            await self._do(self.finder.count(self.words, len(stubs), self._view.viewport.cursor))

    async def extend(self, known: int) -> None:
        """Look into the messages behind the first `known`, which came later."""
        await self._do(self.finder.extend(range(known, self._count)))

    def forget(self) -> None:
        """Mark nothing but the words of the search."""
        self.finder.clear()
        self._view.redraw()
        self._view.found = 0, 0

    @property
    def line(self) -> int | None:
        """The line of the conversation with the place the person was taken to; None if there is none, or folded."""
        if (hit := self.finder.hit) is None:
            return None
        transcript = self._view.viewport.transcript
        row = transcript.row_of(hit.message, self.finder.matcher, hit.block, hit.start)
        return None if row is None else transcript.top(hit.message, row)

    @property
    def _count(self) -> int:
        return len(self._view.viewport.transcript)

    async def _do(self, finding: Awaitable[None]) -> None:
        self._view.redraw()
        try:
            await finding
        except SessionsError as error:
            self._view.post_message(Failed(error))
        except asyncio.CancelledError as error:
            raise without_frames(error) from None

    async def _fetch(self, indices: Sequence[int]) -> Mapping[int, Message | None] | None:
        reading = self._view.reading
        messages = await reading.fetch(indices)
        return messages if reading is self._view.reading else None

    async def _compose(self, index: int, message: Message) -> Sequence[Block]:
        return await self._view.reading.whole(index, message)

    async def _reach(self, hit: Hit) -> None:
        view, reading = self._view, self._view.reading
        row = await reading.row_of(hit.message, self.finder.matcher, hit.block, hit.start)
        await reading.read_around(hit.message, row, view.page)
        if reading is view.reading:
            view.show_line(hit.message, row)

    def _report(self, finder: MessageFinder) -> None:
        view = self._view
        view.redraw()
        view.found = finder.position, finder.total
        told = view.HitReached(finder.position, finder.total, finder.complete, finder.wrapped, finder.ended)
        view.post_message(told)

"""A conversation being read: its lines, and the texts that come from another thread when they are needed.

Long texts are worked on in slices, so that keys are answered meanwhile. Nothing here draws; errors of the store go to
the caller.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from hermes_sessions.model import Message, MessageStub
from hermes_sessions.tui.code_colours import colours
from hermes_sessions.tui.line_styles import SourceText
from hermes_sessions.tui.listings import language_in
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block, compose_steps
from hermes_sessions.tui.message_layout import MessageLayout
from hermes_sessions.tui.steps import Steps
from hermes_sessions.tui.stored_json import decoded_steps
from hermes_sessions.tui.transcript import Transcript

T = TypeVar("T")
Load: TypeAlias = Callable[[Sequence[MessageStub]], Awaitable[Mapping[int, Message]]]
"""Gives the messages of some stubs by their ids; those that are gone are left out."""

SLICE_SECONDS = 0.006
"""How long the loop may be busy before everything else gets its turn."""

BATCH = 64
"""Messages asked for at once."""

KEPT = 64 * 1024
"""Characters of a message from which on its blocks are not made anew for the next step to a place in it."""

MEASURED_BYTES = 8 * 1024 * 1024
"""Conversations up to this size are read to their end to know their exact height."""

_MOST_RESULTS = 128
"""How many results may follow the message that called for them."""


class Reading:
    """A transcript and the way to its texts."""

    def __init__(self, transcript: Transcript, load: Load | None = None) -> None:
        self.transcript = transcript
        self._load = load
        self._slices = Slices()
        self._is_colouring = False
        self._whole: tuple[int, Message, tuple[Block, ...]] | None = None

    def of(self, stubs: Sequence[MessageStub]) -> Reading:
        """Return the reading of another outline of the same conversation, with the texts that are here."""
        return Reading(self.transcript.replaced(stubs), self._load)

    async def fetch(self, indices: Iterable[int]) -> dict[int, Message | None]:
        """Return messages by their indices, None for one that is gone."""
        found: dict[int, Message | None] = {}
        stubs = {}
        for index in indices:
            if layout := self.transcript.layout(index):
                found[index] = layout.message
            elif self._whole and self._whole[0] == index:
                found[index] = self._whole[1]
            else:
                stubs[index] = self.transcript.stubs[index]
        messages = await self._load(list(stubs.values())) if stubs and self._load else {}
        found |= {index: messages.get(stub.id) for index, stub in stubs.items()}
        if callers := {index: caller for index in found if (caller := self._caller(index, found[index])) is not None}:
            said = found | await self.fetch(set(callers.values()) - found.keys())
            for index, caller in callers.items():
                found[index] = _named(found[index], said[caller])
        return found

    async def read(self, indices: Sequence[int]) -> None:
        """Get the lines of messages ready, as far as they are not."""
        transcript = self.transcript
        for index, message in (await self.fetch(i for i in indices if transcript.layout(i) is None)).items():
            transcript.put(index, await self._slices.run(transcript.layout_steps(index, message)))
        for index in transcript.missing(indices):
            if (layout := transcript.layout(index)) and layout.message is not None:
                blocks = await self.whole(index, layout.message)
                await self._slices.run(layout.take_whole_steps(blocks))

    async def whole(self, index: int, message: Message) -> tuple[Block, ...]:
        """Return the blocks of a message to their ends; those of a long one are kept: they are asked for again."""
        layout = self.transcript.layout(index)
        if layout is not None and layout.whole:
            return layout.blocks
        if self._whole is not None and self._whole[0] == index:
            return self._whole[2]
        blocks = await self._slices.run(compose_steps(message, whole=True))
        if len(message.text) > KEPT:
            self._whole = index, message, blocks
        return blocks

    def forget_whole(self) -> None:
        """Forget the blocks that were made last."""
        self._whole = None

    def is_plain(self, indices: Iterable[int]) -> bool:
        """Say whether code in these messages lacks its colours, and nobody is at it."""
        if self._is_colouring:
            return False
        indices = list(indices)
        return next(self._nameless(indices), None) is not None or next(self._waiting(indices), None) is not None

    async def colour(self, around: Callable[[], Iterable[int]], changed: Callable[[], None]) -> None:
        """Give the code in the messages that are `around` its colours; calls `changed` after each text of them."""
        if self._is_colouring:
            return
        self._is_colouring = True
        try:
            await self._learn_languages(around())
            while source := next(self._waiting(around()), None):
                for block in list(source.waiting):
                    code = source.text[block.first : max(block.first, block.last)]
                    source.colour(block, await asyncio.to_thread(colours, code, block.language))
                changed()
        finally:
            self._is_colouring = False

    async def _learn_languages(self, indices: Iterable[int]) -> None:
        """Find the calls that results with lines of files answer: they name the files."""
        for index in list(self._nameless(indices)):
            layout = self.transcript.layout(index)
            if layout is None or layout.message is None:
                continue
            result, language = layout.message, ""
            if result.tool_call_id and (at := self._asked_by(index)) is not None:
                caller = (await self.fetch([at]))[at]
                calls = caller.tool_calls if caller else ()
                call = next((call for call in calls if call.id == result.tool_call_id), None)
                language = language_in(await self._slices.run(decoded_steps(call.arguments))) if call else ""
            layout.take_language(language)

    def _nameless(self, indices: Iterable[int]) -> Iterator[int]:
        for index in indices:
            if (layout := self.transcript.layout(index)) and layout.lacks_language:
                yield index

    def _waiting(self, indices: Iterable[int]) -> Iterator[SourceText]:
        layouts = map(self.transcript.layout, indices)
        return (source for layout in layouts if layout for source in layout.waiting)

    async def read_around(self, index: int, row: int, page: int) -> None:
        """Get everything ready that is seen when a place is on the screen."""
        transcript = self.transcript
        while len(transcript):
            transcript.settle(index, row, page)
            wanted = transcript.missing(transcript.around(index, row, page))
            if not wanted:
                return
            await self.read(sorted(wanted, key=lambda near: abs(near - index))[:BATCH])

    async def row_of(self, index: int, matcher: Matcher, block: int | None = None, offset: int = 0) -> int:
        """Return the row of a message where `matcher` finds something, at one place of it if `block` is given.

        What is folded away there is opened. Without a match it is the message's first row.
        """
        transcript = self.transcript
        await self.read([index])
        row = transcript.row_of(index, matcher, block, offset)
        if row is None and matcher:
            transcript.toggle(index, True)
            await self.read([index])
            row = transcript.row_of(index, matcher, block, offset)
            if row is None:
                transcript.toggle(index, None)
                await self.read([index])
        return transcript.first_row(index) if row is None else row

    def _caller(self, index: int, message: Message | None) -> int | None:
        """Where the call stands whose result has no name, as Hermes' command line stored them once."""
        if message is None or message.role != "tool" or message.tool_name or not message.tool_call_id:
            return None
        return self._asked_by(index)

    def _asked_by(self, index: int) -> int | None:
        """Where the nearest message stands in which a tool may have been called."""
        stubs = self.transcript.stubs
        before = range(index - 1, max(-1, index - 1 - _MOST_RESULTS), -1)
        return next((near for near in before if stubs[near].role == "assistant"), None)

    async def measure(self, changed: Callable[[], None]) -> None:
        """Make all heights exact, unless the conversation is too large; calls `changed` whenever some have changed."""
        transcript = self.transcript
        indices = transcript.inexact
        if sum(transcript.stubs[index].size for index in indices) > MEASURED_BYTES:
            return
        for start in range(0, len(indices), BATCH):
            measured: list[tuple[int, MessageLayout]] = []
            for index, message in (await self.fetch(indices[start : start + BATCH])).items():
                layout = transcript.layout(index)
                if layout is None:
                    layout = await self._slices.run(transcript.layout_steps(index, message))
                await self._slices.run(layout.count_steps(transcript.fold(index)))
                measured.append((index, layout))
            # All at once: between two slices the heights and the scroll position must fit together.
            if transcript.take(measured):
                changed()


def without_frames(error: asyncio.CancelledError) -> asyncio.CancelledError:
    """Return the error to be raised again by work on texts that was cancelled.

    Textual's worker keeps it, and the two keep each other and every text in the frames until all garbage is collected.
    """
    return error.with_traceback(None)


def _named(result: Message | None, caller: Message | None) -> Message | None:
    """A tool's result with the name that the call had which it answers."""
    for call in caller.tool_calls if result and caller else ():
        if result and call.id == result.tool_call_id:
            return result._replace(tool_name=call.name)
    return result


class Slices:
    """Does long work on the event loop so that everything else gets its turn after a few milliseconds."""

    def __init__(self) -> None:
        self._until = 0.0

    async def run(self, steps: Steps[T]) -> T:
        """Do all of the steps and return their result."""
        while True:
            if time.perf_counter() > self._until:
                await asyncio.sleep(0)
                self._until = time.perf_counter() + SLICE_SECONDS
            try:
                next(steps)
            except StopIteration as done:
                result: T = done.value
                return result

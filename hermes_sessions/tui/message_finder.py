"""Find inside a conversation: counts the places in all of its messages, loaded or not, and goes from one to the next.

Owns what is looked for and which place is the current one. It asks the view for texts and to be taken somewhere.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain

from hermes_sessions.model import Message
from hermes_sessions.tui.findings import Findings, Hit, Place
from hermes_sessions.tui.lines import Line, Mark
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block
from hermes_sessions.tui.reading import Slices

BATCH = 64

REPORT_SECONDS = 0.1
"""How often the growing count is told while the rest is read."""

_LONGEST_MATCH = 200
"""Characters before a line in which a match may begin that ends on it."""

Fetch = Callable[[Sequence[int]], Awaitable[Mapping[int, Message | None] | None]]
"""Gives messages by their indices, None for one that is gone; None at all once another conversation is shown."""

Compose = Callable[[int, Message], Awaitable[Sequence[Block]]]
"""Gives the blocks of a message, to their ends."""

Reach = Callable[[Hit], Awaitable[None]]
Report = Callable[["MessageFinder"], None]


class MessageFinder:
    """What is looked for in the conversation that is shown, and where the person is among the places."""

    def __init__(self, fetch: Fetch, compose: Compose, reach: Reach, report: Report) -> None:
        self.hit: Hit | None = None
        """The place the person was taken to."""
        self.complete = False
        """Whether every message has been searched."""
        self.wrapped = False
        """Whether the way to the current place led past an end of the conversation."""
        self.ended = False
        """Whether a step led to no place, as there is none in its direction that the person has not come by."""
        self.findings = Findings(Matcher(()))
        self._fetch, self._compose, self._reach, self._report = fetch, compose, reach, report
        self._ordinal = 0
        self.round_about = True
        """Whether a step past an end always goes on at the other; else only to places that nobody has come by."""
        self._earliest: tuple[int, int] | None = None
        """Of the places without `round_about`, the first the person has come by: its message and number there."""
        self._goal: tuple[int, int] | None = None
        """Where a way that went on from the top meets itself."""
        self._opened_at: int | None = None
        """The message the person was at when all places were counted; they see its first one."""
        self._searched = 0
        """So many messages from the top on have been searched without a gap."""
        self._slices = Slices()

    @property
    def matcher(self) -> Matcher:
        """Finds what is looked for in any text."""
        return self.findings.matcher

    @property
    def total(self) -> int:
        """How many places are known."""
        return self.findings.total

    @property
    def position(self) -> int:
        """The number of the current place, from 1; 0 without one, or while some before it are not counted yet."""
        message, ordinal = (self.hit.message, self._ordinal) if self.hit else (self._opened_at, 0)
        if message is None or not (self.complete or message < self._searched):
            return 0
        return self.findings.position(message, ordinal) if self.findings.between(message, message + 1) else 0

    def marks(self, index: int, line: Line) -> list[Mark]:
        """The places on a line of message number `index`; the current one has a look of its own."""
        hit = self.hit
        # What a search of the whole store has found looks as it did before anybody walked along it.
        marks = marks_of(self.matcher, line, "find" if self.round_about else "hit")
        if hit is None or line.kind == "end" or (hit.message, hit.block) != (index, line.block):
            return marks
        return [
            mark._replace(look="found") if line.kind == "headline" or mark.start == hit.start else mark
            for mark in marks
        ]

    def clear(self) -> None:
        """Look for nothing."""
        self._begin(Matcher(()))
        self._earliest = self._goal = None

    def come_back(self) -> None:
        """Take all places as seen: the person comes from behind them."""
        self._earliest = (0, 0)

    async def find(
        self, matcher: Matcher, place: Place, count: int, *, beyond: int = 0, round_about: bool = True
    ) -> None:
        """Look into `count` messages, from `place` on and then from the first; go to the first place that is found.

        With `beyond` the person is at the first one already, and goes one on (1) or back (-1). Without `round_about`
        nobody is taken past an end to what they have seen, only told of it.
        """
        findings = self._begin(matcher)
        self.round_about = round_about
        start = place.message
        self._earliest = self._earliest or (start, 0)
        order = list(chain(range(start, count), range(start)))
        if not matcher or not await self._count(findings, order, max(0, beyond), place):
            return
        self.complete = True
        if findings.total and (self.hit is None or beyond < 0):
            await self.step(1 if self.hit is None else -1, None if self.hit else place)
        else:
            self._report(self)

    async def count(self, matcher: Matcher, count: int, at: int) -> None:
        """Look into `count` messages and go nowhere; the person sees message number `at`."""
        findings = self._begin(matcher)
        self.round_about = False
        self._opened_at = at
        self._earliest = self._earliest or (at, 0)
        if await self._count(findings, range(count), None):
            self.complete = True
            self._report(self)

    async def extend(self, indices: Sequence[int]) -> None:
        """Look into messages that came later."""
        if self.matcher and await self._count(self.findings, indices, 0 if self.round_about else None):
            self._report(self)

    async def step(self, step: int, place: Place | None = None, *, there: bool = False) -> None:
        """Go to the next place, or the one before: from the current one, or from any other `place`.

        The person is `there` already if they see the first one behind it.
        """
        findings = self.findings
        if not findings.total:
            self._report(self)
            return
        if place is None:
            place = Place(self.hit.message) if self.hit else Place(0)
            ordinal = self._ordinal
        else:
            before = await self._before(findings, place)
            ordinal = before - 1 if step > 0 and not there else before
        if findings is self.findings:
            await self._go(findings, *findings.after(place.message, ordinal, step), step)

    def _begin(self, matcher: Matcher) -> Findings:
        self.findings, self.hit, self._ordinal = Findings(matcher), None, 0
        self._opened_at, self._searched = None, 0
        self.complete = self.wrapped = False
        return self.findings

    async def _count(
        self, findings: Findings, order: Sequence[int], skip: int | None, place: Place | None = None
    ) -> bool:
        """Count the places in messages, and go to place number `skip` (from 0) as soon as it is found, those before
        `place` not counted; False if given up."""
        told = time.perf_counter()
        for start in range(0, len(order), BATCH):
            indices = order[start : start + BATCH]
            messages = await self._fetch(indices)
            for index in indices:
                if messages is None or findings is not self.findings:
                    return False
                if index == self._searched:
                    self._searched += 1
                if (message := messages.get(index)) is None:
                    continue
                scan = findings.scan(index, await self._compose(index, message))
                if skip is not None and self.hit is None:
                    begin = place[1:] if place is not None and index == place.message else (0, 0)
                    ordinal = await self._slices.run(scan.first_steps(begin, skip))
                    if ordinal < scan.count and findings is self.findings:
                        await self._go(findings, index, ordinal, index < order[0])
                    skip = ordinal - scan.count
                if not scan.done:
                    await self._slices.run(scan.rest_steps())
                if time.perf_counter() - told > REPORT_SECONDS and findings is self.findings:
                    told = time.perf_counter()
                    self._report(self)
        return findings is self.findings

    async def _go(self, findings: Findings, index: int, ordinal: int, wrapped: bool, step: int = 1) -> None:
        if not self.round_about and self._is_end((index, ordinal), wrapped, step):
            self.ended = True
            self._report(self)
            self.ended = False
            return
        blocks = await self._blocks_of(index)
        if blocks is None:
            return
        hit = await self._slices.run(findings.hit_steps(index, ordinal, blocks))
        if hit is None or findings is not self.findings:
            return
        self.hit, self._ordinal, self.wrapped = hit, ordinal, wrapped
        if self._goal is None:
            self._earliest = min(self._earliest or (index, ordinal), (index, ordinal))
        await self._reach(hit)
        if findings is self.findings:
            self._report(self)

    def _is_end(self, place: tuple[int, int], wrapped: bool, step: int) -> bool:
        """Whether a step to `place` leads out of the conversation. Who began in the middle first goes once round."""
        if step < 0:
            turns_back = wrapped and self._goal is not None
            self._goal = None if turns_back else self._goal
            return wrapped and not turns_back
        if wrapped and self._goal is None and self._earliest is not None and place < self._earliest:
            self._goal = self._earliest
            return False
        return wrapped or (self._goal is not None and place >= self._goal)

    async def _before(self, findings: Findings, place: Place) -> int:
        """How many places of its message stand before `place`."""
        if not findings.between(place.message, place.message + 1):
            return 0
        blocks = await self._blocks_of(place.message)
        return await self._slices.run(findings.before_steps(place, blocks)) if blocks is not None else 0

    async def _blocks_of(self, index: int) -> Sequence[Block] | None:
        message = ((await self._fetch([index])) or {}).get(index)
        return None if message is None else await self._compose(index, message)


def marks_of(matcher: Matcher, line: Line, look: str = "hit") -> list[Mark]:
    """The matches on a line, also those that begin before it or end behind it."""
    if line.kind not in ("body", "headline", "end"):
        return []
    before = max(0, line.start - _LONGEST_MATCH)
    return [Mark(*span, look) for span in matcher.spans(line.source.text, before, line.stop) if span[1] > line.start]

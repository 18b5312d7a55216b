"""Find inside a conversation: counts the places in all of its messages, loaded or not, and goes from one to the next.

Owns what is looked for and which place is the current one. It asks the view for texts and to be taken somewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain

from hermes_sessions.model import Message
from hermes_sessions.tui.findings import Findings, Hit
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import compose_steps
from hermes_sessions.tui.reading import Slices
from hermes_sessions.tui.transcript import Line, Mark

BATCH = 64
_LONGEST_MATCH = 200
"""Characters before a line in which a match may begin that ends on it."""

Fetch = Callable[[Sequence[int]], Awaitable[Mapping[int, Message | None] | None]]
"""Gives messages by their indices, None for one that is gone; None at all once another conversation is shown."""

Reach = Callable[[Hit], Awaitable[None]]
Report = Callable[["MessageFinder", bool], None]


class MessageFinder:
    """What is looked for in the conversation that is shown, and where the person is among the places."""

    def __init__(self, fetch: Fetch, reach: Reach, report: Report) -> None:
        self.hit: Hit | None = None
        """The place the person was taken to."""
        self.complete = False
        """Whether every message has been searched."""
        self._fetch, self._reach, self._report = fetch, reach, report
        self._findings = Findings(Matcher(()))
        self._ordinal = 0
        self._round_about = True
        self._slices = Slices()

    @property
    def matcher(self) -> Matcher:
        """Finds what is looked for in any text."""
        return self._findings.matcher

    @property
    def total(self) -> int:
        """How many places are known."""
        return self._findings.total

    @property
    def position(self) -> int:
        """The number of the current place, from 1; 0 without one."""
        return self._findings.position(self.hit.message, self._ordinal) if self.hit else 0

    def marks(self, index: int, line: Line) -> list[Mark]:
        """The places on a line of message number `index`; the current one has a look of its own."""
        marks, hit = marks_of(self.matcher, line), self.hit
        if hit is None or (hit.message, hit.block) != (index, line.block):
            return marks
        return [
            mark._replace(look="found") if line.kind == "headline" or mark.start == hit.start else mark
            for mark in marks
        ]

    def clear(self) -> None:
        """Look for nothing."""
        self._findings, self.hit, self._ordinal, self.complete = Findings(Matcher(())), None, 0, False

    async def find(
        self, matcher: Matcher, start: int, count: int, *, beyond: int = 0, round_about: bool = True
    ) -> None:
        """Look into `count` messages, from number `start` on and then from the first; go to the first place.

        With `beyond` the person is at the first place already, and goes one on (1) or back (-1). Without `round_about`
        nobody is taken past an end, only told of it.
        """
        self.clear()
        self._round_about = round_about
        findings = self._findings = Findings(matcher)
        order = list(chain(range(start, count), range(start)))
        if not matcher or not await self._count(findings, order, max(0, beyond)):
            return
        self.complete = True
        if findings.total and (self.hit is None or beyond < 0):
            await self.step(1 if self.hit is None else -1, start)
        else:
            self._report(self, False)

    async def extend(self, indices: Sequence[int]) -> None:
        """Look into messages that came later."""
        if self._findings.matcher and await self._count(self._findings, indices, 0):
            self._report(self, False)

    async def step(self, step: int, index: int) -> None:
        """Go to the next place, or the one before; without a current place from message number `index`."""
        findings = self._findings
        if not findings.total:
            self._report(self, False)
            return
        at = (self.hit.message, self._ordinal) if self.hit else (index, -1 if step > 0 else 0)
        message, ordinal, wrapped = findings.after(*at, step)
        await self._go(findings, message, ordinal, wrapped)

    async def _count(self, findings: Findings, order: Sequence[int], skip: int) -> bool:
        """Count the places in messages, and go to place number `skip` (from 0) once it is known; False if given up."""
        for start in range(0, len(order), BATCH):
            indices = order[start : start + BATCH]
            messages = await self._fetch(indices)
            for index in indices:
                if messages is None or findings is not self._findings:
                    return False
                before = findings.total
                if message := messages.get(index):
                    blocks = await self._slices.run(compose_steps(message, whole=True))
                    await self._slices.run(findings.count_steps(index, blocks))
                if before <= skip < findings.total and self.hit is None and findings is self._findings:
                    await self._go(findings, index, skip - before, index < order[0])
        return findings is self._findings

    async def _go(self, findings: Findings, index: int, ordinal: int, wrapped: bool) -> None:
        if wrapped and not self._round_about:
            self._report(self, wrapped)
            return
        message = ((await self._fetch([index])) or {}).get(index)
        if message is None:
            return
        blocks = await self._slices.run(compose_steps(message, whole=True))
        hit = await self._slices.run(findings.hit_steps(index, ordinal, blocks))
        if hit is None or findings is not self._findings:
            return
        self.hit, self._ordinal = hit, ordinal
        await self._reach(hit)
        if findings is self._findings:
            self._report(self, wrapped)


def marks_of(matcher: Matcher, line: Line) -> list[Mark]:
    """The matches on a line, also those that begin before it or end behind it."""
    if line.kind not in ("body", "headline"):
        return []
    before = max(0, line.start - _LONGEST_MATCH)
    return [Mark(*span, "hit") for span in matcher.spans(line.source.text, before, line.stop) if span[1] > line.start]

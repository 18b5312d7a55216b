"""A conversation as lines: how high every message is, where a line is, which texts are needed to draw it. Pure.

Only messages whose texts are here have exact lines; the others have an estimated height, made of what their stubs
tell, and are laid out when they come near the screen; so it is with the parts of a long message. A place is `(index,
row)`, a message and the name of a line of it: it stays true while heights around it are corrected. The lines of one
message are `message_layout`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hermes_sessions.model import Message, MessageStub
from hermes_sessions.services import wording
from hermes_sessions.tui.heights import Heights
from hermes_sessions.tui.layouts import Layouts
from hermes_sessions.tui.line_styles import Headline, Run
from hermes_sessions.tui.lines import Line, LineKind
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import TEXT_LIMIT, compose, compose_steps
from hermes_sessions.tui.message_layout import SHORT_LINES, Fold, MessageLayout, Tools
from hermes_sessions.tui.message_tables import TableLine
from hermes_sessions.tui.openings import Opening, Story, divider, header, openings, role_name
from hermes_sessions.tui.prose_lines import LedLine
from hermes_sessions.tui.spare_memory import LARGE
from hermes_sessions.tui.steps import Steps

NARROWEST = 8
"""Text is never wrapped narrower than this many cells; a narrower window cuts it."""

NO_STORY = Story()

LAST_ROW = 1 << 32
"""A row behind every line that a message can have."""


class Spot(NamedTuple):
    """A line named by what it shows, which outlives a change of the width; `row` is where it was."""

    kind: LineKind
    block: int
    offset: int
    row: int

    @classmethod
    def of(cls, transcript: Transcript, index: int, row: int) -> Spot:
        """Name a line of a message."""
        line = transcript.line(index, row)
        return cls(line.kind, line.block, line.start, row)


_UNREAD = Line("unread", Headline(("·", "muted")), 0, 1)


class Transcript:
    """The lines of one conversation at one width, in one state of folding."""

    def __init__(
        self,
        stubs: Sequence[MessageStub],
        width: int,
        *,
        tools: Tools = "off",
        reasoning: bool = False,
        story: Story = NO_STORY,
        known: list[tuple[Opening, ...]] | None = None,
    ) -> None:
        self.stubs = tuple(stubs)
        self._story = story
        self.openings = openings(self.stubs, story) if known is None else known
        """The lines that stand above each message's own."""
        self._width, self._tools, self._reasoning = max(NARROWEST, width), tools, reasoning
        self._opened: dict[int, bool] = {}
        self.layouts = Layouts()
        self._counted: dict[int, list[list[int]]] = {}
        self._estimate_all()

    def __len__(self) -> int:
        return len(self.stubs)

    @property
    def inexact(self) -> list[int]:
        """The messages whose heights are estimates."""
        return [index for index, exact in enumerate(self._exact) if not exact]

    def stub(self, index: int) -> MessageStub:
        """Return a message's stub; the role of a compaction's summary, once its text is here, is `summary`."""
        stub, layout = self.stubs[index], self.layouts.get(index)
        is_summary = layout is not None and layout.message is not None and layout.message.summary
        return stub._replace(role="summary") if is_summary else stub

    def layout(self, index: int) -> MessageLayout | None:
        """Return a message's layout if its text is here."""
        return self.layouts.get(index)

    def relayout(self, width: int, tools: Tools, reasoning: bool) -> bool:
        """Take another width or state of folding, and say whether it is another. If so, heights are estimates again."""
        if (max(NARROWEST, width), tools, reasoning) == (self._width, self._tools, self._reasoning):
            return False
        if tools != self._tools:
            self._opened = {index: opened for index, opened in self._opened.items() if not self._is_tool(index)}
        self._width, self._tools, self._reasoning = max(NARROWEST, width), tools, reasoning
        self._estimate_all()
        return True

    def toggle(self, index: int, opened: bool | None) -> None:
        """Show everything of a message, or fold it; None leaves it to what holds for all.

        Its height stays as it was until the place is settled. Of a large message that is folded only the beginning is
        kept.
        """
        if not opened and (layout := self.layouts.get(index)) and layout.bytes > LARGE:
            self.layouts[index] = MessageLayout(layout.message, compose(layout.message) if layout.message else ())
        if opened is None:
            self._opened.pop(index, None)
        else:
            self._opened[index] = opened
        self._exact[index] = False
        self._counted.pop(index, None)

    def extend(self, stubs: Sequence[MessageStub]) -> bool:
        """Take an outline that has grown. False, and nothing done, if it does not begin with the one that is here."""
        known = len(self.stubs)
        if self.stubs != tuple(stubs[:known]):
            return False
        self.stubs = tuple(stubs)
        self.openings += openings(self.stubs, self._story, known)
        new = range(known, len(self.stubs))
        self.heights.extend(self._estimate(index) for index in new)
        self._exact.extend(self._is_one_line(index) for index in new)
        return True

    def top(self, index: int, row: int) -> int:
        """Return on which line of the whole a place is."""
        return self.heights.top(index) + self._above(index, row)

    def locate(self, y: int) -> tuple[int, int]:
        """Return the place at line `y` of the whole, or the nearest. There must be a message."""
        index, above = self.heights.locate(y)
        opening, layout = len(self.openings[index]), self.layouts.get(index)
        if layout is None or above < opening:
            return index, above
        return index, opening + layout.row(self.fold(index), above - opening)

    def fold(self, index: int) -> Fold:
        """Return how much of a message is shown."""
        return Fold(self._width, self._tools, self._reasoning, self._opened.get(index))

    def around(self, index: int, row: int, page: int) -> range:
        """Return the messages from a page above a place to two pages below it."""
        y = self.top(index, row)
        first, _ = self.heights.locate(y - page)
        last, _ = self.heights.locate(y + 2 * page)
        return range(first, last + 1)

    def settle(self, index: int, row: int, page: int) -> None:
        """Make the heights around a place exact, as far as the texts are here."""
        self._settle_one(index, row, page, 2 * page)
        above = self._above(index, row)
        below = self.heights[index] - above
        for near in range(index + 1, len(self.stubs)):
            if below > 2 * page:
                break
            self._settle_one(near, 0, 0, 2 * page - below)
            below += self.heights[near]
        for near in range(index - 1, -1, -1):
            if above > page:
                break
            self._settle_one(near, LAST_ROW, page - above, 0)
            above += self.heights[near]

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Return those messages that cannot be drawn yet: not loaded, or not to their end."""
        return [index for index in indices if not self._is_ready(index)]

    def layout_steps(self, index: int, message: Message | None) -> Steps[MessageLayout]:
        """Do what takes long before a message can be drawn, None if it is gone, and return its layout."""
        fold = self.fold(index)
        blocks = (yield from compose_steps(message, whole=bool(fold.opened))) if message is not None else ()
        layout = MessageLayout(message, blocks)
        if layout.is_ready(fold):
            layout.parts(fold)
        return layout

    def put(self, index: int, layout: MessageLayout) -> None:
        """Keep a message's layout. Its height stays an estimate until the place is settled."""
        self.layouts[index] = layout
        if (counted := self._counted.get(index)) and layout.is_ready(fold := self.fold(index)):
            for text, heights in zip(layout.long_texts(fold), counted, strict=True):
                text.heights = heights

    def take(self, layouts: Iterable[tuple[int, MessageLayout]]) -> bool:
        """Take exact heights from layouts whose lines are counted, and say whether any was another one before."""
        before = self.heights.total
        for index, layout in layouts:
            fold = self.fold(index)
            if layout.is_ready(fold):
                self._counted[index] = [text.heights for text in layout.long_texts(fold)]
                self._take_height(index, layout)
        return self.heights.total != before

    def replaced(self, stubs: Sequence[MessageStub]) -> Transcript:
        """Return a transcript of another outline of the same conversation, with the texts that are here."""
        other = Transcript(stubs, self._width, tools=self._tools, reasoning=self._reasoning, story=self._story)
        indices = {stub.id: index for index, stub in enumerate(other.stubs)}
        moved = {index: indices.get(stub.id) for index, stub in enumerate(self.stubs)}
        for index in self.layouts:
            if (target := moved[index]) is not None and (layout := self.layouts.get(index)):
                other.put(target, layout)
        for index, opened in self._opened.items():
            if (target := moved[index]) is not None:
                other.toggle(target, opened)
        return other

    def line(self, index: int, row: int) -> Line:
        """Return one line of a message."""
        opening = self.openings[index]
        if row < len(opening):
            return self._opening_line(index, opening[row])
        row -= len(opening)
        stub, layout = self.stubs[index], self.layouts.need(index)
        if layout is not None:
            for part in layout.shown(self.fold(index)):
                if row < part.room:
                    span = part.line(row)
                    line = Line(part.kind, part.source, span[0], span[1], part.block, part.indent)
                    if isinstance(span, TableLine):
                        return line._replace(table=span)
                    if isinstance(span, LedLine):
                        return line._replace(indent=part.indent + len(span.lead.text), lead=Run(*span.lead))
                    return line
                row -= part.room
        elif row == 0 and stub.role == "tool":
            waiting = Headline((f"↳ {role_name(stub.role)}", "tool"), (f" · {wording.size(stub.size)}", "muted"))
            return Line("unread", waiting, 0, len(waiting.text))
        return _UNREAD

    def row_at(self, index: int, spot: Spot) -> int:
        """Return the row that shows what `spot` showed, or the headline that stands for it now."""
        row, found, layout = len(self.openings[index]), spot.row, self.layouts.get(index)
        for part in layout.shown(self.fold(index)) if layout and spot.block >= 0 else ():
            if part.block == spot.block:
                found = row if part.kind != "more" else found
                if part.kind == spot.kind == "body":
                    found = row + part.row_at(spot.offset)
                    if spot.offset <= part.ends[1]:
                        return found
                elif part.kind == spot.kind:
                    return row
            row += part.room
        return found

    def row_of(self, index: int, matcher: Matcher, block: int | None = None, offset: int = 0) -> int | None:
        """Return the row where something is found in a message, at `offset` of `block` if given; None if folded."""
        if not self._is_ready(index) or (layout := self.layouts.get(index)) is None:
            return None
        row = layout.row_of(self.fold(index), matcher, block, offset)
        return None if row is None else row + len(self.openings[index])

    def first_row(self, index: int) -> int:
        """Return the row at which a message itself begins, below its dividers."""
        opening = self.openings[index]
        return len(opening) - 1 if opening[-1:] == ("header",) else len(opening)

    def _is_tool(self, index: int) -> bool:
        return self.stubs[index].role == "tool"

    def _is_ready(self, index: int) -> bool:
        layout = self.layouts.need(index)
        return layout is not None and layout.is_ready(self.fold(index))

    def _above(self, index: int, row: int) -> int:
        """How many lines of a message stand above one of them."""
        opening, layout = len(self.openings[index]), self.layouts.get(index)
        if layout is not None and row >= opening:
            row = opening + layout.above(self.fold(index), row - opening)
        return min(row, self.heights[index] - 1)

    def _settle_one(self, index: int, row: int, above: int, below: int) -> None:
        if self._is_ready(index) and (layout := self.layouts.get(index)):
            layout.settle(self.fold(index), max(0, row - len(self.openings[index])), above, below)
            self._take_height(index, layout)

    def _take_height(self, index: int, layout: MessageLayout) -> None:
        fold = self.fold(index)
        self.heights[index] = len(self.openings[index]) + layout.height(fold)
        self._exact[index] = all(text.exact for text in layout.long_texts(fold))

    def _is_one_line(self, index: int) -> bool:
        """Say whether a message is a folded tool result, whose height is known without its text."""
        return self._is_tool(index) and not self._opened.get(index, self._tools != "off")

    def _estimate_all(self) -> None:
        self._counted = {}
        self.heights = Heights(map(self._estimate, range(len(self.stubs))))
        self._exact = [self._is_one_line(index) for index in range(len(self.stubs))]

    def _estimate(self, index: int) -> int:
        stub, opened = self.stubs[index], self._opened.get(index)
        height = len(self.openings[index]) + 1
        if stub.role == "tool" and (self._tools == "off" if opened is None else not opened):
            return height
        # Words seldom fill a line: three quarters is what prose and output come to.
        lines = (stub.size if opened or stub.size < TEXT_LIMIT else TEXT_LIMIT) // (self._width * 3 // 4)
        if stub.role == "tool":
            return height + (min(lines, SHORT_LINES) if self._tools == "short" and opened is None else lines) + 1
        return height + lines

    def _opening_line(self, index: int, opening: Opening) -> Line:
        stub = self.stub(index)
        if opening == "blank":
            return Line("blank", Headline(), 0, 0)
        if opening == "header":
            words = header(stub)
        else:
            summary = stub.size if stub.role == "summary" else None
            words = divider(opening, self.stubs, index, self._story, summary)
        return Line(opening, words, 0, len(words.text))


def nearest(stubs: Sequence[MessageStub], message_id: int) -> int:
    """Return the index of a message, or of the one with the nearest id. There must be a message."""
    return min(range(len(stubs)), key=lambda index: abs(stubs[index].id - message_id))

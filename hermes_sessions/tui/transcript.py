"""A conversation as lines: how high every message is, where a line is, which texts are needed to draw it. Pure.

Only messages whose texts are here have exact lines; the others have an estimated height, made of what their stubs
tell, and are laid out when they come near the screen. A place is `(index, row)`, a message and a line of it: it stays
true while heights around it are corrected. The lines of one message are `message_layout`'s business.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hermes_sessions.model import Message, MessageStub
from hermes_sessions.services import wording
from hermes_sessions.text import steady
from hermes_sessions.tui.heights import Heights
from hermes_sessions.tui.line_styles import HIDDEN, Headline, Run, SourceText, steady_runs
from hermes_sessions.tui.markdown_lines import GAP
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import TEXT_LIMIT, compose_steps
from hermes_sessions.tui.message_layout import SHORT_LINES, Fold, MessageLayout, PartKind, Tools
from hermes_sessions.tui.message_tables import TableLine, field_runs
from hermes_sessions.tui.openings import Opening, Story, divider, header, openings, role_name
from hermes_sessions.tui.prose_lines import LedLine
from hermes_sessions.tui.steps import Steps

LineKind = PartKind | Opening | Literal["unread"]

NARROWEST = 8
"""Text is never wrapped narrower than this many cells; a narrower window cuts it."""

NO_STORY = Story()

LOADED_MESSAGES = 256
LOADED_BYTES = 16 * 1024 * 1024


class Line(NamedTuple):
    """One line on the screen: a piece of one text, or pieces of a table's row."""

    kind: LineKind
    source: Headline | SourceText
    start: int
    stop: int
    block: int = -1
    indent: int = 0
    """Characters before what is drawn of the source."""
    table: TableLine | None = None
    lead: Run = Run("", "")
    """What those are at their end; blanks before it."""

    def runs(self) -> list[Run]:
        """Return what is drawn of the source."""
        if self.table and isinstance(self.source, SourceText):
            runs = field_runs(self.source, self.table)
        else:
            runs = self.source.runs(self.start, self.stop)
        seen = [piece for run in runs if run.look != HIDDEN for piece in steady_runs(run)]
        if seen and seen[-1].look.endswith(GAP):
            seen.pop()  # a blank that would stand beyond the edge
        return seen

    @property
    def is_rule(self) -> bool:
        """Whether it is drawn as a rule from edge to edge."""
        return isinstance(self.source, SourceText) and self.source.is_rule(self.start, self.stop)

    @property
    def written(self) -> list[str]:
        """What is drawn of the source, character for character, as it is written there.

        A line of which nothing is drawn, such as a fence, is what is written there.
        """
        text = self.source.text
        chars: list[str] = []
        place = self.start
        for run in (*self.runs(), Run("", "", self.stop)):
            if chars and place < run.at and not steady(text[place : run.at]):
                chars[-1] += text[place : run.at]  # signs that change the look of the one before
            drawn = run.at < 0 or run.look.endswith(GAP)
            chars += run.text if drawn else text[run.at : run.at + len(run.text)]
            place = run.at + len(run.text) if run.at >= 0 else len(text)
        return chars or list(text[self.start : self.stop])


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


class Mark(NamedTuple):
    """A piece of a line's source that is shown differently."""

    start: int
    stop: int
    look: str


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
    ) -> None:
        self.stubs = tuple(stubs)
        self._story = story
        self._openings = openings(self.stubs, story)
        self._width, self._tools, self._reasoning = max(NARROWEST, width), tools, reasoning
        self._opened: dict[int, bool] = {}
        self._layouts: OrderedDict[int, MessageLayout] = OrderedDict()
        self._estimate_all()

    def __len__(self) -> int:
        return len(self.stubs)

    @property
    def inexact(self) -> list[int]:
        """The messages whose heights are estimates."""
        return [index for index, exact in enumerate(self._exact) if not exact]

    def stub(self, index: int) -> MessageStub:
        """Return a message's stub; the role of a compaction's summary, once its text is here, is `summary`."""
        stub, layout = self.stubs[index], self._layouts.get(index)
        is_summary = layout is not None and layout.message is not None and layout.message.summary
        return stub._replace(role="summary") if is_summary else stub

    def layout(self, index: int) -> MessageLayout | None:
        """Return a message's layout if its text is here."""
        return self._layouts.get(index)

    def relayout(self, width: int, tools: Tools, reasoning: bool) -> bool:
        """Take another width or state of folding, and say whether it is another. If so, heights are estimates again."""
        if (max(NARROWEST, width), tools, reasoning) == (self._width, self._tools, self._reasoning):
            return False
        if tools != self._tools:
            self._opened = {index: opened for index, opened in self._opened.items() if not self._is_tool(index)}
        self._width, self._tools, self._reasoning = max(NARROWEST, width), tools, reasoning
        self._estimate_all()
        return True

    def is_open(self, index: int) -> bool:
        """Say whether everything of a message is shown."""
        return self._opened.get(index, self._is_tool(index) and self._tools == "full")

    def toggle(self, index: int, opened: bool | None) -> None:
        """Show everything of a message, or fold it; None leaves it to what holds for all.

        Its height stays as it was until the place is settled.
        """
        if opened is None:
            self._opened.pop(index, None)
        else:
            self._opened[index] = opened
        self._exact[index] = False

    def extend(self, stubs: Sequence[MessageStub]) -> bool:
        """Take an outline that has grown. False, and nothing done, if it does not begin with the one that is here."""
        known = len(self.stubs)
        if self.stubs != tuple(stubs[:known]):
            return False
        self.stubs = tuple(stubs)
        self._openings += openings(self.stubs, self._story, known)
        new = range(known, len(self.stubs))
        self.heights.extend(self._estimate(index) for index in new)
        self._exact.extend(self._is_one_line(index) for index in new)
        return True

    def around(self, index: int, row: int, page: int) -> range:
        """Return the messages from a page above a place to two pages below it."""
        y = self.heights.top(index) + min(row, self.heights[index] - 1)
        first, _ = self.heights.locate(y - page)
        last, _ = self.heights.locate(y + 2 * page)
        return range(first, last + 1)

    def settle(self, index: int, row: int, page: int) -> None:
        """Make the heights around a place exact, as far as the texts are here."""
        self._settle_one(index)
        row = min(row, self.heights[index] - 1)
        below = self.heights[index] - row
        for near in range(index + 1, len(self.stubs)):
            if below > 2 * page:
                break
            self._settle_one(near)
            below += self.heights[near]
        above = row
        for near in range(index - 1, -1, -1):
            if above > page:
                break
            self._settle_one(near)
            above += self.heights[near]

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Return those messages that cannot be drawn yet: not loaded, or long and not wrapped."""
        return [index for index in indices if not self._is_ready(index)]

    def layout_steps(self, index: int, message: Message | None) -> Steps[MessageLayout]:
        """Do what takes long before a message can be drawn, None if it is gone, and return its layout."""
        blocks = (yield from compose_steps(message)) if message is not None else ()
        layout, fold = MessageLayout(message, blocks), self._fold(index)
        yield from layout.ready_steps(fold)
        layout.parts(fold)
        return layout

    def ready_steps(self, index: int) -> Steps[None]:
        """Do what takes long before a message that is here can be drawn."""
        if layout := self._layouts.get(index):
            yield from layout.ready_steps(self._fold(index))

    def put(self, index: int, layout: MessageLayout) -> None:
        """Keep a message's layout. Its height stays an estimate until the place is settled."""
        self._layouts[index] = layout

    def measure(self, layouts: Iterable[tuple[int, MessageLayout]]) -> bool:
        """Take exact heights from layouts that are not kept, and say whether any was another one before."""
        before = self.heights.total
        for index, layout in layouts:
            if layout.is_ready(self._fold(index)):
                self._set_exact(index, layout)
        return self.heights.total != before

    def replaced(self, stubs: Sequence[MessageStub]) -> Transcript:
        """Return a transcript of another outline of the same conversation, with the texts that are here."""
        other = Transcript(stubs, self._width, tools=self._tools, reasoning=self._reasoning, story=self._story)
        indices = {stub.id: index for index, stub in enumerate(other.stubs)}
        moved = {index: indices.get(stub.id) for index, stub in enumerate(self.stubs)}
        for index, layout in self._layouts.items():
            if (target := moved[index]) is not None:
                other.put(target, layout)
        for index, opened in self._opened.items():
            if (target := moved[index]) is not None:
                other.toggle(target, opened)
        return other

    def trim(self, keep: range) -> None:
        """Drop the texts that were not needed for longest, beyond the limits, but none of those in `keep`."""
        held = sum(layout.bytes for layout in self._layouts.values())
        for index in list(self._layouts):
            if len(self._layouts) <= LOADED_MESSAGES and held <= LOADED_BYTES:
                return
            if index not in keep:
                held -= self._layouts.pop(index).bytes

    def line(self, index: int, row: int) -> Line:
        """Return one line of a message."""
        opening = self._openings[index]
        if row < len(opening):
            return self._opening_line(index, opening[row])
        row -= len(opening)
        stub, layout = self.stubs[index], self._layouts.get(index)
        if layout is not None:
            self._layouts.move_to_end(index)
            for part in layout.shown(self._fold(index)):
                if row < len(part.spans):
                    span = part.spans[row]
                    line = Line(part.kind, part.source, span[0], span[1], part.block, part.indent)
                    if isinstance(span, TableLine):
                        return line._replace(table=span)
                    if isinstance(span, LedLine):
                        return line._replace(indent=part.indent + len(span.lead.text), lead=Run(*span.lead))
                    return line
                row -= len(part.spans)
        elif row == 0 and stub.role == "tool":
            waiting = Headline((f"↳ {role_name(stub.role)}", "tool"), (f" · {wording.size(stub.size)}", "muted"))
            return Line("unread", waiting, 0, len(waiting.text))
        return _UNREAD

    def row_at(self, index: int, spot: Spot) -> int:
        """Return the row that shows what `spot` showed, or the headline that stands for it now."""
        row, found, layout = len(self._openings[index]), spot.row, self._layouts.get(index)
        for part in layout.shown(self._fold(index)) if layout and spot.block >= 0 else ():
            if part.block == spot.block:
                found = row if part.kind != "more" else found
                if part.kind == spot.kind == "body":
                    found = row + part.row_at(spot.offset)
                    if spot.offset <= part.spans[-1][1]:
                        return found
                elif part.kind == spot.kind:
                    return row
            row += len(part.spans)
        return found

    def row_of(self, index: int, matcher: Matcher, block: int | None = None, offset: int = 0) -> int | None:
        """Return the row where something is found in a message, at `offset` of `block` if given; None if folded."""
        if not self._is_ready(index):
            return None
        row = self._layouts[index].row_of(self._fold(index), matcher, block, offset)
        return None if row is None else row + len(self._openings[index])

    def first_row(self, index: int) -> int:
        """Return the row at which a message itself begins, below its dividers."""
        opening = self._openings[index]
        return len(opening) - 1 if opening[-1:] == ("header",) else len(opening)

    def _fold(self, index: int) -> Fold:
        return Fold(self._width, self._tools, self._reasoning, self._opened.get(index))

    def _is_tool(self, index: int) -> bool:
        return self.stubs[index].role == "tool"

    def _is_ready(self, index: int) -> bool:
        layout = self._layouts.get(index)
        if layout is None:
            return False
        self._layouts.move_to_end(index)
        return layout.is_ready(self._fold(index))

    def _settle_one(self, index: int) -> None:
        if self._is_ready(index):
            self._set_exact(index, self._layouts[index])

    def _set_exact(self, index: int, layout: MessageLayout) -> None:
        lines = sum(len(part.spans) for part in layout.parts(self._fold(index)))
        self.heights[index] = len(self._openings[index]) + lines
        self._exact[index] = True

    def _is_one_line(self, index: int) -> bool:
        """Say whether a message is a folded tool result, whose height is known without its text."""
        return self._is_tool(index) and not self._opened.get(index, self._tools != "off")

    def _estimate_all(self) -> None:
        self.heights = Heights(map(self._estimate, range(len(self.stubs))))
        self._exact = [self._is_one_line(index) for index in range(len(self.stubs))]

    def _estimate(self, index: int) -> int:
        stub, opened = self.stubs[index], self._opened.get(index)
        height = len(self._openings[index]) + 1
        if stub.role == "tool" and (self._tools == "off" if opened is None else not opened):
            return height
        # Words seldom fill a line: three quarters is what prose and output come to.
        cells = max(NARROWEST, self._width * 3 // 4)
        lines = (stub.size if opened else min(stub.size, TEXT_LIMIT)) // cells
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

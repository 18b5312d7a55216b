"""The lines of one message at one width, in one state of folding. Pure.

Every line is a pair of offsets into a text of the message, or a line of a table. Of a long text lines are made where
they are needed, and what is shown only in part is wrapped only so far. A line is named by a number, its row: it grows
from each line to the next, by one but in long texts, and stays the line's own whatever becomes known of those above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from hermes_sessions.model import Message
from hermes_sessions.services.wording import size
from hermes_sessions.text import wrap
from hermes_sessions.tui.line_styles import Headline, SourceText
from hermes_sessions.tui.listings import READING_TOOLS, gone_through
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block
from hermes_sessions.tui.steps import Steps, finish
from hermes_sessions.tui.stretches import MARKED, Cuts, Span, Spans, Stretches, lines_of, row_at

Tools = Literal["off", "short", "full"]
NEXT_TOOLS: dict[Tools, Tools] = {"off": "short", "short": "full", "full": "off"}
PartKind = Literal["headline", "body", "more", "end"]

SHORT_LINES, LAST_LINES = 8, 3
"""How much of a tool's output is shown in the state between a line and everything, and how much of that is its end."""

_REACH = 4096
"""Characters from the end of an output in which its last lines are looked for."""

_GONE = Headline(("This message is no longer in the store.", "muted"))


class Fold(NamedTuple):
    """How much of a message is shown, and how wide."""

    width: int
    tools: Tools
    reasoning: bool
    opened: bool | None
    """True shows everything to its end, False folds what can be folded, None leaves it to the other two."""

    def is_whole(self, role: str) -> bool:
        """Say whether everything of a message is shown, in which `role` speaks."""
        return self.opened if self.opened is not None else role == "tool" and self.tools == "full"

    def limit(self, block: Block) -> int | None:
        """Return how many lines of a block's body are shown; None is all of it."""
        if block.kind == "note":
            return 0
        if block.kind == "text" or self.opened:
            return None
        if self.opened is False or block.kind == "summary":
            return 0
        if block.kind == "reasoning":
            return None if self.reasoning else 0
        if self.tools == "full":
            return None
        return SHORT_LINES if self.tools == "short" and block.kind == "result" else 0


class Part(NamedTuple):
    """Some lines that belong together: offsets into one text."""

    kind: PartKind
    source: Headline | SourceText
    spans: Spans | Stretches
    block: int
    """The number of the block, -1 for none."""
    indent: int = 0

    @property
    def height(self) -> int:
        """How many lines there are, as far as that is known."""
        return self.spans.height if isinstance(self.spans, Stretches) else len(self.spans)

    @property
    def room(self) -> int:
        """How many rows are set aside for them."""
        return self.spans.room if isinstance(self.spans, Stretches) else len(self.spans)

    @property
    def ends(self) -> tuple[int, int]:
        """The offsets between which the text is shown."""
        if isinstance(self.spans, Stretches):
            return 0, len(self.source.text)
        return self.spans[0][0], self.spans[-1][1]

    def line(self, row: int) -> Span:
        """Return a line by its row in the part."""
        return self.spans.line(row) if isinstance(self.spans, Stretches) else self.spans[row]

    def above(self, row: int) -> int:
        """Return how many lines of the part stand above one."""
        return self.spans.above(row) if isinstance(self.spans, Stretches) else min(row, len(self.spans) - 1)

    def row(self, above: int) -> int:
        """Return the row of the line with so many above it."""
        return self.spans.row(above) if isinstance(self.spans, Stretches) else min(above, len(self.spans) - 1)

    def rows(self, start: int) -> Iterable[int]:
        """Return the rows of the lines from one on."""
        return self.spans.rows(start) if isinstance(self.spans, Stretches) else range(start, len(self.spans))

    def row_at(self, offset: int) -> int:
        """Return the row of the line on which a place in the text is drawn, or of the one before it."""
        return self.spans.row_at(offset) if isinstance(self.spans, Stretches) else row_at(self.spans, offset)

    def settle(self, row: int, above: int, below: int) -> None:
        """Count the lines around one for so many lines."""
        if isinstance(self.spans, Stretches):
            self.spans.settle(row, above, below)


INDENT = 2
"""Cells by which a body stands in under its headline."""


class MessageLayout:
    """A message whose text is here, and its lines as far as they were needed."""

    def __init__(self, message: Message | None, blocks: tuple[Block, ...]) -> None:
        self.message = message
        self.blocks = blocks
        self.whole = not any(block.left_out for block in blocks)
        """Whether the blocks go to their ends."""
        self._has_language = False
        self._cuts: dict[int, Cuts] = {}
        self._bodies: dict[int, Spans | Stretches] = {}
        self._width = 0
        self._parts: tuple[Fold, list[Part]] | None = None

    @property
    def bytes(self) -> int:
        """Roughly how much memory the texts take."""
        stored = len(self.message.text) if self.message else 0
        return stored + sum(len(block.body.text) for block in self.blocks)

    def is_ready(self, fold: Fold) -> bool:
        """Say whether the lines can be made at once."""
        return self.whole or not fold.opened

    def take_whole_steps(self, blocks: tuple[Block, ...]) -> Steps[None]:
        """Have the blocks to their ends."""
        cuts = {}
        for number, block in enumerate(blocks):
            if len(block.body.text) > MARKED:
                cuts[number] = yield from Cuts.steps(block.body)
        self.blocks, self.whole, self._has_language = blocks, True, False
        self._cuts, self._bodies, self._parts = cuts, {}, None

    def parts(self, fold: Fold) -> list[Part]:
        """Return the lines, the same list as long as nothing changes."""
        if self._parts is None or self._parts[0] != fold:
            self._parts = fold, self._make_parts(fold)
        return self._parts[1]

    def shown(self, fold: Fold) -> list[Part]:
        """Return the lines; as long as these take long to make, the ones of before."""
        return self.parts(fold) if self.is_ready(fold) else self._parts[1] if self._parts else []

    def height(self, fold: Fold) -> int:
        """Return how many lines there are, as far as that is known."""
        return sum(part.height for part in self.shown(fold))

    def above(self, fold: Fold, row: int) -> int:
        """Return how many lines of the message stand above one."""
        lines = 0
        for part in self.shown(fold):
            if row < part.room:
                return lines + part.above(row)
            row, lines = row - part.room, lines + part.height
        return max(0, lines - 1)

    def row(self, fold: Fold, above: int) -> int:
        """Return the row of the line with so many above it."""
        row = 0
        for part in (parts := self.shown(fold)):
            if above < part.height or part is parts[-1]:
                return row + part.row(above)
            row, above = row + part.room, above - part.height
        return row

    def rows(self, fold: Fold, start: int) -> Iterator[int]:
        """Yield the rows of all lines from one on."""
        base = 0
        for part in self.shown(fold):
            if start < base + part.room:
                yield from (base + row for row in part.rows(max(0, start - base)))
            base += part.room

    def settle(self, fold: Fold, row: int, above: int, below: int) -> None:
        """Count the lines around one for so many lines."""
        parts, here = self.parts(fold), 0
        while here < len(parts) - 1 and row >= parts[here].room:
            row, here = row - parts[here].room, here + 1
        parts[here].settle(row, above, below)
        above -= parts[here].above(row)
        below -= parts[here].height - parts[here].above(row)
        for part in parts[here + 1 :]:
            if below < 0:
                break
            part.settle(0, 0, below)
            below -= part.height
        for part in reversed(parts[:here]):
            if above <= 0:
                break
            part.settle(part.room, above, 0)
            above -= part.height

    def long_texts(self, fold: Fold) -> list[Stretches]:
        """Return the lines of those texts that are not made all at once."""
        return [part.spans for part in self.parts(fold) if isinstance(part.spans, Stretches)]

    def count_steps(self, fold: Fold) -> Steps[None]:
        """Count all lines."""
        for text in self.long_texts(fold) if self.is_ready(fold) else ():
            yield from text.settle_steps()

    @property
    def lacks_language(self) -> bool:
        """Whether lines of a file are shown, and nobody has said in which language."""
        if self._has_language or self.message is None or self.message.tool_name not in READING_TOOLS:
            return False
        return any(part.kind == "body" for part in (self._parts[1] if self._parts else ()))

    def take_language(self, language: str) -> None:
        """Know the language of the file whose lines are shown; empty for none."""
        self._has_language = True
        for block in self.blocks:
            if block.kind == "result":
                block.body.take_listings(list(gone_through(block.body.text, language)))

    @property
    def waiting(self) -> list[SourceText]:
        """The texts shown last that have code without its colours."""
        parts = self._parts[1] if self._parts else []
        sources = dict.fromkeys(part.source for part in parts if part.kind == "body")
        return [source for source in sources if isinstance(source, SourceText) and source.waiting]

    def row_of(self, fold: Fold, matcher: Matcher, block: int | None, offset: int) -> int | None:
        """Return the row where `matcher` finds something, at `offset` of `block` if given; None if it is folded away.

        A call's headline stands for the call: it has the argument that tells.
        """
        row = 0
        for part in self.parts(fold):
            if block is None or part.block == block:
                text = part.source.text
                if part.kind == "body":
                    # The text may be cut, or made another way than the whole one: the match must be in it.
                    first, last = part.ends
                    reach = (offset, offset + 1) if block is not None else (first, last)
                    found = next(matcher.spans(text, *reach), None)
                    if found is not None and first <= found[0] < last:
                        return row + part.row_at(found[0])
                elif part.kind == "headline" and self._stands_for_block(part) and any(matcher.spans(text)):
                    return row
            row += part.room
        return None

    def _stands_for_block(self, part: Part) -> bool:
        return part.block < 0 or self.blocks[part.block].kind in ("call", "note")

    def _make_parts(self, fold: Fold) -> list[Part]:
        if fold.width != self._width:
            self._bodies, self._width = {}, fold.width
        parts: list[Part] = []
        for number, block in enumerate(self.blocks):
            limit = 0 if not block.body.text else fold.limit(block)
            if block.headline is not None:
                stop = len(block.headline.text) if limit == 0 else block.headline.stem
                parts.append(Part("headline", block.headline, ((0, stop),), number))
            if limit == 0:
                continue
            indent = _indent(block)
            if limit is None:
                parts.append(Part("body", block.body, self._body(number, fold.width - indent), number, indent))
                shown = len(block.body.text)
                if more := _more(block, shown, 0):
                    parts.append(Part("more", more, ((0, len(more.text)),), number, indent))
            else:
                parts += _pieces(block, number, fold.width - indent, limit)
        if self.message is None:
            parts.append(Part("headline", _GONE, ((0, len(_GONE.text)),), -1))
        elif not parts:
            nothing = Headline(("(empty)", "muted"))
            parts.append(Part("headline", nothing, ((0, len(nothing.text)),), -1))
        return parts

    def _body(self, number: int, width: int) -> Spans | Stretches:
        if number not in self._bodies:
            source = self.blocks[number].body
            if len(source.text) <= MARKED:
                self._bodies[number] = lines_of(source, width)
            else:
                if number not in self._cuts:
                    self._cuts[number] = finish(Cuts.steps(source))
                self._bodies[number] = Stretches(source, width, self._cuts[number])
        return self._bodies[number]


def _pieces(block: Block, number: int, width: int, limit: int) -> Iterator[Part]:
    """What is shown of a text in so many lines: all of it, or its beginning and its end, and how much is between."""
    indent = _indent(block)
    first = _first_lines(block.body, width, limit + 1)
    source = block.end if block.left_out else block.body
    last: Spans = _last_lines(source, width) if source and len(first) > limit else []
    if source is block.body and last and last[0][0] <= first[limit - len(last) - 1][1]:
        last = []
    shown = first[: limit - len(last)]
    yield Part("body", block.body, shown, number, indent)
    not_shown = len(source.text) - last[0][0] if source and last else 0
    if more := _more(block, shown[-1][1], not_shown):
        yield Part("more", more, ((0, len(more.text)),), number, indent)
    if source and last:
        yield Part("body" if source is block.body else "end", source, last, number, indent)


def _indent(block: Block) -> int:
    return INDENT if block.headline is not None else 0


def _first_lines(source: SourceText, width: int, count: int) -> Spans:
    text, reach = source.text, 2 * count * (width + 1)
    while True:
        is_json = source.kind == "stored"
        spans = lines_of(source, width, 0, min(reach, len(text))) if is_json else wrap(text[:reach], width)
        if reach >= len(text) or len(spans) > count:
            return spans[:count]
        reach *= 2


def _last_lines(source: SourceText, width: int) -> Spans:
    """The last lines of a text; none if they are too long to be told from its end."""
    text = source.text
    if source.kind == "stored":
        return lines_of(source, width)[-LAST_LINES:]
    start = len(text) + 1
    for _ in range(LAST_LINES):
        start = text.rfind("\n", max(0, len(text) - _REACH), start - 1) + 1
        if start == 0:
            return []
    return [(start + a, start + b) for a, b in wrap(text[start:], width)][-LAST_LINES:]


def _more(block: Block, shown: int, end: int) -> Headline | None:
    """The line that tells how much is not shown from `shown` on up to so many characters before the end."""
    text, is_end = block.body.text, end == 0
    left = text[shown : len(text) - end] if not block.left_out else ""
    lines = left.count("\n") - (not is_end)
    if block.left_out:
        amount = f"{size(len(text) - shown + block.left_out - end)} more"
    elif lines > 0:
        amount = f"{lines:,} more line{'s' if lines > 1 else ''}"
    elif left.strip():
        amount = f"{size(len(left))} more"
    else:
        return None
    return Headline((f"… {amount} · Enter shows all", "note"))

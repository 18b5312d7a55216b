"""The lines of one message at one width, in one state of folding. Pure.

Every line is a pair of offsets into a text of the message, or a line of a table. A long text is wrapped in steps; what
is shown only in part is wrapped only so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Literal, NamedTuple

from hermes_sessions.model import Message
from hermes_sessions.services.wording import size
from hermes_sessions.text import wrap
from hermes_sessions.tui.line_styles import LONGEST_STYLED_TEXT, Headline, SourceText
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_blocks import Block, compose_steps
from hermes_sessions.tui.message_tables import TableLine, may_have_tables, table_steps, tables
from hermes_sessions.tui.prose_lines import LedLine, prose_steps
from hermes_sessions.tui.steps import Steps, finish
from hermes_sessions.tui.wrapping import LIGHT, LIGHT_ASCII, wrap_steps

Tools = Literal["off", "short", "full"]
NEXT_TOOLS: dict[Tools, Tools] = {"off": "short", "short": "full", "full": "off"}
PartKind = Literal["headline", "body", "more"]
Span = tuple[int, int] | LedLine | TableLine
Spans = Sequence[Span]

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
    spans: Spans
    block: int
    """The number of the block, -1 for none."""
    indent: int = 0

    def row_at(self, offset: int) -> int:
        """Return the line on which a place in the text is drawn, or the one before it."""
        row = max(0, bisect_right(self.spans, offset, key=itemgetter(0)) - 1)
        for near in range(row, -1, -1):
            line = self.spans[near]
            if not isinstance(line, TableLine) or line.stop != self.spans[row][1]:
                break
            if any(field.start <= offset < field.stop for field in line.fields):
                return near
        return row


INDENT = 2
"""Cells by which a body stands in under its headline."""


class MessageLayout:
    """A message whose text is here, and its lines as far as they were needed."""

    def __init__(self, message: Message | None, blocks: tuple[Block, ...]) -> None:
        self.message = message
        self.blocks = blocks
        self._whole = False
        self._spans: dict[int, Spans] = {}
        self._spans_width = 0
        self._parts: tuple[Fold, list[Part]] | None = None

    @property
    def bytes(self) -> int:
        """Roughly how much memory the texts take."""
        stored = len(self.message.text) if self.message else 0
        return stored + sum(len(block.body.text) for block in self.blocks)

    def is_ready(self, fold: Fold) -> bool:
        """Say whether the lines can be made at once."""
        if fold.opened and not self._whole and any(block.left_out for block in self.blocks):
            return False
        return not any(fold.limit(block) is None and self._is_heavy(number, fold) for number, block in self._numbered())

    def ready_steps(self, fold: Fold) -> Steps[None]:
        """Do what takes long before the lines can be made: the rest of the text, and the wrapping of long lines."""
        if fold.opened and not self._whole and self.message is not None:
            if any(block.left_out for block in self.blocks):
                self.blocks = yield from compose_steps(self.message, whole=True)
                self._spans = {}
            self._whole = True
        for number, block in self._numbered():
            if fold.limit(block) is None and self._is_heavy(number, fold):
                spans = yield from line_steps(block.body, fold.width - _indent(block))
                self._spans_at(fold.width)[number] = spans

    def parts(self, fold: Fold) -> list[Part]:
        """Return the lines, the same list as long as nothing changes."""
        if self._parts is None or self._parts[0] != fold:
            self._parts = fold, self._make_parts(fold)
        return self._parts[1]

    def shown(self, fold: Fold) -> list[Part]:
        """Return the lines; as long as these take long to make, the ones of before."""
        return self.parts(fold) if self.is_ready(fold) else self._parts[1] if self._parts else []

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
                    first, last = part.spans[0][0], part.spans[-1][1]
                    reach = (offset, offset + 1) if block is not None else (first, last)
                    found = next(matcher.spans(text, *reach), None)
                    if found is not None and first <= found[0] < last:
                        return row + part.row_at(found[0])
                elif part.kind == "headline" and self._stands_for_block(part) and any(matcher.spans(text)):
                    return row
            row += len(part.spans)
        return None

    def _stands_for_block(self, part: Part) -> bool:
        return part.block < 0 or self.blocks[part.block].kind in ("call", "note")

    def _numbered(self) -> list[tuple[int, Block]]:
        return list(enumerate(self.blocks))

    def _is_heavy(self, number: int, fold: Fold) -> bool:
        body = self.blocks[number].body
        if len(body.text) <= (LIGHT_ASCII if body.text.isascii() and not body.is_prose else LIGHT):
            return False
        return number not in self._spans_at(fold.width)

    def _spans_at(self, width: int) -> dict[int, Spans]:
        if width != self._spans_width:
            self._spans, self._spans_width = {}, width
        return self._spans

    def _make_parts(self, fold: Fold) -> list[Part]:
        parts: list[Part] = []
        for number, block in self._numbered():
            limit = 0 if not block.body.text else fold.limit(block)
            if block.headline is not None:
                stop = len(block.headline.text) if limit == 0 else block.headline.stem
                parts.append(Part("headline", block.headline, ((0, stop),), number))
            if limit == 0:
                continue
            indent = _indent(block)
            shown = -1
            for spans in self._bodies(number, fold, limit):
                if shown >= 0 and (more := _more(block, shown, spans[0][0])):
                    parts.append(Part("more", more, ((0, len(more.text)),), number, indent))
                parts.append(Part("body", block.body, spans, number, indent))
                shown = spans[-1][1]
            if more := _more(block, shown, len(block.body.text)):
                parts.append(Part("more", more, ((0, len(more.text)),), number, indent))
        if self.message is None:
            parts.append(Part("headline", _GONE, ((0, len(_GONE.text)),), -1))
        elif not parts:
            nothing = Headline(("(empty)", "muted"))
            parts.append(Part("headline", nothing, ((0, len(nothing.text)),), -1))
        return parts

    def _bodies(self, number: int, fold: Fold, limit: int | None) -> list[Spans]:
        """What is shown of a block: one piece, or its beginning and its end."""
        block = self.blocks[number]
        spans, width = self._spans_at(fold.width), fold.width - _indent(block)
        if limit is None and number not in spans:
            spans[number] = finish(line_steps(block.body, width))
        if limit is None:
            return [spans[number]]
        first = _first_lines(block.body.text, width, limit + 1)
        if len(first) <= limit:
            return [first]
        last = _last_lines(block.body.text, width) if not block.left_out else []
        head = first[: limit - len(last)]
        return [head, last] if last and last[0][0] > head[-1][1] else [first[:limit]]


def line_steps(source: SourceText, width: int) -> Steps[Spans]:
    """Wrap a text and lay out its code and its tables, in steps."""
    if not source.is_prose or len(source.text) > LONGEST_STYLED_TEXT:
        return (yield from wrap_steps(source.text, width))
    if not may_have_tables(source):
        return (yield from prose_steps(source, 0, len(source.text), width))
    start = 0
    spans: list[Span] = []
    for table in tables(source):
        if lines := (yield from table_steps(source, table, width)):
            if table.start > start:
                spans.extend((yield from prose_steps(source, start, table.start - 1, width)))
            spans.extend(lines)
            start = table.stop + 1
        yield
    if start <= len(source.text):
        spans.extend((yield from prose_steps(source, start, len(source.text), width)))
    return spans


def _indent(block: Block) -> int:
    return INDENT if block.headline is not None else 0


def _first_lines(text: str, width: int, count: int) -> Spans:
    reach = 2 * count * (width + 1)
    while True:
        spans = wrap(text[:reach], width)
        if reach >= len(text) or len(spans) > count:
            return spans[:count]
        reach *= 2


def _last_lines(text: str, width: int) -> Spans:
    """The last lines of a text; none if they are too long to be told from its end."""
    start = len(text) + 1
    for _ in range(LAST_LINES):
        start = text.rfind("\n", max(0, len(text) - _REACH), start - 1) + 1
        if start == 0:
            return []
    return [(start + a, start + b) for a, b in wrap(text[start:], width)][-LAST_LINES:]


def _more(block: Block, shown: int, stop: int) -> Headline | None:
    """The line that tells how much is not shown from `shown` on up to `stop`, and how to see it."""
    left, is_end = block.body.text[shown:stop], stop == len(block.body.text)
    lines = left.count("\n") - (not is_end)
    if block.left_out and is_end:
        amount = f"{size(len(left) + block.left_out)} more"
    elif lines > 0:
        amount = f"{lines:,} more line{'s' if lines > 1 else ''}"
    elif left.strip():
        amount = f"{size(len(left))} more"
    else:
        return None
    return Headline((f"… {amount} · Enter shows all", "note"))

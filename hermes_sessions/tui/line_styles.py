"""Which part of a line of clean text has which look: Markdown, code, diffs, tracebacks. Nothing is moved.

A look is a name, or several with a blank between; the widget knows their colours. The signs that make a look, and need
not be seen once it is there, have the look `HIDDEN`. Text is styled where it stands, so that an offset into the text is
a place on the screen, and only as far as the lines that are drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from hermes_sessions.text import steady
from hermes_sessions.tui.code_blocks import CodeBlock, code_blocks
from hermes_sessions.tui.code_colours import Colours, is_colourable
from hermes_sessions.tui.diffs import Diff, diff_at, diffs, line_look
from hermes_sessions.tui.markdown_lines import HIDDEN, Lead, Piece, is_rule, lead, markdown_line, may_be_marked

__all__ = ["HIDDEN", "Change", "Headline", "Lead", "Run", "SourceText", "TextKind", "may_be_marked", "steady_runs"]

TextKind = Literal["text", "reasoning", "result", "fields", "stored"]
"""What somebody wrote, what an agent thought, what a tool said, the same as one `key: value` a line, or as JSON."""

LONGEST_STYLED_LINE = 2000
"""Source lines longer than this many characters are data, not prose: they are drawn plain."""

LONGEST_STYLED_TEXT = 1024 * 1024
"""In texts longer than this no fences are looked for."""

CODE_LEAD, GOES_ON = "  ", "┆ "
"""What stands before a line of code, and before what goes on of it."""

_KEY = re.compile(r"(?:[A-Za-z_][\w.-]{0,60}|(?: *\"(?:[^\"\\\n]|\\.){0,100}+\")):(?= |$)")
_NUMBER = re.compile(r" *\d{1,7}[|│→] ?")
_SETEXT = re.compile(r"\n={3,} *(?:\n|$)")
_UNDERLINE = re.compile(r"={3,} *$")
_NOTABLE = re.compile(
    r"(?P<error>Traceback \(most recent call last\):"
    r"|(?:[A-Za-z_][\w.]{0,100}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?:: |$)"
    r"|E  +|(?:FAILED|ERROR)\b|error(?:\[\w{1,10}\])?: |fatal: |panic: )"
    r"|(?P<place> *File \"[^\"]+\", line \d+| +at [^\n]{1,300}:\d+|  --> )"
)


class Run(NamedTuple):
    """A piece of a line, its look, and its offset in the text it is from; -1 if it is from none.

    It is drawn as it stands in the text, or as other signs of the same length.
    """

    text: str
    look: str
    at: int = -1


class Change(NamedTuple):
    """A piece of a text that an edit puts in, or takes out."""

    start: int
    stop: int
    look: Literal["added", "removed"]


class Headline:
    """One line made of pieces, each with its look."""

    def __init__(self, *pieces: tuple[str, str]) -> None:
        self.text = "".join(text for text, _ in pieces)
        self.stem = sum(len(text) for text, look in pieces if look != "glimpse")
        """Where the glimpse of what is folded begins, which stands at the end if there is one."""
        self._pieces = pieces

    def runs(self, start: int, stop: int) -> Iterator[Run]:
        """Yield the pieces between two offsets."""
        offset = 0
        for text, look in self._pieces:
            if piece := text[max(0, start - offset) : max(0, stop - offset)]:
                yield Run(piece, look, max(start, offset))
            offset += len(text)


def steady_runs(run: Run) -> Iterator[Run]:
    """Yield the pieces of a run between the characters whose width terminals disagree about."""
    if run.text.isascii() or steady(run.text) == run.text:
        yield run
        return
    start = 0
    for place, char in enumerate(run.text):
        if not steady(char):
            if place > start:
                yield run._replace(text=run.text[start:place], at=run.at + start)
            start = place + 1
    if start < len(run.text):
        yield run._replace(text=run.text[start:], at=run.at + start)


class SourceText:
    """A clean text of many lines, as it was written, and the looks of its lines."""

    def __init__(
        self, text: str, kind: TextKind, changes: Sequence[Change] = (), listings: Sequence[CodeBlock] = ()
    ) -> None:
        self.text = text
        self.kind = kind
        self._changes = changes
        self._listings = listings
        self._colours: dict[CodeBlock, Colours | None] = {}

    def runs(self, start: int, stop: int) -> Iterator[Run]:
        """Yield the pieces between two offsets that lie on one line of the text."""
        text = self.text
        line_start = text.rfind("\n", max(0, start - LONGEST_STYLED_LINE), start) + 1
        if line_start == 0 and start > LONGEST_STYLED_LINE:
            yield Run(text[start:stop], self._plain, start)
            return
        line_stop = text.find("\n", stop, line_start + LONGEST_STYLED_LINE)
        if line_stop < 0:
            line_stop = min(len(text), line_start + LONGEST_STYLED_LINE)
        line = text[line_start : max(line_stop, stop)]
        offset = line_start
        for piece, look in self._line(line, line_start):
            cut = piece[max(0, start - offset) : max(0, stop - offset)]
            if cut or start == stop:
                yield Run(cut, look, max(start, offset))
            offset += len(piece)

    @property
    def is_prose(self) -> bool:
        """Whether somebody wrote it, and not a tool."""
        return self.kind in ("text", "reasoning")

    @cached_property
    def blocks(self) -> list[CodeBlock]:
        """The blocks of code in what somebody wrote, in their order."""
        return code_blocks(self.text) if self.is_prose and len(self.text) <= LONGEST_STYLED_TEXT else []

    @cached_property
    def waiting(self) -> list[CodeBlock]:
        """The blocks that may have colours and have none yet; to be taken away by `colour`."""
        return [
            block
            for block in (*self.blocks, *self._listings)
            if not block.diff and is_colourable(self.text[block.first : max(block.first, block.last)], block.language)
        ]

    def take_listings(self, listings: Sequence[CodeBlock]) -> None:
        """Know where pieces of files stand in what a tool said, and in which language."""
        self._listings = listings
        self.__dict__.pop("waiting", None)

    def colour(self, block: CodeBlock, colours: Colours | None) -> None:
        """Give a block its colours, None if its language has none; it waits for them no longer."""
        self._colours[block] = colours
        if block in self.waiting:
            self.waiting.remove(block)

    def is_rule(self, start: int, stop: int) -> bool:
        """Say whether a line is a rule."""
        return self.is_prose and 3 <= stop - start < 200 and is_rule(self.text[start:stop]) and not self.is_code(start)

    def is_code(self, offset: int) -> bool:
        """Say whether a line that begins there is in a block of code, the fences included."""
        return self.block_at(offset) is not None

    def block_at(self, offset: int) -> CodeBlock | None:
        """Return the block of code that a line which begins there is in."""
        index = bisect_right(self.blocks, offset, key=lambda block: block.start) - 1
        return self.blocks[index] if index >= 0 and offset <= self.blocks[index].stop else None

    def lead(self, start: int, stop: int) -> Lead:
        """Return what the continuations of a line of prose hang under; empty for one too long to be prose."""
        return lead(self.text[start:stop]) if stop - start <= LONGEST_STYLED_LINE else Lead("", "")

    def code_lead(self, block: CodeBlock, offset: int) -> Lead:
        """Return what stands before a line of a block of code: room, or the name of the language."""
        plain = self._plain
        if block.is_fence(offset):
            return Lead(f"{CODE_LEAD}{block.language if offset == block.start else ''}", f"{plain} fence".strip())
        return Lead(CODE_LEAD if block.fenced else "", f"{plain} block".strip())

    @property
    def _plain(self) -> str:
        return {"text": "", "reasoning": "reasoning"}.get(self.kind, "result")

    @cached_property
    def _diffs(self) -> list[Diff]:
        return diffs(self.text)

    def _line(self, line: str, offset: int) -> Iterator[Piece]:
        if not self.is_prose:
            yield from self._output_line(line, offset)
        elif block := self.block_at(offset):
            yield from self._code_line(block, line, offset)
        elif len(line) <= LONGEST_STYLED_LINE and _UNDERLINE.match(line) and offset and self.text[offset - 2] != "\n":
            yield line, HIDDEN
        elif line and _SETEXT.match(self.text, offset + len(line)) and not is_rule(line):
            yield from markdown_line(line, f"{self._plain} heading1".strip())
        else:
            yield from markdown_line(line, self._plain)

    def _output_line(self, line: str, offset: int) -> Iterator[Piece]:
        plain = self._plain
        for change in self._changes:
            if change.start <= offset <= change.stop:
                yield from self._listed(line, offset, f"{plain} {change.look}") or [(line, f"{plain} {change.look}")]
                return
        if pieces := self._listed(line, offset, plain):
            yield from pieces
            return
        if diff_at(self._diffs, offset):
            yield line, f"{plain} {line_look(line)}".strip()
        elif match := _NOTABLE.match(line):
            yield line, f"{plain} {match.lastgroup}"
        elif self.kind == "fields" and (key := _KEY.match(line)):
            yield key[0], f"{plain} key"
            yield line[key.end() :], plain
        elif number := _NUMBER.match(line):
            yield number[0], f"{plain} muted"
            yield line[number.end() :], plain
        else:
            yield line, plain

    def _listed(self, line: str, offset: int, plain: str) -> list[Piece]:
        """A line of a file with its colours; nothing if it is none, or has none."""
        for block in self._listings:
            if block.first <= offset <= block.last and (colours := self._colours.get(block)) and line:
                return list(self._coloured(colours, block.first, line, offset, plain))
        return []

    def _coloured(self, colours: Colours, base: int, line: str, offset: int, plain: str) -> Iterator[Piece]:
        for start, stop, look in colours.pieces(offset - base, offset - base + len(line)):
            yield self.text[base + start : base + stop], f"{plain} {look}".strip()

    def _code_line(self, block: CodeBlock, line: str, offset: int) -> Iterator[Piece]:
        plain = f"{self._plain} block".strip()
        if block.is_fence(offset):
            yield line, HIDDEN
        elif block.diff:
            yield line, f"{plain} {line_look(line)}".strip()
        elif colours := self._colours.get(block):
            yield from self._coloured(colours, block.first, line, offset, plain)
            if not line:
                yield line, plain
        else:
            match = _NOTABLE.match(line) if not block.language else None
            yield line, f"{plain} {match.lastgroup}" if match else plain

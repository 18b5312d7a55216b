"""Which part of a line of clean text has which look: Markdown, unified diffs, tracebacks. Nothing is moved.

A look is a name, or several with a blank between; the widget knows their colours. The signs that make a look, and need
not be seen once it is there, have the look `HIDDEN`. Text is styled where it stands, so
that an offset into the text is a place on the screen, and only as far as the lines that are drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

TextKind = Literal["text", "reasoning", "result"]

HIDDEN = "hidden"
"""The look of what is not drawn."""

LONGEST_STYLED_LINE = 2000
"""Source lines longer than this many characters are data, not prose: they are drawn plain."""

LONGEST_STYLED_TEXT = 1024 * 1024
"""In texts longer than this no fences are looked for."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*$", re.MULTILINE)
_DIFF_LANGUAGES = frozenset({"diff", "patch", "udiff"})
_DIFF_START = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+|--- (?:a/|/)[^\n]*\n\+\+\+ )", re.MULTILINE)
_DIFF_HEADER = ("diff --git ", "index ", "--- ", "+++ ", "new file mode", "deleted file mode", "rename ", "similarity ")
_DIFF_LOOKED_AT = 64 * 1024

_BLOCK_MARK = re.compile(
    r"(?P<heading> {0,3}#{1,6} )|(?P<quote> {0,3}>)|(?P<rule> {0,3}(?:[-*_] ?){3,}$)"
    r"|(?P<bullet> *(?:[-*+]|\d{1,9}[.)]) )"
)
# Possessive or bounded throughout: no line may take more than linear time.
_INLINE = re.compile(
    r"(?P<code>(?<!`)(?P<tick>`{1,2})(?!`)[^`\n]++(?P=tick)(?!`))"
    r"|(?P<strong>\*\*(?=\S)[^*\n]++(?<=\S)\*\*)"
    r"|(?P<link>\[[^\[\]\n]++\]\([^()\s]{1,500}+\)|https?://[^\s<>\"'`)\]]++)"
)
_NOTABLE = re.compile(
    r"(?P<error>Traceback \(most recent call last\):"
    r"|(?:[A-Za-z_][\w.]{0,100}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?:: |$)"
    r"|E  +|(?:FAILED|ERROR)\b)"
    r"|(?P<place> *File \"[^\"]+\", line \d+)"
)


class Run(NamedTuple):
    """A piece of a line, its look, and its offset in the text it is from; -1 if it is from none."""

    text: str
    look: str
    at: int = -1


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


class SourceText:
    """A clean text of many lines, as it was written, and the looks of its lines."""

    def __init__(self, text: str, kind: TextKind) -> None:
        self.text = text
        self._kind = kind

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
        for piece, look, _ in self._line(line, line_start):
            cut = piece[max(0, start - offset) : max(0, stop - offset)]
            if cut or start == stop:
                yield Run(cut, look, max(start, offset))
            offset += len(piece)

    @property
    def is_prose(self) -> bool:
        """Whether somebody wrote it, and not a tool."""
        return self._kind != "result"

    def is_code(self, offset: int) -> bool:
        """Say whether a line that begins there is in fenced code, the fences included."""
        return self._fence_at(offset) is not None

    @property
    def _plain(self) -> str:
        return "" if self._kind == "text" else self._kind

    @cached_property
    def _fences(self) -> list[tuple[int, int, str]]:
        """Where fenced code begins and ends, and what it is: `code` or `diff`."""
        fences: list[tuple[int, int, str]] = []
        if len(self.text) > LONGEST_STYLED_TEXT:
            return fences
        opened: re.Match[str] | None = None
        for match in _FENCE.finditer(self.text):
            if opened is None:
                opened = match
            elif match[1].startswith(opened[1]) and not match[2]:
                fences.append(self._fence(opened, match.end()))
                opened = None
        if opened is not None:
            fences.append(self._fence(opened, len(self.text)))
        return fences

    def _fence_at(self, offset: int) -> tuple[int, int, str] | None:
        index = bisect_right(self._fences, (offset, len(self.text) + 1, "")) - 1
        return self._fences[index] if index >= 0 and offset <= self._fences[index][1] else None

    def _fence(self, opened: re.Match[str], end: int) -> tuple[int, int, str]:
        language = opened[2].lower()
        body = self.text[opened.end() + 1 : min(end, opened.end() + _DIFF_LOOKED_AT)]
        diff = language in _DIFF_LANGUAGES or (not language and _DIFF_START.match(body))
        return opened.start(), end, "diff" if diff else "code"

    @cached_property
    def _diff_from(self) -> int:
        """Where a unified diff begins in the output of a tool; past the end when there is none."""
        found = _DIFF_START.search(self.text, 0, _DIFF_LOOKED_AT)
        return found.start() if found else len(self.text) + 1

    def _line(self, line: str, offset: int) -> Iterator[Run]:
        if self._kind == "result":
            yield _diff_line(line, "result") if offset >= self._diff_from else _output_line(line, "result")
            return
        if fence := self._fence_at(offset):
            start, end, kind = fence
            if offset == start or offset + len(line) == end:
                yield Run(line, f"{self._plain} fence".strip())
            elif kind == "diff":
                yield _diff_line(line, f"{self._plain} block".strip())
            else:
                yield _output_line(line, f"{self._plain} block".strip())
            return
        yield from _markdown_line(line, self._plain)


def _markdown_line(line: str, plain: str) -> Iterator[Run]:
    mark = _BLOCK_MARK.match(line)
    start = 0
    if mark is not None:
        kind = mark.lastgroup
        if kind == "heading":
            yield Run(mark[0], HIDDEN)
            yield from _inline(line[mark.end() :], f"{plain} heading".strip())
            return
        if kind in ("quote", "rule"):
            yield Run(line, f"{plain} {kind}".strip())
            return
        yield Run(mark[0], f"{plain} bullet".strip())
        start = mark.end()
    yield from _inline(line[start:], plain)


def _inline(line: str, plain: str) -> Iterator[Run]:
    start = 0
    for match in _INLINE.finditer(line):
        if match.start() > start:
            yield Run(line[start : match.start()], plain)
        look = next(name for name in ("code", "strong", "link") if match[name])
        styled = f"{plain} {look}".strip()
        if look == "strong":
            yield Run("**", HIDDEN)
            yield from _inline(match[0][2:-2], styled)
            yield Run("**", HIDDEN)
        elif look == "code":  # without colours the ticks are all that tells it from prose
            tick = len(match["tick"])
            yield Run(match[0][:tick], f"{styled} muted")
            yield Run(match[0][tick:-tick], styled)
            yield Run(match[0][-tick:], f"{styled} muted")
        else:
            yield Run(match[0], styled)
        start = match.end()
    if start < len(line):
        yield Run(line[start:], plain)


def _diff_line(line: str, plain: str) -> Run:
    if line.startswith(_DIFF_HEADER):
        return Run(line, f"{plain} strong")
    look = {"+": "added", "-": "removed", "@": "place"}.get(line[:1])
    return Run(line, f"{plain} {look}" if look and (look != "place" or line.startswith("@@")) else plain)


def _output_line(line: str, plain: str) -> Run:
    match = _NOTABLE.match(line)
    return Run(line, f"{plain} {match.lastgroup}" if match else plain)

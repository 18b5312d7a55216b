"""Where code stands in a text of Markdown: between fences, or indented behind a blank line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hermes_sessions.tui.diffs import DIFF_LANGUAGES, starts_as_diff

# Deeper than CommonMark has it: agents put fences under list items.
_FENCE = re.compile(r"^ {0,16}(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)
_LANGUAGE = re.compile(r"\s*\{?\.?([\w+#.-]{1,40})")
_INDENT = "    "
_LIST_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)])(?: |$)")


class CodeBlock(NamedTuple):
    """Offsets of a block of code: all of it with its fences, and the code alone. Ends are before the newline."""

    start: int
    stop: int
    first: int
    last: int
    language: str
    """The word behind the fence, in small letters; empty without one and for indented code."""
    fenced: bool
    diff: bool

    def is_fence(self, offset: int) -> bool:
        """Say whether the line that begins there is one of the fences."""
        return self.fenced and not self.first <= offset <= self.last


def code_blocks(text: str) -> list[CodeBlock]:
    """Return the blocks of code in their order, as CommonMark has them; a fence that never ends goes to the end."""
    fenced = list(_fenced(text))
    if "\n" + _INDENT not in text and not text.startswith(_INDENT):
        return fenced
    found: list[CodeBlock] = []
    place = 0
    for block in fenced:
        found += _indented(text, place, block.start - 1)
        found.append(block)
        place = block.stop + 1
    found += _indented(text, place, len(text))
    return found


def _fenced(text: str) -> Iterator[CodeBlock]:
    opened: re.Match[str] | None = None
    ticks = ""
    for match in _FENCE.finditer(text):
        here, info = (match[1], match[2]) if match[1] else (match[3], match[4])
        if opened is None:
            opened, ticks = match, here
        elif here.startswith(ticks) and not info.strip():
            yield _block(text, opened, match.start() - 1, match.end())
            opened = None
    if opened is not None:
        yield _block(text, opened, len(text), len(text))


def _block(text: str, opened: re.Match[str], last: int, stop: int) -> CodeBlock:
    named = _LANGUAGE.match(opened[2] if opened[1] else opened[4])
    language = named[1].lower() if named else ""
    first = min(opened.end() + 1, stop)
    diff = language in DIFF_LANGUAGES or (not language and starts_as_diff(text, first))
    return CodeBlock(
        opened.start(), stop, first, max(first, last) if last >= first else first - 1, language, True, diff
    )


def _indented(text: str, start: int, stop: int) -> Iterator[CodeBlock]:
    """Blocks of lines that stand in by four blanks, behind a blank line that no list is before."""
    place, begin, end = start, -1, -1
    blank, in_list = True, False
    while place <= stop:
        line_end = text.find("\n", place, stop)
        line_end = stop if line_end < 0 else line_end
        line = text[place:line_end]
        if not line.strip(" "):
            blank = True
        elif line.startswith(_INDENT) and not in_list and (blank or begin >= 0):
            begin, end = (place if begin < 0 else begin), line_end
            blank = False
        else:
            if begin >= 0:
                yield CodeBlock(begin, end, begin, end, "", False, False)
                begin = -1
            in_list = bool(_LIST_ITEM.match(line)) or (in_list and (not blank or line.startswith(" ")))
            blank = False
        place = line_end + 1
    if begin >= 0:
        yield CodeBlock(begin, end, begin, end, "", False, False)

"""Stored text made safe to look at, and measured in cells.

Everything an agent stored is hostile until it has been through `clean` or `one_line`. The two doors to a person
(`cli.output` and the panes) call them; nothing below the doors does, so stored text stays as it is stored.

Widths follow `rich.cells`, which is what Textual draws by, so the plain list and the full screen line up alike.
Text is cut and wrapped between grapheme clusters only. These are Rich's, but for flags, whose two letters Rich
counts one by one.

What words to show for a number, a time or an amount is `services.wording`'s business.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterator

TAB_STOP = 4
ELLIPSIS = "…"

_JOINER = "\u200d"
_REGIONAL_A, _REGIONAL_Z = "\U0001f1e6", "\U0001f1ff"  # two of these letters make a flag

# C0 without tab and newline, DEL and C1, marks and overrides of direction, line and paragraph separators,
# halves of surrogate pairs, the byte order mark.
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_UNSAFE = re.compile(f"[\t{_CONTROLS}]")

# Complete sequences only, with bounded bodies that hold no control character: a sequence that never ends may not
# hide what follows it, and no input makes the search slower than linear.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,128}+[ -/]{0,8}+[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x00-\x08\x0a-\x1f\x7f-\x9f]{0,4096}+(?:\x07|\x1b\\|\x9c)"  # strings
    r"|\x1b[ -/]{1,4}+[0-~]"  # with intermediate bytes, such as a choice of character set
    r"|\x1b[0-OQ-WYZ\\`-~]"  # two bytes
)

# Characters that fill one cell each and never join a neighbour. Not all of them: those that are common in prose,
# code and frames, so that such lines are wrapped by arithmetic.
_ONE_CELL = (
    r" -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f"
    r"\u2010-\u2027\u2030-\u205e\u2190-\u2199\u2500-\u25fc\u2800-\u28ff"
)
_ONE_CELL_LINE = re.compile(f"[{_ONE_CELL}]*")

# The same, and characters that fill two cells each. What is wide can be told from the high half of their code.
_SIMPLE = (
    rf"{_ONE_CELL}\u3000-\u3029\u3030-\u303e\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7a3\uf900-\ufa6d\uff01-\uff60"
)
_SIMPLE_LINE = re.compile(f"[{_SIMPLE}]*")
_NOT_SIMPLE = re.compile(f"[^{_SIMPLE}\n]")
_WIDE_HALVES = (range(0x30, 0xD8), range(0xF9, 0x100))
_CELLS_BY_HALF = bytes(2 if any(half in halves for halves in _WIDE_HALVES) else 1 for half in range(256))

_SAFE_ASCII = bytes([ord("\n"), *range(ord(" "), 0x7F)])

_UNSTEADY = re.compile("[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]")


def clean(text: str) -> str:
    """Return `text` without anything that acts on a terminal; lines stay lines. Safe text comes back as it is.

    Escape sequences go as a whole, tabs become blanks up to the next stop of four cells, CR and CRLF become LF, an
    ESC that begins no complete sequence becomes U+241B, and any other control, bidi control or surrogate U+FFFD.
    """
    if not (text.encode("ascii").translate(None, _SAFE_ASCII) if text.isascii() else _UNSAFE.search(text)):
        return text
    text = _ESCAPE_SEQUENCE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub(_stand_in, text)
    return _expand_tabs(text) if "\t" in text else text


def one_line(text: str | None) -> str:
    """Return `text` made safe and on one line: every run of white space is one blank, none at the ends."""
    return " ".join(clean(text).split()) if text else ""


def steady(text: str) -> str:
    """Return `text` without the characters whose width terminals disagree about, for columns that must line up.

    These are the emoji variation selector, the skin tones and the keycap: terminals draw the sign before them
    either one or two cells wide.
    """
    return _UNSTEADY.sub("", text)


def cell_width(text: str) -> int:
    """Return how many cells `text` fills, as Rich and Textual count them."""
    return cell_len(text)


def fit(text: str, width: int) -> str:
    """Return `text` (one line of clean text) in at most `width` cells; a cut one ends in an ellipsis.

    A joiner at the end is dropped: it would join the text to whatever is drawn beside it.
    """
    if width < 1:
        return ""
    if text.isascii():
        return text if len(text) <= width else text[: width - 1] + ELLIPSIS
    text = text.rstrip(_JOINER)
    cells = kept = 0
    for _start, end, size in _clusters(text):
        cells += size
        if cells > width:
            return text[:kept] + ELLIPSIS
        if cells < width:
            kept = end
    return text


def pad(text: str, width: int, right: bool = False) -> str:
    """Return `text` in exactly `width` cells: fitted, then filled with blanks, in front if it is to stand `right`."""
    text = fit(text, width)
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def is_simple(text: str) -> bool:
    """Say whether every character of clean `text` is a cluster of its own, so that it is wrapped by arithmetic."""
    return text.isascii() or _NOT_SIMPLE.search(text) is None


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Return the offsets `(start, end)` into clean `text` of the lines it fills when drawn `width` cells wide.

    A line breaks at the last blank or after the last wide character that fits, else between two clusters. Every
    character is in exactly one span, except newlines and, at each break, the one blank that would stand beyond the
    edge. No line is wider than `width`, unless a single cluster is. A width below one counts as one.
    """
    width = max(width, 1)
    spans: list[tuple[int, int]] = []
    offset = 0
    for line in text.split("\n"):
        if line.isascii() or _ONE_CELL_LINE.fullmatch(line):
            if len(line) <= width:
                spans.append((offset, offset + len(line)))
            else:
                _wrap_one_cell(line, width, offset, spans)
        elif width > 1 and _SIMPLE_LINE.fullmatch(line):
            _wrap_simple(line, width, offset, spans)
        else:
            _wrap_clusters(line, width, offset, spans)
        offset += len(line) + 1
    return spans


def _wrap_one_cell(line: str, width: int, offset: int, spans: list[tuple[int, int]]) -> None:
    start, length = 0, len(line)
    while length - start > width:
        stop = line.rfind(" ", start, start + width + 1)
        if stop < 0 or not line[start:stop].strip(" "):  # breaking inside an indent would leave an empty line
            stop = resume = start + width
        else:
            resume = stop + 1
        spans.append((offset + start, offset + stop))
        start = resume
    if start < length:
        spans.append((offset + start, offset + length))


def _wrap_simple(line: str, width: int, offset: int, spans: list[tuple[int, int]]) -> None:
    """`_wrap_clusters` for lines of characters that each are a cluster, by arithmetic."""
    cells = line.encode("utf-16-le")[1::2].translate(_CELLS_BY_HALF)
    edges = list(accumulate(cells, initial=0))
    start, length = 0, len(line)
    while edges[length] - edges[start] > width:
        # The first cluster that does not fit, and from there back the last blank or wide character.
        reach = bisect_right(edges, edges[start] + width, start) - 1
        blank, wide = line.rfind(" ", start, reach + 1), cells.rfind(2, start, reach) + 1
        if wide > max(blank, start):
            stop = resume = wide
            if line.startswith(" ", wide) and wide == reach:
                resume += 1
        elif blank >= 0 and line[start:blank].strip(" "):
            stop, resume = blank, blank + 1
        else:
            stop = resume = reach
        spans.append((offset + start, offset + stop))
        start = resume
    if start < length:
        spans.append((offset + start, offset + length))


def _wrap_clusters(line: str, width: int, offset: int, spans: list[tuple[int, int]]) -> None:
    start = cells = 0
    inked = False  # something other than blanks stands on this line
    stop = resume = cells_to_resume = 0  # the last place to break; none while `resume` is not after `start`
    for begin, end, size in _clusters(line):
        blank = size == 1 and line[begin:end] == " "
        while cells + size > width and begin > start:
            if blank and inked:
                stop, resume, cells_to_resume = begin, end, cells
            elif resume <= start:
                stop, resume, cells_to_resume = begin, begin, cells
            spans.append((offset + start, offset + stop))
            start = resume
            cells -= cells_to_resume
            inked = False
        if start == end:  # this was the blank that the break replaced
            continue
        cells += size
        if not blank:
            inked = True
            if size > 1:
                stop, resume, cells_to_resume = end, end, cells
        elif inked:
            stop, resume, cells_to_resume = begin, end, cells
    if start < len(line):
        spans.append((offset + start, offset + len(line)))


def _clusters(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield `(start, end, cells)` of each grapheme cluster; the cells sum up to `cell_width(text)`."""
    length = len(text)
    end = 0
    while end < length:
        start = end
        first = text[start]
        end += 2 if first == _JOINER else 1
        if _REGIONAL_A <= first <= _REGIONAL_Z and _REGIONAL_A <= text[end : end + 1] <= _REGIONAL_Z:
            end += 1
        while end < length and (char := text[end]) >= "\u0300" and get_character_cell_size(char) == 0:
            end += 2 if char == _JOINER else 1  # as Rich has it, a joiner takes any next character along
        if end - start == 1:
            yield start, end, get_character_cell_size(first)
        else:
            end = min(end, length)
            yield start, end, cell_len(text[start:end])


def _stand_in(match: re.Match[str]) -> str:
    return "\u241b" if match[0] == "\x1b" else "\ufffd"


def _expand_tabs(text: str) -> str:
    if text.isascii():
        return text.expandtabs(TAB_STOP)
    return "\n".join(_expand_tabs_of_line(line) if "\t" in line else line for line in text.split("\n"))


def _expand_tabs_of_line(line: str) -> str:
    *pieces, last = line.split("\t")
    parts = []
    column = 0
    for piece in pieces:
        column += cell_len(piece)
        blanks = TAB_STOP - column % TAB_STOP
        parts.append(piece + " " * blanks)
        column += blanks
    return "".join([*parts, last])

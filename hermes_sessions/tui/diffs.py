"""Changes of files in a text: unified diffs and the patches that agents write. Where they are, how much they change.

Pure. A diff ends where its hunks have all their lines, so that what a tool says after it is no change.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

DIFF_LANGUAGES = frozenset({"diff", "patch", "udiff"})
LOOKED_AT = 64 * 1024
"""Characters of a text in which a diff is looked for."""

_START = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+|\*\*\* Begin Patch$)", re.MULTILINE)
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")
_HEADER = re.compile(
    r"diff --git |index [0-9a-f]|--- |\+\+\+ |new file mode|deleted file mode|old mode|new mode|rename |copy "
    r"|similarity |dissimilarity |Binary files |\*\*\* "
)


class Diff(NamedTuple):
    """A diff in a text: its offsets, how many lines it adds and removes."""

    start: int
    stop: int
    added: int
    removed: int


def starts_as_diff(text: str, start: int) -> bool:
    """Say whether a diff begins at `start`."""
    return _START.match(text, start) is not None


def diffs(text: str) -> list[Diff]:
    """Return the diffs that begin in the first 64 KB of a text, in their order."""
    found: list[Diff] = []
    place = 0
    while (begin := _START.search(text, place, LOOKED_AT)) is not None:
        found.append(_diff(text, begin.start()))
        place = found[-1].stop + 1
    return found


def diff_at(found: list[Diff], offset: int) -> bool:
    """Say whether an offset is in one of the diffs."""
    index = bisect_right(found, offset, key=lambda diff: diff.start) - 1
    return index >= 0 and offset <= found[index].stop


def line_look(line: str) -> str:
    """Return the look of a line of a diff; empty for what stays as it was."""
    if _HEADER.match(line):
        return "file"
    if line.startswith("@@"):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "")


def _diff(text: str, start: int) -> Diff:
    added = removed = old = new = 0
    is_patch = text.startswith("*** Begin Patch", start)
    stop = start
    for place, line in _lines(text, start):
        if is_patch:
            added, removed = added + line.startswith("+"), removed + line.startswith("-")
            stop = place + len(line)
            if line == "*** End Patch":
                break
            continue
        if old <= 0 and new <= 0:
            if hunk := _HUNK.match(line):
                old, new = int(hunk[1] or 1), int(hunk[2] or 1)
            elif not _HEADER.match(line) and not line.startswith("\\"):
                break
        elif line.startswith("+"):
            added, new = added + 1, new - 1
        elif line.startswith("-"):
            removed, old = removed + 1, old - 1
        elif not line.startswith("\\"):
            old, new = old - 1, new - 1
        stop = place + len(line)
    return Diff(start, stop, added, removed)


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1

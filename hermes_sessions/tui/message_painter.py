"""What a line of the transcript looks like: gutter, colours, hits and selection, as a strip of the right width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from hermes_sessions.model import MessageStub
from hermes_sessions.text import cell_width, fit
from hermes_sessions.tui.line_styles import Run
from hermes_sessions.tui.lines import Line, Mark
from hermes_sessions.tui.looks import Looks
from hermes_sessions.tui.openings import DIVIDERS, role_look

GUTTER = 2
"""Cells in front of every line: the bar of the role, and a blank."""

CUT = "…"
SELECTED = "selected"

LOOKS = {
    "user": "$role-user",
    "assistant": "$role-assistant",
    "tool": "$role-tool",
    "system": "$role-system",
    "prompt": "on $panel",
    "cursor": "bold",
    "undone": "$muted italic",
    "muted": "$muted",
    "glimpse": "$muted",
    "divider": "$muted",
    "note": "$muted italic",
    "reasoning": "$muted italic",
    "quote": "$muted italic",
    "rule": "$rule",
    "quote-bar": "$rule",
    "error": "$diff-removed bold",
    "strong": "bold",
    "emphasis": "italic",
    "strike": "strike",
    "heading1": "$heading bold underline",
    "heading2": "$heading bold",
    "heading3": "$heading bold",
    "bullet": "$heading",
    "done": "$diff-added",
    "attachment": "$role-tool italic",
    "code": "on $code",
    "block": "on $code",
    "fence": "$muted italic on $code",
    "inset": "on $background",
    "link": "$link underline",
    "target": "$muted",
    "gap": "",
    "keyword": "$syntax-keyword",
    "string": "$syntax-string",
    "number": "$syntax-number",
    "comment": "$muted italic",
    "name": "$syntax-name",
    "type": "$syntax-type",
    "key": "$muted",
    "file": "bold underline",
    "added": "$diff-added on $diff-added-ground",
    "removed": "$diff-removed on $diff-removed-ground",
    "more": "$diff-added",
    "fewer": "$diff-removed",
    "succeeded": "$diff-added",
    "failed": "$diff-removed bold",
    "place": "$diff-place",
    "result": "",
    "argument": "",
    "hit": "$hit-text $hit-style on $hit",
    "find": "$link reverse",
    "found": "$hit-current-text bold on $hit-current",
}

FILLED = {"added": "added", "removed": "removed", "block": "block", "fence": "block"}
"""The looks whose ground goes on to the edge, and the look of what is there."""

_CODE = frozenset({"block", "fence", "code"})
_BARS = {"user": "▌", "tool": "┆"}
_CURSOR_BAR, _UNDONE_BAR = "┃", "╎"


class Look(NamedTuple):
    """How a line is shown now."""

    current: bool
    """Whether its message has the cursor."""
    shift: int = 0
    """Cells of the text that are scrolled out on the left."""
    marks: Sequence[Mark] = ()
    selected: tuple[int, int] | None = None
    """Characters from the start of the line, its gutter included; -1 is its end."""


class MessagePainter:
    """Draws the lines of a `MessageView`."""

    def __init__(self, view: Widget) -> None:
        self._view = view
        self.looks = Looks(view, LOOKS)

    def blank(self, width: int) -> Strip:
        """Return a line with nothing on it."""
        return Strip.blank(width, self.looks[""])

    def words(self, words: str, width: int) -> Strip:
        """Return a line with something said in place of messages."""
        return Strip([Segment(" " * GUTTER + words, self.looks["muted"])]).crop_extend(0, width, self.looks[""])

    def strip(self, line: Line, stub: MessageStub, width: int, look: Look, key: int) -> Strip:
        """Return a line of a message, `width` cells wide. `key` is the y that a selection names the line by."""
        if line.kind in DIVIDERS:
            return self._divider(line, width, look, key)
        ground = "prompt" if stub.role == "user" and line.kind != "blank" else ""
        runs = line.runs()
        if stub.rewound:
            runs = [run._replace(look=_undone(run.look)) for run in runs]
        for mark in look.marks:
            runs = _marked(runs, [run.at for run in runs], mark.start, mark.stop, mark.look)
        gutter = [Run(" " * GUTTER, "")]
        if line.kind != "blank":
            bar = _CURSOR_BAR if look.current else _UNDONE_BAR if stub.rewound else _BARS.get(stub.role, "│")
            role = "muted" if stub.rewound else role_look(stub.role)
            gutter = [Run(f"{bar} ", f"{role} cursor" if look.current else role)]
        if line.lead.text:
            runs.insert(0, line.lead)
        runs.insert(0, Run(" " * (line.indent - len(line.lead.text)), ""))
        if line.is_rule:
            runs.append(Run("─" * (width - GUTTER - line.indent - line.stop + line.start - 1), "rule"))
        return self._joined(gutter, runs, ground, width, look, key)

    def _divider(self, line: Line, width: int, look: Look, key: int) -> Strip:
        words = fit(line.source.text, max(1, width - GUTTER - 5))
        rule = "─" * max(0, width - GUTTER - cell_width(words) - 5)
        runs = [Run("── ", "rule"), Run(words, "divider"), Run(f" {rule}", "rule")]
        return self._joined([Run(" " * GUTTER, "")], runs, "", width, look._replace(shift=0), key)

    def _joined(
        self, gutter: Sequence[Run], runs: Sequence[Run], ground: str, width: int, look: Look, key: int
    ) -> Strip:
        if look.selected is not None:
            start, stop = look.selected
            stop = stop if stop >= 0 else GUTTER + sum(len(run.text) for run in runs)
            gutter = _marked(gutter, [0], start, stop, SELECTED)
            runs = _marked(runs, _columns(runs), start - GUTTER, stop - GUTTER, SELECTED)
        last = runs[-1].look.split() if runs else []
        filled = next((look for look in FILLED if look in last), None)
        filler = self.looks[_on(ground, FILLED[filled]) if filled else ground]
        left_out, runs = _window(runs, look.shift, max(0, width - GUTTER))
        front = Strip(self._segments(gutter, ground)).apply_offsets(0, key)
        text = Strip(self._segments(runs, ground)).apply_offsets(GUTTER + left_out, key)
        return Strip.join([front, text]).crop_extend(0, width, filler)

    def _segments(self, runs: Iterable[Run], ground: str) -> list[Segment]:
        return [Segment(text, self._run_style(_on(ground, look))) for text, look, _ in runs if text]

    def _run_style(self, look: str) -> Style:
        plain = look.replace(SELECTED, "")
        if plain == look:
            return self.looks[look]
        return self.looks[plain] + self._view.screen.get_component_rich_style("screen--selection")


def _on(ground: str, look: str) -> str:
    """A look on the ground of a whole message. Code, whose own ground may be the same, then has that of the screen."""
    if not ground:
        return look
    return " ".join([ground, *(f"{part} inset" if part in _CODE else part for part in look.split())])


def _undone(look: str) -> str:
    """What a look becomes in a message that the person took back: nothing but the grounds of code stays."""
    return " ".join([*(part for part in look.split() if part in _CODE or part == "strike"), "undone"])


def _columns(runs: Sequence[Run]) -> list[int]:
    """Where each of `runs` begins on the line, in characters."""
    return list(accumulate((len(run.text) for run in runs), initial=0))[:-1]


def _marked(runs: Sequence[Run], places: Sequence[int], start: int, stop: int, look: str) -> list[Run]:
    """`runs` with one more look on the characters from `start` to `stop`, and on all of the clusters these are in.

    `places` tells where each run begins in what is counted; one that begins below 0 is left as it is.
    """
    marked: list[Run] = []
    for run, place in zip(runs, places, strict=True):
        text, old, at = run
        if place < 0 or place >= stop or place + len(text) <= start:
            marked.append(run)
            continue
        a, b = max(0, start - place), max(0, stop - place)
        while 0 < a < len(text) and _is_inside_cluster(text, a):
            a -= 1
        while 0 < b < len(text) and _is_inside_cluster(text, b):
            b += 1
        pieces = ((0, a, old), (a, b, f"{old} {look}"), (b, len(text), old))
        marked.extend(Run(text[i:j], new, at + i if at >= 0 else at) for i, j, new in pieces if i < j)
    return marked


def _window(runs: Sequence[Run], shift: int, room: int) -> tuple[int, Sequence[Run]]:
    """What is seen of `runs` in `room` cells, after `shift` cells, and how many characters are left out before it.

    Nothing is cut inside of a cluster, and where something is missing on the right there is a sign.
    """
    text = "".join(run.text for run in runs)
    start = _fitting(text, shift) if shift else 0
    rest = text[start:]
    stop = start + (_fitting(rest, room - 1) if cell_width(rest) > room else len(rest))
    seen: list[Run] = []
    offset = 0
    for piece, look, _ in runs:
        seen.append(Run(piece[max(0, start - offset) : max(0, stop - offset)], look))
        offset += len(piece)
    if stop < len(text):
        seen.append(Run(CUT[:room], "muted"))
    return start, seen


def _fitting(text: str, cells: int) -> int:
    """How many of the characters of `text` fill at most so many cells."""
    return min(len(text), max(0, len(fit(text + "  ", cells + 1)) - 1))


def _is_inside_cluster(text: str, place: int) -> bool:
    return text[place - 1] == "\u200d" or cell_width(text[place]) == 0

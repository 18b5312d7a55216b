"""What a row of the session list looks like: columns that line up in cells, and the snippet of a hit.

All text comes from the store and is made safe here. Which rows there are, and where, is `tui.session_list`'s business.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from hermes_sessions.model import Conversation, ConversationHits, Money, Overview, SearchHit
from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, clean, fit, one_line, pad, steady, wrap
from hermes_sessions.tui.looks import Looks

MARKS = {"complete": "✓", "interrupted": "◐", "error": "✗", "empty": "○"}
LIVE_MARK = "●"
ARCHIVED_SIGN, SUBAGENT_SIGN, BRANCH_SIGN = "▣ ", "↳ ", "↱ "

MIN_TITLE = 24
AGE, MESSAGES, COST, SOURCE = 7, 5, 8, 8

ROLE_LABELS = {"user": "you", "assistant": "agent", "tool": "tool", "system": "system"}
LABEL_WIDTH = 6
NEVER_BEFORE_HIT = 24
"""Cells of a snippet that may stand before its first match, so that the match is always seen."""

_LOOKS = {
    "cursor": "$cursor-style on $cursor",
    "blurred": "$cursor-style on $cursor-blurred",
    "title": "$foreground",
    "preview": "$foreground italic",
    "muted": "$muted",
    "hit": "$hit-text $hit-style on $hit",
    "complete": "$status-done",
    "interrupted": "$status-interrupted",
    "error": "$status-error",
    "empty": "$status-empty",
    "live": "$status-live bold",
    "actual": "$money-actual",
    "estimated": "$money-estimated",
    "included": "$money-included",
    "unpriced": "$money-unpriced",
    "you": "$role-user",
    "agent": "$role-assistant",
    "tool": "$role-tool",
    "system": "$role-system",
}

_SPACE = re.compile(r"\s+")


class Columns(NamedTuple):
    """How a width is shared out. A column that does not fit beside a readable title is 0 wide."""

    title: int
    age: int = 0
    messages: int = 0
    cost: int = 0
    source: int = 0

    @classmethod
    def of(cls, width: int) -> Columns:
        """The columns of a row of `width` cells; the most telling ones stay longest."""
        title = max(0, width - 2)
        columns = {}
        for name, size in (("age", AGE), ("cost", COST), ("messages", MESSAGES), ("source", SOURCE)):
            if title - size - 1 < MIN_TITLE:
                break
            columns[name] = size
            title -= size + 1
        return cls(title, **columns)


class RowPainter:
    """Draws rows in the styles of the widget it belongs to."""

    def __init__(self, widget: Widget, clock: Callable[[], float]) -> None:
        self.looks = Looks(widget, _LOOKS)
        self.cursor = "blurred"
        """The look of the row under the cursor: `cursor`, or `blurred` while the keys go elsewhere."""
        self._clock = clock

    def blank(self, width: int) -> Strip:
        """A line without text."""
        return Strip.blank(width, self._style("muted", False))

    def placeholder(self, words: tuple[str, str], y: int, width: int) -> Strip:
        """Line `y` of what is said in place of rows."""
        if not 1 <= y <= 2:
            return self.blank(width)
        style = self._style("title" if y == 1 else "muted", False)
        return Strip([Segment(pad("  " + words[y - 1], width), style)], width)

    def row(self, item: Conversation, overview: Overview | None, width: int, *, selected: bool) -> Strip:
        """The first line of a conversation, exactly `width` cells wide."""
        columns = Columns.of(width)
        cells = [self._mark(overview), self._title(item, overview, columns.title)]
        if columns.age:
            cells.append((" " + pad(short_age(item.last_active_at, self._clock()), AGE, right=True), "muted"))
        if columns.messages:
            count = "" if overview is None else wording.count(overview.message_count)
            cells.append((" " + pad(count, MESSAGES, right=True), "muted"))
        if columns.cost:
            words, kind = ("", "muted") if overview is None else _money(overview.cost)
            cells.append((" " + pad(words, COST, right=True), kind))
        if columns.source:
            cells.append((" " + pad(steady(one_line(item.tip.source)), SOURCE), "muted"))
        return self._strip(cells, width, selected)

    def snippet(self, hits: ConversationHits | None, width: int, *, selected: bool) -> Strip:
        """The second line of a conversation that was found: who said it, the best piece of it, how many more."""
        if hits is None or not hits.hits:
            return self._strip([], width, selected)
        hit = hits.hits[0]
        label = _label(hit)
        more = f" +{wording.count(hits.hit_count - 1)}" if hits.hit_count > 1 else ""
        room = max(0, width - 2 - LABEL_WIDTH - 1 - len(more))
        cells = [("  ", "muted"), (pad(label, LABEL_WIDTH) + " ", label if label in ROLE_LABELS.values() else "muted")]
        cells += _marked(hit, room)
        filled = sum(cell_width(text) for text, _ in cells)
        cells.append((" " * (width - len(more) - filled) + more, "muted"))
        return self._strip(cells, width, selected)

    def _strip(self, cells: Iterable[tuple[str, str]], width: int, selected: bool) -> Strip:
        segments = [Segment(text, self._style(kind, selected)) for text, kind in cells]
        return Strip(segments).crop_extend(0, width, self._style("muted", selected))

    def _style(self, kind: str, selected: bool) -> Style:
        style = self.looks[kind]
        if not selected:
            return style
        cursor = self.looks[self.cursor]
        if cursor.reverse:  # in one piece, whatever the colours of its texts
            return Style(reverse=True, bold=kind in ("title", "hit"), underline=style.underline)
        ground = None if kind == "hit" else cursor.bgcolor
        return style + Style(bgcolor=ground, bold=kind == "title" or style.bold)

    def _mark(self, overview: Overview | None) -> tuple[str, str]:
        if overview is None:
            return "  ", "muted"
        if overview.live:
            return f"{LIVE_MARK} ", "live"
        return f"{MARKS[overview.status]} ", overview.status

    def _title(self, item: Conversation, overview: Overview | None, width: int) -> tuple[str, str]:
        sign = SUBAGENT_SIGN if item.kind == "subagent" else BRANCH_SIGN if item.branched_from else ""
        if item.archived:
            sign = ARCHIVED_SIGN + sign
        if title := one_line(item.title):
            return pad(steady(sign + title), width), "muted" if item.archived else "title"
        preview = one_line(overview.preview) if overview else ""
        return pad(steady(sign + (preview or one_line(item.id))), width), "preview"


def short_age(when: float | None, now: float) -> str:
    """`wording.age` in at most seven cells: a day of this year as `12 May`, an earlier one as `2024-05`."""
    words = wording.age(when, now)
    if words == "just now":
        return "now"
    if words == "yesterday":
        return "1d"
    if when is None or len(words) <= 3:
        return words
    then = time.localtime(when)
    return time.strftime("%d %b" if then.tm_year == time.localtime(now).tm_year else "%Y-%m", then)


def _money(amount: Money) -> tuple[str, str]:
    """An amount in at most `COST` cells where that is possible, and the style that tells what it rests on."""
    words = wording.money(amount)
    if len(words) > COST:
        words = words.partition(".")[0]
    kinds = {"actual": "actual", "estimated": "estimated", "mixed": "estimated", "included": "included"}
    return words, kinds.get(amount.basis, "unpriced")


def _label(hit: SearchHit) -> str:
    if hit.place in ("title", "id"):
        return hit.place
    return fit(ROLE_LABELS.get(hit.role or "", one_line(hit.role)), LABEL_WIDTH)


def _marked(hit: SearchHit, width: int) -> list[tuple[str, str]]:
    """The snippet in at most `width` cells, with its matches apart. Text before the first match gives way to it."""
    pieces: list[tuple[str, str]] = []
    end = 0
    for start, stop in hit.snippet.spans:
        if start >= end:
            pieces += [(_flat(hit.snippet.text[end:start]), "muted"), (_flat(hit.snippet.text[start:stop]), "hit")]
            end = stop
    pieces.append((_flat(hit.snippet.text[end:]), "muted"))
    pieces[0] = (_tail(pieces[0][0].lstrip(), NEVER_BEFORE_HIT) if len(pieces) > 1 else pieces[0][0], "muted")
    marked = []
    for text, kind in pieces:
        shown = fit(text, width)
        if shown:
            marked.append((shown, kind))
        width -= cell_width(shown)
        if shown != text:
            break
    return marked


def _flat(text: str) -> str:
    """A piece of a line: safe, its white space one blank each, kept at the ends."""
    return steady(_SPACE.sub(" ", clean(text)))


def _tail(text: str, width: int) -> str:
    """The end of `text` in at most `width` cells, cut between clusters."""
    if cell_width(text) <= width:
        return text
    start = len(text)
    for begin, _end in reversed(wrap(text, 1)):
        if cell_width(text[begin:]) > width - 1:
            break
        start = begin
    return "…" + text[start:].lstrip()

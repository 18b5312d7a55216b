"""What a row of the session list looks like: columns that line up in cells, a second line, headings.

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
from hermes_sessions.tui.list_rows import DEEPEST, UNFOLDED
from hermes_sessions.tui.looks import Looks

MARKS = {"complete": "✓", "interrupted": "◐", "error": "✗", "empty": "○"}
LIVE_MARK = "●"
ARCHIVED_SIGN, SUBAGENT_SIGN, BRANCH_SIGN = "▣ ", "↳ ", "↱ "
MARKED = "▌"

MIN_TITLE, ROOMY_TITLE = 24, 36
AGE, MESSAGES, COST, SOURCE, DIRECTORY, MODEL = 7, 5, 8, 8, 22, 17
GAP = " · "

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
    "heading": "$heading",
    "marked": "$rule-focus bold",
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
    directory: int = 0
    model: int = 0

    @classmethod
    def of(cls, width: int, *, facts: bool = True) -> Columns:
        """The columns of a row of `width` cells; the most telling ones stay longest. Without `facts` there is neither
        directory nor model: they stand on the second line."""
        title = max(0, width - 2)
        columns = {}
        for name, size, least in (
            ("age", AGE, MIN_TITLE),
            ("cost", COST, MIN_TITLE),
            ("messages", MESSAGES, MIN_TITLE),
            ("source", SOURCE, MIN_TITLE),
            ("directory", DIRECTORY, ROOMY_TITLE),
            ("model", MODEL, ROOMY_TITLE),
        ):
            if title - size - 1 < least or (name == "directory" and not facts):
                break
            columns[name] = size
            title -= size + 1
        return cls(title, **columns)


class RowState(NamedTuple):
    """How a row stands in the list."""

    selected: bool = False
    """Whether the cursor is on it."""
    marked: bool = False
    depth: int = 0
    """How many conversations it stands below."""
    fold: str = ""
    """The sign and number of the subagents below it, shown or not."""


class RowPainter:
    """Draws rows in the styles of the widget it belongs to."""

    def __init__(self, widget: Widget, clock: Callable[[], float]) -> None:
        self.looks = Looks(widget, _LOOKS)
        self.cursor = "blurred"
        """The look of the row under the cursor: `cursor`, or `blurred` while the keys go elsewhere."""
        self.sort = "active"
        """What the list is sorted by: times and numbers are those that decide the order."""
        self.facts_below = False
        """Whether every row has a second line that says where and by which model."""
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

    def heading(self, words: str, count: int, cost: Money | None, width: int) -> Strip:
        """The line over a group: what it has in common, how many it has, and what they cost if that is known."""
        facts = wording.count(count)
        if cost is not None and cost.basis != "unknown":
            facts += f"{GAP}{wording.money(cost)}"
        words = fit(steady(one_line(words)), max(MIN_TITLE // 2, width - len(facts) - 2))
        return self._strip([(words, "heading"), ("  " + facts, "muted")], width, False)

    def row(self, item: Conversation, overview: Overview | None, width: int, state: RowState) -> Strip:
        """The first line of a conversation, exactly `width` cells wide."""
        columns = Columns.of(width, facts=not self.facts_below)
        when = item.started_at if self.sort == "started" else item.last_active_at
        count = ""
        if overview is not None:
            by_tokens = self.sort == "tokens"
            count = _count(overview.tokens.total if by_tokens else overview.message_count, tokens=by_tokens)
        cost = ("", "muted") if overview is None else _money(overview.cost)
        cells = [
            self._status(overview),
            (MARKED if state.marked else " ", "marked"),
            *self._title(item, overview, columns.title, state),
            *_column(short_age(when, self._clock()), columns.age, right=True),
            *_column(count, columns.messages, right=True),
            *_column(cost[0], columns.cost, cost[1], right=True),
            *_column(one_line(item.tip.source), columns.source),
            *_column(_directory(item, columns.directory), columns.directory),
            *_column(one_line(item.tip.model), columns.model),
        ]
        return self._strip(cells, width, state.selected)

    def second(
        self, item: Conversation, overview: Overview | None, hits: ConversationHits | None, width: int, state: RowState
    ) -> Strip:
        """The second line of a conversation: what was found in it, else what it began with, where, and by which model.

        What does not fit is left out from the end.
        """
        if hits is not None and hits.hits:
            return self.snippet(hits, width, selected=state.selected)
        indent = " " * (2 + 2 * min(state.depth, DEEPEST))
        room = max(0, width - len(indent) - 1)
        preview = self._preview(item, overview, width, state)
        directory = _directory(item, room // 2)
        branch = one_line(overview.git_branch) if overview else ""
        facts = [fit(steady(fact), room) for fact in (directory, branch, one_line(item.tip.model)) if fact]
        least = min(MIN_TITLE, cell_width(preview))
        while facts and cell_width(GAP.join(facts)) + least + 2 > room:
            facts.pop()
        words = GAP.join(facts)
        if preview:
            preview = pad(preview, room - cell_width(words) - 2 if words else room) + ("  " if words else "")
        return self._strip([(indent + preview, "muted"), (words, "muted")], width, state.selected)

    def snippet(self, hits: ConversationHits, width: int, *, selected: bool) -> Strip:
        """The second line of a conversation that was found: who said it, the best piece of it, how many more."""
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

    def _status(self, overview: Overview | None) -> tuple[str, str]:
        if overview is None:
            return " ", "muted"
        return (LIVE_MARK, "live") if overview.live else (MARKS[overview.status], overview.status)

    def _title(
        self, item: Conversation, overview: Overview | None, width: int, state: RowState
    ) -> Iterable[tuple[str, str]]:
        fold = f" {state.fold}" if state.fold else ""
        kind = "preview" if not one_line(item.title) else "muted" if item.archived else "title"
        yield pad(_name(item, overview, state), max(0, width - len(fold))), kind
        if fold:
            yield fold, "marked" if state.fold[0] == UNFOLDED else "muted"

    def _preview(self, item: Conversation, overview: Overview | None, width: int, state: RowState) -> str:
        """What the conversation began with, without as much of it as stands in its first line already."""
        if item.title or overview is None:
            return steady(one_line(overview.preview)) if overview else ""
        name = _name(item, overview, state)
        shown = fit(name, Columns.of(width, facts=not self.facts_below).title - len(state.fold) - bool(state.fold))
        return "" if shown == name else "…" + name[len(shown) - 1 :].lstrip()


def _name(item: Conversation, overview: Overview | None, state: RowState) -> str:
    """The signs of a conversation and its title, else what it began with, else its id."""
    sign = SUBAGENT_SIGN if item.kind == "subagent" else BRANCH_SIGN if item.branched_from else ""
    sign = "  " * min(state.depth, DEEPEST) + (ARCHIVED_SIGN if item.archived else "") + sign
    words = one_line(item.title) or (one_line(overview.preview) if overview else "") or one_line(item.id)
    return steady(sign + words)


def _column(words: str, width: int, kind: str = "muted", right: bool = False) -> Iterable[tuple[str, str]]:
    """The cells of a column and the blank before it, or nothing where the column has no room."""
    return ((" " + pad(steady(words), width, right=right), kind),) if width else ()


def _directory(item: Conversation, width: int) -> str:
    """Where a conversation worked last, in at most `width` cells: the end of a path tells more than its beginning."""
    return _tail(steady(wording.homely(one_line(item.cwd))), width) if width else ""


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


def _count(number: int, *, tokens: bool = False) -> str:
    """A number in at most `MESSAGES` cells, below a thousand billion."""
    short = wording.tokens(number)
    ways = [] if tokens else [wording.count(number), str(number)]
    return next((words for words in (*ways, short) if len(words) <= MESSAGES), re.sub(r"\.[0-9]", "", short))


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

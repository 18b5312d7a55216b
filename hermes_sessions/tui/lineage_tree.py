"""The family of a conversation as a tree: its parts, branches and subagents. Imported when it is asked for.

What belongs to a family is `services.family`'s business. Only lines that are seen are drawn and asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.strip import Strip
from textual.widgets import Static

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation, Overview
from hermes_sessions.services import wording
from hermes_sessions.services.family import RELATION_WORDS, Kin, family
from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width, fit, one_line, pad, steady
from hermes_sessions.tui.cursor_list import CursorList
from hermes_sessions.tui.dialog import Dialog
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.list_rows import Rows
from hermes_sessions.tui.looks import Looks
from hermes_sessions.tui.session_rows import ARCHIVED_SIGN, BRANCH_SIGN, LIVE_MARK, MARKS, SUBAGENT_SIGN

SIGNS = {"origin": "", "branch": BRANCH_SIGN, "delegate": SUBAGENT_SIGN, "part": "", "gone": ""}
HERE = "◂"
MIN_TITLE, WHEN, MESSAGES, COST, ID = 24, 16, 6, 9, 24
DEEPEST = 12
"""Levels that are drawn; what lies deeper is indented no further."""

_LOOKS = {
    "": "",
    "rails": "$muted",
    "title": "$foreground",
    "here": "$rule-focus bold",
    "muted": "$muted",
    "cursor": "$cursor-style on $cursor",
    "complete": "$status-done",
    "interrupted": "$status-interrupted",
    "error": "$status-error",
    "empty": "$status-empty",
    "live": "$status-live bold",
}


class LineageScreen(Dialog[tuple[Conversation, str] | None]):
    """The answer is a conversation and the screen's action that is wanted for it, or None."""

    CSS = """
    LineageScreen { align: center middle; background: $background 60%; &:ansi { background: transparent; } }
    LineageScreen > Vertical {
        width: 130; max-width: 100%; height: auto; max-height: 90%; padding: 0 1;
        border: $frame $rule-focus; border-title-color: $rule-focus; border-title-style: bold;
        border-subtitle-color: $muted; background: $background;
    }
    LineageScreen LineageTree {
        height: auto; max-height: 100%; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden;
    }
    LineageScreen #told { height: auto; max-height: 4; color: $muted; border-top: solid $rule; }
    """
    BINDINGS: ClassVar = [
        Binding("escape,q,l", "dismiss(None)", "close"),
        Binding("enter", "choose('open')", "open"),
        Binding("y", "choose('copy')", "copy"),
        Binding("R", "choose('resume')", "resume"),
    ]

    def __init__(
        self, history: History, catalog: Catalog, conversation: Conversation, clock: Callable[[], float]
    ) -> None:
        super().__init__()
        self.tree_lines = LineageTree(history, family(catalog, conversation), conversation)
        self._conversation = conversation

    def compose(self) -> ComposeResult:
        kin = self.tree_lines.family
        count = len({line.conversation.id for line in kin if line.conversation is not None})
        parts = sum(line.session is not None for line in kin)
        words = f"{wording.count(count)} session{'s' if count != 1 else ''}"
        with Vertical() as frame:
            frame.border_title = Content(f"Family · {words}{f', {parts} parts' if parts else ''}")
            yield self.tree_lines
            yield Static(id="told")
        yield KeyLine()

    def on_lineage_tree_came_to(self) -> None:
        self.query_one("#told", Static).update(Content(self.tree_lines.told))

    def on_lineage_tree_chosen(self) -> None:
        self.action_choose("open")

    def action_choose(self, action: str) -> None:
        conversation = self.tree_lines.line.conversation
        if conversation is not None:
            self.dismiss((conversation, action))


class LineageTree(CursorList):
    """The lines of a family, with a cursor."""

    BINDINGS: ClassVar = [
        Binding("up,k", "up", show=False),
        Binding("down,j", "down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("home,g", "first", show=False),
        Binding("end,G", "last", show=False),
    ]

    class CameTo(TextualMessage):
        """The cursor is on another line, or more is known of it."""

    class Chosen(TextualMessage):
        """The person clicked twice on the line under the cursor."""

    def __init__(self, history: History, kin: tuple[Kin, ...], here: Conversation) -> None:
        super().__init__()
        self.family = kin
        self.rows = Rows(kin)
        self.cursor = next((row for row, line in enumerate(kin) if line.conversation is here), 0)
        self._here = here
        self._history = history
        self._known: dict[tuple[str, bool], Overview | None] = {}
        self._fetching = False
        self._looks = Looks(self, _LOOKS)

    @property
    def line(self) -> Kin:
        """The line under the cursor."""
        return self.family[self.cursor]

    @property
    def settled(self) -> bool:
        """Whether all that is seen is known."""
        return not self._fetching and not self._wanted()

    @property
    def told(self) -> str:
        """The line under the cursor in words."""
        line, item = self.line, self.line.conversation
        if item is None:
            return f"{one_line(line.source)} is no longer in the store."
        session, overview = line.session or item.tip, self._known.get(_name(line))
        parts = [one_line(session.id)]
        if line.session is not None:
            ending = f"compressed {wording.moment(session.ended_at)}" if session is not item.tip else "goes on here"
            parts.append(f"part {item.sessions.index(session) + 1} of {len(item.sessions)}, {ending}")
        elif line.source is not None:
            parts.append(f"{RELATION_WORDS[line.relation]} {one_line(line.source)} {wording.moment(item.started_at)}")
        if overview is not None:
            parts += [f"{wording.count(overview.message_count)} messages", wording.money(overview.cost)]
        parts += [one_line(session.model), wording.homely(one_line(session.cwd))]
        return " · ".join(part for part in parts if part)

    def on_mount(self) -> None:
        self.measure()
        self._fill()
        self.post_message(self.CameTo())

    def on_resize(self) -> None:
        super().on_resize()
        self._fill()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.forget()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._fill()

    def cursor_moved(self) -> None:
        self.post_message(self.CameTo())

    def row_opened(self) -> None:
        self.post_message(self.Chosen())

    def draw_row(self, index: int, part: int, width: int, *, selected: bool) -> Strip:
        ground = "cursor" if selected else ""
        if index >= len(self.family):
            return Strip.blank(width, self._looks[""])
        line = self.family[index]
        overview = self._known.get(_name(line))
        mark, look = " ", "muted"
        if overview is not None:
            mark, look = (LIVE_MARK, "live") if overview.live else (MARKS[overview.status], overview.status)
        cells = [(_rails(line.rails), "rails"), (f"{mark} ", look)]
        columns = self._columns(line, overview, width)
        room = width - sum(cell_width(words) for words, _ in (*cells, *columns))
        here = line.conversation is self._here and line.session is None
        sign = f" {HERE} here" if here else ""
        words = fit(self._words(line, overview), max(0, room - len(sign))) + sign
        title = "here" if here else "title" if line.relation in ("origin", "branch", "delegate") else "muted"
        cells += [(pad(words, max(0, room)), title), *columns]
        if self._looks["cursor"].reverse and selected:  # in one piece, whatever the colours of its texts
            cells = [(words, "") for words, _ in cells]
        segments = [Segment(words, self._looks[f"{ground} {look}".strip()]) for words, look in cells]
        return Strip(segments).crop_extend(0, width, self._looks[ground])

    def _words(self, line: Kin, overview: Overview | None) -> str:
        item = line.conversation
        if item is None:
            return steady(one_line(line.source)) + " (gone)"
        if line.session is not None:
            number = item.sessions.index(line.session) + 1
            return f"part {number}" + (", compressed" if line.session is not item.tip else "")
        words = one_line(item.title) or (one_line(overview.preview) if overview else "") or one_line(item.id)
        return steady((ARCHIVED_SIGN if item.archived else "") + SIGNS[line.relation] + words)

    def _columns(self, line: Kin, overview: Overview | None, width: int) -> list[tuple[str, str]]:
        """Time, messages, cost and id, as many as leave room for a title."""
        item = line.conversation
        session = line.session or (item.tip if item is not None else None)
        when = None if item is None else item.started_at if line.session is None else line.session.started_at
        values = (
            ("" if item is None else wording.moment(when), WHEN),
            ("" if overview is None else wording.money(overview.cost), COST),
            ("" if overview is None else wording.count(overview.message_count), MESSAGES),
            (one_line(session.id) if session is not None else "", ID),
        )
        room = width - MIN_TITLE - 2 * len(line.rails)
        cells = []
        for words, size in values:
            if (room := room - size - 1) < 0:
                break
            cells.append((" " + pad(steady(words), size, right=size != ID), "muted"))
        return cells

    def _wanted(self) -> list[Kin]:
        first = self.scroll_offset.y
        seen = self.family[first : first + 2 * self.page + 2]
        return [line for line in seen if line.conversation is not None and _name(line) not in self._known]

    def _fill(self) -> None:
        if self.is_mounted and not self._fetching and self._wanted():
            self._fetching = True
            self._fetch()

    @work(group="family")
    async def _fetch(self) -> None:
        try:
            while wanted := self._wanted():
                for parts in (False, True):
                    items = [_told_of(line) for line in wanted if (line.session is not None) == parts]
                    found = await self._history.overviews(items)
                    self._known.update(((item.id, parts), found.get(item.id)) for item in items)
                self.redraw()
                self.post_message(self.CameTo())
        except SessionsError as error:
            self.post_message(Failed(error))
        finally:
            self._fetching = False


def _name(line: Kin) -> tuple[str, bool]:
    """What is known of a conversation and of its newest part is not the same, though their ids are."""
    if line.conversation is None:
        return "", False
    return (line.session or line.conversation.tip).id, line.session is not None


def _told_of(line: Kin) -> Conversation:
    """What a line is about: a conversation, or one part as if it were one."""
    assert line.conversation is not None
    return line.conversation if line.session is None else Conversation((line.session,))


def _rails(rails: tuple[bool, ...]) -> str:
    """The lines that lead to a row of the tree."""
    if not rails:
        return ""
    shown = rails[-DEEPEST:]
    return "".join("│ " if more else "  " for more in shown[:-1]) + ("├╴" if rails[-1] else "└╴")

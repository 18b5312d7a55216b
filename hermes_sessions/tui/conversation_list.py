"""A list of conversations: what is marked and unfolded in it, and what is asked about the rows that are seen.

Which rows there are is the business of `tui.list_rows`, what they look like that of `tui.session_rows`, and the cursor
that of `tui.cursor_list`. Which conversations are listed is the subclass' business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual import work
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.strip import Strip

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation, ConversationHits, Overview
from hermes_sessions.services.history import History
from hermes_sessions.tui.cursor_list import CursorList
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.list_rows import UNFOLDED, Child, Folds, Heading, Rows, children_of
from hermes_sessions.tui.overviews import Overviews
from hermes_sessions.tui.picked import Marks
from hermes_sessions.tui.session_rows import RowPainter, RowState

AGES_EVERY_SECONDS = 20.0


class ConversationList(CursorList):
    """Conversations by rows of one line or two."""

    class Highlighted(TextualMessage):
        """The cursor came to another conversation, or to none."""

        def __init__(self, conversation: Conversation | None, hits: ConversationHits | None) -> None:
            super().__init__()
            self.conversation = conversation
            self.hits = hits

    class Chosen(TextualMessage):
        """The person opened the highlighted conversation without Enter."""

    class Learned(TextualMessage):
        """More is known of some conversations than before."""

    class NearEnd(TextualMessage):
        """The cursor is near the last row."""

    remote: var[bool] = var(False, init=False)
    """Whether the keys that move the cursor are typed in the search line."""

    def __init__(self, history: History, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.catalog = Catalog(())
        """The conversations there are, listed or not."""
        self.placeholder = ("", "")
        """What is said in place of rows, and a second line of advice."""
        self.overviews = Overviews(history)
        self.painter = RowPainter(self, clock)
        self.folds = Folds()
        self._marks = Marks()
        self._in_order: Sequence[Conversation | Heading] = ()
        self._hits: Mapping[str, ConversationHits] = {}
        self._foldable = (False, False)
        self._fetching = False

    @property
    def conversation(self) -> Conversation | None:
        """The conversation under the cursor."""
        return self.rows.conversation(self.cursor)

    @property
    def hits(self) -> ConversationHits | None:
        """What the search found in the conversation under the cursor."""
        return self._hits.get(self.conversation.id) if self.conversation else None

    @property
    def marked(self) -> tuple[Conversation, ...]:
        """The marked conversations, in the order in which they were marked, whether they are listed now or not."""
        return self._marks.known(self.catalog)

    @property
    def at_top(self) -> bool:
        """Whether there is nothing above the cursor."""
        return self.cursor <= self.rows.first

    @property
    def settled(self) -> bool:
        """Whether all that was asked for is on the screen."""
        return not self._fetching and not self._wanted()

    def overview(self, conversation: Conversation) -> Overview | None:
        """What is known of a conversation, if anything is yet."""
        return self.overviews.get(conversation)

    def put(
        self,
        in_order: Sequence[Conversation | Heading],
        hits: Mapping[str, ConversationHits],
        height: int,
        *,
        sought: Conversation | None = None,
        restart: bool = False,
    ) -> None:
        """List these. Cursor and scroll stay with their conversation, unless another one is `sought`.

        With `restart` the cursor goes to the first row.
        """
        before, above = self.conversation, self.rows.top(self.cursor) - self.scroll_offset.y
        at_top = restart or self.scroll_offset.y == 0
        rows = Rows(self.folds.rows(in_order, self.catalog), height)
        self._in_order, self._hits = in_order, hits
        cursor = self._place_in(rows, [sought] if sought is not None else [], restart)
        self.take(rows, cursor, top=0 if at_top else rows.top(cursor) - above)
        self._fill()
        if restart or before is None or self.conversation is None or before.id not in self.conversation.segments:
            self._highlighted()
        else:
            self._foldable_changed()

    def marks_changed(self) -> None:
        """Others are marked than before."""
        self.redraw()

    def clear_marks(self) -> None:
        """Mark nothing any more."""
        self._marks.clear()
        self.marks_changed()

    def on_mount(self) -> None:
        self.set_interval(AGES_EVERY_SECONDS, self.redraw)

    def on_resize(self) -> None:
        super().on_resize()
        self._fill()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.painter.looks.forget()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._light_cursor()

    def watch_remote(self) -> None:
        self._light_cursor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._fill()

    def render_line(self, y: int) -> Strip:
        if not len(self.rows):
            return self.painter.placeholder(self.placeholder, y, self.scrollable_content_region.width)
        return super().render_line(y)

    def draw_row(self, index: int, part: int, width: int, *, selected: bool) -> Strip:
        if index >= len(self.rows):
            return self.painter.blank(width)
        row = self.rows[index]
        if isinstance(row, Heading):
            return self.painter.heading(row.words, len(row.conversations), self.overviews.cost(row), width)
        item = self.rows.conversation(index)
        assert item is not None
        depth = row.depth if isinstance(row, Child) else 0
        state = RowState(selected, item in self._marks, depth, self.folds.sign(item, self.catalog))
        if part == 0:
            return self.painter.row(item, self.overview(item), width, state)
        return self.painter.second(item, self.overview(item), self._hits.get(item.id), width, state)

    def cursor_moved(self) -> None:
        if self.cursor >= len(self.rows) - max(10, self.page):
            self.post_message(self.NearEnd())
        self._highlighted()

    def row_opened(self) -> None:
        self.post_message(self.Chosen())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would change nothing do not work, so that nobody is told of them."""
        match action:
            case "mark":
                return self.conversation is not None
            case "mark_range":
                return self._marks.last is not None
            case "unfold":
                return self._foldable[0]
            case "fold":
                return self._foldable[1]
            case _:
                return True

    def action_mark(self) -> None:
        """Mark or unmark the conversation under the cursor, and go down."""
        if (item := self.conversation) is not None:
            self._marks.turn(item)
            self.marks_changed()
            self.action_down()

    def action_mark_range(self) -> None:
        """Mark everything from the last marked conversation to the cursor."""
        if self._marks.last is not None:
            last = self.rows.find(self._marks.last, self.catalog)
            start, end = sorted((self.cursor if last is None else last, self.cursor))
            self._marks.add(self.rows.conversations(start, end + 1))
            self._marks.last = self.conversation
            self.marks_changed()

    def action_unfold(self) -> None:
        """Show the subagents below their conversation, or go to the first of them."""
        item = self.conversation
        if item is not None and self._foldable[0]:
            if item in self.folds:
                self.action_down()
            else:
                self.folds.add([item])
                self.put(self._in_order, self._hits, self.rows.height)
                self.keep_in_sight(below=len(children_of(item, self.catalog)))

    def action_fold(self) -> None:
        """Fold the subagents of the conversation, or go from a subagent to what started it."""
        item = self.conversation
        if item is not None and self._foldable[1]:
            row = self.rows[self.cursor]
            if item in self.folds and item.delegates:
                self.folds.remove(item)
                self.put(self._in_order, self._hits, self.rows.height)
            elif isinstance(row, Child) and (parent := self.rows.find(row.parent, self.catalog)) is not None:
                self.go(parent)

    def _place_in(self, rows: Rows, candidates: list[Conversation], restart: bool) -> int:
        """Where the cursor belongs in other rows: at the first of these, or where it is now, that is still there."""
        if not restart and self.conversation is not None:
            row = self.rows[self.cursor]
            candidates += [row.conversation, row.parent] if isinstance(row, Child) else [self.conversation]
        for item in candidates:
            if (found := rows.find(item, self.catalog)) is not None:
                return found
        return 0 if restart else min(self.cursor, max(0, len(rows) - 1))

    def _highlighted(self) -> None:
        self._foldable_changed()
        self.post_message(self.Highlighted(self.conversation, self.hits))

    def _foldable_changed(self) -> None:
        """Tell the footer when the row under the cursor has other keys than the one before."""
        item = self.conversation
        sign = self.folds.sign(item, self.catalog) if item is not None else ""
        below = item is not None and isinstance(self.rows[self.cursor], Child)
        foldable = (bool(sign), below or sign[:1] == UNFOLDED)
        if foldable != self._foldable:
            self._foldable = foldable
            self.refresh_bindings()

    def _light_cursor(self) -> None:
        self.painter.cursor = "cursor" if self.has_focus or self.remote else "blurred"
        self.redraw()

    def _wanted(self) -> list[Conversation]:
        """Conversations on the screen, and of the page after, of which nothing is known yet, or nothing new."""
        first, _ = self.rows.locate(self.scroll_offset.y)
        return self.overviews.unknown(self.rows.conversations(first, first + 2 * self.page + 2))

    def _fill(self) -> None:
        if self.is_mounted and not self._fetching and self._wanted():
            self._fetching = True
            self._fetch_overviews()

    @work(group="overviews")
    async def _fetch_overviews(self) -> None:
        try:
            while wanted := self._wanted():
                await self.overviews.learn(wanted)
                self.redraw()
                self.post_message(self.Learned())
        except SessionsError as error:
            self.post_message(Failed(error))
        finally:
            self._fetching = False

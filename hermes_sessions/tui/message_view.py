"""The pane that shows a conversation: one widget that draws the lines on the screen and loads only their texts.

It owns the scroll position, the message cursor, what is folded and what is found. Where lines are is `transcript`'s
business, what they look like `message_painter`'s; where texts come from is told by the caller of `show`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence

from textual import events, work
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message as TextualMessage
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Conversation, Message, MessageStub
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.findings import Hit
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.message_finder import MessageFinder, marks_of
from hermes_sessions.tui.message_layout import Tools
from hermes_sessions.tui.message_painter import GUTTER, Look, MessagePainter
from hermes_sessions.tui.reading import BATCH, Load, Reading
from hermes_sessions.tui.transcript import Transcript, nearest
from hermes_sessions.tui.viewport import LAST_ROW, Viewport

MEASURE_AFTER_SECONDS = 0.3
"""How long nothing may have been folded or resized before heights are made exact."""

UNWRAPPED_WIDTH = 1000
"""Cells after which even an unwrapped line is broken."""

SHIFT = 16
"""Cells by which unwrapped text moves sideways."""

_UNKNOWN_WIDTH, _UNKNOWN_PAGE = 80, 40
_NEXT_TOOLS: dict[Tools, Tools] = {"off": "short", "short": "full", "full": "off"}


class MessageView(ScrollView, can_focus=True, inherit_bindings=False):
    """A conversation, read like in a pager."""

    BINDINGS = bindings("messages")
    DEFAULT_CSS = "MessageView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }"

    class Opened(TextualMessage):
        """Another conversation is on the screen."""

        def __init__(self, conversation: Conversation) -> None:
            super().__init__()
            self.conversation = conversation

    class HitReached(TextualMessage):
        """The view came to a found place, or knows better how many there are. `total` 0: nothing was found."""

        def __init__(self, position: int, total: int, *, complete: bool, wrapped: bool) -> None:
            super().__init__()
            self.position = position
            """The number of the place, from 1."""
            self.total = total
            self.complete = complete
            """Whether the whole conversation has been searched."""
            self.wrapped = wrapped
            """Whether the way there led past the end of the conversation."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.conversation: Conversation | None = None
        self.placeholder = ""
        """What is said while there are no messages to show."""
        self.finder = MessageFinder(self._fetch, self._reach, self._report)
        self._reading = Reading(Transcript((), _UNKNOWN_WIDTH))
        self._viewport = Viewport(self._reading.transcript, _UNKNOWN_PAGE)
        self._shows = 0
        self._tools: Tools = "off"
        self._reasoning = False
        self._wrapped = True
        self._shift = 0
        self._words = Matcher(())
        self._is_reading = self._is_placing = False
        self._painter = MessagePainter(self)
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(1024)

    async def show(
        self,
        conversation: Conversation,
        stubs: Sequence[MessageStub],
        load: Load,
        at: int | None = None,
        words: Sequence[str] = (),
    ) -> None:
        """Show a conversation at the message with the id `at`, or the nearest, else at its end; mark `words` in it.

        Returns when the texts that are seen first are there, or when another conversation was asked for meanwhile.
        `load` may raise the errors of `errors.SessionsError`; then nothing is changed.
        """
        self._shows += 1
        show = self._shows
        reading = Reading(Transcript(stubs, self._text_width, tools=self._tools, reasoning=self._reasoning), load)
        matcher, page = Matcher(words), self._page
        index, row = max(0, len(stubs) - 1), LAST_ROW
        if at is not None and len(stubs):
            index = nearest(stubs, at)
            row = await reading.row_of(index, matcher)
        await reading.read_around(index, row, page)
        if show != self._shows:
            return
        self.conversation, self._words, self._shift = conversation, matcher, 0
        self._take(reading)
        self._viewport = Viewport(reading.transcript, page)
        if at is None or not len(stubs):
            self._viewport.go_to_end()
        else:
            self._viewport.go_to(index, row)
        self.on_resize()
        self.post_message(self.Opened(conversation))

    def extend(self, stubs: Sequence[MessageStub]) -> None:
        """Take the outline of the conversation as it is now. At the end, the view stays at the end."""
        viewport, known = self._viewport, len(self._viewport.transcript)
        if viewport.transcript.extend(stubs):
            viewport.place_again()
            self._find_from(known)
        else:
            self._take(self._reading.of(stubs))
            viewport.renew(self._reading.transcript)
        self._moved()

    async def find(self, text: str) -> None:
        """Look for `text` in the whole conversation and go to the first place from here on; blank text ends it."""
        await self._find(self.finder.find(Matcher([text]), self._viewport.first, len(self._viewport.transcript)))

    async def next_hit(self, step: int = 1) -> None:
        """Go to the next found place, or with -1 to the one before. Without a find, to the words of the search."""
        cursor = self._viewport.cursor
        await (self._find(self.finder.step(step, cursor)) if self.finder.matcher else self.search_hit(cursor, step))

    async def search_hit(self, start: int = 0, beyond: int = 0) -> None:
        """Go to the first of the search's words from message number `start` on, or as far `beyond` it."""
        count = len(self._viewport.transcript)
        await self._find(self.finder.find(self._words, start, count, beyond=beyond, round_about=False))

    @property
    def current_message(self) -> Message | None:
        """The message under the cursor; None while its text is not here."""
        layout = self._viewport.transcript.layout(self._viewport.cursor)
        return layout.message if layout else None

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: lines that only the width has broken come back in one piece."""
        start, end = selection
        transcript = self._viewport.transcript
        first = (*divmod(start.y, LAST_ROW), start.x - GUTTER) if start else (0, 0, 0)
        last = (*divmod(end.y, LAST_ROW), end.x - GUTTER) if end else (len(transcript), 0, 0)
        return text_between(transcript, first, last), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget the colours of the theme before."""
        super().notify_style_update()
        self._painter.looks.forget()
        self._strips.clear()

    def on_resize(self) -> None:
        if self._viewport.resize(self._page, self._lay_out):
            self._measure_later()
            self._clear_selection()
        self._moved(redraw=True)

    def on_click(self, event: events.Click) -> None:
        if not len(self._viewport.transcript):
            return
        self._viewport.cursor, _ = self._viewport.transcript.heights.locate(self.scroll_offset.y + event.y)
        self._changed()
        if event.chain > 1:
            event.prevent_default()  # which would select everything there is
            self.action_fold()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make exact what comes into view; the line at the top stays there, whatever its number becomes."""
        if not self._is_placing and self._page == self._viewport.page:  # a new size is `on_resize`'s business
            self._viewport.scroll_to(round(new_value))
            self._moved()
        super().watch_scroll_y(old_value, self.scroll_y)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        viewport, width = self._viewport, self.scrollable_content_region.width
        transcript, line_number = viewport.transcript, y + self.scroll_offset.y
        if not len(transcript) and y == 1:
            return self._painter.words(self.placeholder, width)
        if line_number >= transcript.heights.total:
            return self._painter.blank(width)
        index, row = transcript.heights.locate(line_number)
        selected = self.text_selection.get_span(index * LAST_ROW + row) if self.text_selection else None
        key = (index, row, index == viewport.cursor)
        strip = None if selected else self._strips.get(key)
        if strip is None:
            line = transcript.line(index, row)
            marks = [*marks_of(self._words, line), *self.finder.marks(index, line)]
            look = Look(index == viewport.cursor, self._shift, marks, selected)
            strip = self._painter.strip(line, transcript.stub(index), width, look, index * LAST_ROW + row)
            if not selected:
                self._strips[key] = strip
        return strip

    def action_up(self) -> None:
        self._scroll(-1)

    def action_down(self) -> None:
        self._scroll(1)

    def action_page_up(self) -> None:
        self._scroll(min(-1, 1 - self._page))

    def action_page_down(self) -> None:
        self._scroll(max(1, self._page - 1))

    def action_half_up(self) -> None:
        self._scroll(-(self._page // 2))

    def action_half_down(self) -> None:
        self._scroll(self._page // 2)

    def action_first(self) -> None:
        self._viewport.go_to_start()
        self._moved()

    def action_last(self) -> None:
        self._viewport.go_to_end()
        self._moved()

    def action_next_message(self) -> None:
        self._viewport.move_cursor(1)
        self._moved()

    def action_previous_message(self) -> None:
        self._viewport.move_cursor(-1)
        self._moved()

    def action_left(self) -> None:
        self._shift = max(0, self._shift - SHIFT)
        self._changed()

    def action_right(self) -> None:
        if not self._wrapped:
            self._shift = min(UNWRAPPED_WIDTH, self._shift + SHIFT)
            self._changed()

    def action_fold(self) -> None:
        """Show all of the message under the cursor, or fold it."""
        viewport = self._viewport
        if len(viewport.transcript):
            opened = viewport.transcript.is_open(viewport.cursor)
            viewport.fold(lambda: viewport.transcript.toggle(viewport.cursor, not opened))
            self._clear_selection()
            self._moved(redraw=True)

    def action_tools(self) -> None:
        """Show what tools said as a line, short, in full."""
        self._tools = _NEXT_TOOLS[self._tools]
        self._refold()

    def action_reasoning(self) -> None:
        """Show what was thought as a line, or in full."""
        self._reasoning = not self._reasoning
        self._refold()

    def action_wrap(self) -> None:
        """Break long lines at the edge, or let them go on beyond it."""
        self._wrapped, self._shift = not self._wrapped, 0
        self._refold()

    @property
    def _page(self) -> int:
        """The number of lines that are seen."""
        return self.size.height if self.size.area else _UNKNOWN_PAGE

    @property
    def _text_width(self) -> int:
        if not self._wrapped:
            return UNWRAPPED_WIDTH
        return (self.size.width if self.size.area else _UNKNOWN_WIDTH) - GUTTER - 1

    def _scroll(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_y + lines, animate=False, force=True)

    def _take(self, reading: Reading) -> None:
        """Show another transcript. What is found in the one before means nothing here."""
        self._reading = reading
        self.finder.clear()
        self._clear_selection()
        self._changed()
        self._measure_later()

    def _lay_out(self) -> bool:
        return self._viewport.transcript.relayout(self._text_width, self._tools, self._reasoning)

    def _refold(self) -> None:
        self._clear_selection()
        self._viewport.fold(self._lay_out)
        self._moved(redraw=True)
        self._measure_later()

    def _moved(self, *, redraw: bool = False) -> None:
        """Tell Textual where the viewport is now, and see to the texts in it. `redraw` if lines look different."""
        viewport = self._viewport
        if redraw:
            self._strips.clear()
        self._is_placing = True
        try:
            self.virtual_size = Size(self.size.width, viewport.transcript.heights.total)
            self.scroll_target_y = self.scroll_y = viewport.y
        finally:
            self._is_placing = False
        self.refresh()
        if not self._is_reading and viewport.transcript.missing(viewport.around):
            self._is_reading = True
            self._read_visible()

    def _changed(self) -> None:
        self._strips.clear()
        self.refresh()

    def _clear_selection(self) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()

    @work(group="texts")
    async def _read_visible(self) -> None:
        try:
            while wanted := self._viewport.transcript.missing(self._viewport.around):
                reading, first = self._reading, self._viewport.first
                await reading.read(sorted(wanted, key=lambda index: abs(index - first))[:BATCH])
                if reading is self._reading:
                    reading.transcript.trim(self._viewport.around)
                    self._viewport.place_again()
                    self._moved(redraw=True)
        except SessionsError as error:
            self.post_message(Failed(error))
        finally:
            self._is_reading = False

    @work(group="heights", exclusive=True)
    async def _measure_later(self) -> None:
        """Make all heights exact once nothing else happens."""
        await asyncio.sleep(MEASURE_AFTER_SECONDS)
        try:
            await self._reading.measure(self._heights_changed)
        except SessionsError as error:
            self.post_message(Failed(error))

    def _heights_changed(self) -> None:
        self._viewport.place_again()
        self._moved()

    @work(group="find")
    async def _find_from(self, index: int) -> None:
        await self._find(self.finder.extend(range(index, len(self._viewport.transcript))))

    async def _find(self, finding: Awaitable[None]) -> None:
        self._changed()
        try:
            await finding
        except SessionsError as error:
            self.post_message(Failed(error))

    async def _fetch(self, indices: Sequence[int]) -> Mapping[int, Message | None] | None:
        reading = self._reading
        messages = await reading.fetch(indices)
        return messages if reading is self._reading else None

    async def _reach(self, hit: Hit) -> None:
        reading = self._reading
        row = await reading.row_of(hit.message, self.finder.matcher, hit.block, hit.start)
        await reading.read_around(hit.message, row, self._page)
        if reading is self._reading:
            self._viewport.go_to(hit.message, row)
            self._moved()

    def _report(self, finder: MessageFinder, wrapped: bool) -> None:
        self._changed()
        self.post_message(self.HitReached(finder.position, finder.total, complete=finder.complete, wrapped=wrapped))

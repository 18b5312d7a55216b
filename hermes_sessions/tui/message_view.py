"""The pane that shows a conversation: one widget that draws the lines on the screen and loads only their texts.

It owns the scroll position, the message cursor, what is folded and what is found. Where lines are is `transcript`'s
business, what they look like `drawn_lines`'; where texts come from is told by the caller of `show`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, work
from textual.geometry import Size
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.selection import Selection
from textual.strip import Strip

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Conversation, Message, MessageStub
from hermes_sessions.tui.drawn_lines import DrawnLines
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.message_copy import text_between
from hermes_sessions.tui.message_hits import MessageHits
from hermes_sessions.tui.message_layout import NEXT_TOOLS, Tools
from hermes_sessions.tui.message_painter import GUTTER
from hermes_sessions.tui.openings import Story, openings_steps
from hermes_sessions.tui.paged_view import UNKNOWN_PAGE, PagedView
from hermes_sessions.tui.reading import BATCH, Load, Reading, Slices, without_frames
from hermes_sessions.tui.spare_memory import LARGE, give_back
from hermes_sessions.tui.transcript import LAST_ROW, Transcript, nearest
from hermes_sessions.tui.viewport import Here, Viewport

MEASURE_AFTER_SECONDS = 0.3
"""How long nothing may have been folded or resized before heights are made exact."""

UNWRAPPED_WIDTH = 1000
"""Cells after which even an unwrapped line is broken."""

SHIFT = 16
"""Cells by which unwrapped text moves sideways."""

_UNKNOWN_WIDTH = 80


class MessageView(PagedView, inherit_bindings=False):
    """A conversation, read like in a pager."""

    BINDINGS = bindings("messages")
    DEFAULT_CSS = "MessageView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }"

    @dataclass
    class HitReached(TextualMessage):
        """The view came to a found place, or knows better how many there are. `total` 0: nothing was found."""

        position: int
        """The number of the place, from 1."""
        total: int
        complete: bool
        """Whether the whole conversation has been searched."""
        wrapped: bool
        """Whether the way there led past the end of the conversation."""
        ended: bool = False
        """Whether the step led nowhere: there is no place further on."""

    found: var[tuple[int, int]] = var((0, 0))
    """The number of the place the person was taken to, and how many are known."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.conversation: Conversation | None = None
        self.hits = MessageHits(self)
        self.reading = Reading(Transcript((), _UNKNOWN_WIDTH))
        """The conversation and its texts."""
        self.viewport = Viewport(self.reading.transcript, UNKNOWN_PAGE)
        """The lines on the screen and the message cursor; it is moved by the view alone."""
        self._shows = 0
        self.tools: Tools = "off"
        self.reasoning = False
        self.wrapped = True
        self._is_reading = self._is_placing = False
        self.drawn = DrawnLines(self, self.hits)

    async def show(
        self,
        conversation: Conversation,
        stubs: Sequence[MessageStub],
        load: Load,
        at: int | None = None,
        words: Sequence[str] = (),
        branched_from: Conversation | None = None,
    ) -> None:
        """Show a conversation at the message with the id `at`, or the nearest, else at its end; mark `words` in it.

        Returns when the texts that are seen first are there, or when another conversation was asked for meanwhile.
        `load` may raise the errors of `errors.SessionsError`; then nothing is changed.
        """
        show = self._shows = self._shows + 1
        width, story = self._text_width, Story.of(conversation, branched_from)
        known = await Slices().run(openings_steps(stubs, story))
        transcript = Transcript(stubs, width, tools=self.tools, reasoning=self.reasoning, story=story, known=known)
        reading = Reading(transcript, load)
        matcher, page = Matcher(words), self.page
        index, row = max(0, len(stubs) - 1), LAST_ROW
        if at is not None and len(stubs):
            index = nearest(stubs, at)
            row = await reading.row_of(index, matcher)
        await reading.read_around(index, row, page)
        if show != self._shows:
            return
        self.conversation = conversation
        self.hits.words, self.drawn.shift = matcher, 0
        self._take(reading)
        self.viewport = Viewport(reading.transcript, page)
        if at is None or not len(stubs):
            self.viewport.go_to_end()
        else:
            self.viewport.go_to(index, row)
        self.on_resize()

    def extend(self, stubs: Sequence[MessageStub]) -> None:
        """Take the outline of the conversation as it is now. At the end, the view stays at the end."""
        viewport, known = self.viewport, len(self.viewport.transcript)
        if viewport.transcript.extend(stubs):
            viewport.place_again()
            self.run_worker(self.hits.extend(known), group="find")
        else:
            self._take(self.reading.of(stubs))
            viewport.renew(self.reading.transcript)
        self._moved()
        self._measure_later()

    async def go_to(self, index: int) -> None:
        """Put the cursor on message number `index`, from 0, and its beginning at the top of the screen."""
        reading, transcript = self.reading, self.reading.transcript
        if not 0 <= index < len(transcript):
            return
        try:
            await reading.read_around(index, transcript.first_row(index), self.page)
        except SessionsError as error:
            self.post_message(Failed(error))
        if reading is self.reading:
            self.viewport.put_cursor(index)
            self._moved()

    def show_line(self, index: int, row: int) -> None:
        """Put the cursor on a message and a line of it on the screen. Its text must be here."""
        self.viewport.go_to(index, row)
        self._moved()
        self._measure_later()  # it may have been opened for that

    def go_back(self, here: Here | None) -> None:
        """Be again where the person was, in the same conversation."""
        if here is not None:
            self.viewport.go_back(here)
            self._moved()

    @property
    def current_message(self) -> Message | None:
        """The message under the cursor; None while its text is not here."""
        layout = self.viewport.transcript.layout(self.viewport.cursor)
        return layout.message if layout else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would change nothing do not work, so that nobody is told of them."""
        return not self.wrapped if action in ("left", "right") else True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: lines that only the width has broken come back in one piece."""
        (start, end), transcript = selection, self.viewport.transcript
        first = (*divmod(start.y, LAST_ROW), start.x - GUTTER) if start else (0, 0, 0)
        last = (*divmod(end.y, LAST_ROW), end.x - GUTTER) if end else (len(transcript), 0, 0)
        return text_between(transcript, first, last), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget the colours of the theme before."""
        super().notify_style_update()
        self.drawn.forget(colours=True)

    def on_resize(self) -> None:
        if self.viewport.resize(self.page, self._lay_out):
            self._measure_later()
            self._clear_selection()
        self._moved(redraw=True)

    def on_click(self, event: events.Click) -> None:
        if not len(self.viewport.transcript):
            return
        self.viewport.cursor, _ = self.viewport.transcript.heights.locate(self.scroll_offset.y + event.y)
        self.redraw()
        if event.chain > 1:
            event.prevent_default()  # which would select everything there is
            self.action_fold()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make exact what comes into view; the line at the top stays there, whatever its number becomes."""
        if not self._is_placing and self.page == self.viewport.page:  # a new size is `on_resize`'s business
            self.viewport.scroll_to(round(new_value))
            self._moved()
        super().watch_scroll_y(old_value, self.scroll_y)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.scrollable_content_region.width
        return self.drawn.strip(self.viewport, y + self.scroll_offset.y, width, self.text_selection)

    def action_first(self) -> None:
        self.viewport.go_to_start()
        self._moved()

    def action_last(self) -> None:
        self.viewport.go_to_end()
        self._moved()

    def action_message(self, step: int) -> None:
        """Go to the next message, or with -1 to the one before."""
        self.viewport.put_cursor(self.viewport.cursor + step)
        self._moved()

    async def action_prompt(self, step: int) -> None:
        """Go to the next message of the person, or with -1 to the one before."""
        stubs = self.viewport.transcript.stubs
        rest = range(self.viewport.cursor + step, len(stubs) if step > 0 else -1, step)
        found = next((index for index in rest if stubs[index].role == "user"), None)
        if found is not None:
            await self.go_to(found)

    def action_left(self) -> None:
        self.drawn.shift = max(0, self.drawn.shift - SHIFT)
        self.redraw()

    def action_right(self) -> None:
        if not self.wrapped:
            self.drawn.shift = min(UNWRAPPED_WIDTH, self.drawn.shift + SHIFT)
            self.redraw()

    def action_fold(self) -> None:
        """Show all of the message under the cursor, or fold it."""
        viewport = self.viewport
        if len(viewport.transcript):
            transcript, index = viewport.transcript, viewport.cursor
            opened = transcript.fold(index).is_whole(transcript.stubs[index].role)
            was_large = transcript.layouts.bytes > LARGE
            viewport.fold(lambda: transcript.toggle(index, not opened))
            if opened and was_large:
                self.reading.forget_whole()
                self.run_worker(give_back(), group="memory", exclusive=True)
            self._clear_selection()
            self._moved(redraw=True)
            self._measure_later()

    def action_tools(self) -> None:
        """Show what tools said as a line, short, in full."""
        self.tools = NEXT_TOOLS[self.tools]
        self._refold()

    def action_reasoning(self) -> None:
        """Show what was thought as a line, or in full."""
        self.reasoning = not self.reasoning
        self._refold()

    def action_wrap(self) -> None:
        """Break long lines at the edge, or let them go on beyond it."""
        self.wrapped, self.drawn.shift = not self.wrapped, 0
        self._refold()

    @property
    def _text_width(self) -> int:
        if not self.wrapped:
            return UNWRAPPED_WIDTH
        return (self.size.width if self.size.area else _UNKNOWN_WIDTH) - GUTTER - 1

    def _take(self, reading: Reading) -> None:
        """Show another transcript. What is found in the one before means nothing here."""
        was_large = self.reading.transcript.layouts.bytes > LARGE
        self.reading = reading
        if was_large:
            self.run_worker(give_back(), group="memory", exclusive=True)
        self._clear_selection()
        self.hits.forget()
        self._measure_later()

    def _lay_out(self) -> bool:
        return self.viewport.transcript.relayout(self._text_width, self.tools, self.reasoning)

    def _refold(self) -> None:
        self._clear_selection()
        self.viewport.fold(self._lay_out)
        self._moved(redraw=True)
        self._measure_later()

    def _moved(self, *, redraw: bool = False) -> None:
        """Tell Textual where the viewport is now, and see to the texts in it. `redraw` if lines look different."""
        viewport = self.viewport
        if redraw:
            self.drawn.forget()
        self._is_placing = True
        try:
            self.virtual_size = Size(self.size.width, viewport.transcript.heights.total)
            self.scroll_target_y = self.scroll_y = viewport.y
        finally:
            self._is_placing = False
        self.refresh()
        if self.reading.is_plain(viewport.around):
            self.run_worker(self.reading.colour(lambda: self.viewport.around, self.redraw), group="texts")
        if not self._is_reading and viewport.transcript.missing(viewport.around):
            self._is_reading = True
            self._read_visible()

    def redraw(self) -> None:
        """Draw what is seen again: it looks different now."""
        self.drawn.forget()
        self.refresh()

    def _clear_selection(self) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()

    @work(group="texts")
    async def _read_visible(self) -> None:
        try:
            while wanted := self.viewport.transcript.missing(self.viewport.around):
                reading, first = self.reading, self.viewport.first
                await reading.read(sorted(wanted, key=lambda index: abs(index - first))[:BATCH])
                if reading is self.reading:
                    reading.transcript.layouts.trim(self.viewport.around)
                    self.viewport.place_again()
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
            await self.reading.measure(self._heights_changed)
        except SessionsError as error:
            self.post_message(Failed(error))
        except asyncio.CancelledError as error:
            raise without_frames(error) from None

    def _heights_changed(self) -> None:
        self.viewport.place_again()
        self._moved()

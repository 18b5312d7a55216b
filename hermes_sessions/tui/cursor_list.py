"""A list with a cursor, drawn line by line: only the rows that are seen are ever drawn, whatever the number of them.

It owns the cursor, the scroll position and the selection of text. What rows there are and what they look like is the
subclass' business.
"""

from __future__ import annotations

from textual import events
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from hermes_sessions.tui.list_rows import Rows
from hermes_sessions.tui.selected_text import text_of, with_selection


class CursorList(ScrollView, can_focus=True):
    """Rows that keys and the mouse go through. A subclass draws them, and hears where the cursor came to."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = Rows()
        self.cursor = 0
        """The number of a row that is no heading."""
        self._strips: dict[tuple[int, bool], Strip] = {}

    def draw_row(self, index: int, part: int, width: int, *, selected: bool) -> Strip:
        """One line of a row; `index` may be behind the last."""
        raise NotImplementedError

    def cursor_moved(self) -> None:
        """The person has moved the cursor to another row."""

    def row_opened(self) -> None:
        """The person has clicked twice on the row under the cursor."""

    @property
    def page(self) -> int:
        """Rows that fit on the screen, less one that stays in sight."""
        return max(1, self.scrollable_content_region.height // self.rows.height - 1)

    def take(self, rows: Rows, cursor: int, *, top: int | None = None) -> None:
        """Show other rows, with the cursor at or near a row and the line `top` in front, if it can be."""
        self.rows = rows
        self.cursor = rows.near(cursor)
        self._strips.clear()
        self.measure()
        if top is not None:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.keep_in_sight()
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()  # its lines are others now
        self.refresh()

    def go(self, index: int, step: int = 1) -> bool:
        """Put the cursor on a row, or on the next in the direction of `step` if it is a heading. Say if it moved."""
        index = self.rows.near(index, step)
        if index == self.cursor or not len(self.rows):
            return False
        before, self.cursor = self.cursor, index
        self.keep_in_sight()
        for row in (before, index):
            self.refresh_lines(self.rows.top(row), self.rows.height)
        self.cursor_moved()
        return True

    def measure(self) -> None:
        """Tell Textual how much there is to scroll."""
        self.virtual_size = Size(self.scrollable_content_region.width, self.rows.lines)

    def keep_in_sight(self, below: int = 0) -> None:
        """Scroll as far as it takes to see the row under the cursor, the heading right above it, and as many of the
        rows `below` it as fit."""
        rows, height, first = self.rows, self.scrollable_content_region.height, self.scroll_offset.y
        if not len(rows):
            return
        top = rows.top(self.cursor)
        end = min(rows.top(self.cursor + 1 + below), max(top + height, top + rows.height))
        if self.cursor > 0 and height > rows.height and rows.near(self.cursor - 1) == self.cursor:
            top = rows.top(self.cursor - 1)
        if top < first:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        elif end > first + height > first:
            self.scroll_to(y=end - height, animate=False, force=True, immediate=True)

    def redraw(self) -> None:
        """Draw all rows again: they look different."""
        self._strips.clear()
        self.refresh()

    def on_resize(self) -> None:
        self._strips.clear()
        self.measure()
        self.keep_in_sight()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        strip = self._line(line)
        if self.has_focus and line == self.rows.top(self.cursor):
            # The terminal's own cursor, though hidden: magnifiers and the like follow it.
            self.app.cursor_position = self.content_region.offset + Offset(0, y)
        if self.text_selection is not None and (span := self.text_selection.get_span(line)) is not None:
            return with_selection(strip, span, self.screen.get_component_rich_style("screen--selection"))
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text of the lines that are seen, and of those that were when the mouse went over them."""
        seen = self.scroll_offset.y
        first = selection.start.y if selection.start else seen
        last = selection.end.y if selection.end else seen + self.scrollable_content_region.height - 1
        lines = range(first, min(last + 1, self.rows.lines))
        return "\n".join(text_of(self._line(line), selection.get_span(line)) for line in lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1:
            event.prevent_default()  # which would select everything there is
        offset = event.get_content_offset(self)
        if offset is None or self.text_selection is not None:
            return
        index, _ = self.rows.locate(offset.y + self.scroll_offset.y)
        if index < len(self.rows) and self.rows.near(index) == index:
            self.go(index)
            if event.chain == 2:
                self.row_opened()

    def action_up(self) -> None:
        self.go(self.cursor - 1, -1)

    def action_down(self) -> None:
        self.go(self.cursor + 1)

    def action_page_up(self) -> None:
        self.go(self.cursor - self.page, -1)

    def action_page_down(self) -> None:
        self.go(self.cursor + self.page)

    def action_half_up(self) -> None:
        self.go(self.cursor - max(1, self.page // 2), -1)

    def action_half_down(self) -> None:
        self.go(self.cursor + max(1, self.page // 2))

    def action_first(self) -> None:
        self.go(0)

    def action_last(self) -> None:
        self.go(len(self.rows) - 1)

    def _line(self, line: int) -> Strip:
        index, part = self.rows.locate(line)
        key = (line, index == self.cursor)
        strip = self._strips.get(key)
        if strip is None:
            strip = self.draw_row(index, part, self.scrollable_content_region.width, selected=key[1])
            strip = self._strips[key] = strip.apply_offsets(0, line)
        return strip

"""The lines on the screen as strips, drawn once and kept until they look different.

What a line says is the transcript's business, its colours the painter's; this knows which words are marked in it.
"""

from __future__ import annotations

from textual.cache import LRUCache
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from hermes_sessions.tui.message_finder import marks_of
from hermes_sessions.tui.message_hits import MessageHits
from hermes_sessions.tui.message_painter import Look, MessagePainter
from hermes_sessions.tui.transcript import LAST_ROW
from hermes_sessions.tui.viewport import Viewport

NOTHING = "No messages."

_KEPT = 1024


class DrawnLines:
    """Draws the lines of one message view."""

    def __init__(self, view: Widget, hits: MessageHits) -> None:
        self.shift = 0
        """Cells of unwrapped text that are scrolled out on the left."""
        self._hits = hits
        self._painter = MessagePainter(view)
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(_KEPT)

    def forget(self, *, colours: bool = False) -> None:
        """Draw all lines again; with `colours` because the theme is another one."""
        if colours:
            self._painter.looks.forget()
        self._strips.clear()

    def strip(self, viewport: Viewport, line_number: int, width: int, selection: Selection | None) -> Strip:
        """Return one line of the conversation, `width` cells wide."""
        transcript = viewport.transcript
        if not len(transcript) and line_number == 1:
            return self._painter.words(NOTHING, width)
        if line_number >= transcript.heights.total:
            return self._painter.blank(width)
        index, row = transcript.locate(line_number)
        name = index * LAST_ROW + row
        current = index == viewport.cursor
        selected = selection.get_span(name) if selection else None
        strip = None if selected else self._strips.get((index, row, current))
        if strip is None:
            line = transcript.line(index, row)
            marks = [*marks_of(self._hits.words, line), *self._hits.finder.marks(index, line)]
            look = Look(current, self.shift, marks, selected)
            strip = self._painter.strip(line, transcript.stub(index), width, look, name)
            if not selected:
                self._strips[(index, row, current)] = strip
        return strip

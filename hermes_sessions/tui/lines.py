"""A line of a transcript: a piece of a text, what is drawn of it, and what of it is copied. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

from hermes_sessions.text import steady
from hermes_sessions.tui.line_styles import HIDDEN, Headline, Run, SourceText, steady_runs
from hermes_sessions.tui.markdown_lines import GAP
from hermes_sessions.tui.message_layout import PartKind
from hermes_sessions.tui.message_tables import TableLine, field_runs
from hermes_sessions.tui.openings import Opening

LineKind = PartKind | Opening | Literal["unread"]


class Line(NamedTuple):
    """One line on the screen: a piece of one text, or pieces of a table's row."""

    kind: LineKind
    source: Headline | SourceText
    start: int
    stop: int
    block: int = -1
    indent: int = 0
    """Characters before what is drawn of the source."""
    table: TableLine | None = None
    lead: Run = Run("", "")
    """What those are at their end; blanks before it."""

    def runs(self) -> list[Run]:
        """Return what is drawn of the source."""
        if self.table and isinstance(self.source, SourceText):
            runs = field_runs(self.source, self.table)
        else:
            runs = self.source.runs(self.start, self.stop)
        seen = [piece for run in runs if run.look != HIDDEN for piece in steady_runs(run)]
        if seen and seen[-1].look.endswith(GAP):
            seen.pop()  # a blank that would stand beyond the edge
        return seen

    @property
    def is_rule(self) -> bool:
        """Whether it is drawn as a rule from edge to edge."""
        return isinstance(self.source, SourceText) and self.source.is_rule(self.start, self.stop)

    @property
    def written(self) -> list[str]:
        """What is drawn of the source, character for character, as it is written there.

        A line of which nothing is drawn, such as a fence, is what is written there.
        """
        text = self.source.text
        chars: list[str] = []
        place = self.start
        for run in (*self.runs(), Run("", "", self.stop)):
            if chars and place < run.at and not steady(text[place : run.at]):
                chars[-1] += text[place : run.at]  # signs that change the look of the one before
            drawn = run.at < 0 or run.look.endswith(GAP)
            chars += run.text if drawn else text[run.at : run.at + len(run.text)]
            place = run.at + len(run.text) if run.at >= 0 else len(text)
        return chars or list(text[self.start : self.stop])


class Mark(NamedTuple):
    """A piece of a line's source that is shown differently."""

    start: int
    stop: int
    look: str

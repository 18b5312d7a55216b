"""The search line: one row with what is asked on the left and what came of it on the right.

It edits text and says so; asking the store and drawing what was found is the screen's part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input, Static

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Problem
from hermes_sessions.services.history import History
from hermes_sessions.services.past_searches import PastSearches
from hermes_sessions.text import cell_width, fit, one_line, wrap
from hermes_sessions.tui.candidates import Candidates
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings

if TYPE_CHECKING:
    from hermes_sessions.services.completion import Vocabulary

QUIET_SECONDS = 0.25
"""How long an answer may take before it is said that there is none yet: what is said for a blink only flickers."""

ROOMY_PART = 0.7
"""What the words at the right end have of the line, while the typed text leaves it to them: see `browser.tcss`."""


class LineInput(Input):
    """One row of text, edited by grapheme clusters. What is pasted becomes one safe line."""

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the terminal's own cursor is put, for screen readers and input methods; Textual's is one cell off."""
        offset = super().cursor_screen_offset
        return offset - (1, 0) if self.cursor_at_end else offset

    def render_line(self, y: int) -> Strip:
        if self.has_focus:  # it may have been moved since the text changed
            self.app.cursor_position = self.cursor_screen_offset
        return super().render_line(y)

    def __init__(
        self, placeholder: str, *, value: str = "", highlighter: Highlighter | None = None, id: str | None = None
    ) -> None:
        super().__init__(value, placeholder, highlighter, id=id, compact=True, select_on_focus=False)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Never: what is text is taken here before it could be a command, but Textual would also drop the command
        before it sees that a person has bound that to another key."""
        return False

    def action_paste(self) -> None:
        if line := one_line(self.app.clipboard):
            self.replace(line, *sorted(self.selection))

    def action_cursor_left(self, select: bool = False) -> None:
        if select or not self.selection.is_empty:
            super().action_cursor_left(select)
        else:
            self.cursor_position = self._edge_before(self.cursor_position)

    def action_cursor_right(self, select: bool = False) -> None:
        if select or not self.selection.is_empty:
            super().action_cursor_right(select)
        else:
            self.cursor_position = self._edge_after(self.cursor_position)

    def action_delete_left(self) -> None:
        if self.selection.is_empty:
            self.delete(self._edge_before(self.cursor_position), self.cursor_position)
        else:
            self.delete_selection()

    def action_delete_right(self) -> None:
        if self.selection.is_empty:
            self.delete(self.cursor_position, self._edge_after(self.cursor_position))
        else:
            self.delete_selection()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if line := one_line(event.text):
            self.replace(line, *sorted(self.selection))

    def _edges(self) -> list[int]:
        """Offsets between the clusters of the value: where lines of one cell would break."""
        return sorted({0, len(self.value), *chain.from_iterable(wrap(self.value, 1))})

    def _edge_before(self, position: int) -> int:
        return max((edge for edge in self._edges() if edge < position), default=0)

    def _edge_after(self, position: int) -> int:
        return min((edge for edge in self._edges() if edge > position), default=position)


class QueryInput(LineInput):
    """The search line's input: keys that are no text move the list."""

    BINDINGS = bindings("search")

    def __init__(self, placeholder: str, past: Callable[[], PastSearches], *, value: str = "", id: str | None = None):
        self.problems: Sequence[Problem] = ()
        """What makes no sense in the text that was answered last."""
        super().__init__(placeholder, value=value, highlighter=_Underline(self), id=id)
        self._open_past = past
        self._steps = 0
        """How far back the shown search is, 0 when the person wrote it."""
        self._recalled = ""

    @cached_property
    def _past(self) -> PastSearches:
        return self._open_past()

    def remember(self) -> None:
        """Keep what is typed for another time."""
        if self.value.strip():
            self._past.add(self.value)

    def on_unmount(self) -> None:
        self.remember()

    def recall(self, step: int) -> bool:
        """Show the search before the one that is shown, or with -1 the one after, and say whether there was one.

        What the person wrote stays; after the newest search comes the empty line that the way back began at.
        """
        if self.value != self._recalled:
            self._steps = 0
        if (self.value and not self._steps) or self._steps + step < 0:
            return False
        text = self._past.before(self._steps + step) if self._steps + step else ""
        if text is None:
            return False
        self._steps += step
        self._recalled = self.value = text
        self.cursor_position = len(text)
        return True


class _Underline(Highlighter):
    """Shows where what makes no sense stands."""

    def __init__(self, line: QueryInput) -> None:
        self._line = line

    def highlight(self, text: Text) -> None:
        style = self._line.app.stylesheet.parse_style("$status-error underline").rich_style
        for problem in self._line.problems:
            text.stylize(style, problem.start, problem.stop)


class SearchBar(Horizontal):
    """The search line. `say` takes the words for its right end, from the longest to the shortest way to put them."""

    class Changed(TextualMessage):
        """The person changed what is asked."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    input = query_one("#query", QueryInput)
    status = query_one("#status", Static)
    candidates = query_one("#candidates", Candidates)

    def __init__(self, text: str, past: Callable[[], PastSearches], history: History, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._past = past
        self._history = history
        self._first_text = one_line(text)
        self._words: tuple[str, ...] = ("",)
        self._learnt: Catalog | None = None
        self._vocabulary: Vocabulary = {}
        self._wanted = 0
        self._wanted_for = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(Content("❯"), id="prompt")
        yield QueryInput("Search all that was said", self._past, value=self._first_text, id="query")
        yield Static(id="status")
        yield Candidates(id="candidates")

    @property
    def text(self) -> str:
        """What is typed."""
        return self.input.value

    @property
    def completing(self) -> bool:
        """Whether words to complete with are shown."""
        return self.candidates.display

    def clear(self) -> None:
        """Empty the line, as if the person had."""
        self.input.remember()
        self.input.value = ""

    def say_soon(self, *words: str) -> None:
        """Show these words, unless there is something else to say in a moment."""
        if self._timer is None:
            self._timer = self.set_timer(QUIET_SECONDS, lambda: self.say(*words))

    def say(self, *words: str, error: bool = False, problems: Sequence[Problem] = ()) -> None:
        """Show the first of `words` that fits at the right end, the last one cut if need be, and mark `problems`."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if problems != self.input.problems:
            self.input.problems = problems
            self.input.refresh()
        self._words = words or ("",)
        self.status.set_class(error, "-error")
        self._draw_status()

    def complete(self, catalog: Catalog, step: int) -> bool:
        """Put the next word there is in place of the begun one, or the word before with -1; where there is none, put
        the first mistake right, if it is known how. False if there was nothing to do."""
        line = self.input
        if self._learn(catalog) and not self._vocabulary:
            self._wanted, self._wanted_for = step, line.value  # as soon as the words are there
            return True
        made = self.candidates.next(line.value, line.cursor_position, step, self._vocabulary) or self._put_right()
        if made is not None:
            line.value, line.cursor_position = made
        return made is not None

    def _put_right(self) -> tuple[str, int] | None:
        from hermes_sessions.services.completion import unknown_values

        for start, stop, _, meant in (*self.input.problems, *unknown_values(self.text, {}, typing=True)):
            if meant and self.text[start:stop]:
                return self.text[:start] + meant + self.text[stop:], start + len(meant)
        return None

    def unknown(self) -> str:
        """What is asked for that is no key, or nowhere in the store as far as its words are known."""
        from hermes_sessions.services.completion import unknown_values

        for _, _, message, suggestion in unknown_values(self.text, self._vocabulary, typing=True):
            return one_line(f"Did you mean {suggestion}?" if suggestion else message)
        return ""

    def expect(self, catalog: Catalog) -> None:
        """Get the words ready, if what is typed could soon be completed with them."""
        self._learn(catalog)

    def _learn(self, catalog: Catalog) -> bool:
        """Read the words of a catalogue if completing takes them, and say whether it does; older ones serve then."""
        from hermes_sessions.services.completion import asks_store

        needed = asks_store(self.text, self.input.cursor_position)
        if needed and catalog is not self._learnt:
            self._learnt = catalog
            self._read_words(catalog)
        return needed

    @work(group="words", exclusive=True)
    async def _read_words(self, catalog: Catalog) -> None:
        try:
            self._vocabulary = await self._history.vocabulary(catalog)
        except SessionsError as error:
            self._learnt = None
            self.post_message(Failed(error))
        step, self._wanted = self._wanted, 0
        if step:
            self.complete(catalog, step)

    def stop_completing(self) -> None:
        """Take the words away; what was put in stays."""
        self.candidates.hide()

    def on_resize(self) -> None:
        self._make_room()
        self._draw_status()

    def on_descendant_blur(self) -> None:
        self.candidates.hide()
        self.input.remember()

    @on(Input.Changed)
    def _edited(self, event: Input.Changed) -> None:
        event.stop()
        if self.text != self.candidates.text:  # what is told may be older than what stands there
            self.candidates.hide()
        if self.text != self._wanted_for:
            self._wanted = 0
        self.input.problems = ()
        self._make_room()
        self.post_message(self.Changed(event.value))

    def _make_room(self) -> None:
        """Leave to the words what the typed text does not take."""
        left = (1 - ROOMY_PART) * self.size.width - 4  # the prompt, the cursor, and a gap
        self.set_class(bool(self.text) and cell_width(self.text) <= left, "-roomy")

    def _draw_status(self) -> None:
        width = self.status.size.width
        words = next((text for text in self._words if cell_width(text) <= width), self._words[-1])
        self.status.update(Content(fit(words, width)), layout=False)

"""What the word before the cursor could become: a short list under the search line, gone through with Tab.

Which words there are is `services.completion`'s business, putting one into the line the screen's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, fit, one_line, pad, steady

if TYPE_CHECKING:
    from hermes_sessions.services.completion import Candidate, Vocabulary

ROWS = 8
"""Words that are seen at once."""

LONGEST = 48
"""Cells of a word that are seen."""


class Candidates(Static):
    """The list. It is there while it helps, and has no focus of its own."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = ""
        """The line as it was made last."""
        self._typed = ""
        self._found: tuple[Candidate, ...] = ()
        self._at = 0

    def next(self, text: str, cursor: int, step: int, vocabulary: Vocabulary) -> tuple[str, int] | None:
        """Return the line with the next word in it, or with -1 the one before, and its cursor; None if there is none.

        Where no word is begun there is none: Tab is for those who want to go on then.
        """
        from hermes_sessions.services.completion import complete

        if len(self._found) > 1 and text == self.text:
            self._at = (self._at + step) % len(self._found)
        else:
            self._found = complete(text, cursor, vocabulary) if text[:cursor][-1:].strip() else ()
            self._typed = text
            self._at = 0 if step > 0 else len(self._found) - 1
        if not self._found:
            self.hide()
            return None
        chosen = self._found[self._at]
        # The only word there is need not be gone on from.
        end = " " if len(self._found) == 1 and not chosen.text.endswith(":") else ""
        before = self._typed[: chosen.start] + chosen.text + end
        self.text = before + self._typed[chosen.stop :]
        self._draw()
        return self.text, len(before)

    def hide(self) -> None:
        """Forget the words."""
        self._found = ()
        self.display = False

    def _draw(self) -> None:
        self.display = len(self._found) > 1
        first = max(0, min(self._at - ROWS // 2, len(self._found) - ROWS))
        seen = self._found[first : first + ROWS]
        labels = [fit(steady(one_line(item.label)), LONGEST) for item in seen]
        counts = ["" if item.frequency is None else wording.count(item.frequency) for item in seen]
        width, digits = max(map(cell_width, labels), default=0), max(map(len, counts), default=0)
        lines = [
            Content.styled(
                f" {pad(label, width)}{f'  {count:>{digits}}' if digits else ''} ",
                "$cursor-style on $cursor" if index == self._at else "",
            )
            for index, (label, count) in enumerate(zip(labels, counts, strict=True), first)
        ]
        if (more := len(self._found) - len(seen)) > 0:
            lines.append(Content.styled(f" {wording.count(more)} more ", "$muted"))
        self.update(Content("\n").join(lines))

"""Named looks of what a widget draws line by line, in the colours of the theme.

Textual's component classes could say the same, but all of them are worked out anew at every start and whenever a class
or the focus changes nearby, needed or not; a browser with sixty of them makes keys wait. A look is worked out when it
is drawn first.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.widget import Widget


class Looks:
    """The styles of one widget. `words` has Textual's style words for each look, such as `$muted italic`."""

    def __init__(self, widget: Widget, words: Mapping[str, str]) -> None:
        self._widget = widget
        self._words = words
        self._styles: dict[str, Style] = {}

    def forget(self) -> None:
        """Work all out again: the theme or the widget's own style has changed."""
        self._styles.clear()

    def __getitem__(self, look: str) -> Style:
        """Return the style of a look on the widget's own; of several, with blanks between, later ones are on top."""
        style = self._styles.get(look)
        if style is None:
            visual = self._widget.visual_style
            parse = self._widget.app.stylesheet.parse_style
            for name in look.split():
                visual += parse(self._words[name])
            style = self._styles[look] = visual.rich_style
        return style

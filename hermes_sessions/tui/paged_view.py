"""A view that keys move at once, by lines and by pages. Textual's own scrolling glides, and a held key waits for it."""

from __future__ import annotations

from textual.scroll_view import ScrollView

UNKNOWN_PAGE = 40
"""Lines, as long as the view has no size."""


class PagedView(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines of text, scrolled without animation."""

    @property
    def page(self) -> int:
        """The number of lines that are seen."""
        return self.size.height if self.size.area else UNKNOWN_PAGE

    def scroll_lines(self, lines: int) -> None:
        """Go so many lines down, or up if there are fewer than none."""
        self.scroll_to(y=self.scroll_y + lines, animate=False, force=True)

    def action_up(self) -> None:
        self.scroll_lines(-1)

    def action_down(self) -> None:
        self.scroll_lines(1)

    def action_page_up(self) -> None:
        self.scroll_lines(min(-1, 1 - self.page))

    def action_page_down(self) -> None:
        self.scroll_lines(max(1, self.page - 1))

    def action_half_up(self) -> None:
        self.scroll_lines(-(self.page // 2))

    def action_half_down(self) -> None:
        self.scroll_lines(self.page // 2)

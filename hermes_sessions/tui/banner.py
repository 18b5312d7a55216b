"""What a person must know about this store before anything else: one line, and all of it on demand.

Where the words come from is `services.history`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, fit, one_line

SIGN = "! "


class Banner(Static):
    """The first notice, how many more there are, and where they are read. A click is the key for that."""

    ALLOW_SELECT = False

    def __init__(self, key: str = "", *, id: str | None = None) -> None:
        """`key` is the one that reads them all, if there is one."""
        super().__init__(id=id)
        self._key = key
        self.notices: tuple[str, ...] = ()

    def show(self, notices: Sequence[str]) -> None:
        """Say these, or nothing."""
        known = self.notices
        self.notices = tuple(dict.fromkeys(notices))
        self.display = bool(self.notices)
        if self.notices != known:
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self) -> None:
        await self.run_action("screen.notices")

    def _draw(self) -> None:
        if self.notices:
            self.update(Content(banner_words(self.notices, self.content_size.width, self._key)), layout=False)


def banner_words(notices: Sequence[str], room: int, key: str) -> str:
    """The line in `room` cells: the first notice, the number of the others, and the key for all if any are left out."""
    first = SIGN + one_line(notices[0])
    more = f"  +{wording.count(len(notices) - 1)} more" if len(notices) > 1 else ""
    if not more and cell_width(first) <= room:
        return first
    end = f"{more} ({key})" if key else more
    return fit(first, max(1, room - cell_width(end))).rstrip() + end

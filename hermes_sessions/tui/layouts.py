"""The messages whose texts are here: those that were needed last, within limits. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from hermes_sessions.tui.message_layout import MessageLayout

LOADED_MESSAGES = 256
LOADED_BYTES = 16 * 1024 * 1024


class Layouts:
    """Layouts by the indices of their messages."""

    def __init__(self) -> None:
        self._layouts: OrderedDict[int, MessageLayout] = OrderedDict()

    def __iter__(self) -> Iterator[int]:
        return iter(self._layouts)

    def __setitem__(self, index: int, layout: MessageLayout) -> None:
        self._layouts[index] = layout

    def get(self, index: int) -> MessageLayout | None:
        """Return a message's layout if its text is here."""
        return self._layouts.get(index)

    def need(self, index: int) -> MessageLayout | None:
        """Return a message's layout if its text is here; it is the one that was needed last then."""
        if (layout := self._layouts.get(index)) is not None:
            self._layouts.move_to_end(index)
        return layout

    @property
    def bytes(self) -> int:
        """Roughly how much memory the texts take."""
        return sum(layout.bytes for layout in self._layouts.values())

    def trim(self, keep: range) -> None:
        """Drop the texts that were not needed for longest, beyond the limits, but none of those in `keep`."""
        held = self.bytes
        for index in list(self._layouts):
            if len(self._layouts) <= LOADED_MESSAGES and held <= LOADED_BYTES:
                return
            if index not in keep:
                held -= self._layouts.pop(index).bytes

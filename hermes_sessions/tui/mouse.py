"""Whose the mouse is: ours, or the terminal's, which then selects text as it does everywhere else."""

from __future__ import annotations

from typing import Any

from textual.app import App

_MODES = ("1000", "1003", "1015", "1006")
"""What Textual turns on in a terminal to hear of the mouse."""


class Mouse:
    """The mouse of one app."""

    def __init__(self, app: App[Any]) -> None:
        self.free = False
        """Whether it is the terminal's."""
        self._app = app
        self._listens = False

    def turn(self) -> None:
        """Free the mouse, or take it back. A terminal that was lent to another program is told again."""
        self.free = not self.free
        self._tell()
        if not self._listens:
            self._listens = True
            self._app.app_resume_signal.subscribe(self._app, lambda _: self._tell())

    def _tell(self) -> None:
        driver = self._app._driver  # there is no other way to write between two frames, in their order
        if driver is not None:
            driver.write("".join(f"\x1b[?{mode}{'l' if self.free else 'h'}" for mode in _MODES))
            driver.flush()

"""The message of every pane whose question the store could not answer."""

from __future__ import annotations

from textual.message import Message as TextualMessage

from hermes_sessions.errors import SessionsError


class Failed(TextualMessage):
    """A pane could not get what it needs; what it shows stays."""

    def __init__(self, error: SessionsError) -> None:
        super().__init__()
        self.error = error

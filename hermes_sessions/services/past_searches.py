"""What a person searched for before, newest last, kept in a file of our own for the next time.

It may hold what nobody else should read, so only its owner can.
"""

from __future__ import annotations

from pathlib import Path

from hermes_sessions.services.kept_json import read_json, write_json

KEPT = 500
LONGEST = 1_000
"""Characters; what is longer was pasted, and nobody looks for it again."""


class PastSearches:
    """The searches in one file, read when they are first asked for. Without a path they are forgotten at the end."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._texts: list[str] | None = None

    def before(self, steps: int) -> str | None:
        """The search so many steps back, 1 for the newest, or None when there is none."""
        if self._texts is None:
            self._texts = self._read()
        return self._texts[-steps] if 0 < steps <= len(self._texts) else None

    def add(self, text: str) -> None:
        """Put a search last, once. Blanks and very long texts are left out."""
        text = text.strip()
        if not text or len(text) > LONGEST or text == self.before(1):
            return
        # What is in the file counts: another program of ours may have added some, or the person emptied it.
        before = self._texts or [] if self._path is None else self._read()
        self._texts = [*(other for other in before if other != text), text][-KEPT:]
        self._write(self._texts)

    def _read(self) -> list[str]:
        stored = read_json(self._path) if self._path is not None else None
        texts = stored if isinstance(stored, list) else []
        return [text for text in texts if isinstance(text, str) and len(text) <= LONGEST][-KEPT:]

    def _write(self, texts: list[str]) -> None:
        if self._path is not None:
            write_json(self._path, texts)

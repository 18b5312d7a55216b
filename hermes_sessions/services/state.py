"""How the person left the full screen, kept in a file of our own for the next time.

Several browsers may run at once: what one of them changed is put into what is in the file by then, so that the last
one to change something wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hermes_sessions.services.kept_json import read_json, write_json

SEEN = "seen"


class State:
    """What is remembered in one file, read when it is first asked for. Without a path it is forgotten at the end."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stored: dict[str, object] | None = None
        self._changed: dict[str, object] = {}
        self._seen: set[str] = set()

    def values(self) -> Mapping[str, object]:
        """All that is remembered, by name. Nobody has checked whether it makes sense."""
        if self._stored is None:
            self._stored = self._read()
        return {**self._stored, **self._changed}

    def put(self, name: str, value: str | int) -> None:
        """Remember a value; it is in the file after `save`."""
        if self.values().get(name) != value:
            self._changed[name] = value

    def seen(self, name: str) -> bool:
        """Whether the person has been shown the hint of this name, now or in an earlier run."""
        return name in self._seen or name in _names(self.values())

    def see(self, name: str) -> None:
        """Remember that the person has been shown the hint of this name; it is in the file after `save`."""
        self._seen.add(name)

    def save(self) -> None:
        """Put what has changed into the file. Nothing is said when that cannot be done."""
        if self._path is None or not (self._changed or self._seen - _names(self.values())):
            return
        stored = self._read()
        seen = sorted(_names(stored) | self._seen)
        stored.update(self._changed)
        if seen:
            stored[SEEN] = seen
        write_json(self._path, stored)
        self._stored, self._changed = stored, {}

    def _read(self) -> dict[str, object]:
        stored = read_json(self._path) if self._path is not None else None
        return stored if isinstance(stored, dict) else {}


def _names(stored: Mapping[str, object]) -> set[str]:
    names = stored.get(SEEN)
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()

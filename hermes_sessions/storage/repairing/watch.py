"""How far a repair is, for whoever waits for it, and how it is stopped.

A repair opens many connections, in many places. Each is watched from its first statement on, so that none of these
places needs to know of it (`apsw.connection_hooks`). Long loops that are no statement call `look`.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import apsw

Show = Callable[[str, float | None], None]
"""Told several times a second what is being done, and which part of that is done, if it can be known. What it raises
stops the repair: it must be no Exception, for many of these are answers here."""

INSTRUCTIONS = 2_000
"""Steps of SQLite's machine, or pages, between two looks at the clock: some milliseconds at most."""

BEAT_SECONDS = 0.05
USUAL_PAGE = 4_096

CACHE_KIB = 64_000
"""Pages that a connection to a copy keeps in memory: checks ask for many of them again and again."""

_local = threading.local()


def look() -> None:
    """Let the repair of this thread, if there is one, say how far it is, or be stopped. Cheap enough for every page."""
    if (watch := getattr(_local, "watch", None)) is not None:
        watch.look()


class Watch:
    """One repair, as it is seen from outside. To be entered before the first connection is opened."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._what = ""
        self._share: float | None = None
        self._reads = self._read = 0.0
        self._next = 0.0
        self._grows: tuple[Path, int] | None = None
        self._copies: Path | None = None
        self._connections: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()

    def begin(self, what: str, *, reads: float = 0, grows: tuple[Path, int] | None = None) -> None:
        """Say what is done from now on.

        How far it is can be told by the bytes that it `reads`, about, or by a file that `grows` to so many, about.
        """
        self._what, self._share, self._reads, self._grows = what, None, reads, grows
        self._read = self._bytes_read()
        self._show(what, None)

    def at(self, done: float, of: float) -> None:
        """Say how far it is."""
        self._share = done / of if of else None
        self.look()

    def copies_in(self, folder: Path) -> None:
        """From now on files in `folder` are nobody's but ours, and gone if anything fails: they need no care."""
        self._copies = folder

    def __enter__(self) -> Watch:
        _local.watch = self
        apsw.connection_hooks.append(self._opened)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _local.watch = None
        apsw.connection_hooks.remove(self._opened)
        for connection in list(self._connections):
            with suppress(apsw.Error):
                connection.set_progress_handler(None)

    def _opened(self, connection: apsw.Connection) -> None:
        if getattr(_local, "watch", None) is not self:
            # Another thread opened it.
            return
        # Who opens the store last and closes it would merge its log, which is for the end of the repair.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connections.add(connection)
        connection.set_progress_handler(self.look, INSTRUCTIONS)
        if self._copies and Path(connection.filename).is_relative_to(self._copies):
            # A catalogue that cannot be parsed refuses both: then it is slow. Not for the store itself: it must not be
            # read before it is known how it is to be locked.
            with suppress(apsw.Error):
                connection.pragma("synchronous", "off")
                connection.pragma("cache_size", -CACHE_KIB)

    def look(self) -> bool:
        """Say how far it is, as often as there is time for it. Returns False, as SQLite wants it to go on."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + BEAT_SECONDS
        share = self._share
        with suppress(OSError):
            if self._grows:
                share = self._grows[0].stat().st_size / max(1, self._grows[1])
            elif self._reads:
                share = (self._bytes_read() - self._read) / self._reads
        self._show(self._what, share)
        return False

    def _bytes_read(self) -> int:
        """What the open connections have read, if a page has the usual size. One that is closed takes its own along."""
        pages = 0
        for connection in self._connections:
            with suppress(apsw.Error):
                pages += connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
        return pages * USUAL_PAGE

"""Every failure this program can name. No imports, so that every floor may raise them.

    SessionsError
    ├── UsageError              the words on the command line make no sense
    │   ├── BadFilter
    │   └── BadQuery
    ├── NotFound
    │   ├── StoreMissing        no history file at the path
    │   ├── SessionNotFound
    │   ├── AmbiguousSession    several sessions fit; carries them
    │   ├── LeaseLost           the lease was given back, or is another process's
    │   └── CommandMissing      the Hermes command, or the directory to start it in, is not there
    ├── Refused
    │   ├── StoreUnreadable     the file is there, but may not be opened
    │   ├── ReadOnlyStore       the file may be read, but not written
    │   ├── StoreReplaced       the file that is open is no longer the one at the path
    │   ├── FileExists          we never write over something that is there
    │   ├── TitleTaken
    │   ├── SessionLive         an agent is using it
    │   └── LimitReached        as many sessions are in use as may be; carries their leases
    ├── StoreDamaged            not a database, or a broken one
    │   └── IndexUnusable       only its search index is: what was said is all there
    ├── StoreBusy               locked past the limit
    └── Interrupted             a query or a repair was told to stop

A message says what happened; a hint says what to do now, and may be empty. The command line maps the
tree to exit codes in one place and prints in one place; the full screen shows the same two strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.model import Conversation, Lease


class SessionsError(Exception):
    """The root of the tree. `message` says what happened, `hint` what to do now."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SessionsError):
    """What was asked for makes no sense as it was written."""


class BadFilter(UsageError):
    """A filter's value cannot be understood."""


class BadQuery(UsageError):
    """A search query asks for something that does not exist, from `start` to before `stop` in the `query`; the
    `suggestion`, which may be empty, could stand there."""

    def __init__(
        self, message: str, hint: str = "", query: str = "", start: int = 0, stop: int = 0, suggestion: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.query = query
        self.start = start
        self.stop = stop
        self.suggestion = suggestion


class NotFound(SessionsError):
    """What was named is not there."""


class StoreMissing(NotFound):
    """There is no history file at the path."""


class SessionNotFound(NotFound):
    """No session fits the id, title or prefix."""


class AmbiguousSession(NotFound):
    """Several conversations fit. `candidates` holds them, newest first."""

    def __init__(self, message: str, candidates: Sequence[Conversation], hint: str = "") -> None:
        super().__init__(message, hint)
        self.candidates = tuple(candidates)


class LeaseLost(NotFound):
    """The lease is not there: it was given back, or belongs to another process."""


class CommandMissing(NotFound):
    """The Hermes command, or the directory it should start in, is not there."""


class Refused(SessionsError):
    """It could be done, but must not, or the person said no."""


class StoreUnreadable(Refused):
    """The history file is there but may not be opened."""


class ReadOnlyStore(Refused):
    """The history file may be read but not written."""


class StoreReplaced(Refused):
    """The history file that is open is no longer the one at its path."""


class FileExists(Refused):
    """Something is already where a new file should go."""


class TitleTaken(Refused):
    """Another session has this title."""


class SessionLive(Refused):
    """An agent is using the session."""


class LimitReached(Refused):
    """As many sessions are in use as may be at a time. `leases` holds who has them."""

    def __init__(self, message: str, hint: str = "", leases: Sequence[Lease] = ()) -> None:
        super().__init__(message, hint)
        self.leases = tuple(leases)


class StoreDamaged(SessionsError):
    """The file is not a database, or a damaged one, or no session store."""


class IndexUnusable(StoreDamaged):
    """A search index is damaged, missing or behind; sessions and messages are not affected."""


class StoreBusy(SessionsError):
    """The store stayed locked for longer than we may wait."""


class Interrupted(SessionsError):
    """A query, or a repair, was told to stop before it ended."""

    def __init__(self, message: str = "Interrupted.", hint: str = "") -> None:
        super().__init__(message, hint)

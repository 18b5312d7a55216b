"""Conversations that the person has picked out, such as the marked ones. Pure.

They are known by the ids of their sessions: one that goes on under a new id after a compression stays picked.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_sessions.model import Catalog, Conversation


class Picked:
    """A set of conversations, in the order in which they were picked."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._known: tuple[Catalog, tuple[Conversation, ...]] | None = None

    def __bool__(self) -> bool:
        return bool(self._ids)

    def __contains__(self, item: Conversation) -> bool:
        ids = self._ids
        return bool(ids) and any(session.id in ids for session in item.sessions)

    def add(self, items: Iterable[Conversation]) -> None:
        """Pick these, too."""
        self._known = None
        self._ids.update((item.id, None) for item in items if item not in self)

    def remove(self, item: Conversation) -> None:
        """Pick this one no longer."""
        self._known = None
        for session in item.sessions:
            self._ids.pop(session.id, None)

    def clear(self) -> None:
        """Pick nothing."""
        self._known = None
        self._ids.clear()

    def known(self, catalog: Catalog) -> tuple[Conversation, ...]:
        """Those that are still there, as they are now."""
        if self._known is None or self._known[0] is not catalog:
            by_session = catalog.by_session
            now = (by_session[id] for id in self._ids if id in by_session)
            self._known = catalog, tuple({item.id: item for item in now}.values())
        return self._known[1]


class Marks(Picked):
    """The marked conversations, and the one that was marked last."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Conversation | None = None

    def turn(self, item: Conversation) -> None:
        """Mark this one, or no longer."""
        if item in self:
            self.remove(item)
        else:
            self.add([item])
        self.last = item

    def clear(self) -> None:
        super().clear()
        self.last = None

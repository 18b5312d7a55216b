"""Which conversation a person means by an id, a title, the beginning of either, or `last`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from hermes_sessions.errors import AmbiguousSession, SessionNotFound
from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.storage import Store
from hermes_sessions.text import one_line

LAST = "last"

Titled: TypeAlias = list[tuple[Conversation, frozenset[str]]]
"""Conversations with the titles of their sessions, as they are shown."""

_NUMBER = re.compile(r" #[0-9]+$", re.ASCII)
"""What Hermes appends to the title of a continuation."""


def find(store: Store, words: str, catalog: Catalog | None = None) -> Conversation:
    """The one conversation that `words` name, archived, empty and subagent ones included.

    The first of these that fits anything decides: the exact id of any of its sessions; `last`, the newest
    conversation that a list shows; the exact title, as it is written before other capitals; the beginning of an id;
    the beginning of a title. As in Hermes, a title also means its numbered continuations (`title #2`), and of
    all these the newest. Nothing in the words is a wildcard.

    Raises SessionNotFound, or AmbiguousSession when several fit equally well.
    """
    if catalog is None:
        catalog = store.sessions.catalog()
    wanted = words.strip()
    if (exact := catalog.by_session.get(words) or catalog.by_session.get(wanted)) is not None:
        return exact
    if wanted == LAST and (newest := next(filter(_is_listed, catalog), None)) is not None:
        return newest
    for candidates in _attempts(catalog, wanted):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise AmbiguousSession(
                f"{wanted!r} fits {len(candidates)} sessions.",
                candidates,
                "Name one by its id or by more of its title.",
            )
    raise _not_found(store, catalog, wanted)


def _is_listed(conversation: Conversation) -> bool:
    hidden = conversation.archived or conversation.empty or conversation.tip.hidden
    return conversation.kind == "conversation" and not hidden


def _attempts(catalog: Catalog, wanted: str) -> Iterator[list[Conversation]]:
    """What fits, by one rule after the other, each time newest first."""
    # A list cuts titles and ends them in an ellipsis: what was copied from there is a beginning.
    beginning = wanted.removesuffix("…").rstrip()
    if not beginning:
        return
    titled: Titled = [
        (conversation, frozenset(one_line(session.title) for session in conversation.sessions if session.title))
        for conversation in catalog
    ]
    yield _by_title(titled, one_line(wanted), str)
    yield _by_title(titled, one_line(wanted), str.casefold)
    yield [item for item in catalog if any(id.startswith(beginning) for id in item.segments)]
    start = one_line(beginning).casefold()
    yield [item for item, titles in titled if any(title.casefold().startswith(start) for title in titles)]


def _by_title(titled: Titled, wanted: str, fold: Callable[[str], str]) -> list[Conversation]:
    """The newest conversation of this title and its numbered continuations; all that fit, if they are no such line."""
    want = fold(wanted)
    fitting = []
    names: list[str] = []
    bases = set()
    for conversation, titles in titled:
        beginning = [title for title in titles if fold(title).startswith(want)]
        same = [title for title in beginning if want in (fold(title), fold(_NUMBER.sub("", title)))]
        if same:
            fitting.append(conversation)
            names += same
            bases |= {title if fold(title) == want else _NUMBER.sub("", title) for title in same}
    is_one_line = len(bases) == 1 and len(names) == len(set(names))
    return fitting[:1] if is_one_line else fitting


def _not_found(store: Store, catalog: Catalog, wanted: str) -> SessionNotFound:
    count = len(catalog.by_session)
    if not count:
        return SessionNotFound(f"There is no session in {store.path} yet.", "Name another store with --db or --home.")
    if not wanted or wanted == LAST:
        what = "There is nothing to look for." if not wanted else "No session has messages and is not archived."
        return SessionNotFound(what, "Name a session by its id, its title or the beginning of either.")
    return SessionNotFound(
        f"No session has an id or a title that is or begins with {wanted!r}.",
        f"Looked at every session ({count:,}) in {store.path}, archived, empty and subagent ones included.",
    )

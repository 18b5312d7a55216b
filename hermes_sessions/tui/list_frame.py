"""The words in the frame of the session list: what is listed and how, and the line that always adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes_sessions.model import Catalog, SearchResult
from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, fit, one_line
from hermes_sessions.tui.keys import KEYS, first_labels
from hermes_sessions.tui.listing import Listed, Listing

USUAL_KEYS = first_labels(KEYS)

SORT_WORDS = {
    "active": "last active",
    "started": "started",
    "messages": "messages",
    "cost": "cost",
    "tokens": "tokens",
    "title": "title",
    "source": "source",
}

BY_NAME = frozenset({"title", "source"})
"""These sorts begin with the smallest."""


def frame_title(listing: Listing, listed: Listed, store: Path, room: int, notice: str = "") -> str:
    """The upper edge in at most `room` cells: the order, and the file that is shown, or how the search is going on."""
    where = f" in {one_line(wording.homely(listing.directory))}" if listing.directory else ""
    if listed.query is not None:
        ways = [f"Found{where}", "Found here" if where else "Found"]
    else:
        order = f" by {SORT_WORDS[listing.sort]} {arrow(listing)}"
        group = f", by {listing.grouped_by}" if listing.grouped_by else ""
        if listing.group != listing.grouped_by:
            group = ", no days in this order"
        ways = [f"Sessions{where}{order}{group}", f"Sessions{' here' if where else ''}{order}{group}"]
        ways += [f"Sessions{' here' if where else ''}{order}"]
    words = next((way for way in ways if cell_width(way) <= room), ways[-1])
    if notice:
        return fit(f"{words} · {notice}", room)
    path = one_line(_homely(store))
    left = room - cell_width(words) - 3
    if left < 12:
        return fit(words, room)
    if cell_width(path) > left:
        path = "…" + path[-(left - 1) :] if path.isascii() else fit(path, left)
    return f"{words} · {path}"


def arrow(listing: Listing) -> str:
    """Which way the order goes: up from the smallest, or down from the largest or newest."""
    return "↑" if listing.reverse != (listing.sort in BY_NAME) else "↓"


def count_words(
    listed: Listed,
    *,
    whole: bool,
    more: bool,
    room: int,
    marked: int = 0,
    keys: Mapping[str, str] = USUAL_KEYS,
) -> str:
    """The lower edge in at most `room` cells: how many are listed of how many, and where the others are.

    A key in brackets is what shows them, by the labels in `keys`. `more` says that a search may have found more than it
    has shown.
    """
    shown = f"{wording.count(len(listed.conversations))}{'+' if more else ''}"
    if not whole:
        return fit(f"{shown} newest · reading the others …", room)
    sums = f"{shown} of {wording.count(listed.total)}"
    if marked:
        sums = f"{wording.count(marked)} marked · {sums}"
    elsewhere = [(listed.elsewhere, "elsewhere", keys.get("list.directory", ""))] if listed.elsewhere else []
    archived, minor = keys.get("list.archived", ""), keys.get("list.minor", "")
    kinds = [(listed.archived, "archived", archived), (listed.empty, "empty", minor)]
    hidden = [kind for kind in (*kinds, (listed.subagent, "subagent", minor)) if kind[0]]
    parts = elsewhere + hidden
    together = list(elsewhere)
    if hidden:
        ways_in = " ".join(dict.fromkeys(key for _, _, key in hidden if key))
        together.append((sum(number for number, _, _ in hidden), "hidden", ways_in))
    ways = (_sum(sums, parts), _sum(sums, parts, keys=False), _sum(sums, together), _sum(sums, together, keys=False))
    return next((words for words in ways if cell_width(words) <= room), fit(sums, room))


def nothing_words(
    catalog: Catalog, result: SearchResult | None, unknown: str, keys: Mapping[str, str] = USUAL_KEYS
) -> tuple[str, str]:
    """What is said in place of rows when there are none; `unknown` is what the query may have misspelt."""
    if result is not None and not result.conversations:
        fewer = "Fewer words find more." if " " in result.query.strip() else ""
        back = f"{keys['back']} shows all sessions." if "back" in keys else ""
        return ("Nothing found.", unknown or f"{fewer} {back}".strip())
    if not catalog.conversations:
        return ("No sessions yet.", "They appear here as soon as Hermes writes some.")
    return ("Nothing to show here.", "The keys at the lower edge show what is hidden.")


def _sum(shown: str, parts: Sequence[tuple[int, str, str]], keys: bool = True) -> str:
    """The parts of a sum, each with the key that shows it; neighbours with the same key name it once."""
    words = [shown]
    for place, (number, name, key) in enumerate(parts):
        last = place + 1 == len(parts) or parts[place + 1][2] != key
        words.append(f"{wording.count(number)} {name}" + (f" ({key})" if keys and key and last else ""))
    return " · ".join(words)


def _homely(path: Path) -> str:
    """The path with the home directory as people write it."""
    return wording.homely(str(path.absolute()))

"""The pane of sessions: one widget that draws the rows on the screen, whatever the number of those below.

It owns the cursor, the scroll position and what is listed, and asks for what its rows show as they come into view.
What a row looks like is `tui.session_rows`' business; what is asked and opened is the screen's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual import events, work
from textual.geometry import Size
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation, ConversationHits, Overview, SearchResult, SessionFacts
from hermes_sessions.services.history import History
from hermes_sessions.services.sorting import SORTS_BY_FACTS
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.listing import Listed, Listing
from hermes_sessions.tui.session_rows import RowPainter

KEPT_OVERVIEWS = 2_000
AGES_EVERY_SECONDS = 20.0
FACTS_FACTOR = 10.0
"""Numbers to sort by are good for this many times as long as it took to get them."""


class SessionList(ScrollView, can_focus=True):
    """Conversations by rows; a row has a second line while a search is shown."""

    ALLOW_SELECT = False
    BINDINGS = bindings("list")

    class Highlighted(TextualMessage):
        """The cursor came to another conversation, or to none."""

        def __init__(self, conversation: Conversation | None, hits: ConversationHits | None) -> None:
            super().__init__()
            self.conversation = conversation
            self.hits = hits

    class Chosen(TextualMessage):
        """The person opened the highlighted conversation with the mouse."""

    class Changed(TextualMessage):
        """Other conversations are listed, or in another order."""

        def __init__(self, listed: Listed) -> None:
            super().__init__()
            self.listed = listed

    class Learned(TextualMessage):
        """More is known of some conversations than before."""

    class NearEnd(TextualMessage):
        """The cursor is near the last row."""

    remote: var[bool] = var(False, init=False)
    """Whether the keys that move the cursor are typed in the search line."""

    def __init__(
        self, history: History, clock: Callable[[], float], directory: str | None = None, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.listing = Listing()
        self.listed = Listed()
        self.cursor = 0
        self.placeholder = ("", "")
        """What is said in place of rows, and a second line of advice."""
        self._history = history
        self._directory = directory
        self._catalog = Catalog(())
        self._result: SearchResult | None = None
        self._facts: dict[str, SessionFacts] = {}
        self._facts_until = 0.0
        self._arranging = False
        self._restart = False
        self._overviews: dict[str, tuple[float | None, Overview | None]] = {}
        self._stale: set[str] = set()
        self._fetching = False
        self._painter = RowPainter(self, clock)
        self._strips: dict[tuple[int, bool], Strip] = {}

    @property
    def conversation(self) -> Conversation | None:
        """The conversation under the cursor."""
        items = self.listed.conversations
        return items[self.cursor] if self.cursor < len(items) else None

    @property
    def hits(self) -> ConversationHits | None:
        """What the search found in the conversation under the cursor."""
        return self.listed.hits.get(self.conversation.id) if self.conversation else None

    def overview(self, conversation: Conversation) -> Overview | None:
        """What is known of a conversation, if anything is yet."""
        return self._overviews.get(conversation.id, (None, None))[1]

    def show(self, catalog: Catalog, result: SearchResult | None = None, *, restart: bool = False) -> None:
        """List `catalog`, or what a search found in it. Cursor and scroll stay with their conversation.

        With `restart` the cursor goes to the first row: the person asked something else.
        """
        if catalog is not self._catalog:
            self._stale.update(self._overviews)
        self._catalog, self._result = catalog, result
        self._list_anew(self.listing, restart)

    def on_mount(self) -> None:
        self.set_interval(AGES_EVERY_SECONDS, self._redraw)

    def on_resize(self) -> None:
        self._strips.clear()
        self._measure()
        self._keep_in_sight()
        self._fill()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter.looks.forget()
        self._strips.clear()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._light_cursor()

    def watch_remote(self) -> None:
        self._light_cursor()

    def _light_cursor(self) -> None:
        self._painter.cursor = "cursor" if self.has_focus or self.remote else "blurred"
        self._redraw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._fill()

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        index, part = divmod(line, self._row_height)
        items = self.listed.conversations
        if not items:
            return self._painter.placeholder(self.placeholder, y, width)
        if index >= len(items):
            return self._painter.blank(width)
        key = (line, index == self.cursor)
        if (strip := self._strips.get(key)) is None:
            item = items[index]
            if part == 0:
                strip = self._painter.row(item, self.overview(item), width, selected=key[1])
            else:
                strip = self._painter.snippet(self.listed.hits.get(item.id), width, selected=key[1])
            self._strips[key] = strip
        return strip

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = (offset.y + self.scroll_offset.y) // self._row_height
        if index < len(self.listed.conversations):
            self._go(index)
            if event.chain == 2:
                self.post_message(self.Chosen())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would change nothing do not work, so that nobody is told of them."""
        match action:
            case "sort" | "reverse":
                return self._result is None
            case "archived":
                return not self.listed.hits and (self.listing.archived or self.listed.archived > 0)
            case "minor":
                return not self.listed.hits and (self.listing.minor or self.listed.empty + self.listed.subagent > 0)
            case "directory":
                return self._directory is not None
            case _:
                return True

    def action_up(self) -> None:
        self._go(self.cursor - 1)

    def action_down(self) -> None:
        self._go(self.cursor + 1)

    def action_page_up(self) -> None:
        self._go(self.cursor - self._page)

    def action_page_down(self) -> None:
        self._go(self.cursor + self._page)

    def action_half_up(self) -> None:
        self._go(self.cursor - max(1, self._page // 2))

    def action_half_down(self) -> None:
        self._go(self.cursor + max(1, self._page // 2))

    def action_first(self) -> None:
        self._go(0)

    def action_last(self) -> None:
        self._go(len(self.listed.conversations) - 1)

    def action_sort(self) -> None:
        self._list_anew(self.listing._replace(sort=self.listing.next_sort(), reverse=False), restart=True)

    def action_reverse(self) -> None:
        self._list_anew(self.listing._replace(reverse=not self.listing.reverse), restart=True)

    def action_archived(self) -> None:
        self._list_anew(self.listing._replace(archived=not self.listing.archived))

    def action_minor(self) -> None:
        self._list_anew(self.listing._replace(minor=not self.listing.minor))

    def action_directory(self) -> None:
        self._list_anew(self.listing._replace(directory=None if self.listing.directory else self._directory))

    @property
    def _row_height(self) -> int:
        return 2 if self.listed.hits else 1

    @property
    def _page(self) -> int:
        """Rows that fit on the screen, less one that stays in sight."""
        return max(1, self.scrollable_content_region.height // self._row_height - 1)

    def _list_anew(self, listing: Listing, restart: bool = False) -> None:
        self.listing = listing
        if self._result is not None or listing.quick:
            self._put(listing.of(self._catalog, self._result), restart)
        else:
            self._restart = self._restart or restart
            if not self._arranging:
                self._arranging = True
                self._arrange()

    @work(group="arrange")
    async def _arrange(self) -> None:
        """List in the background, again and again until it is what was asked last."""
        try:
            done: tuple[Listing, Catalog] | None = None
            while self._result is None and done != (asked := (self.listing, self._catalog)):
                listing, catalog = done = asked
                if listing.sort in SORTS_BY_FACTS:
                    await self._refresh_facts(catalog)
                listed = await asyncio.to_thread(listing.of, catalog, None, self._facts)
                if self._result is None and listing == self.listing:
                    self._put(listed, self._restart)
                    self._restart = False
        except SessionsError as error:
            self.post_message(Failed(error))
        finally:
            self._arranging = False

    async def _refresh_facts(self, catalog: Catalog) -> None:
        """Know the facts of `catalog`, unless the known ones are not old for the time it took to get them."""
        now = time.monotonic()
        if now >= self._facts_until:
            self._facts = await self._history.facts(catalog.conversations)
            self._facts_until = time.monotonic() + FACTS_FACTOR * (time.monotonic() - now)

    def _put(self, listed: Listed, restart: bool) -> None:
        before, row = self.conversation, self.cursor * self._row_height - self.scroll_offset.y
        at_top = restart or self.scroll_offset.y == 0
        self.listed = listed
        self.cursor = 0 if restart else self._place_of(before)
        self._strips.clear()
        self._measure()
        top = 0 if at_top else self.cursor * self._row_height - row
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self._keep_in_sight()
        self.refresh()
        self._fill()
        self.post_message(self.Changed(listed))
        if restart or before is None or self.conversation is None or before.id not in self.conversation.segments:
            self._highlighted()

    def _place_of(self, before: Conversation | None) -> int:
        """Where the conversation under the cursor is now. A continued one has a new id, but its sessions remain."""
        items = self.listed.conversations
        if before is not None:
            now = self._catalog.by_session.get(before.id, before)
            for index, item in enumerate(items):
                if item.id == now.id:
                    return index
        return max(0, min(self.cursor, len(items) - 1))

    def _measure(self) -> None:
        height = len(self.listed.conversations) * self._row_height
        self.virtual_size = Size(self.scrollable_content_region.width, height)

    def _go(self, index: int) -> None:
        count = len(self.listed.conversations)
        index = max(0, min(index, count - 1))
        if index >= count - max(10, self._page):
            self.post_message(self.NearEnd())
        if index == self.cursor:
            return
        before, self.cursor = self.cursor, index
        self._keep_in_sight()
        height = self._row_height
        self.refresh_lines(before * height, height)
        self.refresh_lines(index * height, height)
        self._highlighted()

    def _keep_in_sight(self) -> None:
        top, height = self.cursor * self._row_height, self.scrollable_content_region.height
        first = self.scroll_offset.y
        if top < first:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        elif top + self._row_height > first + height > first:
            self.scroll_to(y=top + self._row_height - height, animate=False, force=True, immediate=True)

    def _highlighted(self) -> None:
        self.post_message(self.Highlighted(self.conversation, self.hits))

    def _redraw(self) -> None:
        self._strips.clear()
        self.refresh()

    def _wanted(self) -> list[Conversation]:
        """Conversations on the screen, and of the page after, of which nothing is known yet, or nothing new."""
        first = self.scroll_offset.y // self._row_height
        window = self.listed.conversations[first : first + 2 * self._page + 2]
        return [item for item in window if self._unknown(item)]

    def _unknown(self, item: Conversation) -> bool:
        known = self._overviews.get(item.id)
        return known is None or item.id in self._stale or known[0] != item.last_active_at

    def _fill(self) -> None:
        if self.is_mounted and not self._fetching and self._wanted():
            self._fetching = True
            self._fetch_overviews()

    @work(group="overviews")
    async def _fetch_overviews(self) -> None:
        try:
            while wanted := self._wanted():
                found = await self._history.overviews(wanted)
                if len(self._overviews) > KEPT_OVERVIEWS:
                    self._overviews.clear()
                for item in wanted:
                    self._overviews[item.id] = (item.last_active_at, found.get(item.id))
                    self._stale.discard(item.id)
                self._redraw()
                self.post_message(self.Learned())
        except SessionsError as error:
            self.post_message(Failed(error))
        finally:
            self._fetching = False

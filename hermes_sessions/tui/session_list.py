"""The pane of sessions: what is listed in it and how, and what the keys do to that.

Which conversations there are in what order is the business of `tui.listing`; what is marked and unfolded, and how rows
are shown, that of `tui.conversation_list`. What is asked and opened is the screen's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from textual import work
from textual.content import Content
from textual.message import Message as TextualMessage

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation, SearchResult
from hermes_sessions.services.history import History
from hermes_sessions.services.sorting import SORTS_BY_FACTS
from hermes_sessions.tui.conversation_list import ConversationList
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.list_rows import Heading
from hermes_sessions.tui.listing import Listed, Listing

SAY_AFTER_SECONDS = 0.3
"""How long listing may take before it is said that it does."""


class SessionList(ConversationList):
    """Conversations by rows; a row has a second line while a search is shown, or if the person wants it."""

    BINDINGS = bindings("list")

    class Changed(TextualMessage):
        """Other conversations are listed or marked, or in another order or form: see `listed`, `marked`, `listing`."""

        def __init__(self, summed: Sequence[Conversation] | None, words: str) -> None:
            super().__init__()
            self.summed = summed
            """The conversations whose cost is of interest now, or None for all there are."""
            self.words = words
            """What these are."""

    class SearchInTheWay(TextualMessage):
        """What the list is to go to was not found by the search that is shown."""

    def __init__(
        self,
        history: History,
        clock: Callable[[], float],
        directory: str | None = None,
        listing: Listing = Listing(),  # noqa: B008 - a value
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(history, clock, id=id)
        self.listing = listing
        """How it is listed; to be kept for the next time, once `Changed` has said so."""
        self.listed = Listed()
        self._listing_shown = listing
        self._history = history
        self._clock = clock
        self._directory = directory
        self._result: SearchResult | None = None
        self._sought: tuple[Conversation, str] | None = None
        """Where the cursor is to go as soon as it is listed, and the screen's action to do there."""
        self._arranging = self._restart = False

    def show(self, catalog: Catalog, result: SearchResult | None = None, *, restart: bool = False) -> None:
        """List `catalog`, or what a search found in it. Cursor and scroll stay with their conversation.

        With `restart` the cursor goes to the first row: the person asked something else.
        """
        if catalog is not self.catalog:
            self.overviews.expire()
        self.catalog, self._result = catalog, result
        self._list_anew(self.listing, restart)

    @property
    def settled(self) -> bool:
        return super().settled and not self._arranging

    def cursor_moved(self) -> None:
        super().cursor_moved()
        self._sought = None

    def marks_changed(self) -> None:
        super().marks_changed()
        self._say_changed()

    def reveal(self, conversation: Conversation, action: str) -> None:
        """Go to a conversation, whatever hides it, and then do one of the screen's actions."""
        item, listing = self.catalog.by_session.get(conversation.id, conversation), self.listing
        self._sought = (item, action)
        if self.rows.find(item, self.catalog) is None:
            item = self.folds.open_above(item, self.catalog)
            minor, archived = item.kind == "subagent" or item.empty, item.archived
            listing = listing._replace(
                directory=None, minor=listing.minor or minor, archived=listing.archived or archived
            )
        self._list_anew(listing)
        if self._sought is not None and self._result is not None:
            self.post_message(self.SearchInTheWay())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would change nothing do not work, so that nobody is told of them."""
        match action:
            case "sort" | "reverse" | "group":
                return self._result is None and self.listed.total > 0
            case "lineage":
                return self.conversation is not None
            case "archived":
                return not self.listed.hits and (self.listing.archived or self.listed.archived > 0)
            case "minor":
                return not self.listed.hits and (self.listing.minor or self.listed.empty + self.listed.subagent > 0)
            case "directory":
                return self._directory is not None
            case "two_lines":
                return not self.listed.hits and self.listed.total > 0
            case _:
                return super().check_action(action, parameters)

    def action_sort(self) -> None:
        """Ask for the order. The one there is, asked for again, is turned round."""
        from hermes_sessions.tui.sort_menu import SortMenu

        def chosen(sort: str | None) -> None:
            if sort == self.listing.sort:
                self.action_reverse()
            elif sort is not None:
                self._list_anew(self.listing._replace(sort=sort, reverse=False), restart=True)

        self.app.push_screen(SortMenu(self.listing), chosen)

    def action_reverse(self) -> None:
        self._list_anew(self.listing._replace(reverse=not self.listing.reverse), restart=True)

    def action_group(self) -> None:
        """No groups, days, directories."""
        self._list_anew(self.listing._replace(group=self.listing.next_group))

    def action_two_lines(self) -> None:
        self._list_anew(self.listing._replace(two_lines=not self.listing.two_lines))

    def action_archived(self) -> None:
        self._list_anew(self.listing._replace(archived=not self.listing.archived))

    def action_minor(self) -> None:
        self._list_anew(self.listing._replace(minor=not self.listing.minor))

    def action_directory(self) -> None:
        self._list_anew(self.listing._replace(directory=None if self.listing.directory else self._directory))

    def action_lineage(self) -> None:
        """Show the family of the conversation, and go to the one that is chosen there."""
        from hermes_sessions.tui.lineage_tree import LineageScreen

        def chosen(answer: tuple[Conversation, str] | None) -> None:
            if answer is not None:
                self.reveal(*answer)

        if self.conversation is not None:
            self.app.push_screen(LineageScreen(self._history, self.catalog, self.conversation, self._clock), chosen)

    def _list_anew(self, listing: Listing, restart: bool = False) -> None:
        self.listing = listing
        if self._result is not None or listing.quick:
            listed = listing.of(self.catalog, self._result)
            self._put(listed, listing.rows(listed, self._clock()), restart)
        else:
            self._restart = self._restart or restart
            if not self._arranging:
                self._arranging = True
                self._arrange()

    @work(group="arrange")
    async def _arrange(self) -> None:
        """List in the background, again and again until it is what was asked last."""
        saying = self.set_timer(SAY_AFTER_SECONDS, self._say_arranging)
        try:
            done: tuple[Listing, Catalog] | None = None
            while self._result is None and done != (asked := (self.listing, self.catalog)):
                listing, catalog = done = asked
                facts = await self.overviews.facts(catalog) if listing.sort in SORTS_BY_FACTS else None
                listed = await asyncio.to_thread(listing.of, catalog, None, facts)
                rows = await asyncio.to_thread(listing.rows, listed, self._clock())
                if self._result is None and listing == self.listing:
                    self._put(listed, rows, self._restart)
                    self._restart = False
        except SessionsError as error:
            self.listing = self._listing_shown
            self._say_changed()
            self.post_message(Failed(error))
        finally:
            saying.stop()
            self._arranging = False

    def _say_arranging(self) -> None:
        self.border_title = Content("Sorting …")

    def _put(self, listed: Listed, in_order: Sequence[Conversation | Heading], restart: bool = False) -> None:
        """Show what is listed, and do what is wanted of the conversation that was sought."""
        self.listed, self._listing_shown = listed, self.listing
        self.painter.sort = self.listing.sort
        height = 2 if listed.hits or self.listing.two_lines else 1
        self.painter.facts_below = height == 2 and not listed.hits
        sought, action = self._sought or (None, "")
        self.put(in_order, listed.hits, height, sought=sought, restart=restart)
        self._say_changed()
        if sought is not None and self.conversation is not None and sought.id == self.conversation.id:
            self._sought = None
            self.call_later(self.screen.run_action, action)

    def _say_changed(self) -> None:
        if marked := self.marked:
            self.post_message(self.Changed(marked, f"{len(marked):,} marked"))
        elif self.listed.filtered:
            self.post_message(self.Changed(self.listed.conversations, "these"))
        else:
            self.post_message(self.Changed(None, "all sessions"))

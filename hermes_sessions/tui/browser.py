"""The one screen: it asks the history, hands what comes back to the panes, and says what keys do that no pane owns.

Panes do not know each other. What the list shows, how messages are drawn and what costs add up to is theirs; which
pane is in front is `tui.panes`' business, and how the program is left `tui.app`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.screen import Screen
from textual.widgets import Static

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation, Message
from hermes_sessions.services.history import History
from hermes_sessions.text import one_line
from hermes_sessions.tui.banner import Banner
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.habits import begin, left
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.keys import Pane, bindings, first_labels
from hermes_sessions.tui.list_frame import count_words, frame_title, nothing_words
from hermes_sessions.tui.live_search import LiveSearch
from hermes_sessions.tui.message_pane import MessagePane
from hermes_sessions.tui.panes import TALL_ROWS, WIDE_COLUMNS, Panes
from hermes_sessions.tui.search_bar import SearchBar
from hermes_sessions.tui.session_list import SessionList
from hermes_sessions.tui.setting import Setting
from hermes_sessions.tui.store_follower import StoreFollower
from hermes_sessions.tui.welcome import Welcome

MIN_COLUMNS, MIN_ROWS = 40, 10


class BrowserScreen(Screen[None]):
    """Search line, list, messages, cost and keys."""

    AUTO_FOCUS = "#list"
    BINDINGS = bindings("everywhere")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE_COLUMNS, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL_ROWS, "-tall")]  # noqa: RUF012

    class Left(TextualMessage):
        """The person wants to leave with a conversation: to resume it, or because it is the one they looked for."""

        def __init__(self, action: Literal["resume", "pick"], conversation: Conversation) -> None:
            super().__init__()
            self.action = action
            self.conversation = conversation

    class TakeAsked(TextualMessage):
        """The person wants to take something out of a conversation, or of all that are marked, or of one message."""

        def __init__(
            self, action: Literal["copy", "edit"], conversations: Sequence[Conversation], message: Message | None
        ) -> None:
            super().__init__()
            self.action = action
            self.conversations = conversations
            self.message = message

    search_bar = query_one("#search", SearchBar)
    banner = query_one("#banner", Banner)
    welcome = query_one("#welcome", Welcome)
    panes = query_one("#body", Panes)

    def __init__(self, history: History, setting: Setting, size: Size) -> None:
        # Textual would add the classes for the size after the first frame.
        wide = "-wide" if size.width >= WIDE_COLUMNS else "-narrow"
        tall = "-tall" if size.height >= TALL_ROWS else "-short"
        super().__init__(classes=f"{wide} {tall}")
        self.keys = setting.keys
        """The table of keys, as the person has bound them."""
        self._labels = first_labels(setting.keys)
        self._columns = size.width
        self._history = history
        self._setting = setting
        self._store = StoreFollower(
            history, self._take, self._fail, self._say_notices, setting.stopwatch, setting.poll_seconds
        )
        self._search = LiveSearch(history, self._found, self._say, setting.stopwatch)
        self._told: tuple[str, ...] | None = None
        self._open_when_found: str | None = None
        """The text whose answer is to be opened as soon as it comes: Enter was faster."""

    def compose(self) -> ComposeResult:
        setting = self._setting
        yield SearchBar(setting.query, setting.past_searches, self._history, id="search")
        yield Banner(self._labels.get("notices", ""), id="banner")
        yield Welcome(setting, id="welcome")
        yield Panes(self._history, setting, self._columns, id="body")
        yield KeyLine(setting.keys, id="keys")
        yield Static(Content("Too small"), id="small")

    async def on_mount(self) -> None:
        begin(self.panes, self._search, self._setting.settings)
        self._say_notices()
        await self._store.start()
        self._search.ask(self.search_bar.text, self._store.catalog)
        self._show()
        for name in ("front", "zoomed", "large_costs"):  # the list comes back, or gets another width
            self.watch(self.panes, name, self._frame_soon, init=False)
        self.call_after_refresh(self._follow_store)  # reading all of a big store would hold up the first screen

    def _say_notices(self) -> None:
        notices = (*self._setting.problems, *self._history.notices, *self._history.losses)
        if notices != self._told:  # as it nearly never is, also when the screen is being taken down
            self._told = notices
            self.banner.show(notices)

    def on_resize(self, event: events.Resize) -> None:
        self.panes.columns = event.size.width
        small = event.size.width < MIN_COLUMNS or event.size.height < MIN_ROWS
        self.set_class(small, "-small")
        if small:
            words = f"Too small: {event.size.width}×{event.size.height}, needs {MIN_COLUMNS}×{MIN_ROWS}"
            self.query_one("#small", Static).update(Content(words))
        else:
            self.call_after_refresh(self.panes.preview)
        self._frame_soon()

    @property
    def pane(self) -> Pane:
        """The pane in which the person is."""
        return "search" if self.search_bar.input.has_focus else self.panes.front

    @property
    def notices(self) -> tuple[str, ...]:
        """What there is to know about this store, and about how it is searched just now."""
        return tuple(filter(None, dict.fromkeys((*self.banner.notices, self._search.notice))))

    @property
    def habits(self) -> Mapping[str, str | int]:
        """The settings that would bring about what is on the screen."""
        return left(self.panes, self._search)

    @property
    def sessions(self) -> SessionList:
        """The pane of sessions."""
        return self.panes.sessions

    @property
    def messages(self) -> MessagePane:
        """The pane of messages."""
        return self.panes.messages

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing here do not work, so that nobody is told of them."""
        if not self.is_mounted:
            return True
        if self.has_class("-small"):
            return False
        match action:
            case "search":
                # In a line of text it is a character, and in the messages the key finds there.
                return self.focused is None or self.focused.id in ("list", "costs")
            case "back":
                return self._way_back() is not None
            case "next_hit":
                return self.messages.has_hits and (self._search.active or self.messages.find_line.asking)
            case "notices":
                return bool(self.notices)
            case "order":
                return self._search.active
            case "resume":
                return not self._setting.pick and self.conversation is not None
            case "take" | "open" | "find" | "go_to" | "outline" | "follow":
                return self.conversation is not None
            case "rewound":
                return self.messages.undone > 0
            case "zoom":
                return self.panes.wide and not self.panes.large_costs
            case "width":
                return self.panes.side_by_side
            case _:
                return True

    @property
    def conversation(self) -> Conversation | None:
        """The conversation a command is about, if any."""
        return self.panes.conversation

    def action_search(self) -> None:
        self.panes.bring("list")
        self.set_focus(self.search_bar.input)  # at once: `focus` would wait for the next message

    def action_move(self, name: str) -> None:
        step = {"up": 1, "down": -1}.get(name)
        if step is not None and self.sessions.at_top and self.search_bar.input.recall(step):
            return
        self.call_later(self.sessions.run_action, name)

    def action_order(self) -> None:
        """Turn between the newest and the best first."""
        self._search.turn(self._store.catalog)
        self._say()

    async def action_complete(self, step: int) -> None:
        # The key overtakes letters that the line has not taken yet.
        taken = asyncio.Event()
        if self.search_bar.input.call_later(taken.set):
            await taken.wait()
        if not self.search_bar.complete(self._store.catalog, step):
            self.action_next_pane(step)

    @on(SessionList.Chosen)
    def action_open(self) -> None:
        if self._search.waiting or self._search.text != self.search_bar.text:
            self._open_when_found = self.search_bar.text
        elif (conversation := self.sessions.conversation) is not None:
            if self._setting.pick:
                self.post_message(self.Left("pick", conversation))
            else:
                self.messages.open(conversation, self.sessions.hits)
                self.action_pane("messages")

    def action_back(self) -> None:
        if (way := self._way_back()) is not None:
            way()

    def action_pane(self, name: str) -> None:
        if name == "search":
            self.action_search()
        else:
            self.panes.go(name)

    def action_next_pane(self, step: int) -> None:
        names = ("search", *self.panes.names)
        here = self.pane
        self.action_pane(names[(names.index(here) + step) % len(names)] if here in names else "list")

    def action_zoom(self) -> None:
        self.panes.turn_zoom()

    def action_width(self, step: int) -> None:
        self.panes.list_width += step

    def action_cost(self) -> None:
        self.panes.turn_costs()

    def action_find(self) -> None:
        self.messages.start_finding()

    def action_go_to(self) -> None:
        self.messages.go_line.start()

    async def action_outline(self) -> None:
        await self.messages.show_outline()

    def action_rewound(self) -> None:
        self.messages.turn_rewound()

    def action_next_hit(self, step: int) -> None:
        if not self.messages.region:
            self.action_pane("messages")
        self.messages.next_hit(step)

    def action_notices(self) -> None:
        from hermes_sessions.tui.dialogs import NoticeScreen

        self.app.push_screen(NoticeScreen("Notices", "\n\n".join(self.notices)))

    def action_follow(self) -> None:
        self.messages.follow = not self.messages.follow

    def action_resume(self) -> None:
        if self.conversation is not None:
            self.post_message(self.Left("resume", self.conversation))

    def action_take(self, action: Literal["copy", "edit"]) -> None:
        """Take something out of the conversation, of all that are marked in the list, or of a message."""
        if (conversation := self.conversation) is not None:
            reading = self.panes.front == "messages"
            marked = () if reading else self.sessions.marked
            is_seen = self.messages.region and not marked if action == "copy" else reading
            message = self.messages.view.current_message if is_seen else None
            self.post_message(self.TakeAsked(action, marked or (conversation,), message))

    @work(group="store by hand", exclusive=True)
    async def action_refresh(self) -> None:
        self.search_bar.say_soon("reading the store …")
        await self._store.read_now()

    def _way_back(self) -> Callable[[], object] | None:
        """What Escape would undo: one layer at a time, from the inside out."""
        line = self.search_bar
        if line.completing:
            return line.stop_completing
        if line.input.has_focus:
            return line.clear if line.text else lambda: self.action_pane("list")
        if self.panes.front == "list" and self.sessions.marked:
            return self.sessions.clear_marks
        return self.panes.way_back() or (line.clear if line.text else None)

    def on_screen_suspend(self) -> None:
        self.welcome.end()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        typing = event.widget is self.search_bar.input
        self.search_bar.set_class(typing, "-typing")
        if typing or self.panes.front == "messages":
            self.welcome.end()
        self.sessions.remote = typing

    @on(SearchBar.Changed)
    def _asked(self, event: SearchBar.Changed) -> None:
        if event.text != self._open_when_found and event.text == self.search_bar.text:
            self._open_when_found = None
        self._search.ask(event.text, self._store.catalog)
        self.search_bar.expect(self._store.catalog)
        if self._search.active:
            self._say()
        else:
            self._show(restart=True)

    @on(SessionList.Changed)
    def _listed(self) -> None:
        self._frame_list()
        self.refresh_bindings()

    @on(SessionList.SearchInTheWay)
    def _end_search(self) -> None:
        self.search_bar.clear()

    @on(SessionList.NearEnd)
    def _near_end(self) -> None:
        self._search.ask_more(self._store.catalog)

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        self._fail(event.error)

    def _found(self, first: bool) -> None:
        """An answer has come to what is in the search line."""
        if self._search.error is None:
            self._show(restart=first)
        else:
            self._say()
        if self._open_when_found == self._search.text:
            self._open_when_found = None
            self.action_open()

    def _show(self, restart: bool = False) -> None:
        result = self._search.result
        self.messages.searched = result.words if result is not None else ()
        self.sessions.placeholder = nothing_words(self._store.catalog, result, self.search_bar.unknown(), self._labels)
        self.sessions.show(self._store.catalog, result, restart=restart)
        self._say()

    def _say(self) -> None:
        search = self._search
        if search.waiting and not search.notice:
            self.search_bar.say_soon(*search.words)
        else:
            wrong = search.error is not None or bool(search.problems)
            self.search_bar.say(*search.words, error=wrong, problems=search.problems)

    def _fail(self, error: SessionsError) -> None:
        self.search_bar.say(one_line(f"{error.message} {error.hint}"), one_line(error.message), error=True)

    def _frame_soon(self) -> None:
        self.call_after_refresh(self._frame_list)

    def _frame_list(self) -> None:
        sessions, result = self.sessions, self._search.result
        room = sessions.size.width - 4
        if room > 0:
            more = result is not None and not result.complete
            listing, listed = sessions.listing, sessions.listed
            whole, marked = self._store.catalog.whole, len(sessions.marked)
            counts = count_words(listed, whole=whole, more=more, room=room, marked=marked, keys=self._labels)
            notice = "" if self._search.waiting else self._search.notice
            sessions.border_title = Content(frame_title(listing, listed, self._history.path, room, notice))
            sessions.border_subtitle = Content(counts)

    @work(group="store")
    async def _follow_store(self) -> None:
        await self._store.run()

    def _take(self, catalog: Catalog) -> None:
        self._show()
        self._search.renew(catalog)
        self.panes.renew(catalog)

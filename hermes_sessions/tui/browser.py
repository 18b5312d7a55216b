"""The one screen: it asks the history, hands what comes back to the panes, and decides which pane is in front.

Panes do not know each other. What the list shows, how messages are drawn and what costs add up to is theirs; how the
program is left is `tui.app`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Static

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.services.history import History
from hermes_sessions.text import one_line
from hermes_sessions.tui.cost_panel import CostPanel
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.keys import bindings
from hermes_sessions.tui.list_frame import count_words, frame_title, nothing_words
from hermes_sessions.tui.live_search import LiveSearch
from hermes_sessions.tui.message_pane import MessagePane
from hermes_sessions.tui.search_bar import SearchBar
from hermes_sessions.tui.session_list import SessionList
from hermes_sessions.tui.setting import Setting
from hermes_sessions.tui.store_follower import StoreFollower

Front = Literal["list", "messages", "costs"]
FRONTS: tuple[Front, ...] = ("list", "messages", "costs")
FRONT_OF_WIDGET: dict[str, Front] = {"list": "list", "view": "messages", "costs": "costs"}

WIDE_COLUMNS, TALL_ROWS = 100, 20
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

    class CopyAsked(TextualMessage):
        """The person wants to copy something of a conversation."""

        def __init__(self, conversation: Conversation, message: str | None) -> None:
            super().__init__()
            self.conversation = conversation
            self.message = message

    front: var[Front] = var[Front]("list", init=False)
    """The pane that has the focus, or had it before the search line."""
    zoomed: var[bool] = var(False, toggle_class="-zoomed")
    large_costs: var[bool] = var(False, toggle_class="-large-costs")

    search_bar = query_one("#search", SearchBar)
    sessions = query_one("#list", SessionList)
    messages = query_one("#messages", MessagePane)
    costs = query_one("#costs", CostPanel)

    def __init__(self, history: History, setting: Setting, size: Size) -> None:
        # Textual would add the classes for the size after the first frame.
        wide = "-wide" if size.width >= WIDE_COLUMNS else "-narrow"
        tall = "-tall" if size.height >= TALL_ROWS else "-short"
        super().__init__(classes=f"{wide} {tall}{' -front-list' if wide == '-narrow' else ''}")
        self._columns = size.width
        self._history = history
        self._setting = setting
        self._store = StoreFollower(history, self._take, self._fail, setting.stopwatch, setting.poll_seconds)
        self._search = LiveSearch(history, self._found, setting.stopwatch)
        self._open_when_found: str | None = None
        """The text whose answer is to be opened as soon as it comes: Enter was faster."""

    def compose(self) -> ComposeResult:
        setting = self._setting
        yield SearchBar(setting.query, setting.past_searches, self._history, id="search")
        yield Static(id="banner")
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield SessionList(self._history, setting.clock, setting.directory, id="list")
                yield CostPanel(self._history, setting.clock, id="costs")
            yield MessagePane(self._history, id="messages")
        yield KeyLine(id="keys")
        yield Static(Content("Too small"), id="small")

    async def on_mount(self) -> None:
        if notices := self._history.notices:
            banner = self.query_one("#banner", Static)
            banner.update(Content("\n".join(map(one_line, notices))))
            banner.add_class("-shown")
        await self._store.start()
        self._search.ask(self.search_bar.text, self._store.catalog)
        self._show()
        self.call_after_refresh(self._follow_store)  # reading all of a big store would hold up the first screen

    def on_resize(self, event: events.Resize) -> None:
        self._columns = event.size.width
        self._mark_front()
        small = event.size.width < MIN_COLUMNS or event.size.height < MIN_ROWS
        self.set_class(small, "-small")
        if small:
            words = f"Too small: {event.size.width}×{event.size.height}, needs {MIN_COLUMNS}×{MIN_ROWS}"
            self.query_one("#small", Static).update(Content(words))
        else:
            self.call_after_refresh(self._preview)
        self.call_after_refresh(self._frame_list)

    def watch_large_costs(self) -> None:
        if self.is_mounted:
            self.costs.large = self.large_costs

    def watch_front(self) -> None:
        self._mark_front()

    def _mark_front(self) -> None:
        """Tell the style sheet which pane is in front, where one is shown at a time. Elsewhere that changes nothing on
        the screen, but every widget would be styled anew."""
        alone = self.zoomed or self._columns < WIDE_COLUMNS
        for front in FRONTS:
            self.set_class(alone and front == self.front, f"-front-{front}")

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
                return self.messages.has_hits
            case "order":
                return self._search.active
            case "resume":
                return not self._setting.pick and self.conversation is not None
            case "copy" | "open" | "find" | "follow":
                return self.conversation is not None
            case "zoom":
                return self.has_class("-wide") and not self.large_costs
            case _:
                return True

    @property
    def conversation(self) -> Conversation | None:
        """The conversation a command is about: the open one in the messages, else the one under the cursor."""
        if self.large_costs:
            return None
        return self.messages.conversation if self.front == "messages" else self.sessions.conversation

    def action_search(self) -> None:
        self._to_front("list")
        self.set_focus(self.search_bar.input)  # at once: `focus` would wait for the next message

    def action_move(self, name: str) -> None:
        if name == "up" and self.sessions.cursor == 0 and self.search_bar.input.recall():
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
        elif name == "costs" and not self.costs.region and not self.large_costs:
            self.action_cost()
        else:
            self._to_front(name)
            if name == "messages":
                self.messages.focus_view()
            else:
                self.set_focus(self.query_one(f"#{name}"))  # at once, as above

    def action_next_pane(self, step: int) -> None:
        names = ["search", *FRONTS] if self.costs.region else ["search", "list", "messages"]
        here = "search" if self.search_bar.input.has_focus else self.front
        self.action_pane(names[(names.index(here) + step) % len(names)] if here in names else "list")

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self._mark_front()

    def action_cost(self) -> None:
        """Enlarge the cost, or give the room back."""
        if self.large_costs:
            self.action_pane("list")
        else:
            self.large_costs = True
            self.front = "costs"
            self.costs.focus()

    def action_find(self) -> None:
        self.messages.start_finding()

    def action_next_hit(self, step: int) -> None:
        if not self.messages.region:
            self.action_pane("messages")
        self.messages.next_hit(step)

    def action_follow(self) -> None:
        self.messages.follow = not self.messages.follow

    def action_resume(self) -> None:
        if self.conversation is not None:
            self.post_message(self.Left("resume", self.conversation))

    def action_copy(self) -> None:
        if self.conversation is not None:
            message = self.messages.view.current_message if self.messages.region else None
            self.post_message(self.CopyAsked(self.conversation, message.text if message else None))

    @work(group="store by hand", exclusive=True)
    async def action_refresh(self) -> None:
        await self._store.read_now()

    def _way_back(self) -> Callable[[], object] | None:
        """What Escape would undo: one layer at a time, from the inside out."""
        if self.messages.finding:
            return self.messages.stop_finding
        if self.search_bar.completing:
            return self.search_bar.stop_completing
        if self.search_bar.input.has_focus:
            return self.search_bar.clear if self.search_bar.text else lambda: self.action_pane("list")
        if self.large_costs:
            return self.action_cost
        if self.zoomed:
            return self.action_zoom
        if self.front != "list":
            return lambda: self.action_pane("list")
        return self.search_bar.clear if self.search_bar.text else None

    def _to_front(self, name: str) -> None:
        if name != "costs":
            self.large_costs = False
        self.front = next(front for front in FRONTS if front == name)
        if name == "messages":
            self._preview()

    def _preview(self) -> None:
        """Open what is under the cursor, if messages are on the screen and nothing is open there yet."""
        conversation, shown = self.sessions.conversation, self.has_class("-wide") or self.front == "messages"
        if shown and conversation is not None and conversation is not self.messages.conversation:
            self.messages.preview(conversation, self.sessions.hits)

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        typing = event.widget is self.search_bar.input
        self.search_bar.set_class(typing, "-typing")
        self.sessions.remote = typing
        if (front := FRONT_OF_WIDGET.get(event.widget.id or "")) is not None:
            self._to_front(front)

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
    def _listed(self, event: SessionList.Changed) -> None:
        self._frame_list()
        listed = event.listed
        ids = None
        if listed.filtered:
            ids = [session.id for item in listed.conversations for session in item.sessions]
        self.costs.ask(ids)
        self.costs.border_title = Content("Cost of these" if listed.filtered else "Cost of all sessions")
        self.refresh_bindings()

    @on(SessionList.Highlighted)
    def _highlighted(self, event: SessionList.Highlighted) -> None:
        if self.has_class("-wide") or event.conversation is None:
            self.messages.preview(event.conversation, event.hits)
        if event.conversation is not None:
            self.messages.describe(self.sessions.overview(event.conversation))

    @on(SessionList.Learned)
    def _learned(self) -> None:
        if (conversation := self.sessions.conversation) is not None:
            self.messages.describe(self.sessions.overview(conversation))

    @on(SessionList.NearEnd)
    def _near_end(self) -> None:
        self._search.ask_more(self._store.catalog)

    @on(MessagePane.HitsEnded)
    def _to_next_found(self, event: MessagePane.HitsEnded) -> None:
        """Past the last hit of one conversation comes the first of the next."""
        before = self.sessions.conversation
        self.sessions.action_down() if event.step > 0 else self.sessions.action_up()
        if (conversation := self.sessions.conversation) is None or conversation is before:
            self.messages.say_ended(event.step)
        else:
            self.messages.open(conversation, self.sessions.hits, at_first=event.step > 0)

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
        self.sessions.placeholder = nothing_words(self._store.catalog, result, self.search_bar.unknown())
        self.sessions.show(self._store.catalog, result, restart=restart)
        self._say()

    def _say(self) -> None:
        search = self._search
        wrong = search.error is not None or bool(search.problems)
        self.search_bar.say(*search.words, error=wrong, problems=search.problems)

    def _fail(self, error: SessionsError) -> None:
        self.search_bar.say(one_line(f"{error.message} {error.hint}"), one_line(error.message), error=True)

    def _frame_list(self) -> None:
        sessions, result = self.sessions, self._search.result
        room = sessions.size.width - 4
        if room > 0:
            more = result is not None and not result.complete
            listing, listed = sessions.listing, sessions.listed
            counts = count_words(listing, listed, whole=self._store.catalog.whole, more=more, room=room)
            sessions.border_title = Content(frame_title(listing, listed, self._history.path, room))
            sessions.border_subtitle = Content(counts)

    @work(group="store")
    async def _follow_store(self) -> None:
        await self._store.run()

    def _take(self, catalog: Catalog) -> None:
        self._show()
        self._search.renew(catalog)
        if (before := self.messages.conversation) is not None:
            now = catalog.by_session.get(before.id)
            if now is not None and (now.segments, now.last_active_at) != (before.segments, before.last_active_at):
                self.messages.renew(now)

"""The panes below the search line: which is in front, how much of the screen it has, and what one tells another.

Where there is no room for all, the one in front is shown alone. What a pane shows is its own and the screen's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from hermes_sessions.model import Catalog, Conversation
from hermes_sessions.services.history import History
from hermes_sessions.services.settings import LIST_WIDTHS, Settings
from hermes_sessions.tui.cost_panel import CostPanel
from hermes_sessions.tui.keys import first_labels
from hermes_sessions.tui.message_pane import MessagePane
from hermes_sessions.tui.session_list import SessionList
from hermes_sessions.tui.setting import Setting

Front = Literal["list", "messages", "costs"]
FRONTS: tuple[Front, ...] = ("list", "messages", "costs")
FRONT_OF_WIDGET: dict[str, Front] = {
    "list": "list",
    "view": "messages",
    "find_text": "messages",
    "go_text": "messages",
    "outline_text": "messages",
    "costs": "costs",
}

WIDE_COLUMNS, TALL_ROWS = 100, 20
"""From here on there is room for the messages beside the list, and for the cost below it."""


class Panes(Horizontal):
    """Sessions, messages and cost."""

    front: var[Front] = var[Front]("list", init=False)
    """The pane that has the focus, or had it before the search line."""
    zoomed: var[bool] = var(False, toggle_class="-zoomed")
    large_costs: var[bool] = var(False, toggle_class="-large-costs")
    list_width: var[int] = var(Settings().list_width, init=False)
    """Percent of the screen that the list has beside the messages."""
    columns: var[int] = var(0, init=False)
    """How wide the screen is. It tells, since the panes are resized too late to be laid out by it."""

    sessions = query_one("#list", SessionList)
    messages = query_one("#messages", MessagePane)
    costs = query_one("#costs", CostPanel)

    def __init__(self, history: History, setting: Setting, columns: int, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="" if columns >= WIDE_COLUMNS else "-front-list")
        self.set_reactive(Panes.columns, columns)
        self._history = history
        self._setting = setting

    def compose(self) -> ComposeResult:
        setting = self._setting
        with Vertical(id="side"):
            yield SessionList(self._history, setting.clock, setting.directory, id="list")
            yield CostPanel(self._history, setting.clock, id="costs")
        undone_key = first_labels(setting.keys).get("messages.rewound", "")
        with MessagePane(self._history, undone_key, id="messages"):
            yield Static(Content("No session is selected."), id="nothing")

    @property
    def wide(self) -> bool:
        """Whether there is room for the messages beside the list."""
        return self.columns >= WIDE_COLUMNS

    @property
    def side_by_side(self) -> bool:
        """Whether list and messages stand beside each other."""
        return self.wide and not self.zoomed and not self.large_costs

    @property
    def names(self) -> tuple[Front, ...]:
        """The panes that Tab goes through."""
        return FRONTS if self.costs.region else ("list", "messages")

    @property
    def conversation(self) -> Conversation | None:
        """The conversation a command is about: the open one in the messages, else the one under the cursor."""
        if self.large_costs:
            return None
        return self.messages.conversation if self.front == "messages" else self.sessions.conversation

    def widget(self, name: str) -> Widget | None:
        """What has the keys of a pane, if it is there yet."""
        return next(iter(self.query(f"#{'view' if name == 'messages' else name}")), None)

    def shows(self, name: str) -> bool:
        """Whether a pane is on the screen."""
        return bool(self.query_one(f"#{name}").region)

    def go(self, name: str) -> None:
        """Bring a pane to the front and give it the focus."""
        if name == "costs" and not self.costs.region and not self.large_costs:
            self.turn_costs()
            return
        self.bring(name)
        if name == "messages":
            self.messages.focus_view()
        else:
            self.screen.set_focus(self.query_one(f"#{name}"))  # at once: `focus` would wait for the next message

    def bring(self, name: str) -> None:
        """Bring a pane to the front; the focus stays."""
        if name != "costs":
            self.large_costs = False
        self.front = next(front for front in FRONTS if front == name)
        if name == "messages":
            self.preview()

    def turn_costs(self) -> None:
        """Enlarge the cost, or give the room back."""
        if self.large_costs:
            self.go("list")
        else:
            self.large_costs = True
            self.front = "costs"
            self.costs.focus()

    def turn_zoom(self) -> None:
        """Give the whole screen to the pane in front, or the room back."""
        self.zoomed = not self.zoomed

    def way_back(self) -> Callable[[], object] | None:
        """What Escape would undo here: one layer at a time, from the inside out."""
        if self.front == "messages" and (way := self.messages.way_back) is not None:
            return way
        if self.large_costs:
            return self.turn_costs
        if self.zoomed:
            return self.turn_zoom
        return (lambda: self.go("list")) if self.front != "list" else None

    def preview(self) -> None:
        """Open what is under the cursor, if messages are on the screen and it is not open yet."""
        conversation, shown = self.sessions.conversation, self.wide or self.front == "messages"
        if shown and conversation is not None and conversation is not self.messages.conversation:
            self.messages.preview(conversation, self.sessions.hits)

    def renew(self, catalog: Catalog) -> None:
        """Take the open conversation's newer self, if there is one."""
        if (before := self.messages.conversation) is not None:
            now = catalog.by_session.get(before.id)
            if now is not None and (now.segments, now.last_active_at) != (before.segments, before.last_active_at):
                self.messages.renew(now)

    @on(SessionList.Changed)
    def _listed(self, event: SessionList.Changed) -> None:
        summed = event.summed
        self.costs.ask(None if summed is None else [id for item in summed for id in item.segments])
        self.costs.border_title = Content(f"Cost of {event.words}")

    @on(SessionList.Highlighted)
    def _highlighted(self, event: SessionList.Highlighted) -> None:
        if self.wide or event.conversation is None:
            self.messages.preview(event.conversation, event.hits)
        if event.conversation is not None:
            self.messages.describe(self.sessions.overview(event.conversation))

    @on(SessionList.Learned)
    def _learned(self) -> None:
        if (conversation := self.sessions.conversation) is not None:
            self.messages.describe(self.sessions.overview(conversation))

    @on(MessagePane.HitsEnded)
    def _to_next_found(self, event: MessagePane.HitsEnded) -> None:
        """Past the last hit of one conversation comes the first of the next."""
        before = self.sessions.conversation
        self.sessions.action_down() if event.step > 0 else self.sessions.action_up()
        if (conversation := self.sessions.conversation) is None or conversation is before:
            self.messages.say_ended(event.step)
        else:
            self.messages.open(conversation, self.sessions.hits, step=event.step)

    def watch_large_costs(self) -> None:
        if self.is_mounted:
            self.costs.large = self.large_costs
            self._share()

    def validate_list_width(self, percent: int) -> int:
        return max(LIST_WIDTHS[0], min(percent, LIST_WIDTHS[-1]))

    def watch_list_width(self) -> None:
        self._share()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the edge between list and messages."""
        edge = self.query_one("#side").region.right
        if self.side_by_side and event.screen_x in (edge - 1, edge):
            self.screen.clear_selection()  # which has just begun
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self.list_width = round(100 * (event.screen_x + 1) / self.columns)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def watch_front(self) -> None:
        self._mark_front()

    def watch_columns(self) -> None:
        self._mark_front()
        self._share()

    def watch_zoomed(self) -> None:
        self._mark_front()
        self._share()

    def _share(self) -> None:
        """Give the list its width, where the style sheet leaves it room for one."""
        self.query_one("#side").styles.width = f"{self.list_width}%" if self.side_by_side else None

    def _mark_front(self) -> None:
        """Tell the style sheet which pane is in front, where one is shown at a time. Elsewhere that changes nothing on
        the screen, but every widget would be styled anew."""
        alone = self.zoomed or not self.wide
        for front in FRONTS:
            self.set_class(alone and front == self.front, f"-front-{front}")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if (front := FRONT_OF_WIDGET.get(event.widget.id or "")) is not None:
            self.bring(front)

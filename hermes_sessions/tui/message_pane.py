"""The pane of messages: which conversation is open, its frame, and the line that finds words in it.

It loads what the person goes to, drops what they have left, and keeps up with a conversation that grows. Drawing and
scrolling the messages is `tui.message_view`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input, Static

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Conversation, ConversationHits, MessageStub, Overview
from hermes_sessions.services import wording
from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width, fit, one_line
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.search_bar import LineInput

if TYPE_CHECKING:
    from hermes_sessions.tui.message_view import MessageView

PREVIEW_AFTER_SECONDS = 0.06
"""How long the cursor must stand still in the list before its conversation is loaded."""


class MessagePane(Vertical):
    """One conversation, opened at its end or at a hit."""

    class HitsEnded(TextualMessage):
        """The person went past the last place of the search, or with -1 past the first."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    find_line = query_one("#find", Horizontal)
    find_input = query_one("#find_text", LineInput)

    follow: var[bool] = var(False)
    """Stay at the end of a conversation that grows."""
    finding: var[bool] = var(False, toggle_class="-finding")
    """Whether the line that finds words is open."""

    def __init__(self, history: History, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.conversation: Conversation | None = None
        """The conversation that is shown, or on its way."""
        self._history = history
        self.searched: Sequence[str] = ()
        """What is searched for, to be marked in conversations that were found."""
        self._hits: ConversationHits | None = None
        self._marked: Sequence[str] = ()
        self._stubs: Sequence[MessageStub] = ()
        self._overview: Overview | None = None
        self._place = ""
        self._step = 1
        self._timer: Timer | None = None
        self._loading = False
        self._built = asyncio.Event()

    def on_mount(self) -> None:
        self.call_after_refresh(self._build)

    @property
    def view(self) -> MessageView:
        """The messages. There are none before the first screen has been drawn."""
        from hermes_sessions.tui.message_view import MessageView

        return self.query_one("#view", MessageView)

    @property
    def waiting(self) -> bool:
        """Whether what was asked for last is not on the screen yet."""
        return self._timer is not None or self._loading

    @property
    def has_hits(self) -> bool:
        """Whether there are found places to go to."""
        return self._built.is_set() and bool(self.find_input.value or _words(self._hits, self.searched))

    def preview(self, conversation: Conversation | None, hits: ConversationHits | None) -> None:
        """Open a conversation soon, unless another one is asked for first; with None show nothing."""
        self._stop_timer()
        if conversation is None:
            self.workers.cancel_group(self, "open")
            self.conversation = self._hits = None
            self.set_class(True, "-empty")
            self._draw_frame()
        else:
            self._timer = self.set_timer(PREVIEW_AFTER_SECONDS, lambda: self.open(conversation, hits))

    def open(self, conversation: Conversation, hits: ConversationHits | None, *, at_first: bool = False) -> None:
        """Open a conversation now, at its newest hit if a search found it, or at the first. One that is open stays
        where it is."""
        self._stop_timer()
        if (conversation, hits, self.searched) == (self.conversation, self._hits, self._marked):
            return
        self.conversation, self._hits, self._marked = conversation, hits, self.searched
        self._loading = True
        self.follow = self.finding = False
        self._place = ""
        self._load(conversation, hits, at_first)

    def renew(self, conversation: Conversation) -> None:
        """Take the open conversation's newer self, and show what was added to it."""
        if self.conversation is not None:
            self.conversation = conversation
            self._extend(conversation)

    def describe(self, overview: Overview | None) -> None:
        """Say in the frame what the list knows of the conversation."""
        self._overview = overview
        self._draw_frame()

    def focus_view(self) -> None:
        """Give the focus to the messages."""
        # What is hidden takes no focus.
        if self._built.is_set() and not (self._loading and self.has_class("-empty")):
            self.view.focus()
        else:
            self.call_after_refresh(self.focus_view)

    def start_finding(self) -> None:
        """Open the line that finds words in this conversation."""
        self.finding = True
        self.screen.set_focus(self.find_input)  # at once, for the letters that may follow in the same breath

    def stop_finding(self) -> None:
        """Close that line and forget what was found."""
        self.finding = False
        self.find_input.value = ""
        self.view.focus()

    @work(group="find", exclusive=True)
    async def next_hit(self, step: int) -> None:
        """Go to the next found place, or with -1 to the one before."""
        self._step = step
        await self.view.next_hit(step)

    def say_ended(self, step: int) -> None:
        """Say that there is no place further on."""
        self._place = "last hit" if step > 0 else "first hit"
        self._draw_frame()

    def watch_follow(self) -> None:
        if self.follow:
            self.view.action_last()
        self._draw_frame()

    def on_resize(self) -> None:
        self._draw_frame()

    @on(Input.Changed, "#find_text")
    def _find(self, event: Input.Changed) -> None:
        event.stop()
        self._place = ""
        self._look_for(event.value)

    @work(group="find", exclusive=True)
    async def _look_for(self, words: str) -> None:
        await self.view.find(words)

    @on(Input.Submitted, "#find_text")
    def _found(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()

    def on_message_view_hit_reached(self, event: MessageView.HitReached) -> None:
        event.stop()
        if event.wrapped and not self.find_input.value:
            self.post_message(self.HitsEnded(self._step))
            return
        total = f"{wording.count(event.total)}{'' if event.complete else '+'}"
        self._place = f"{wording.count(event.position)} of {total}" if event.total else "not found"
        self._draw_frame()

    async def _build(self) -> None:
        # Importing and mounting the view takes as long as all the rest: the first screen does not wait for it.
        from hermes_sessions.tui.message_view import MessageView

        find = Horizontal(
            Static(Content("find"), id="find_prompt"), LineInput("in this conversation", id="find_text"), id="find"
        )
        await self.mount_all([MessageView(id="view"), find])
        self._built.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @work(group="open", exclusive=True)
    async def _load(self, conversation: Conversation, hits: ConversationHits | None, at_first: bool) -> None:
        try:
            self._stubs = await self._history.outline(conversation)
            await self._built.wait()
            at, words = _message_id(hits), _words(hits, self.searched)
            if at is not None and all(stub.id != at for stub in self._stubs):
                at = await self._history.original(conversation, at)
            await self.view.show(conversation, self._stubs, self._history.messages, at=at, words=words)
            if at_first and words:
                await self.view.search_hit()
        except SessionsError as error:
            self.post_message(Failed(error))
        self.set_class(False, "-empty")
        self._loading = False
        self._draw_frame()
        self.screen.refresh_bindings()

    @work(group="extend", exclusive=True)
    async def _extend(self, conversation: Conversation) -> None:
        try:
            stubs = await self._history.outline(conversation)
        except SessionsError as error:
            self.post_message(Failed(error))
            return
        if stubs != self._stubs:
            self._stubs = stubs
            self.view.extend(stubs)
            if self.follow:
                self.view.action_last()

    def _draw_frame(self) -> None:
        room = self.size.width - 4
        item = self.conversation
        if item is None or room < 1:
            self.border_title = self.border_subtitle = None
            return
        preview = self._overview.preview if self._overview else None
        title = one_line(item.title) or one_line(preview) or one_line(item.id)
        self.border_title = Content(fit(title, room))
        parts = [part for part in self._facts(item) if part]
        while parts and cell_width(" · ".join(parts)) > room:
            parts.pop()
        self.border_subtitle = Content(" · ".join(parts)) if parts else None

    def _facts(self, item: Conversation) -> tuple[str, ...]:
        """What the lower edge says, the most telling first."""
        overview = self._overview
        return (
            "following" if self.follow else "",
            self._place,
            wording.moment(item.started_at),
            fit(one_line(item.tip.model), 28),
            f"{wording.count(overview.message_count)} messages" if overview else "",
            wording.money(overview.cost) if overview else "",
            f"{wording.count(len(item.delegates))} subagents" if item.delegates else "",
            fit(one_line(item.tip.cwd), 40),
        )


def _message_id(hits: ConversationHits | None) -> int | None:
    """The message to open at: that of the newest hit."""
    return next((hit.message_id for hit in hits.hits if hit.message_id is not None), None) if hits else None


def _words(hits: ConversationHits | None, searched: Sequence[str]) -> tuple[str, ...]:
    """What to mark: the very words that were found, and the others that were searched for."""
    if hits is None:
        return ()
    texts = (hit.snippet.text[start:end] for hit in hits.hits for start, end in hit.snippet.spans)
    return tuple(dict.fromkeys(one_line(text) for text in (*texts, *searched)))

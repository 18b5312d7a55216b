"""The pane of messages: which conversation is open, its frame, and the ways to a place in it.

It loads what the person goes to, drops what they have left, and keeps up with a conversation that grows. Drawing and
scrolling the messages is `tui.message_view`'s business, the list of prompts `tui.outline`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events, work
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.reactive import var
from textual.timer import Timer

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Conversation, ConversationHits, MessageStub, Overview
from hermes_sessions.services import wording
from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width, fit, one_line, steady
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.find_line import FindLine, hit_words
from hermes_sessions.tui.go_line import GoLine

if TYPE_CHECKING:
    from hermes_sessions.tui.message_layout import Tools
    from hermes_sessions.tui.message_view import MessageView
    from hermes_sessions.tui.outline import Outline

PREVIEW_AFTER_SECONDS = 0.06
"""How long the cursor must stand still in the list before its conversation is loaded."""

MOST_STEPS = 3
"""Steps from hit to hit that are still done after the key was let go, where a step takes longer than a key."""


class MessagePane(Vertical):
    """One conversation, opened at its end or at a hit."""

    class HitsEnded(TextualMessage):
        """The person went past the last place of the search, or with -1 past the first."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    follow: var[bool] = var(False)
    """Stay at the end of a conversation that grows."""
    rewound: var[bool] = var(False, init=False)
    """Whether messages that the person took back are shown."""

    def __init__(self, history: History, undone_key: str = "", *, id: str | None = None) -> None:
        """`undone_key` is the one that shows what the person took back, if there is one."""
        super().__init__(id=id)
        self._undone_key = f" ({undone_key})" if undone_key else ""
        self.find_line = FindLine(lambda: self.view)
        self.go_line = GoLine(lambda: self.view, history.now)
        self.conversation: Conversation | None = None
        """The conversation that is shown, or on its way."""
        self._history = history
        self.searched: Sequence[str] = ()
        """What is searched for, to be marked in conversations that were found."""
        self.undone = 0
        """How many messages of it the person took back, once that is known."""
        self.first_look: tuple[Tools, bool, bool] = ("off", False, True)
        """What is shown of tools, whether reasoning is, and whether long lines are wrapped, to begin with."""
        self._hits: ConversationHits | None = None
        self._marked: Sequence[str] = ()
        self._stubs: Sequence[MessageStub] = ()
        self._overview: Overview | None = None
        self._place = ""
        self._step = 1
        self._steps = 0
        self._walking = False
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
    def look(self) -> tuple[Tools, bool, bool]:
        """The same as it is now."""
        return (self.view.tools, self.view.reasoning, self.view.wrapped) if self._built.is_set() else self.first_look

    @property
    def waiting(self) -> bool:
        """Whether what was asked for last is not on the screen yet."""
        return self._timer is not None or self._loading

    @property
    def has_hits(self) -> bool:
        """Whether there are found places to go to."""
        return self._built.is_set() and bool(self.find_line.input.value or _words(self._hits, self.searched))

    def preview(self, conversation: Conversation | None, hits: ConversationHits | None) -> None:
        """Open a conversation soon, unless another one is asked for first; with None show nothing."""
        self._stop_timer()
        if conversation is None:
            self.workers.cancel_group(self, "open")
            self._loading = False
            self.conversation = self._hits = None
            self.set_class(True, "-empty")
            self._draw_frame()
        else:
            self._timer = self.set_timer(PREVIEW_AFTER_SECONDS, lambda: self.open(conversation, hits))

    def open(self, conversation: Conversation, hits: ConversationHits | None, *, step: int = 0) -> None:
        """Open a conversation now, at its newest hit if a search found it; who comes from the conversation before it
        (`step` 1) at the first, and who comes back from the one behind (-1) has seen its hits. One that is open stays
        where it is."""
        self._stop_timer()
        if (conversation, hits, self.searched) == (self.conversation, self._hits, self._marked):
            return
        self.conversation, self._hits, self._marked = conversation, hits, self.searched
        self._loading = True
        self.follow = False
        self.undone = 0
        self._place = ""
        if self._built.is_set():
            self.find_line.close()
            self.go_line.asking = False
        self._load(conversation, hits, step)

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
        self.go_line.asking = False
        self.find_line.start()

    async def show_outline(self) -> None:
        """Lay the list of prompts over the messages."""
        from hermes_sessions.tui.outline import Outline, prompts_of

        viewport = self.view.viewport
        prompts = prompts_of(viewport.transcript.stubs, self.view.hits.finder.findings.between)
        outline = Outline(prompts, viewport.cursor, self._history.messages)
        await self.mount(outline)
        self.screen.set_focus(outline.line.input)

    def turn_rewound(self) -> None:
        """Show what the person took back, or hide it."""
        self.rewound = not self.rewound
        if self.conversation is not None:
            self._extend(self.conversation)
        self._draw_frame()

    @property
    def way_back(self) -> Callable[[], object] | None:
        """What Escape would undo here."""
        if self._outline is not None:
            return self._close_outline
        if self.go_line.asking:
            return self.go_line.stop
        return self.find_line.stop if self.find_line.asking else None

    @property
    def _outline(self) -> Outline | None:
        return next((child for child in self.children if child.has_class("-outline")), None)  # type: ignore[return-value]

    def _close_outline(self) -> None:
        if (outline := self._outline) is not None:
            outline.remove()
            self.view.focus()

    def next_hit(self, step: int) -> None:
        """Go to the next found place, or with -1 to the one before."""
        self._step = step
        if not self.view.hits.finder.matcher:
            self._look_for_words(step)
            return
        self._steps = max(-MOST_STEPS, min(self._steps + step, MOST_STEPS))
        if not self._walking:
            self._walking = True
            self._walk()

    @work(group="find", exclusive=True)
    async def _look_for_words(self, step: int) -> None:
        await self.view.hits.next(step)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if event.widget.id == "view" and not self._loading:
            self._count_words()

    @work(group="find", exclusive=True)
    async def _count_words(self) -> None:
        """Know all places of the search in a conversation that is read, and not only those it named."""
        await self.view.hits.count_words()

    @work(group="walk")
    async def _walk(self) -> None:
        """Go as many steps as were asked for, one after the other."""
        try:
            while self._steps:
                step = 1 if self._steps > 0 else -1
                self._steps -= step
                await self.view.hits.next(step)
        finally:
            self._walking, self._steps = False, 0

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

    def on_message_view_hit_reached(self, event: MessageView.HitReached) -> None:
        event.stop()
        if self.find_line.asking:
            self.find_line.tell(event, self._step)
        elif event.ended:
            self.post_message(self.HitsEnded(self._step))
        else:
            end = "top" if self._step > 0 else "end"
            self._place = hit_words(event) + (f" · from the {end}" if event.wrapped else "")
            self._draw_frame()

    def _mark_hits(self, hits: ConversationHits | None) -> None:
        """Tell the ruler where the search has found something."""
        found = {hit.message_id for hit in hits.hits} if hits else set()
        self._ruler.hits = [index for index, stub in enumerate(self._stubs) if stub.id in found]

    def on_outline_chosen(self, event: Outline.Chosen) -> None:
        event.stop()
        self._close_outline()
        self._go_to(event.index)

    @work(group="go", exclusive=True)
    async def _go_to(self, index: int) -> None:
        await self.view.go_to(index)

    async def _build(self) -> None:
        # Importing and mounting the view takes as long as all the rest: the first screen does not wait for it.
        from hermes_sessions.tui.message_view import MessageView
        from hermes_sessions.tui.ruler import Ruler

        view = MessageView(id="view")
        view.tools, view.reasoning, view.wrapped = self.first_look
        self._ruler = Ruler(view)
        await self.mount_all([view, self._ruler, self.find_line, self.go_line])
        self._built.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @work(group="open", exclusive=True)
    async def _load(self, conversation: Conversation, hits: ConversationHits | None, step: int) -> None:
        try:
            at, words = _message_id(hits), _words(hits, self.searched)
            self.set_reactive(MessagePane.rewound, False)
            self._stubs = await self._history.outline(conversation)
            if at is not None and not _has(self._stubs, at):
                at = await self._history.original(conversation, at)
                if not _has(self._stubs, at):
                    # It was taken back, and asked for: it can be shown only among its like.
                    self._stubs = await self._history.outline(conversation, rewound=True)
                    self.set_reactive(MessagePane.rewound, True)
            origin = await self._history.origin(conversation)
            await self._built.wait()
            await self.view.show(conversation, self._stubs, self._history.messages, at, words, origin)
            self._mark_hits(hits)
            if step < 0:
                self.view.hits.finder.come_back()
            if step > 0 and words:
                await self.view.hits.first_word()
            elif self.view.has_focus:
                self._count_words()
            self._count_undone(conversation)
        except SessionsError as error:
            self.post_message(Failed(error))
        except asyncio.CancelledError as error:
            from hermes_sessions.tui.reading import without_frames

            raise without_frames(error) from None
        self.set_class(False, "-empty")
        self._loading = False
        self._draw_frame()
        self.screen.refresh_bindings()

    @work(group="extend", exclusive=True)
    async def _extend(self, conversation: Conversation) -> None:
        try:
            stubs = await self._history.outline(conversation, self.rewound)
            self._count_undone(conversation)
        except SessionsError as error:
            self.post_message(Failed(error))
            return
        if stubs != self._stubs:
            self._stubs = stubs
            self.view.extend(stubs)
            if self.follow:
                self.view.action_last()

    @work(group="undone", exclusive=True)
    async def _count_undone(self, conversation: Conversation) -> None:
        try:
            undone = await self._history.undone(conversation)
        except SessionsError as error:
            self.post_message(Failed(error))
            return
        if undone != self.undone and conversation is self.conversation:
            self.undone = undone
            self._draw_frame()
            self.screen.refresh_bindings()

    def _draw_frame(self) -> None:
        room = self.size.width - 4
        item = self.conversation
        if item is None or room < 1:
            self.border_title = self.border_subtitle = None
            return
        preview = self._overview.preview if self._overview else None
        title = one_line(item.title) or one_line(preview) or one_line(item.id)
        self.border_title = Content(fit(steady(title), room))
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
            f"{wording.count(self.undone)} undone {'shown' if self.rewound else 'hidden'}{self._undone_key}"
            if self.undone
            else "",
            wording.moment(item.started_at),
            fit(one_line(item.tip.model), 28),
            f"{wording.count(overview.message_count)} messages" if overview else "",
            wording.money(overview.cost) if overview else "",
            f"{wording.count(len(item.delegates))} subagents" if item.delegates else "",
            fit(one_line(item.tip.cwd), 40),
        )


def _has(stubs: Sequence[MessageStub], message_id: int) -> bool:
    return any(stub.id == message_id for stub in stubs)


def _message_id(hits: ConversationHits | None) -> int | None:
    """The message to open at: that of the newest hit."""
    return next((hit.message_id for hit in hits.hits if hit.message_id is not None), None) if hits else None


def _words(hits: ConversationHits | None, searched: Sequence[str]) -> tuple[str, ...]:
    """What to mark: the very words that were found, and the others that were searched for."""
    if hits is None:
        return ()
    texts = (hit.snippet.text[start:end] for hit in hits.hits for start, end in hit.snippet.spans)
    return tuple(dict.fromkeys(one_line(text) for text in (*texts, *searched)))

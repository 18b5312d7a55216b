"""Conversations in memory for the tests of the message view, and a small app around one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from hermes_sessions.model import Conversation, Message, MessageStub, Session, ToolCall
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.message_view import MessageView
from hermes_sessions.tui.themes import DARK, THEMES, role_colours
from tests.builders import NOW

CONVERSATION = Conversation(
    (Session("s", "cli", None, None, None, None, None, None, None, NOW, None, None, False, False, NOW, True),)
)

_PLAIN = Message(0, "s", "user", "", (), None, None, None, None, None, False, False, False)


def message(id: int, role: str = "user", text: str = "", *calls: ToolCall, **fields: object) -> Message:
    """A message; without a time of its own it is a second after the one before."""
    values: dict[str, object] = {"timestamp": NOW + id, "tool_name": "terminal" if role == "tool" else None}
    return _PLAIN._replace(id=id, role=role, text=text, tool_calls=calls, **(values | fields))  # type: ignore[arg-type]


def call(name: str, arguments: str) -> ToolCall:
    """A tool call."""
    return ToolCall("call_1", name, arguments)


def stub_of(message: Message) -> MessageStub:
    """The stub the store would make of a message."""
    size = len(message.text.encode("utf-8", "replace"))
    flags = (message.rewound, message.compacted)
    return MessageStub(message.id, message.session_id, message.role, size, message.timestamp, *flags)


def prose(count: int) -> list[Message]:
    """A long conversation: `count` messages of a few lines each, of both sides in turn."""
    return [
        message(number, "user" if number % 2 else "assistant", f"message {number}\n" + "word " * (number % 7 * 20))
        for number in range(1, count + 1)
    ]


def work_done() -> Library:
    """A question, a tool that failed, an edit, an answer."""
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new"
    return Library(
        [
            message(1, text="Please fix the **test**."),
            message(2, "assistant", "", call("terminal", '{"command": "pytest -q"}'), reasoning="I run it.\nFirst."),
            message(3, "tool", '{"output": "' + "\\n".join(f"line {n}" for n in range(30)) + '", "exit_code": 1}'),
            message(4, "assistant", "", call("patch", '{"path": "x.py"}')),
            message(5, "tool", diff, tool_name="patch"),
            message(6, "assistant", "# Done\n\nIt was `x`."),
        ]
    )


class Library:
    """Gives messages out like the store's thread, one turn of the loop later, and remembers which were asked for.

    While `held` nothing comes back, until `release`.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = list(messages)
        self.asked: list[int] = []
        self._open = asyncio.Event()
        self._open.set()

    @property
    def stubs(self) -> tuple[MessageStub, ...]:
        """The outline."""
        return tuple(map(stub_of, self.messages))

    def hold(self) -> None:
        """Answer nothing from now on."""
        self._open.clear()

    def release(self) -> None:
        """Answer everything that was asked."""
        self._open.set()

    async def load(self, stubs: Sequence[MessageStub]) -> Mapping[int, Message]:
        """What a `MessageView` loads with."""
        self.asked.extend(stub.id for stub in stubs)
        await asyncio.sleep(0)
        await self._open.wait()
        wanted = {stub.id for stub in stubs}
        return {message.id: message for message in self.messages if message.id in wanted}


class ViewApp(App[None]):
    """Nothing but a message view, and a list of what it told."""

    def __init__(self, library: Library | None = None, at: int | None = None, words: Sequence[str] = ()) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK
        self.view = MessageView(id="view")
        self.reached: list[MessageView.HitReached] = []
        self.failed: list[Failed] = []
        self._library, self._at, self._words = library, at, words

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return role_colours(self.current_theme)

    def compose(self) -> ComposeResult:
        yield self.view

    async def on_mount(self) -> None:
        self.view.focus()
        if self._library is not None:
            await self.view.show(CONVERSATION, self._library.stubs, self._library.load, self._at, self._words)

    def on_message_view_hit_reached(self, event: MessageView.HitReached) -> None:
        self.reached.append(event)

    def on_failed(self, event: Failed) -> None:
        self.failed.append(event)

    @property
    def lines(self) -> list[str]:
        """What is on the screen, as text without the blanks at the ends of the lines."""
        return [self.view.render_line(y).text.rstrip() for y in range(self.view.size.height)]

    @property
    def shown(self) -> str:
        """The same in one piece."""
        return "\n".join(self.lines)


async def settled(pilot: Pilot[None]) -> None:
    """Wait until everything that was asked for is on the screen."""
    for worker in list(pilot.app.workers):
        if worker.group in ("texts", "find"):
            await worker.wait()
    await pilot.pause()

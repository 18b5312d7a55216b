"""What a person takes out of a conversation: into the clipboard, or into their own editor.

Every way out ends with a word on what was taken and where it is now. What there is to take is `copy_menu`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, SuspendNotSupported

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import Conversation, Message
from hermes_sessions.services import clipboard, editing, wording
from hermes_sessions.services.history import History
from hermes_sessions.text import one_line
from hermes_sessions.tui import terminal
from hermes_sessions.tui.markdown import body_of, looks_like_diff, markdown_steps
from hermes_sessions.tui.message_blocks import clean_steps, compose_steps
from hermes_sessions.tui.reading import Slices
from hermes_sessions.tui.steps import Steps
from hermes_sessions.tui.stored_json import decoded_steps

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from hermes_sessions.services.resuming import ResumePlan
    from hermes_sessions.tui.copy_menu import Copyable

PAGE = 128
"""Messages held in memory at once, besides what was made of those before."""

MOST_BYTES = 256 * 1024 * 1024
"""What is put together at most: all of it is held in memory."""

SAY_AFTER_SECONDS = 0.5

_AT_ONCE = 256 * 1024
"""Characters after which the work on a text pauses."""


class Takeaway:
    """The ways out of one app over one history."""

    def __init__(
        self,
        app: App[Any],
        history: History,
        resume: Callable[[Conversation], ResumePlan],
        environ: Mapping[str, str],
    ) -> None:
        self._app = app
        self._history = history
        self._resume = resume
        self._environ = environ

    def choose(self, conversations: Sequence[Conversation], message: Message | None) -> None:
        """Ask what of these to copy, and copy it."""
        self._start("choose", partial(self._choose, conversations, message))

    def copy(self, text: str, name: str) -> None:
        """Copy a text that is called `name`."""
        self._start("copy", partial(self._copy, text, name))

    def edit(self, conversations: Sequence[Conversation], message: Message | None) -> None:
        """Show a message, or all of the conversations, in the person's editor."""
        self._start("edit", partial(self._edit, conversations, message))

    def _start(self, group: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do something in place of what is done of its group. What is given up before it begins was never made."""
        self._app.run_worker(work, group=group, exclusive=True)  # type: ignore[arg-type]  # a union it cannot solve

    async def _choose(self, conversations: Sequence[Conversation], message: Message | None) -> None:
        from hermes_sessions.tui.copy_menu import CopyScreen, copyables

        choices = await copyables(conversations, message, self._command)

        def chosen(choice: Copyable | None) -> None:
            if choice is not None:
                self._start("copy", partial(self._copy_chosen, choice, conversations))

        self._app.push_screen(CopyScreen(choices), chosen)

    async def _copy_chosen(self, choice: Copyable, conversations: Sequence[Conversation]) -> None:
        from hermes_sessions.tui.copy_menu import join_steps

        text, name, count = choice.text, choice.name, len(conversations)
        if text is None and choice.lines is not None:
            with self._saying(f"Putting {wording.count(count)} lines together …"):
                text = await Slices().run(join_steps(choice.lines()))
        elif text is None:
            text, name = await self._whole(conversations), "conversation"
        if text is not None:
            await self._copy(text, name)

    async def _copy(self, text: str, name: str) -> None:
        slices = Slices()
        text, _ = await slices.run(clean_steps(text))
        amount = wording.size(await slices.run(_bytes_steps(text)))
        ways = await terminal.copy(self._app, text, self._environ)
        if ways:
            self._say(f"Copied {name} ({amount}) to the {' and '.join(ways)}.")
            return
        try:
            path = await asyncio.to_thread(clipboard.save, text)
        except SessionsError as error:
            self._say(error.message, severity="error")
        else:
            self._say(f"Too large for any clipboard here: {name} ({amount}) is in {one_line(str(path))}")

    async def _edit(self, conversations: Sequence[Conversation], message: Message | None) -> None:
        try:
            command = editing.editor(self._environ)
        except SessionsError as error:
            self._say(f"{error.message} {error.hint}", severity="error")
            return
        if message is not None:
            text, suffix = await _text_of(message)
        elif (whole := await self._whole(conversations)) is not None:
            text, suffix = whole, ".md"
        else:
            return
        name = "message" if message is not None else "conversation"
        shown: editing.Shown | SessionsError | None = None
        try:
            with self._app.suspend():
                try:
                    shown = editing.show(command, text, name, suffix, self._environ)
                except SessionsError as error:  # Textual takes the terminal back only if nothing is raised
                    shown = error
        except SuspendNotSupported:
            self._say("This terminal cannot be lent to another program.", severity="error")
        match shown:
            case SessionsError():
                self._say(f"{shown.message} {shown.hint}", severity="error")
            case editing.Shown(code=code) if code:
                self._say(f"{one_line(Path(command[0]).name)} ended with code {code}.", severity="warning")
            case editing.Shown(changed=True):
                self._say("What you changed is not kept: it was a copy.", severity="warning")

    async def _whole(self, conversations: Sequence[Conversation]) -> str | None:
        """All of the conversations as Markdown; None if they could not be read, or are too much, which then has been
        said."""
        count = len(conversations)
        whose = "the conversation" if count == 1 else f"{wording.count(count)} conversations"
        with self._saying(f"Putting {whose} together …"):
            return await self._put_together(conversations)

    async def _put_together(self, conversations: Sequence[Conversation]) -> str | None:
        parts: list[str] = []
        slices, amount = Slices(), 0
        try:
            for item in conversations:
                stubs = await self._history.outline(item)
                amount += sum(stub.size for stub in stubs)
                if amount > MOST_BYTES:
                    self._say(f"That is more than {wording.size(MOST_BYTES)}: mark fewer sessions.", severity="error")
                    return None
                parts.append(f"# {one_line(item.title) or one_line(item.id)}\n\nSession {one_line(item.id)}")
                for start in range(0, len(stubs), PAGE):
                    page = stubs[start : start + PAGE]
                    found = await self._history.messages(page)
                    for number, stub in enumerate(page, start + 1):
                        if stub.id in found:
                            parts.append(await slices.run(markdown_steps(found[stub.id], number)))
        except SessionsError as error:
            self._say(f"{error.message} {error.hint}", severity="error")
            return None
        return "\n\n".join(parts) + "\n"

    def _command(self, item: Conversation) -> str:
        """How to go on with a conversation, also where that cannot be done."""
        try:
            return self._resume(item).as_shell()
        except SessionsError as error:
            return error.hint

    @contextmanager
    def _saying(self, words: str) -> Iterator[None]:
        """Say what is going on, if it is not over in half a second."""
        timer = self._app.set_timer(SAY_AFTER_SECONDS, lambda: self._say(words))
        try:
            yield
        finally:
            timer.stop()

    def _say(self, words: str, severity: SeverityLevel = "information") -> None:
        self._app.notify(words, severity=severity, markup=False)


def _bytes_steps(text: str) -> Steps[int]:
    amount = 0
    for start in range(0, len(text), _AT_ONCE):
        amount += len(text[start : start + _AT_ONCE].encode("utf-8", "replace"))
        yield
    return amount


async def _text_of(message: Message) -> tuple[str, str]:
    """The text of a message, and the ending of a file that has it."""
    slices = Slices()
    if message.role != "tool":
        return await slices.run(markdown_steps(message)), ".md"
    text = body_of(await slices.run(compose_steps(message, whole=True)), "result", "text")
    if looks_like_diff(text):
        return text, ".diff"
    is_json = await slices.run(decoded_steps(text)) is not None
    return text, ".json" if is_json else ".txt"

"""The copy menu: what can be taken out of a conversation, each with its key and a glimpse of what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from hermes_sessions.model import Conversation, Message
from hermes_sessions.services import wording
from hermes_sessions.text import one_line, pad
from hermes_sessions.tui.dialog import Dialog
from hermes_sessions.tui.key_line import KeyLine
from hermes_sessions.tui.markdown import body_of, code_blocks
from hermes_sessions.tui.message_blocks import compose_steps
from hermes_sessions.tui.reading import Slices
from hermes_sessions.tui.steps import Steps

GLIMPSE = 200
MOST_CODE_BLOCKS = 9


class Copyable(NamedTuple):
    """Something to copy."""

    key: str
    name: str
    text: str | None
    """None for the whole conversation, whose messages are read once they are wanted, and for `lines`."""
    glimpse: str = ""
    lines: Callable[[], Iterable[str | None]] | None = None
    """The lines of the text, one for each of many conversations, made once they are wanted."""


async def copyables(
    conversations: Sequence[Conversation], message: Message | None, command: Callable[[Conversation], str]
) -> list[Copyable]:
    """Return what can be copied of a message and of conversations; `command` gives the one to go on with each."""
    found: list[Copyable] = []
    if message is not None:
        blocks = await Slices().run(compose_steps(message, whole=True))
        if text := body_of(blocks, "text", "summary"):
            found.append(Copyable("m", "message", text))
            codes = (await asyncio.to_thread(code_blocks, text))[:MOST_CODE_BLOCKS]
            found += [Copyable(str(number), f"code {number}", code) for number, code in enumerate(codes, 1)]
        if text := body_of(blocks, "call"):
            found.append(Copyable("a", "tool call", text))
        if text := body_of(blocks, "result"):
            found.append(Copyable("o", "output", text))
    count = len(conversations)
    whole = "the conversation as Markdown" if count == 1 else f"{wording.count(count)} conversations as Markdown"
    found.append(Copyable("c", "whole", None, whole))
    facts: tuple[tuple[str, str, Callable[[], Iterable[str | None]]], ...] = (
        ("i", "id", lambda: (item.id for item in conversations)),
        ("t", "title", lambda: (item.title for item in conversations)),
        ("r", "resume", lambda: map(command, conversations)),
        ("p", "path", lambda: dict.fromkeys(item.tip.cwd for item in conversations)),
    )
    for key, name, lines in facts:
        if first := next(filter(None, map(one_line, lines())), ""):
            alone = count == 1
            found.append(Copyable(key, name, first if alone else None, "" if alone else f"{first} …", lines))
    return found


def join_steps(lines: Iterable[str | None]) -> Steps[str]:
    """Return the lines that are not empty as one text."""
    found = []
    for line in lines:
        if text := one_line(line):
            found.append(text)
        yield
    return "\n".join(found)


class CopyScreen(Dialog[Copyable | None]):
    """Asks what to copy. The answer is None when nothing is to be copied."""

    BINDINGS: ClassVar = [Binding("escape,q", "dismiss(None)", "close")]

    def __init__(self, choices: Sequence[Copyable]) -> None:
        super().__init__()
        self._choices = {choice.key: choice for choice in choices}
        for choice in choices:
            self._bindings.bind(choice.key, f"choose('{choice.key}')", choice.name)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="copy") as dialog:
            dialog.border_title = Content("Copy")
            for choice in self._choices.values():
                yield Static(_line(choice), classes="line")
        yield KeyLine()

    def action_choose(self, key: str) -> None:
        self.dismiss(self._choices[key])


def _line(choice: Copyable) -> Content:
    text = choice.text or ""
    amount = "" if len(text) < GLIMPSE else f"{wording.size(len(text.encode('utf-8', 'replace')))} · "
    glimpse = amount + (choice.glimpse or one_line(text[:GLIMPSE]))
    key = Content.styled(f" {choice.key} ", "$rule-focus bold")
    return Content.assemble(key, pad(choice.name, 10), (glimpse, "$muted"))

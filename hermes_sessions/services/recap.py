"""What a conversation was about lately, in a few lines and without asking a model: the `/recap` of Hermes.

The numbers, the order and the words are those of Hermes 0.19 (`hermes_cli/session_recap.py`), over the transcript as a
reader sees it: the whole chain, each message once, nothing that was taken back. Who prints the lines is for others.
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hermes_sessions.model import Conversation, Message, MessageStub, ToolCall
from hermes_sessions.storage import Store
from hermes_sessions.text import fit, one_line

WINDOW = 20
"""How many of the newest messages of the person and the agent are looked at; tools' answers between them come along."""

MOST_TOOLS = 5
MOST_FILES = 5
ASK_CELLS = 140
REPLY_CELLS = 200

PATH_ARGUMENTS = {
    "write_file": "path",
    "patch": "path",
    "read_file": "path",
    "skill_manage": "file_path",
    "skill_view": "file_path",
}
"""Tools that touch a file, and the argument that names it."""


class Recap(NamedTuple):
    """What there is to say. All texts are safe to print, on one line each."""

    name: str
    """The title, else the beginning of the id."""
    empty: bool
    asks: int
    replies: int
    total_asks: int
    total_replies: int
    tool_results: int
    """Of the whole conversation, as Hermes counts them."""
    tools: tuple[tuple[str, int], ...]
    """How often each tool was called, the most used first."""
    files: tuple[str, ...]
    """Files that tools touched, the latest first."""
    last_ask: str
    last_reply: str

    def lines(self) -> tuple[str, ...]:
        """The recap as Hermes prints it."""
        head = f"Session recap — {self.name}"
        if self.empty:
            return head, "  (nothing to recap — no messages yet)"
        total = ""
        if (self.asks, self.replies) != (self.total_asks, self.total_replies):
            total = f" (of {self.total_asks}/{self.total_replies} total)"
        asks = f"{self.asks} user turn{'' if self.asks == 1 else 's'}"
        replies = f"{self.replies} assistant repl{'y' if self.replies == 1 else 'ies'}"
        results = f"{self.tool_results} tool result{'' if self.tool_results == 1 else 's'}"
        said = []
        if self.tools:
            said.append(f"  Tools used: {_few([f'{name}×{count}' for name, count in self.tools], MOST_TOOLS)}")
        if self.files:
            said.append(f"  Files touched: {_few(self.files, MOST_FILES)}")
        if self.last_ask:
            said.append(f"  Last ask: {self.last_ask}")
        if self.last_reply:
            said.append(f"  Last reply: {self.last_reply}")
        return (
            head,
            f"  Recent: {asks} / {replies}{total}, {results}",
            *(said or ["  (no assistant activity yet in this window)"]),
        )


def recap_of(store: Store, conversation: Conversation, home: str | None = None) -> Recap:
    """The recap of a stored conversation; paths are told from its directory, or from `home`.

    Raises the errors of reading a store.
    """
    outline = store.messages.outline(conversation)
    recent = store.messages.get(stub.id for stub in window(outline))
    return recap(outline, recent, conversation, home)


def window(outline: Sequence[MessageStub]) -> Sequence[MessageStub]:
    """The end of a transcript that a recap looks at."""
    turns = [index for index, stub in enumerate(outline) if stub.role in ("user", "assistant")]
    return outline[turns[-WINDOW] :] if len(turns) >= WINDOW else outline


def recap(
    outline: Sequence[MessageStub], messages: Mapping[int, Message], conversation: Conversation, home: str | None = None
) -> Recap:
    """The recap of a transcript, of which the `messages` of its `window` are known. Pure."""
    recent = [messages[stub.id] for stub in window(outline) if stub.id in messages]
    calls = [call for message in recent if message.role == "assistant" for call in message.tool_calls]
    tools = Counter(one_line(call.name) for call in calls)
    directory = conversation.tip.cwd
    files = dict.fromkeys(_shown(path, directory, home) for path in reversed(list(_paths(calls))))
    now, whole = Counter(message.role for message in recent), Counter(stub.role for stub in outline)
    return Recap(
        name=one_line(conversation.title) or one_line(conversation.id[:8]),
        empty=not outline,
        asks=now["user"],
        replies=now["assistant"],
        total_asks=whole["user"],
        total_replies=whole["assistant"],
        tool_results=whole["tool"],
        tools=tuple(sorted(tools.items(), key=lambda tool: (-tool[1], tool[0]))),
        files=tuple(files),
        last_ask=fit(_last(recent, "user"), ASK_CELLS),
        last_reply=fit(_last(recent, "assistant"), REPLY_CELLS),
    )


def _last(messages: Sequence[Message], role: str) -> str:
    """The newest text of a role; what a compaction wrote was said by nobody."""
    texts = (one_line(message.text) for message in reversed(messages) if message.role == role and not message.summary)
    return next(filter(None, texts), "")


def _paths(calls: Iterable[ToolCall]) -> Iterable[str]:
    for call in calls:
        if (argument := PATH_ARGUMENTS.get(call.name)) is None:
            continue
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            continue
        path = arguments.get(argument) if isinstance(arguments, dict) else None
        if isinstance(path, str) and path:
            yield path


def _shown(path: str, directory: str | None, home: str | None) -> str:
    """A path from where the session works, else from home, else as a whole."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    path = posixpath.normpath(path)
    for folder, prefix in ((directory, ""), (home, "~/")):
        if folder and path.startswith(folder.rstrip("/") + "/"):
            return one_line(prefix + path[len(folder.rstrip("/")) + 1 :])
    return one_line(path)


def _few(items: Sequence[str], most: int) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} (+{len(items) - most} more)"

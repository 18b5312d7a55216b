"""Messages as Markdown, and the code blocks in a text: what is taken out of a conversation. Pure, in steps."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_sessions.model import Message
from hermes_sessions.services import wording
from hermes_sessions.tui.message_blocks import Block, compose_steps
from hermes_sessions.tui.openings import role_name
from hermes_sessions.tui.steps import Steps

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_DIFF = re.compile(r"\s*(?:diff --git |--- [^\n]*\n\+\+\+ |@@ -\d)")
_TICKS = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def code_blocks(text: str) -> list[str]:
    """Return what stands inside the fences of `text`, as CommonMark fences it; the last may lack its end."""
    found: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                found.append("\n".join(lines))
                fence = ""
            else:
                lines.append(line)
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence, lines = match[1], []
    if fence:
        found.append("\n".join(lines))
    return [block for block in found if block.strip()]


def markdown_steps(message: Message, number: int | None = None) -> Steps[str]:
    """Return a message as Markdown under a heading with its number in the conversation, who spoke, and when."""
    blocks = yield from compose_steps(message, whole=True)
    facts = (number, role_name(message.role), wording.moment(message.timestamp), "undone" if message.rewound else None)
    parts = ["## " + " · ".join(str(fact) for fact in facts if fact is not None)]
    for block in blocks:
        parts.append(_block_markdown(block))
        yield
    return "\n\n".join(parts)


def fenced(text: str, language: str = "") -> str:
    """Return `text` between fences that no line of it can end."""
    ticks = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def looks_like_diff(text: str) -> bool:
    """Say whether `text` begins as a unified diff does."""
    return _DIFF.match(text) is not None


def body_of(blocks: Sequence[Block], *kinds: str) -> str:
    """Return the texts of the blocks of some kinds."""
    return "\n\n".join(block.body.text for block in blocks if block.kind in kinds and block.body.text)


def _block_markdown(block: Block) -> str:
    head = block.headline.text[: block.headline.stem].strip() if block.headline else ""
    if block.kind == "text":
        return block.body.text
    if block.kind in ("reasoning", "summary"):
        return "\n".join(f"> {line}".rstrip() for line in (head, "", *block.body.text.split("\n")))
    return f"{head}\n\n{fenced(block.body.text)}" if block.body.text else head

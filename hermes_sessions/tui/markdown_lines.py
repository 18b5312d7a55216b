"""Which part of a line of Markdown has which look, what is not drawn of it, and what stands before its continuations.

Nothing is moved: a line is cut into pieces, and each is drawn as it is, as signs of the same length, or not at all.
Signs that may be meant as they are written, as in `2 * 3`, `__init__` and `*.py`, are left alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

HIDDEN = "hidden"
"""The look of what is not drawn."""

GAP = "gap"
"""The look of a blank that is drawn in place of a sign."""

BULLET, BAR, _RULE_LINE = "•", "▎", "─"

# Possessive or bounded throughout: no line may take more than linear time.
_HEADING = re.compile(r" {0,3}(#{1,6}) +")
_RULE = re.compile(r" {0,3}(?:(?:- ?){3,}|(?:\* ?){3,}|(?:_ ?){3,}) *$")
_QUOTE = re.compile(r" {0,3}>(?: {0,3}>){0,20} ?")
_MARKER = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) +(?=\S)")
_TASK = re.compile(r"\[[ xX]\](?= )")
_ATTACHMENT = re.compile(r"\[(?:image|input_image|audio|input_audio|video|file|document)(?:: [^\n]{1,2000}+)?$")
_INLINE = re.compile(
    r"(?P<escape>\\[*_`~#\[\]|])"
    r"|(?P<code>(?<!`)(?P<tick>`{1,2})(?!`)[^`\n]++(?P=tick)(?!`))"
    r"|(?P<both>\*\*\*(?=\S)[^*\n]++(?<=\S)\*\*\*)"
    r"|(?P<strong>\*\*(?=\S)(?:[^*\n]|\*(?!\*))++(?<=\S)\*\*)"
    r"|(?P<emphasis>(?<![\w*\\])(?:\*(?=[^\s*.,/])[^*\n]++(?<=[\w.!?:;)\"'’”])\*(?![\w*])"
    r"|_(?=[^\s_])[^_\n]++(?<=[^\s_])_(?!\w)))"
    r"|(?P<strike>~~(?=\S)[^~\n]++(?<=\S)~~)"
    r"|(?P<link>!?\[(?P<words>[^\[\]\n]++)\]\((?P<target>[^()\s]{1,2000}+)\))"
    r"|<(?P<auto>https?://[^<>\s]++)>"
    r"|(?P<url>https?://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,:;!?*])"
)
_SIGNS = re.compile(r"[*_`~\[\\#>|]|https?://|^ *(?:[-+]|\d{1,9}[.)]) ", re.MULTILINE)

_FENCES = {"both": 3, "strong": 2, "emphasis": 1, "strike": 2}
_MARKS_OF = {"both": "strong emphasis"}

Piece = tuple[str, str]
"""What is drawn, and its look."""


class Lead(NamedTuple):
    """What stands before the further lines of a line that is wrapped."""

    text: str
    look: str


def may_be_marked(text: str) -> bool:
    """Say at once whether any line of a text may be more than words."""
    return _SIGNS.search(text) is not None


def markdown_line(line: str, plain: str) -> Iterator[Piece]:
    """Yield the pieces of a line, which together are as long as it; `plain` is the look of what has no other."""
    if _RULE.match(line):
        yield _RULE_LINE * len(line), "rule"
        return
    start = 0
    if quote := _QUOTE.match(line):
        start = quote.end()
        plain = _with(plain, "quote")
        yield from ((char, "quote-bar" if char == BAR else plain) for char in quote[0].replace(">", BAR))
    elif heading := _HEADING.match(line):
        level = len(heading[1])
        yield heading[0], HIDDEN if level < 3 else _with(plain, "muted")
        yield from _inline(line[heading.end() :], _with(plain, f"heading{min(level, 3)}"))
        return
    elif _ATTACHMENT.match(line) and line.endswith("]"):
        yield line[:1], HIDDEN
        yield line[1:-1], _with(plain, "attachment")
        yield line[-1:], HIDDEN
        return
    if marker := _MARKER.match(line, start):
        start = marker.end()
        if task := _TASK.match(line, start):
            start = task.end()
            blanks = len(marker[0]) - len(marker[0].lstrip(" "))
            yield marker[0][:blanks], plain
            yield marker[0][blanks:], HIDDEN
            yield task[0], _with(plain, "done" if task[0] != "[ ]" else "bullet")
        else:
            yield re.sub(r"[-*+]", BULLET, marker[0]), _with(plain, "bullet")
    yield from _inline(line[start:], plain)


def is_rule(line: str) -> bool:
    """Say whether a line is drawn as a rule from edge to edge."""
    return _RULE.match(line) is not None


def lead(line: str) -> Lead:
    """Return what the continuations of a line hang under: the text of its list item, or the bar of its quote."""
    quote = _QUOTE.match(line)
    start = quote.end() if quote else 0
    marker = _MARKER.match(line, start)
    bar = line[:start].replace(">", BAR)
    if marker is None:
        blanks = len(line) - start - len(line[start:].lstrip(" "))
        return Lead(bar + " " * blanks, "quote-bar")
    width = len(marker[0])
    if _TASK.match(line, marker.end()):
        width = len(marker[0]) - len(marker[0].lstrip(" ")) + 4
    return Lead(bar + " " * width, "quote-bar")


def _inline(line: str, plain: str) -> Iterator[Piece]:
    start = 0
    for match in _INLINE.finditer(line):
        if match.start() > start:
            yield line[start : match.start()], plain
        yield from _marked(match, plain)
        start = match.end()
    if start < len(line):
        yield line[start:], plain


def _marked(match: re.Match[str], plain: str) -> Iterator[Piece]:
    text, kind = match[0], str(match.lastgroup)
    if match["link"]:
        kind = "link"
    elif match["code"]:
        kind = "code"
    if count := _FENCES.get(kind):
        yield text[:count], HIDDEN
        yield from _inline(text[count:-count], _with(plain, _MARKS_OF.get(kind, kind)))
        yield text[-count:], HIDDEN
    elif kind == "code":  # without colours the ticks are all that tells it from prose
        tick = len(match["tick"])
        yield text[:tick], _with(plain, "code muted")
        yield text[tick:-tick], _with(plain, "code")
        yield text[-tick:], _with(plain, "code muted")
    elif kind == "escape":
        yield text[:1], HIDDEN
        yield text[1:], plain
    elif kind == "auto":
        yield text[:1], HIDDEN
        yield text[1:-1], _with(plain, "link")
        yield text[-1:], HIDDEN
    elif kind == "link":
        yield from _link(match, plain)
    else:
        yield text, _with(plain, "link")


def _link(match: re.Match[str], plain: str) -> Iterator[Piece]:
    """The words, and where the link leads: on a terminal nothing else tells."""
    words, target = match["words"], match["target"]
    before = match[0].index("[") + 1
    yield match[0][:before], HIDDEN
    if words.strip("`") == target:
        yield words, _with(plain, "link")
        yield match[0][before + len(words) :], HIDDEN
        return
    yield from _inline(words, _with(plain, "link"))
    yield " ", _with(plain, GAP)
    yield f"({target})", _with(plain, "target")


def _with(plain: str, look: str) -> str:
    return f"{plain} {look}" if plain and look != HIDDEN else look

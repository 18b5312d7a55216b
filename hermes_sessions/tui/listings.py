"""Pieces of files in what a tool was given or gave back: where they stand, and in which language. Pure.

The language is told by the file's name, which a result does not have: it stands in the call that the result answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_sessions.tui.code_blocks import CodeBlock
from hermes_sessions.tui.code_colours import language_of

READING_TOOLS = frozenset({"read_file"})
"""Tools that give back the lines of a file with their numbers."""

_PATHS = ("path", "file_path", "filename", "file")
_CONTENTS = ("content", "file_text", "old_string", "old_str", "old_text", "new_string", "new_str", "new_text", "insert")
_LOOKED_AT = 256 * 1024
"""Characters in which numbered lines are looked for; as many would be too many to be coloured."""

_NUMBERED_LINES = re.compile(r"^(?: *\d{1,7}[|│→][^\n]*+(?:\n|\Z)){2,}+", re.MULTILINE)


def language_in(value: Any) -> str:
    """Return the language of the file that a call's decoded arguments name; empty if they name none."""
    paths = (value.get(key) for key in _PATHS) if isinstance(value, dict) else ()
    return next((language_of(path) for path in paths if isinstance(path, str) and path), "")


def given(text: str, value: Mapping[str, Any]) -> Iterator[CodeBlock]:
    """Yield the pieces of a file in a call's unfolded arguments."""
    language = language_in(value)
    for key in _CONTENTS if language else ():
        if isinstance(item := value.get(key), str) and "\n" in item.strip("\n"):
            start = text.find(f"{key}:\n{item.rstrip()}")
            if start == 0 or (start > 0 and text[start - 1] == "\n"):
                start += len(key) + 2
                yield _listing(start, start + len(item.rstrip()), language)


def gone_through(text: str, language: str) -> Iterator[CodeBlock]:
    """Yield the lines with numbers in what a tool gave back."""
    if language and (lines := _NUMBERED_LINES.search(text, 0, _LOOKED_AT)):
        yield _listing(lines.start(), lines.end() - lines[0].endswith("\n"), language)


def _listing(start: int, stop: int, language: str) -> CodeBlock:
    return CodeBlock(start, stop, start, stop, language, fenced=False, diff=False)

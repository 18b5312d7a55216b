"""The colours of code: which part of it is a keyword, a string, a number, a comment, a name.

Pygments knows the languages. It is imported when a block of a language is first drawn, and works in a thread of its
own, since some of its languages take longer to be set up than a screen may wait.
"""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]

MOST_COLOURED = 64 * 1024
"""Characters beyond which a block of code is drawn plain."""

_BREATH = 50
"""Tokens after which the other threads get their turn."""

LONGEST_LINE = 2000
"""Characters beyond which a line is data, and patterns meant for code would take long over it."""

_OTHER_NAMES = {
    "jsonc": "json",
    "jsonl": "json",
    "ndjson": "json",
    "py3": "python",
    "node": "js",
    "mjs": "js",
    "cjs": "js",
    "golang": "go",
    "rs": "rust",
    "yml": "yaml",
    "shell-session": "console",
    "terminal": "console",
    "ps": "ps1",
    "csharp": "c#",
    "objc": "objective-c",
    "tf": "terraform",
    "kt": "kotlin",
    "svelte": "html",
    "jsonnet": "json",
}
_BY_ENDING = {
    "": "",
    "h": "c",
    "cc": "cpp",
    "cxx": "cpp",
    "hh": "cpp",
    "hpp": "cpp",
    "hxx": "cpp",
    "pyi": "python",
    "pyw": "python",
    "tsx": "ts",
    "mts": "ts",
    "cts": "ts",
    "jsx": "js",
    "htm": "html",
    "vue": "html",
    "svg": "xml",
    "plist": "xml",
    "xsd": "xml",
    "cfg": "ini",
    "conf": "ini",
    "gradle": "groovy",
    "pm": "perl",
    "psm1": "ps1",
    "zsh": "bash",
    "mk": "make",
    "ipynb": "json",
    "tfvars": "terraform",
    "markdown": "md",
}
_BY_NAME = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "docker",
    "containerfile": "docker",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "pipfile": "toml",
    ".bashrc": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
}
_NUMBER = re.compile(r"^ *\d{1,7}[|│→]", re.MULTILINE)

_PLAIN = frozenset({"text", "txt", "plain", "plaintext", "output", "log", "none"})
_LOOKS = {
    "Keyword": "keyword",
    "Keyword.Type": "type",
    "Keyword.Constant": "number",
    "Operator.Word": "keyword",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Literal.String.Interpol": "",
    "Comment": "comment",
    "Comment.Preproc": "keyword",
    "Comment.PreprocFile": "string",
    "Name.Function": "name",
    "Name.Class": "name",
    "Name.Tag": "keyword",
    "Name.Attribute": "name",
    "Name.Decorator": "name",
    "Name.Builtin": "type",
    "Name.Builtin.Pseudo": "keyword",
    "Name.Exception": "type",
    "Name.Constant": "number",
    "Name.Variable": "type",
    "Generic.Heading": "name",
    "Generic.Prompt": "comment",
    "Generic.Output": "comment",
    "Generic.Error": "error",
}


class Colours:
    """The looks of one block of code. Offsets are those of the code, from 0."""

    def __init__(self) -> None:
        self._starts = array("l")
        self._looks: list[str] = []

    def add(self, start: int, look: str) -> None:
        """Give all from `start` on a look; empty for none. Starts come in their order."""
        if not self._looks or (self._looks[-1] != look and start > self._starts[-1]):
            self._starts.append(start)
            self._looks.append(look)

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield the pieces between two offsets with their looks."""
        index = max(0, bisect_right(self._starts, start) - 1)
        while start < stop:
            end = self._starts[index + 1] if index + 1 < len(self._starts) else stop
            end = min(end, stop)
            yield start, end, self._looks[index] if self._looks and start >= self._starts[index] else ""
            start, index = end, index + 1


def is_colourable(code: str, language: str) -> bool:
    """Say at once whether a block may have colours."""
    if not language or language in _PLAIN or len(code) > MOST_COLOURED:
        return False
    return max(map(len, code.split("\n"))) <= LONGEST_LINE


def language_of(path: str) -> str:
    """Return the language of a file as its name tells it; empty if it does not."""
    name = re.split(r"[\\/]", path.strip().lower())[-1]
    ending = name.rpartition(".")[2] if "." in name[1:] else ""
    return _BY_NAME.get(name) or _BY_ENDING.get(ending, ending)


def colours(code: str, language: str) -> Colours | None:
    """Return the looks of some code, None if the language is not known. Takes a second for what is allowed at most.

    In front of each line there may be its number.
    """
    lexer = _lexer(_OTHER_NAMES.get(language, language))
    if lexer is None:
        return None
    numbers = [match.end() - match.start() for match in _NUMBER.finditer(code)]
    if len(numbers) != code.count("\n") + 1:
        return _colours(code, lexer)
    return _behind_numbers(_colours(_NUMBER.sub("", code), lexer), code, numbers)


def _colours(code: str, lexer: Lexer) -> Colours:
    found = Colours()
    for number, (start, token, _) in enumerate(lexer.get_tokens_unprocessed(code)):
        found.add(start, _look(token))
        if number % _BREATH == 0:
            time.sleep(0)  # lets the screen's thread go on, which would else wait for 5 ms each time
    return found


def _behind_numbers(bare: Colours, code: str, numbers: list[int]) -> Colours:
    """The looks of lines without their numbers, as those of the lines with them."""
    found = Colours()
    place = at = 0
    for line, number in zip(code.split("\n"), numbers, strict=True):
        found.add(place, "muted")
        for start, _, look in bare.pieces(at, at + len(line) - number):
            found.add(place + number + start - at, look)
        place, at = place + len(line) + 1, at + len(line) - number + 1
    return found


@cache
def _lexer(name: str) -> Lexer | None:
    from pygments.lexers import find_lexer_class, get_all_lexers  # type: ignore[import-untyped]

    # Pygments' own search by alias goes on among installed packages, which takes long.
    full_name = next((full for full, aliases, _, _ in get_all_lexers(plugins=False) if name in aliases), None)
    return None if full_name is None else find_lexer_class(full_name)()


@cache
def _look(token: _TokenType) -> str:
    parts = [str(part) for part in token]
    while parts:
        if (look := _LOOKS.get(".".join(parts))) is not None:
            return look
        parts.pop()
    return ""

"""Whether the terminal's background is light: asked with OSC 11 once the first screen stands, so that nothing waits.

The answer comes among the keys, some time later or never, and Textual's parser would take it for typed keys. So ours
takes it out of what is read, and gives a message in its place. What a person types is left as it is; a byte that is no
UTF-8, such as old terminals send for Alt and a letter, would end the program, and becomes a sign that stands for it.
"""

from __future__ import annotations

import re
import sys
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import _xterm_parser
from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

QUESTION = "\x1b]11;?\x07"

SILENT_TERMINALS = ("linux", "screen", "vt", "cons", "sun")
"""Beginnings of TERM for terminals that do not answer, or might show the question."""

_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?(?:\x07|\x1b\\)", re.IGNORECASE
)
_BEGUN = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?\Z")


class BackgroundTold(Message):
    """The terminal has said what its background is."""

    bubble = False

    def __init__(self, light: bool) -> None:
        super().__init__()
        self.light = light


class AnswerParser(_xterm_parser.XTermParser):
    """Textual's parser of what a terminal sends, which knows this answer, too."""

    _held = ""

    def feed(self, data: str) -> Iterable[Message]:
        text, self._held = self._held + data, ""
        if "\x1b]" not in text:
            yield from super().feed(text)
            return
        answer = _ANSWER.search(text)
        if answer is not None:
            yield BackgroundTold(_is_light(*answer.groups()))
            text = text[: answer.start()] + text[answer.end() :]
        elif data and (begun := _BEGUN.search(text)) is not None:
            text, self._held = text[: begun.start()], begun[0]
        if text:
            yield from super().feed(text)
        if not data:  # the end
            yield from super().feed(data)


def can_answer(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal may be asked."""
    kind = environ.get("TERM", "")
    if "TMUX" not in environ and kind.startswith(SILENT_TERMINALS):
        return False
    return sys.platform != "win32" and "STY" not in environ


def expect_answer() -> None:
    """Have what the terminal sends read by our parser. For use before the app runs."""
    from textual.drivers import linux_driver

    setattr(linux_driver, "XTermParser", AnswerParser)  # noqa: B010 - Textual has no door for this
    setattr(linux_driver, "getincrementaldecoder", _forgiving)  # noqa: B010 - nor for this


def _forgiving(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), "replace")


def ask(app: App[Any]) -> None:
    """Ask the terminal; a `BackgroundTold` may come."""
    if app._driver is not None:
        app._driver.write(QUESTION)
        app._driver.flush()


def _is_light(*parts: str) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts[:3])
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)

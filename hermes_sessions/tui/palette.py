"""The command palette's commands: everything a key does that works now, in whatever pane, with the key beside it.

Imported when the palette is first opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial

from textual import events, work
from textual.actions import parse
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.errors import NoWidget

from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.keys import PANES, Key

LEFT_OUT = ("palette", "interrupt")
"""The palette itself, and a key that says quit as another does."""

Command = tuple[str, Key, Callable[[], Awaitable[None]]]
"""Its name, the key, and what runs it."""


_gather = inspect.unwrap(CommandPalette._gather_commands)
"""What Textual does in a worker."""


class Palette(CommandPalette):
    """The palette, for keys that come faster than its parts: it answers once, as `Dialog` does."""

    DEFAULT_CSS = "Palette CommandList { min-width: 10; }"  # as of `Choices`

    def dismiss(self, result: object = None) -> AwaitComplete:
        return super().dismiss() if self.is_active else AwaitComplete()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action == "escape" or bool(self.query(CommandList))

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        with suppress(NoMatches):  # it was closed before this began
            await _gather(self, search_value)

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]  # as Textual does
        event.prevent_default()  # Textual's own, which is called here
        with suppress(NoWidget):  # the screen has become smaller since
            super()._on_click(event)

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):  # as in `Choices`
            super()._action_command_list(action)


class KeyCommands(Provider):
    """The keys of the screen under the palette."""

    async def discover(self) -> Hits:
        for name, key, run in self._commands():
            yield DiscoveryHit(_with_key(Content(name), key), run, name, key.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, key, run in self._commands():
            if (score := max(matcher.match(name), matcher.match(key.help) / 2)) > 0:
                yield Hit(score, _with_key(matcher.highlight(name), key), run, name, key.help)

    def _commands(self) -> Iterator[Command]:
        screen = self.screen
        if not isinstance(screen, BrowserScreen):
            return
        titles = dict(PANES)
        here = screen.pane
        for key in sorted(screen.keys, key=lambda key: (key.footer or len(screen.keys), key.pane != here)):
            # What the search line does is typed there.
            if key.pane == "search" or key.id in LEFT_OUT or not key.keys or (owner := _owner(screen, key)) is None:
                continue
            if _works(owner, key.action):
                name = key.words.capitalize()
                if key.pane != "everywhere":
                    name = f"{titles[key.pane]}: {key.words}"
                yield name, key, partial(_run, screen, owner, key)


def _owner(screen: BrowserScreen, key: Key) -> DOMNode | None:
    """Whose key it is, if that is there."""
    return screen if key.pane == "everywhere" else screen.panes.widget(key.pane)


def _works(owner: DOMNode, action: str) -> bool:
    namespace, name, parameters = parse(action)
    target = {"app": owner.app, "screen": owner.screen}.get(namespace, owner)
    return bool(target.check_action(name, parameters))


async def _run(screen: BrowserScreen, owner: DOMNode, key: Key) -> None:
    """Do what the key would in its pane, which comes to the front if it is not on the screen."""
    if key.pane != "everywhere" and not screen.panes.shows(key.pane):
        screen.panes.go(key.pane)
    await screen.app.run_action(key.action, owner)


def _with_key(name: Content, key: Key) -> Content:
    return Content.assemble(name, "  ", (" ".join(key.labels), "$rule-focus bold"))

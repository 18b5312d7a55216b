"""The last line of the screen: the keys that do something now. Made from the table of keys; a click is a key press."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from hermes_sessions.text import cell_width
from hermes_sessions.tui.keys import Key, is_typed, label
from hermes_sessions.tui.mouse import Mouse

KEY_STYLE = "$rule-focus bold"
LAST_IDS = ("mouse", "help", "quit")
"""Never left out: whoever sees no other key can find them all. But who can go back finds the way out there."""


class Hint(NamedTuple):
    """A key as the footer names it."""

    id: str
    """The binding's, or the action of one that has none."""
    label: str
    words: str

    @property
    def width(self) -> int:
        return cell_width(self.label) + cell_width(self.words) + 3


class KeyLine(Static):
    """The footer of the screen or of a dialog. It follows the focus and whatever `refresh_bindings` announces."""

    ALLOW_SELECT = False

    def __init__(self, keys: Sequence[Key] = (), *, id: str | None = None) -> None:
        """`keys` is the table they are from; a dialog has its own bindings only."""
        super().__init__(id=id)
        self._keys = keys
        self._hints: list[Hint] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_updated)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        x = 0 if offset is None else offset.x
        for hint in self._hints:
            if x < hint.width:
                await self._do(hint)
                return
            x -= hint.width

    async def _do(self, hint: Hint) -> None:
        for active in self.screen.active_bindings.values():
            if hint.id in (active.binding.id, active.binding.action):
                await self.app.run_action(active.binding.action, active.node)
                return

    def _bindings_updated(self, screen: Screen[object]) -> None:
        if screen is self.screen:
            self._draw()

    def _draw(self) -> None:
        hints = working_hints(self.screen, self._keys) if self._keys else dialog_hints(self.screen)
        mouse: Mouse | None = getattr(self.app, "mouse", None)
        if mouse is not None and mouse.free:
            hints += [Hint(key.id, key.labels[0], "takes the mouse back") for key in self._keys if key.id == "mouse"]
        ids = [id for id in LAST_IDS if id != "quit" or all(hint.id != "back" for hint in hints)]
        last = [hint for hint in hints if hint.id in ids]
        room = self.content_size.width - sum(hint.width for hint in last)
        shown: list[Hint] = []
        for hint in hints:
            if hint not in last and hint.width <= room:
                shown.append(hint)
                room -= hint.width
        self._hints = sorted(shown + last, key=lambda hint: LAST_IDS.index(hint.id) + 1 if hint.id in LAST_IDS else 0)
        words = (Content.assemble((hint.label, KEY_STYLE), f" {hint.words}  ") for hint in self._hints)
        self.update(Content("").join(words), layout=False)


def working_hints(screen: Screen[object], keys: Sequence[Key]) -> list[Hint]:
    """The footer's keys that would do something now: those of the focused pane first among the equally useful."""
    ids = {active.binding.id for active in screen.active_bindings.values() if active.enabled}
    typing = isinstance(screen.focused, Input)
    hints = []
    for key in sorted(keys, key=lambda key: (key.footer, key.pane == "everywhere")):
        labels = [label for label in key.labels if not (typing and is_typed(label))]
        if key.footer and key.id in ids and labels:
            hints.append(Hint(key.id, labels[0], key.words))
    return hints


def dialog_hints(screen: Screen[object]) -> list[Hint]:
    """The keys of a dialog itself, the first of those that do the same."""
    hints: dict[str, Hint] = {}
    for name, active in screen.active_bindings.items():
        binding = active.binding
        if active.enabled and binding.show and active.node is screen and binding.action not in hints:
            hints[binding.action] = Hint(binding.action, label(name), binding.description)
    return list(hints.values())

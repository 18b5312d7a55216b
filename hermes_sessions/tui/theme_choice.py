"""Which theme is on the screen: by the settings, by what the terminal can, and by what the person chose."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_sessions.services.settings import Settings
from hermes_sessions.services.state import State
from hermes_sessions.tui.abilities import AUTO, colours, is_light
from hermes_sessions.tui.themes import PLAIN, PLAIN_LIGHT

LIGHT_BEFORE = "light"
"""What the state calls the background that the terminal told last, so that the next start begins with its colours."""


class ThemeChoice:
    """The choice of one run. The names are Textual's, or `auto`."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], state: State) -> None:
        self.chosen = settings.theme
        self.colours = colours(environ)
        self._settings = settings
        self._state = state
        self._light = is_light(environ, state.values().get(LIGHT_BEFORE))

    @property
    def follows(self) -> bool:
        """Whether the terminal's background decides."""
        return self.chosen == AUTO and self.colours == "many"

    @property
    def theme(self) -> str:
        """The theme to show."""
        return self.meant_by(self.chosen)

    def meant_by(self, name: str) -> str:
        """Return the theme that a choice means here. Where there are few colours, that is one of text attributes and
        the terminal's own colours, since all shades of a theme would look the same."""
        if self.colours != "many":
            return PLAIN_LIGHT if self._light else PLAIN
        if name != AUTO:
            return name
        return self._settings.theme_light if self._light else self._settings.theme_dark

    def choose(self, name: str) -> None:
        """Take what the person has chosen, and remember it."""
        self.chosen = name
        self._state.put("theme", name)

    def tell(self, light: bool) -> None:
        """Take what the terminal says of its background, and remember it."""
        self._light = light
        self._state.put(LIGHT_BEFORE, light)

"""The application around the screen: themes, commands, and the ways out. What is shown is the screen's business."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual._compositor import LayoutUpdate
from textual.app import App, SystemCommand
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerFailed

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import BrowseResult, Conversation
from hermes_sessions.paths import state_directory
from hermes_sessions.services.history import History
from hermes_sessions.services.state import State
from hermes_sessions.text import one_line
from hermes_sessions.tui import abilities, background, terminal
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.keys import KEYS, bindings
from hermes_sessions.tui.mouse import Mouse
from hermes_sessions.tui.setting import Setting
from hermes_sessions.tui.theme_choice import ThemeChoice
from hermes_sessions.tui.themes import THEMES, role_colours

if TYPE_CHECKING:
    import asyncio

    from rich.console import RenderableType
    from textual.command import Provider

    from hermes_sessions.services.resuming import ResumePlan
    from hermes_sessions.tui.takeaway import Takeaway

INTERRUPTED = 130

COLLECT_AFTER = (700, 10, 1_000)
"""Python's own limits, but the oldest generation is left to quiet moments: Textual's lines of text form cycles, and
going through those of many screens in the middle of one makes a key wait."""

QUIET_SECONDS = 3.0
"""How long nobody may have touched a key before garbage is collected."""

LONGEST_WAIT = 20
"""Such times after which it is collected all the same, whoever types, and though nobody did: the store moves, too."""


def _key_commands() -> type[Provider]:
    from hermes_sessions.tui.palette import KeyCommands

    return KeyCommands


class BrowserApp(App[BrowseResult]):
    """Shows one history. Returns what the person left it with; `return_code` is the exit code for it."""

    TITLE = "hermes-sessions"
    CSS_PATH = "browser.tcss"
    BINDINGS = bindings("everywhere", of_app=True)
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = App.COMMANDS | {_key_commands}
    NOTIFICATION_TIMEOUT = 4

    def __init__(
        self,
        history: History,
        setting: Setting,
        *,
        resume: Callable[[Conversation], ResumePlan],
        theme: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        settings = setting.settings if theme is None else setting.settings._replace(theme=theme)
        self._state = setting.state or State()
        self._choice = ThemeChoice(settings, environ, self._state)
        self._frame = abilities.frame(settings.borders, environ)
        self._roles: dict[str, dict[str, str]] = {}
        # Textual decides now, by this alone, whether NO_COLOR means greys or no colour at all.
        super().__init__(ansi_color=True if self._choice.colours == "none" else None)
        self._history = history
        self._setting = setting
        self._resume = resume
        self.mouse = Mouse(self)
        self._environ = {**environ, "VISUAL": settings.editor} if settings.editor else environ
        self._touched = self._untidy = True
        self._leaving = False
        self._waits = 0
        for own in THEMES:
            self.register_theme(own)
        self._begin_in(self._choice.theme)
        if setting.keys is not KEYS:
            from hermes_sessions.tui.keymap import keymap

            self.set_keymap(keymap(setting.keys))
        if settings.reduced_motion:
            self.animation_level = "none"
        if self._frame == "ascii":
            from hermes_sessions.tui.ascii_signs import AsciiSigns

            self._filters.append(AsciiSigns())

    def _begin_in(self, theme: str) -> None:
        # By assignment, Textual would parse every rule a second time before the first screen.
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    @property
    def fault(self) -> BaseException | None:
        """The bug that ended the app, for the caller to report once the terminal is restored."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error

    def get_default_screen(self) -> Screen[Any]:
        return BrowserScreen(self._history, self._setting, self.size)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        theme = self.current_theme
        if theme.name not in self._roles:
            self._roles[theme.name] = role_colours(theme) | {"frame": self._frame}
        return self._roles[theme.name]

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette has beside the keys."""
        if self._choice.colours == "many":
            yield SystemCommand("Theme", "Change the colours.", self.action_change_theme)

    def on_mount(self) -> None:
        import asyncio

        asyncio.get_running_loop().set_exception_handler(self._loop_fault)
        if not self.is_headless:
            terminal.watch(self)
            if not self._setting.settings.mouse:
                self.mouse.turn()  # Textual could not take it back
            if self._choice.follows and background.can_answer(self._environ):
                self.call_after_refresh(background.ask, self)
        self.call_after_refresh(resume_collecting)
        self.set_interval(QUIET_SECONDS, self._tidy_when_quiet)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self._touched = self._untidy = True
        await super().on_event(event)

    def on_unmount(self) -> None:
        self._history.cancel_search()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if self._setting.settings.reduced_motion and isinstance(event.widget, Input):
            event.widget.cursor_blink = False

    def on_background_told(self, event: background.BackgroundTold) -> None:
        """The terminal has said what its background is: the colours follow, now and at the next start."""
        self._choice.tell(event.light)
        if self._choice.follows:
            self.theme = self._choice.theme

    def exit(
        self, result: BrowseResult | None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Leave, and remember how the panes were left."""
        started = self._setting.settings._asdict()
        for screen in self.screen_stack:
            if isinstance(screen, BrowserScreen) and screen.is_mounted:
                for name, value in screen.habits.items():
                    if value != started[name]:
                        self._state.put(name, value)
        self._state.save()
        self._leaving = True
        self._history.cancel_search()
        self.workers.cancel_all()
        super().exit(result, return_code, message)

    def action_interrupt(self) -> None:
        """Ctrl+C: copy what the mouse has selected, else leave as one who was interrupted."""
        selected = self.screen.get_selected_text()
        if selected:
            self.screen.clear_selection()
            self.takeaway.copy(selected, "selection")
        else:
            self.exit(return_code=INTERRUPTED)

    def action_show_help(self) -> None:
        from hermes_sessions.tui.help_lines import entries
        from hermes_sessions.tui.help_screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            browser = next(screen for screen in self.screen_stack if isinstance(screen, BrowserScreen))
            self.push_screen(HelpScreen(entries(self._setting.keys, browser.pane, browser.notices)))

    def action_command_palette(self) -> None:
        from hermes_sessions.tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_change_theme(self) -> None:
        """Choose a theme from a list that shows each."""
        from hermes_sessions.tui.theme_screen import ThemeScreen

        before, own = self.theme, [theme.name for theme in THEMES]
        names = sorted(self.available_themes, key=lambda name: (name not in own, name))
        choices = [(abilities.AUTO, "as the terminal: dark or light"), *((name, name) for name in names)]

        def show(name: str) -> None:
            self.theme = self._choice.meant_by(name)

        def answered(name: str | None) -> None:
            if name is None:
                self.theme = before
            else:
                show(name)
                self._choice.choose(name)

        self.push_screen(ThemeScreen(choices, self._choice.chosen, show), answered)

    def action_save_screen(self) -> None:
        """Write what is seen into two files: as a picture, and as text."""
        from hermes_sessions.tui.screen_files import save_screen

        update = self.screen._compositor.render_update(full=True, screen_stack=self._background_screens)
        strips = update.strips if isinstance(update, LayoutUpdate) else []
        lines = ["".join(strip.text for strip in line) for line in strips]
        directories = (Path(), state_directory() / "screens")
        try:
            paths = save_screen(self.export_screenshot(), lines, self._setting.clock(), directories)
        except SessionsError as error:
            self._say_why_not(error)
        else:
            self.notify("\n".join(one_line(str(path)) for path in paths), title="Screen saved", markup=False)

    @on(BrowserScreen.Left)
    def _left(self, event: BrowserScreen.Left) -> None:
        if event.action == "resume":
            try:
                self._resume(event.conversation)
            except SessionsError as error:
                self._say_why_not(error)
                return
        self.exit(BrowseResult(event.action, event.conversation))

    @on(BrowserScreen.TakeAsked)
    def _take_asked(self, event: BrowserScreen.TakeAsked) -> None:
        take = self.takeaway.choose if event.action == "copy" else self.takeaway.edit
        take(event.conversations, event.message)

    def action_mouse(self) -> None:
        """Leave the mouse to the terminal, or take it back."""
        self.mouse.turn()
        self.screen.refresh_bindings()
        if self.mouse.free:
            self.notify("The mouse is the terminal's: select with it.", markup=False)

    @cached_property
    def takeaway(self) -> Takeaway:
        """The ways to take something out of a conversation. Imported for the first."""
        from hermes_sessions.tui.takeaway import Takeaway

        return Takeaway(self, self._history, self._resume, self._environ)

    def _say_why_not(self, error: SessionsError) -> None:
        from hermes_sessions.tui.dialogs import NoticeScreen

        def answered(copy: bool | None) -> None:
            if copy:
                self.takeaway.copy(error.hint, "advice")

        self.push_screen(NoticeScreen("Cannot resume here", error.message, error.hint), answered)

    def _tidy_when_quiet(self) -> None:
        self._waits += 1
        if self._touched and self._waits < LONGEST_WAIT:
            self._touched = False
        elif (self._untidy or self._waits >= LONGEST_WAIT) and gc.isenabled():
            self._untidy = False
            self._waits = 0
            gc.collect()

    def _loop_fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            self._handle_exception(error)

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        # While the screen is taken down, what was on its way finds half of it gone.
        taken_down = (self._is_mounted or self._leaving) and not self.is_running
        if not (taken_down and isinstance(cause, NoMatches)):
            super()._handle_exception(error)

    def panic(self, *_renderables: RenderableType) -> None:
        # Textual would show the traceback of what ended the thread that reads the keys, and leave as if all was well.
        self._handle_exception(RuntimeError("The terminal cannot be read any more."))

    def _fatal_error(self) -> None:
        # Textual's own version prints the traceback with local variables: the texts of messages.
        self._close_messages_no_wait()


def resume_collecting() -> None:
    """Collect garbage again, if it was put off until the first screen; what has been made by now is here to stay."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        gc.enable()

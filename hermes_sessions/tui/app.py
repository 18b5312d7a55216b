"""The application around the screen: themes, commands, and the ways out. What is shown is the screen's business."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from textual import events, on, work
from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.worker import WorkerFailed

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import BrowseResult, Conversation
from hermes_sessions.services.history import History
from hermes_sessions.text import clean, one_line
from hermes_sessions.tui import terminal
from hermes_sessions.tui.browser import BrowserScreen
from hermes_sessions.tui.keys import KEYS, bindings
from hermes_sessions.tui.setting import Setting
from hermes_sessions.tui.themes import DARK, LIGHT, PLAIN, THEMES, role_colours

if TYPE_CHECKING:
    import asyncio

    from hermes_sessions.services.resuming import ResumePlan

INTERRUPTED = 130

COLLECT_AFTER = (700, 10, 1_000)
"""Python's own limits, but the oldest generation is left to quiet moments: Textual's lines of text form cycles, and
going through those of many screens in the middle of one makes a key wait."""

QUIET_SECONDS = 3.0
"""How long nobody may have touched a key before garbage is collected."""

LONGEST_WAIT = 20
"""Such times after which it is collected all the same, whoever types, and though nobody did: the store moves, too."""


class BrowserApp(App[BrowseResult]):
    """Shows one history. Returns what the person left it with; `return_code` is the exit code for it."""

    TITLE = "hermes-sessions"
    CSS_PATH = "browser.tcss"
    BINDINGS = bindings("everywhere", of_app=True)
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE = True
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
        first_theme = theme or default_theme(environ)
        # Textual decides now, by this alone, whether NO_COLOR means greys or no colour at all.
        super().__init__(ansi_color=True if first_theme == PLAIN else None)
        self._history = history
        self._setting = setting
        self._resume = resume
        self._environ = environ
        self._touched = self._untidy = True
        self._waits = 0
        for own in THEMES:
            self.register_theme(own)
        self.theme = first_theme

    @property
    def fault(self) -> BaseException | None:
        """The bug that ended the app, for the caller to report once the terminal is restored."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error

    def get_default_screen(self) -> Screen[Any]:
        return BrowserScreen(self._history, self._setting, self.size)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return role_colours(self.current_theme)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every key that has words, and the theme."""
        for key in KEYS:
            if key.pane == "everywhere" and key.id not in ("palette", "interrupt"):
                action = key.action if key.action.startswith("app.") else f"screen.{key.action}"
                yield SystemCommand(key.words.capitalize(), key.help, lambda action=action: self.run_action(action))
        yield SystemCommand("Theme", "Change the colours.", self.action_change_theme)

    def on_mount(self) -> None:
        import asyncio

        asyncio.get_running_loop().set_exception_handler(self._loop_fault)
        if not self.is_headless:
            terminal.watch(self)
        self.call_after_refresh(resume_collecting)
        self.set_interval(QUIET_SECONDS, self._tidy_when_quiet)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self._touched = self._untidy = True
        await super().on_event(event)

    def on_unmount(self) -> None:
        self._history.cancel_search()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy what the mouse has selected, else leave as one who was interrupted."""
        selected = self.screen.get_selected_text()
        if selected:
            self.screen.clear_selection()
            self._copy(selected)
        else:
            self.exit(return_code=INTERRUPTED)

    def action_show_help(self) -> None:
        from hermes_sessions.tui.dialogs import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    @on(BrowserScreen.Left)
    def _left(self, event: BrowserScreen.Left) -> None:
        if event.action == "resume":
            try:
                self._resume(event.conversation)
            except SessionsError as error:
                self._say_why_not(error)
                return
        self.exit(BrowseResult(event.action, event.conversation))

    @on(BrowserScreen.CopyAsked)
    def _copy_asked(self, event: BrowserScreen.CopyAsked) -> None:
        from hermes_sessions.tui.dialogs import CopyScreen

        try:
            command = self._resume(event.conversation).as_shell()
        except SessionsError as error:
            command = error.hint
        choices = [("i", "id", one_line(event.conversation.id)), ("r", "resume", one_line(command))]
        if event.message:
            choices.insert(0, ("m", "message", clean(event.message)))
        self.push_screen(CopyScreen(choices), self._copy_chosen)

    def _say_why_not(self, error: SessionsError) -> None:
        from hermes_sessions.tui.dialogs import NoticeScreen

        def answered(copy: bool | None) -> None:
            if copy:
                self._copy(error.hint)

        self.push_screen(NoticeScreen("Cannot resume here", error.message, error.hint), answered)

    def _copy_chosen(self, text: str | None) -> None:
        if text is not None:
            self._copy(text)

    @work(group="copy")
    async def _copy(self, text: str) -> None:
        way = await terminal.copy(self, clean(text), self._environ)
        self.notify(f"Copied to the {way}.", markup=False)

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

    def _fatal_error(self) -> None:
        # Textual's own version prints the traceback with local variables: the texts of messages.
        self._close_messages_no_wait()


def resume_collecting() -> None:
    """Collect garbage again, if it was put off until the first screen; what has been made by now is here to stay."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        gc.enable()


def default_theme(environ: Mapping[str, str]) -> str:
    """Ours, dark unless the terminal says that it is light; without colour, attributes alone."""
    if environ.get("NO_COLOR"):
        return PLAIN
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in ("7", "15") else DARK

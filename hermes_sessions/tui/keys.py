"""The one table of keys. Bindings, footer, help, palette and README are made from it, so they cannot disagree.

What a key does is in the pane that has the action of that name; `everywhere` belongs to the screen. A key
of one letter is text in the search line and a command in every other pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from textual.binding import BindingType

Pane = Literal["search", "list", "messages", "costs", "everywhere"]

PANES: tuple[tuple[Pane, str], ...] = (
    ("everywhere", "Everywhere"),
    ("search", "Search line"),
    ("list", "Sessions"),
    ("messages", "Messages"),
    ("costs", "Cost"),
)


class Key(NamedTuple):
    """A command and the keys that give it."""

    id: str
    """Name for rebinding, unique: pane and action."""
    keys: str
    """Textual's key names, separated by commas."""
    action: str
    """The pane's action; one with `app.` or `screen.` in front belongs there."""
    pane: Pane
    words: str
    """What it does, in a word or two: footer and palette."""
    help: str
    """What it does, in a sentence without its key."""
    footer: int = 0
    """How soon it is in the footer while it works, where not all keys have room: 1 is first, 0 never."""
    priority: bool = False
    """Whether it is taken before the focused pane sees it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The keys as they are printed on a keyboard."""
        return tuple(label(key) for key in self.keys.split(",") if key)


_LABELS = {
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "enter": "Enter",
    "escape": "Esc",
}


def label(key: str) -> str:
    """The name of a key as it is printed on a keyboard: `ctrl+d` is Ctrl+D, `/` is itself."""
    if len(key) == 1:
        return key
    return _LABELS.get(key) or "+".join(part.capitalize() for part in key.split("+"))


def is_typed(label: str) -> bool:
    """Whether the search line takes a key with this label as text."""
    return len(label) == 1 and label not in "↑↓←→"


KEYS: tuple[Key, ...] = (
    Key("back", "escape", "back", "everywhere", "back", "One step back; it never leaves the program.", footer=1),
    # Taken before any pane, since the letters that follow at once must find the search line in front.
    Key("search", "/", "search", "everywhere", "search", "Search everything that was said.", footer=1, priority=True),
    Key("next_hit", "n", "next_hit(1)", "everywhere", "next hit", "Go to the next place that was found.", footer=1),
    Key(
        "previous_hit",
        "N",
        "next_hit(-1)",
        "everywhere",
        "previous hit",
        "Go to the place found before this one.",
        footer=4,
    ),
    Key("order", "o", "order", "everywhere", "order", "Show the newest hits first, or the best.", footer=2),
    Key("resume", "R", "resume", "everywhere", "resume", "Go on with the session in Hermes.", footer=1),
    Key("copy", "y", "take('copy')", "everywhere", "copy", "Copy a message, the id or the resume command.", footer=1),
    Key(
        "edit",
        "e",
        "take('edit')",
        "everywhere",
        "edit",
        "Open a copy in your editor: the message, or the session.",
        footer=4,
    ),
    Key("cost", "c", "cost", "everywhere", "cost", "Show what the listed sessions cost in detail.", footer=2),
    Key("zoom", "z", "zoom", "everywhere", "zoom", "Give the whole screen to this pane, and back.", footer=3),
    Key("narrower", "<", "width(-4)", "everywhere", "narrower", "Give the list less room beside messages.", footer=4),
    Key(
        "wider",
        ">",
        "width(4)",
        "everywhere",
        "wider",
        "Give it more room; the mouse pulls its edge.",
        footer=4,
    ),
    Key(
        "follow", "F", "follow", "everywhere", "follow", "Stay at the end of a session that is being written.", footer=4
    ),
    Key("notices", "i", "notices", "everywhere", "notices", "Read what there is to know about this store.", footer=3),
    Key("refresh", "f5", "refresh", "everywhere", "refresh", "Read the store again now.", footer=4),
    Key("pane_search", "1", "pane('search')", "everywhere", "search line", "Go to the search line."),
    Key("pane_list", "2", "pane('list')", "everywhere", "sessions", "Go to the sessions."),
    Key("pane_messages", "3", "pane('messages')", "everywhere", "messages", "Go to the messages."),
    Key("pane_costs", "4", "pane('costs')", "everywhere", "cost pane", "Go to the cost."),
    Key("next_pane", "tab", "next_pane(1)", "everywhere", "next pane", "Go to the next pane.", footer=3),
    Key("previous_pane", "shift+tab", "next_pane(-1)", "everywhere", "previous pane", "Go to the pane before."),
    Key("help", "?,f1", "app.show_help", "everywhere", "help", "Show all keys.", footer=1),
    Key("palette", "ctrl+p", "app.command_palette", "everywhere", "commands", "Find a command by its name.", footer=3),
    Key(
        "save_screen",
        "ctrl+s",
        "app.save_screen",
        "everywhere",
        "save screen",
        "Save the screen as SVG and as text.",
        footer=4,
    ),
    Key("mouse", "M", "app.mouse", "everywhere", "mouse", "Leave the mouse to the terminal, or take it back."),
    Key("quit", "q", "app.quit", "everywhere", "quit", "Leave.", footer=1),
    Key("interrupt", "ctrl+c", "app.interrupt", "everywhere", "quit", "Copy the selection, else leave.", priority=True),
    Key("suspend", "ctrl+z", "app.suspend_process", "everywhere", "suspend", "Go to the shell; fg comes back."),
    Key("search.up", "up", "screen.move('up')", "search", "up", "Go up; above the list are earlier searches."),
    Key("search.down", "down", "screen.move('down')", "search", "down", "Go down in the list."),
    Key("search.page_up", "pageup", "screen.move('page_up')", "search", "page up", "Go up a page there."),
    Key("search.page_down", "pagedown", "screen.move('page_down')", "search", "page down", "Go down a page there."),
    Key("search.open", "enter", "screen.open", "search", "open", "Open the conversation at the hit.", footer=1),
    # Taken at once, since the letters that follow may be commands of the next pane.
    Key(
        "search.complete",
        "tab",
        "screen.complete(1)",
        "search",
        "complete",
        "Complete the word, else next pane.",
        footer=2,
        priority=True,
    ),
    Key(
        "search.complete_back",
        "shift+tab",
        "screen.complete(-1)",
        "search",
        "complete back",
        "The word before that.",
        priority=True,
    ),
    Key("list.up", "up,k", "up", "list", "up", "Go up."),
    Key("list.down", "down,j", "down", "list", "down", "Go down."),
    Key("list.page_up", "pageup", "page_up", "list", "page up", "Go up a page."),
    Key("list.page_down", "pagedown", "page_down", "list", "page down", "Go down a page."),
    Key("list.half_up", "ctrl+u", "half_up", "list", "half page up", "Go up half a page."),
    Key("list.half_down", "ctrl+d", "half_down", "list", "half page down", "Go down half a page."),
    Key("list.first", "home,g", "first", "list", "first", "Go to the first."),
    Key("list.last", "end,G", "last", "list", "last", "Go to the last."),
    Key("list.open", "enter", "screen.open", "list", "open", "Read the conversation.", footer=1),
    Key("list.unfold", "right", "unfold", "list", "subagents", "Show the subagents below their session.", footer=2),
    Key("list.fold", "left", "fold", "list", "fold", "Fold subagents, or go to what started one.", footer=2),
    Key("list.mark_range", "v", "mark_range", "list", "mark to here", "Mark from the last mark to here.", footer=2),
    Key("list.mark", "space", "mark", "list", "mark", "Mark or unmark, and go down.", footer=2),
    Key("list.sort", "s", "sort", "list", "sort", "Choose the order.", footer=2),
    Key("list.reverse", "S", "reverse", "list", "reverse", "Turn the order round.", footer=4),
    Key("list.group", "b", "group", "list", "group", "Group by day, by directory, or not.", footer=3),
    Key("list.two_lines", "D", "two_lines", "list", "two lines", "Show two lines or one for every session.", footer=4),
    Key("list.lineage", "l", "lineage", "list", "family", "Show branches, parts and subagents as a tree.", footer=3),
    Key("list.archived", "A", "archived", "list", "archived", "Show or hide archived sessions.", footer=4),
    Key("list.minor", "E", "minor", "list", "empty, subagent", "Show or hide empty sessions and subagents.", footer=4),
    Key("list.directory", ".", "directory", "list", "here", "Show only sessions of this directory.", footer=2),
    Key("messages.up", "up,k", "up", "messages", "up", "Scroll up."),
    Key("messages.down", "down,j", "down", "messages", "down", "Scroll down."),
    Key("messages.page_up", "pageup", "page_up", "messages", "page up", "Scroll up a page."),
    Key("messages.page_down", "pagedown", "page_down", "messages", "page down", "Scroll down a page."),
    Key("messages.half_up", "ctrl+u", "half_up", "messages", "half page up", "Scroll up half a page."),
    Key("messages.half_down", "ctrl+d", "half_down", "messages", "half page down", "Scroll down half a page."),
    Key("messages.left", "left", "left", "messages", "left", "Go to the left in long lines that are not wrapped."),
    Key("messages.right", "right", "right", "messages", "right", "Go to the right in them."),
    Key("messages.first", "home,g", "first", "messages", "first", "Go to the first message."),
    Key("messages.last", "end,G", "last", "messages", "last", "Go to the last message."),
    Key("messages.next", "]", "message(1)", "messages", "next", "Go to the next message.", footer=2),
    Key("messages.previous", "[", "message(-1)", "messages", "previous", "Go to the message before.", footer=4),
    Key("messages.next_prompt", "}", "prompt(1)", "messages", "next prompt", "Go to your next message.", footer=4),
    Key("messages.previous_prompt", "{", "prompt(-1)", "messages", "prompt before", "Go to your message before."),
    Key("messages.fold", "enter", "fold", "messages", "unfold", "Open or close what is folded here.", footer=2),
    Key("messages.tools", "t", "tools", "messages", "tools", "Show tools as a line, short or in full.", footer=2),
    Key("messages.reasoning", "T", "reasoning", "messages", "reasoning", "Show or hide reasoning.", footer=4),
    Key("messages.wrap", "w", "wrap", "messages", "wrap", "Wrap long lines, or cut them.", footer=4),
    Key(
        "messages.find",
        "/",
        "screen.find",
        "messages",
        "find",
        "Find in this conversation.",
        footer=2,
        priority=True,
    ),
    # Like `/`, taken at once: what follows is text.
    Key(
        "messages.outline",
        "p",
        "screen.outline",
        "messages",
        "outline",
        "List your messages, and go to one of them.",
        footer=3,
        priority=True,
    ),
    Key(
        "messages.go_to",
        ":",
        "screen.go_to",
        "messages",
        "go to",
        "Go to a number, a part or a time.",
        footer=4,
        priority=True,
    ),
    Key("messages.rewound", "U", "screen.rewound", "messages", "undone", "Show or hide what was undone.", footer=3),
    Key("costs.up", "up,k", "up", "costs", "up", "Scroll up."),
    Key("costs.down", "down,j", "down", "costs", "down", "Scroll down."),
    Key("costs.page_up", "pageup", "page_up", "costs", "page up", "Scroll up a page."),
    Key("costs.page_down", "pagedown", "page_down", "costs", "page down", "Scroll down a page."),
    Key("costs.next", "right,l", "turn(1)", "costs", "next table", "Sum by the next key.", footer=1),
    Key("costs.previous", "left,h", "turn(-1)", "costs", "table before", "Sum by the key before.", footer=4),
)


def first_labels(keys: Iterable[Key]) -> Mapping[str, str]:
    """The label of each command's first key, by its id; a command without a key is left out."""
    return {key.id: key.labels[0] for key in keys if key.keys}


def bindings(pane: Pane, *, of_app: bool = False) -> list[BindingType]:
    """Textual's bindings of a pane, or of everywhere those that are the app's, which hold under a dialog too.

    They carry the ids, so that a keymap can change the keys.
    """
    from textual.binding import Binding

    return [
        Binding(
            key.keys, key.action, key.words, id=key.id, tooltip=key.help, priority=key.priority, show=bool(key.footer)
        )
        for key in KEYS
        if key.pane == pane and key.action.startswith("app.") == of_app
    ]

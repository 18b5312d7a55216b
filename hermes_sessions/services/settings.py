"""What a person wrote into `config.toml`: read, checked and printed from one table. The file is never written.

What makes no sense there counts for nothing: the default stands in its place, and a problem says where it is and what
would be right. Which keys there are to bind, and which themes, is known to the full screen, which adds its own
problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hermes_sessions.services.sorting import SORTS

LIST_WIDTHS = range(25, 76)
"""How much of the screen the list may have, in percent."""

KEYS = "keys"
"""The table of the file that binds keys."""

HOW_TO_SEE_ALL = "hermes-sessions browse --print-config shows all."


class Settings(NamedTuple):
    """The settings of the full screen, with their defaults. `ABOUT` says what they mean."""

    theme: str = "auto"
    theme_dark: str = "hermes-dark"
    theme_light: str = "hermes-light"
    borders: str = "auto"
    reduced_motion: bool = False
    mouse: bool = True
    sort: str = "active"
    reverse: bool = False
    density: str = "compact"
    group: str = "none"
    order: str = "recent"
    tools: str = "off"
    reasoning: bool = False
    wrap: bool = True
    show_costs: bool = True
    zoom: bool = False
    list_width: int = 52
    editor: str = ""


class About(NamedTuple):
    """What a setting means, and its values if only some make sense: `choices`, or all numbers of a `range`."""

    meaning: str
    choices: tuple[str, ...] = ()
    range: range | None = None


ABOUT: Mapping[str, About] = {
    "theme": About('The colours: a theme by its name, or "auto", which follows the background of the terminal.'),
    "theme_dark": About('The theme on a dark terminal, where theme is "auto".'),
    "theme_light": About('The theme on a light terminal, where theme is "auto".'),
    "borders": About(
        'The lines around panes. "ascii" draws every sign of ours in ASCII; "auto" does so where the terminal may'
        " have no others, and is round elsewhere.",
        ("auto", "round", "square", "heavy", "double", "ascii"),
    ),
    "reduced_motion": About("Nothing moves by itself, and the cursor does not blink."),
    "mouse": About("Take clicks and the wheel. Without it, the terminal selects text as anywhere else."),
    "sort": About("The order of the sessions.", SORTS),
    "reverse": About("That order turned round."),
    "density": About("How many lines a session takes: one, or two with a preview.", ("compact", "roomy")),
    "group": About("Headings between the sessions.", ("none", "day", "directory")),
    "order": About("Which hits of a search come first: the newest, or the best.", ("recent", "relevance")),
    "tools": About("What is shown of tools: a line, the beginning of results, or all.", ("off", "short", "full")),
    "reasoning": About("Show what the model thought."),
    "wrap": About("Wrap long lines of messages, or else cut them."),
    "show_costs": About("Show the cost below the sessions, where there is room."),
    "zoom": About("Give the whole screen to one pane."),
    "list_width": About("How much of the screen is for the sessions beside the messages, in percent.", (), LIST_WIDTHS),
    "editor": About("The editor or pager that a text is opened in; else that of $VISUAL, $EDITOR or $PAGER."),
}

REMEMBERED = (
    *("theme", "sort", "reverse", "density", "group", "order", "tools", "reasoning", "wrap", "zoom", "list_width"),
)
"""What begins as the person left it, unless the file says how."""


class Binding(NamedTuple):
    """A command and its keys, as they are printed into a configuration."""

    id: str
    keys: str
    default: str
    help: str


class Config:
    """The settings in effect, and what is wrong with the file they come from."""

    def __init__(self, path: Path | None = None, text: str = "") -> None:
        self.path = path
        self.settings = Settings()
        self.given: frozenset[str] = frozenset()
        """The settings that the file itself has."""
        self.keys: dict[str, str] = {}
        """What the file binds: key names, separated by commas, by the id of the command. No key is none."""
        self.problems: list[str] = []
        self._text = text

    def complain(self, name: str, words: str) -> None:
        """Add what is wrong with the setting `name`, such as `theme` or `keys.list.sort`."""
        self.problems.append(f"{self._place(self._line_of(name))}: {name}: {words}")

    def complain_at(self, line: int | None, words: str) -> None:
        """Add what is wrong with a line of the file, or with all of it."""
        self.problems.append(f"{self._place(line)}: {words}")

    def begun(self, remembered: Mapping[str, object]) -> Settings:
        """The settings with what is remembered from last time, where the file does not say how to begin."""
        last = {
            name: value
            for name in REMEMBERED
            if name not in self.given and (value := remembered.get(name)) is not None and why_not(name, value) is None
        }
        return self.settings._replace(**last)  # type: ignore[arg-type]

    def _place(self, line: int | None) -> str:
        return str(self.path) if line is None else f"{self.path}, line {line}"

    def _line_of(self, name: str) -> int | None:
        return next((number for number, path in _assignments(self._text) if path == name), None)


def read_config(path: Path, *, named: bool = False) -> Config:
    """Return what a file says, with problems instead of errors. A file that is not there is one only if it was `named`
    by the person."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        config = Config(path)
        if named:
            config.complain_at(None, "there is no such file.")
        return config
    except OSError as error:
        config = Config(path)
        config.complain_at(None, f"it cannot be read: {error.strerror}.")
        return config
    text = data.decode("utf-8-sig", "replace")
    config = Config(path, text)
    if "\ufffd" in text and (line := _first_bad_line(data)) is not None:
        config.complain_at(line, "this is not UTF-8; nothing of the file is used.")
        return config
    import tomllib

    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        _complain_of_syntax(config, str(error))
        return config
    _take(config, table)
    return config


def why_not(name: str, value: object) -> str | None:
    """What is wrong with a value of the setting `name`, or None."""
    default, choices, numbers = Settings._field_defaults[name], ABOUT[name].choices, ABOUT[name].range
    if type(value) is not type(default):
        return f"it must be {_KINDS[type(default)]}, not {toml(value)}."
    if numbers is not None and value not in numbers:
        return f"it must be from {numbers[0]} to {numbers[-1]}, not {toml(value)}."
    if choices and value not in choices:
        return f"{toml(value)} is none of {', '.join(map(toml, choices))}.{did_you_mean(str(value), choices, toml)}"
    return None


_KINDS = {bool: "true or false, without quotes", str: "a text in quotes", int: "a whole number, without quotes"}


def did_you_mean(word: str, known: Iterable[str], show: Any = str) -> str:
    """A question about what looks most like `word`, a blank before it; empty when nothing does."""
    from difflib import get_close_matches

    found = get_close_matches(word.casefold(), list(known), 1)
    return f" Did you mean {show(found[0])}?" if found else ""


def printed(config: Config, settings: Settings, bindings: Iterable[Binding]) -> str:
    """The configuration in effect as a file that would bring it about: every setting and key, with what it means."""
    lines = [f"# The configuration of hermes-sessions: {_comment(str(config.path))}"]
    if config.path is not None and not config.path.exists():
        lines.append("# There is no such file: these are the defaults, and you could begin it with them.")
    for name, value in settings._asdict().items():
        about = ABOUT[name]
        lines += ["", f"# {about.meaning}"]
        if about.choices:
            lines.append(f"# One of {', '.join(map(toml, about.choices))}.")
        if about.range is not None:
            lines.append(f"# From {about.range[0]} to {about.range[-1]}.")
        lines += [f"# Default: {toml(Settings._field_defaults[name])}", f"{name} = {toml(value)}"]
    lines += ["", f"[{KEYS}]", '# Names of keys with commas between, such as "s,f2,ctrl+t"; "" is no key.']
    for binding in bindings:
        was = "" if binding.keys == binding.default else f" Default: {toml(binding.default)}"
        lines.append(f"{toml(binding.id)} = {toml(binding.keys)}  # {binding.help}{was}")
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """A value as TOML writes it; what is neither text, number nor truth is named by its kind."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, int | float):
        return str(value)
    return "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a time"


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _comment(words: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in words)


def _take(config: Config, table: Mapping[str, Any]) -> None:
    """Put what makes sense of a parsed file into `config`, and complain of the rest."""
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name == KEYS and isinstance(value, dict):
            _take_keys(config, value)
        elif name == KEYS:
            config.complain(name, f"it must be a table, [{KEYS}], not {toml(value)}.")
        elif name not in ABOUT:
            nested = isinstance(value, dict) and any(inner in ABOUT for inner in value)
            advice = " Settings stand above the first table." if nested else did_you_mean(name, (*ABOUT, KEYS))
            config.complain(_dotted([name]), f"there is no such setting.{advice or ' ' + HOW_TO_SEE_ALL}")
        elif (wrong := why_not(name, value)) is not None:
            config.complain(name, wrong)
        else:
            values[name] = value
    config.settings = config.settings._replace(**values)
    config.given = frozenset(values)


def _take_keys(config: Config, table: Mapping[str, Any], above: tuple[str, ...] = ()) -> None:
    for name, value in table.items():
        path = (*above, name)
        if isinstance(value, dict):
            _take_keys(config, value, path)
        elif isinstance(value, str):
            config.keys[".".join(path)] = ",".join(key for part in value.split(",") if (key := part.strip()))
        elif name in ABOUT:
            config.complain(
                f"{KEYS}.{_dotted(path)}", f"this is a setting, not a key: it stands above the table [{KEYS}]."
            )
        else:
            config.complain(
                f"{KEYS}.{_dotted(path)}", f'it must be the names of keys, such as "s,f2", not {toml(value)}.'
            )


def _complain_of_syntax(config: Config, words: str) -> None:
    """`words` are the parser's: what it expected, and in brackets where."""
    what, _, where = words.partition(" (at ")
    at_end = len(config._text.splitlines()) if where.startswith("end") else 0
    number = int(line[1]) if (line := re.match(r"line (\d+)", where)) else at_end
    advice = " A name with dots needs quotes where a part of it has a value of its own." if "overwrite" in what else ""
    config.complain_at(number or None, f"this is no TOML: {_comment(what)}.{advice} Nothing of the file is used.")


def _first_bad_line(data: bytes) -> int | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data[: error.start].count(b"\n") + 1
    return None


_PART = r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(\.|=|\])?"""


def _assignments(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that begin with a name, and that name with those of its table before it."""
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.lstrip()
        heads = line.startswith("[")
        parts, end = _parts(line.lstrip("["))
        if parts and heads and end == "]":
            table = parts
            yield number, _dotted(table)
        elif parts and end == "=":
            yield number, _dotted([*table, *parts])


def _parts(line: str) -> tuple[list[str], str]:
    """The parts of a dotted name at the beginning of a line, and what ends it."""
    parts: list[str] = []
    part, place, end = re.compile(_PART), 0, "."
    while end == "." and (match := part.match(line, place)):
        parts.append(match[1].strip("\"'"))
        place, end = match.end(), match[2] or ""
    return parts, end


def _dotted(parts: Iterable[str]) -> str:
    return ".".join(_comment(part) for part in parts)

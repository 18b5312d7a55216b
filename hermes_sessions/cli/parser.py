"""The command line's grammar. The help texts here are the reference; what the commands do is in `cli.commands`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from hermes_sessions import errors

PROGRAM = "hermes-sessions"
COST_KEYS = ("day", "week", "month", "provider", "model", "source", "session", "task")
SORT_KEYS = ("active", "started", "messages", "cost", "tokens", "title", "source")
SHELLS = ("bash", "zsh", "fish")

QUERY_KEYS = (
    *("source", "model", "provider", "cwd", "branch", "title", "id", "user", "chat", "end", "tool"),
    *("role", "is", "has"),
    *("messages", "tokens", "cost", "tools"),
    *("before", "after", "older", "newer"),
)
"""The keys of `storage.conditions`, which help should not have to load."""

QUERYING = ("browse", "list", "search")
"""The commands whose words are a query."""

SHIELD = "\0"
"""Stands before a word that only looks like an option: no word of a command line can hold it."""

FILTERS = (
    ("--source", "NAME", "from this source (several with commas): cli, telegram, cron and so on"),
    ("--model", "TEXT", "of a model with this in its name"),
    ("--provider", "NAME", "billed by this provider"),
    ("--cwd", "DIR", "that ran in this directory or below it"),
    ("--branch", "TEXT", "on a git branch with this in its name"),
    ("--title", "TEXT", "with this in the title"),
    ("--user", "TEXT", "of a user with this in the id"),
    ("--end-reason", "NAME", "that ended for this reason"),
    ("--before", "WHEN", "last active before a time: 2d, 1w, 2026-05-01, yesterday"),
    ("--after", "WHEN", "last active since a time"),
    ("--older-than", "AGE", "last active longer ago: 12h, 30 (days), 3mo"),
    ("--newer-than", "AGE", "last active less long ago"),
    ("--min-messages", "N", "with at least N messages"),
    ("--max-messages", "N", "with at most N messages"),
    ("--min-tokens", "N", "with at least N tokens: 5000, 20k, 1.5M"),
    ("--max-tokens", "N", "with at most N tokens"),
    ("--min-cost", "USD", "that cost at least this much"),
    ("--max-cost", "USD", "that cost at most this much"),
    ("--min-tool-calls", "N", "with at least N tool calls"),
    ("--max-tool-calls", "N", "with at most N tool calls"),
)
"""The filters that take a value; `services.filters` reads them."""

FILTER_NAMES = (*(flag[2:].replace("-", "_") for flag, _, _ in FILTERS), "archived", "live")
"""All filters, as a parsed command line names them."""


class HelpAsked(Exception):
    """Somebody wants help; the text is the argument."""


class HelpFormatter(argparse.HelpFormatter):
    """Asks for the width itself: argparse makes a formatter for each option, and `shutil` takes longer than `list`
    has to spare."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size().columns
        except (OSError, ValueError):
            columns = 0
        super().__init__(prog, width=(columns or 80) - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser that writes nothing itself: complaints are errors of ours, and help is an exception too."""

    def print_help(self, file: object = None) -> NoReturn:
        """Raises `HelpAsked`."""
        raise HelpAsked(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Raises `UsageError`."""
        raise errors.UsageError(message[:1].upper() + message[1:], f"{self.prog} --help")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command line as a namespace with every option of its command. No command at all is `browse`. The words of a
    query are one text.

    Raises `UsageError`, and `HelpAsked` for `--help`.
    """
    words = list(words)
    arguments = _parsed(words)
    if arguments.command is None and not arguments.version:
        arguments = _parsed([*words, "browse"])
    return arguments


def _parsed(words: list[str]) -> argparse.Namespace:
    parser = build_parser(words)
    arguments, left = parser.parse_known_args([_shielded(word) for word in words])
    if arguments.command not in QUERYING:
        return parser.parse_args(words)
    # Words of a query are left over where options stand between them.
    left = [word for word in left if word != "--"]
    if options := [word for word in left if word.startswith("-")]:
        parser.error(f"unrecognized arguments: {' '.join(options)}")
    for name, value in vars(arguments).items():
        if isinstance(value, str):
            setattr(arguments, name, value.replace(SHIELD, ""))
    arguments.query = " ".join([*arguments.query, *map(_typed, left)]).replace(SHIELD, "")
    return arguments


def _shielded(word: str) -> str:
    """`-word` with something before it, since argparse takes it for options of one letter each; ours stay options."""
    is_word = word.startswith("-") and word[1:2] not in ("", "-", "p") and word != "-h"
    return SHIELD + word if is_word else word


def build_parser(words: Sequence[str] | None = None) -> Parser:
    """The grammar. With `words` only the commands among them get their options, since argparse takes longer to make
    all of them than `list` takes to read a page."""
    parser = Parser(
        prog=PROGRAM,
        description="Browse, search and resume the sessions of Hermes Agent. Without a command: browse.",
        epilog="Exit codes: 0 ok, 1 nothing matched, 2 usage, 3 not found, 4 refused, 5 damaged, 7 busy, "
        "70 our own fault, 130 interrupted, 141 reader went away.",
        allow_abbrev=False,
        formatter_class=HelpFormatter,
    )
    _add_everywhere(parser, at_top=True)
    parser.add_argument("--version", action="store_true", help="show the version and the store in use")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (summary, add_options) in SUBCOMMANDS.items():
        description = summary[:1].upper() + summary[1:] + "."
        command = commands.add_parser(
            name, help=summary, description=description, allow_abbrev=False, formatter_class=HelpFormatter
        )
        if words is None or name in words:
            add_options(command)
            _add_everywhere(command, at_top=False)
    return parser


def _add_everywhere(parser: Parser, *, at_top: bool) -> None:
    """The options that hold before and after the command, as Hermes takes them."""

    def absent(value: object) -> object:
        return value if at_top else argparse.SUPPRESS

    group = parser.add_argument_group("the store, and how it is shown")
    group.add_argument("--db", metavar="FILE", default=absent(None), help="the history file itself")
    group.add_argument("--home", metavar="DIR", default=absent(None), help="the Hermes home (default: $HERMES_HOME)")
    group.add_argument("-p", "--profile", metavar="PROFILE", default=absent(None), help="a profile of that home")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default=absent("auto"), help="colours (default: auto)"
    )
    group.add_argument("--debug", action="store_true", default=absent(False), help="show where a fault of ours arose")


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _add_filters(parser: Parser) -> None:
    group = parser.add_argument_group("filters", "Only sessions")
    for flag, metavar, summary in FILTERS:
        group.add_argument(flag, metavar=metavar, help=summary)
    group.add_argument("--archived", action="store_true", help="that are archived")
    group.add_argument("--live", action="store_true", help="that are in use")


def _add_query(parser: Parser, count: str, summary: str) -> None:
    parser.add_argument("query", nargs=count, type=_typed, metavar="QUERY", help=summary)
    parser.epilog = (
        'A query: words that must all occur, "a phrase", -without, this OR that, beginning*, and key:value with the'
        f" keys {', '.join(QUERY_KEYS)}. A key takes several values (source:cli,cron), a number or an age a comparison"
        " (cost:>1, older:>2d), and -key:value is the opposite. Times: 2d, 5h, 1w, 3mo, today, yesterday, 2026-05-01;"
        f" days are local ones (UTC{time.strftime('%z')}). Quote the quotes of a phrase for the shell."
    )


def _add_page(parser: Parser, what: str) -> None:
    parser.add_argument(
        "--limit", type=_count, default=20, metavar="N", help=f"at most N {what}, 0 for all (default: 20)"
    )
    parser.add_argument("--offset", type=_count, default=0, metavar="N", help="leave out the first N")


def _add_browse(parser: Parser) -> None:
    _add_query(parser, "*", "begin with this search")
    parser.add_argument("--plain", action="store_true", help="the numbered list, without the full screen")
    parser.add_argument("--pick", action="store_true", help="print the chosen session's id instead of resuming it")
    parser.add_argument("--demo", action="store_true", help="browse a made-up history")
    parser.add_argument("--theme", metavar="NAME", help="the colours of the full screen")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument(
        "--config", metavar="FILE", help="the settings of the full screen (default: $HERMES_SESSIONS_CONFIG)"
    )
    parser.add_argument("--print-config", action="store_true", help="print all settings and keys as such a file")


def _add_list(parser: Parser) -> None:
    _add_query(parser, "*", "only sessions that this finds")
    _add_page(parser, "sessions")
    parser.add_argument(
        "--sort", choices=SORT_KEYS, default="active", help="most, newest or first letter first (default: active)"
    )
    parser.add_argument("--all", action="store_true", help="archived, empty and subagent sessions too")
    _add_json(parser)
    _add_filters(parser)


def _add_search(parser: Parser) -> None:
    _add_query(parser, "+", "what to look for; - reads an error text from standard input and finds its rare words")
    _add_page(parser, "sessions")
    parser.add_argument(
        "--order", choices=("recent", "relevance"), default="recent", help="newest or best first (default: recent)"
    )
    _add_json(parser)
    _add_filters(parser)


def _add_show(parser: Parser) -> None:
    _add_session(parser)
    parser.add_argument("--around", type=int, metavar="MESSAGE_ID", help="only the messages around this one")
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="at most N messages, the newest (default: all; around one: 20)"
    )
    parser.add_argument(
        "--tools",
        choices=("off", "short", "full"),
        default="short",
        help="tool calls and their results: none, a line each, or whole (default: short)",
    )
    parser.add_argument("--reasoning", action="store_true", help="what the model thought, too")
    parser.add_argument("--rewound", action="store_true", help="messages that were undone, too")
    _add_json(parser)


def _add_resume(parser: Parser) -> None:
    _add_session(parser)
    parser.add_argument("--print", action="store_true", dest="print_only", help="print the command, run nothing")


def _add_cost(parser: Parser) -> None:
    parser.add_argument("--by", choices=COST_KEYS, default="model", help="one sum for each (default: model)")
    parser.add_argument("--since", metavar="WHEN", help="only sessions that started since a time: 7d, 2026-05-01")
    parser.add_argument("--until", metavar="WHEN", help="only sessions that started before a time")
    _add_json(parser)
    _add_filters(parser)


def _add_doctor(parser: Parser) -> None:
    parser.add_argument("--full", action="store_true", help="read a large store from end to end, however long it takes")
    _add_json(parser)


def _add_repair(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and leave the store as it is")
    _add_json(parser)


def _add_demo(parser: Parser) -> None:
    parser.add_argument("directory", metavar="DIR", help="an empty or a new directory")


def _add_completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _add_session(parser: Parser) -> None:
    parser.add_argument(
        "session", nargs="+", type=_typed, metavar="ID", help="an id or the beginning of one, a title, or `last`"
    )


def _typed(words: str) -> str:
    """Python hides bytes that are no text in halves of characters, which no database takes."""
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _count(words: str) -> int:
    words = words.removeprefix(SHIELD)
    try:
        number = int(words)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{words!r} is no number from 0 up")
    return number


SUBCOMMANDS: Mapping[str, tuple[str, Callable[[Parser], None]]] = {
    "browse": ("find, read and resume sessions in the full screen, or in a numbered list", _add_browse),
    "list": ("list sessions, the last active ones first", _add_list),
    "search": ("find sessions by what was said in them", _add_search),
    "show": ("print a conversation", _add_show),
    "resume": ("go on with a session in Hermes, in the directory it ran in", _add_resume),
    "cost": ("sum up tokens and money", _add_cost),
    "doctor": ("check the store, changing nothing", _add_doctor),
    "repair": ("bring a damaged store back, keeping a copy of it", _add_repair),
    "demo": ("write a made-up history into a directory", _add_demo),
    "completion": ("print the completions of these commands for a shell", _add_completion),
}
"""What each command is for, and what adds its options."""

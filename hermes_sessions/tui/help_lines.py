"""What the help says, line by line: keys by pane, the query language, the marks. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from hermes_sessions.text import cell_width, fit, pad, wrap
from hermes_sessions.tui.keys import PANES, Key, Pane, first_labels
from hermes_sessions.tui.list_rows import FOLDED, UNFOLDED
from hermes_sessions.tui.session_rows import ARCHIVED_SIGN, BRANCH_SIGN, LIVE_MARK, MARKED, MARKS, SUBAGENT_SIGN

MARK_WORDS = {"complete": "done", "interrupted": "interrupted", "error": "ended in an error", "empty": "empty"}

LANGUAGE = (
    ("docker login", "Messages with both words; the last one may be just begun."),
    ('"docker login"', "These words in this order."),
    ("docker OR podman", "Either of them."),
    ("docker -compose", "Not with that word."),
    ("deploy*", "Words that begin like this."),
    ("source:cli,cron", "Conversations from there."),
    ("cwd:. model:opus", "Of this directory, with such a model."),
    ("role:user tool:bash", "Messages of yours; messages with this tool."),
    ("has:images is:error", "With images; ended in an error."),
    ("after:yesterday", "Last active since then; also before: older:3mo newer:5h"),
    ("cost:>1 messages:5..9", "More than 1 USD; from 5 to 9 messages."),
)

COMPLETED = "{} completes keys and values there."
ABOUT_STORE = "This store"
LEAST_BESIDE = 24
"""Cells that an explanation needs beside its key; with fewer it stands below."""


class Entry(NamedTuple):
    """A key, a query or a mark, and what it means."""

    section: str
    name: str
    words: str
    more: str = ""
    """Other words by which it is found."""

    def fits(self, asked: Sequence[str]) -> bool:
        """Whether all of these words, in small letters, are in it somewhere."""
        text = f"{self.section} {self.name} {self.words} {self.more}".casefold()
        return all(word in text for word in asked)


class HelpLine(NamedTuple):
    """One line: a heading alone, or a name and words."""

    heading: str = ""
    name: str = ""
    words: str = ""


def entries(keys: Sequence[Key], pane: Pane, notices: Sequence[str] = ()) -> list[Entry]:
    """All that can be said, beginning with the pane the person is in."""
    titles = dict(PANES)
    found = [Entry(ABOUT_STORE, "!", notice) for notice in notices]
    order: Iterable[Pane] = dict.fromkeys((pane, *titles))
    for place in order:
        found += [
            Entry(titles[place], " ".join(key.labels), key.help, key.words)
            for key in keys
            if key.pane == place and key.keys
        ]
        if place == "search":
            found += [Entry("Search language", query, words) for query, words in LANGUAGE]
            if completing := first_labels(keys).get("search.complete"):
                found.append(Entry("Search language", "source:", COMPLETED.format(completing)))
    signs = [(LIVE_MARK, "being written now"), *((mark, MARK_WORDS[name]) for name, mark in MARKS.items())]
    signs += [(ARCHIVED_SIGN, "archived"), (BRANCH_SIGN, "a branch"), (SUBAGENT_SIGN, "started by an agent")]
    signs += [(MARKED, "marked"), (FOLDED, "so many subagents below it"), (UNFOLDED, "so many, shown")]
    return found + [Entry("Marks", sign.strip(), words) for sign, words in signs]


def lay_out(found: Sequence[Entry], width: int) -> list[HelpLine]:
    """The entries in lines of at most `width` cells, under a heading for each section."""
    lines: list[HelpLine] = []
    for section, group in groupby(found, lambda entry: entry.section):
        members = list(group)
        lines += [HelpLine()] * bool(lines) + [HelpLine(heading=section)]
        column = max(cell_width(entry.name) for entry in members) + 2
        beside = width - column >= LEAST_BESIDE
        for entry in members:
            spans = wrap(entry.words, width - column if beside else width - 2)
            pieces = [entry.words[start:stop] for start, stop in spans]
            if beside:
                lines.append(HelpLine("", pad(entry.name, column), pieces.pop(0)))
            else:
                lines.append(HelpLine("", fit(entry.name, width)))
            lines += [HelpLine("", " " * (column if beside else 2), piece) for piece in pieces]
    return lines

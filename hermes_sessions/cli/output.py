"""The only writer to standard output and standard error: data there, talk here.

Owns what may reach a terminal: every text passes `hermes_sessions.text` on its way out, is replaced where the
encoding cannot carry it, and is coloured only where colours are welcome. Leaves the wording to the commands.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

from hermes_sessions import errors, text
from hermes_sessions.cli.exit_codes import exit_code_for, kind_of

if TYPE_CHECKING:
    from hermes_sessions.model import Conversation

PROGRAM = "hermes-sessions"

ColorChoice = Literal["auto", "always", "never"]
Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

SGR: Mapping[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
ASCII = str.maketrans(
    {"─": "-", "│": "|", "…": "~", "·": "-", "–": "-", "—": "-", "→": ">", "×": "x", "“": '"', "”": '"'}
)
GAP = "  "
NOTE_INDENT = "    "
ROOMY = 24
"""Cells that the flexible column gets before columns that can be spared do."""
TIGHT = 12
"""Cells below which it is no use beside the last column."""
FALLBACK_WIDTH = 80
PIECE = 4096
POINTED = 50
"""Characters of a query that are shown before a place that is pointed at, of it, and behind it."""

CANDIDATES = 20
"""Sessions that an ambiguous name is told to fit, the newest ones; JSON has all."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. The flexible one takes the room that is left; where there is too little, the columns
    with the highest `spare` go first, and 0 never goes."""

    name: str
    right: bool = False
    flexible: bool = False
    spare: int = 0
    style: Style | None = None


class Output:
    """Writes for one run of the program. Writing raises BrokenPipeError when the reader of the data went away, also
    when there never was one, and `Refused` when the data cannot be written for another reason."""

    def __init__(
        self,
        stdout: TextIO | None,
        stderr: TextIO | None,
        *,
        environ: Mapping[str, str] = os.environ,
        color: ColorChoice = "auto",
        as_json: bool = False,
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._environ = environ
        self._json_begun = False
        self.as_json = as_json
        self.is_terminal = _is_terminal(stdout)
        self.use_color(color)

    def use_color(self, choice: ColorChoice) -> None:
        """Colours always, never, or where a terminal takes them and nobody said no."""
        self.color = choice == "always" or (choice == "auto" and self.is_terminal and _welcomes_colors(self._environ))

    @property
    def width(self) -> int:
        """Cells of a line of the terminal; `COLUMNS` decides where it is set."""
        columns = self._environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        try:
            return os.get_terminal_size(self._stdout.fileno() if self._stdout else 1).columns or FALLBACK_WIDTH
        except (OSError, ValueError):
            return FALLBACK_WIDTH

    def for_talk(self) -> Output:
        """An output that writes its data where the talk goes, for rows beside which standard output is kept free."""
        color: ColorChoice = "auto" if _is_terminal(self._stderr) else "never"
        return Output(self._stderr, self._stderr, environ=self._environ, color=color)

    def paint(self, safe: str, *styles: Style) -> str:
        """Text that is safe already, coloured if colours are welcome."""
        if not self.color or not styles or not safe:
            return safe
        return f"\x1b[{';'.join(SGR[style] for style in styles)}m{safe}\x1b[0m"

    def safe(self, stored: str | None) -> str:
        """Stored text as one line that this output can carry."""
        return self._encodable(text.one_line(stored))

    def shortened(self, stored: str | None, width: int) -> str:
        """The beginning of a stored text as one safe line of at most `width` cells."""
        return text.fit(self.safe((stored or "")[: 8 * width]), width)

    def line(self, safe: str = "") -> None:
        """One line of data. The text must be safe: from `safe`, `paint`, or the program's own."""
        self._write(f"{safe}\n")

    def block(self, stored: str, indent: str = "") -> None:
        """Stored text of many lines, as data."""
        for line in text.clean(stored).split("\n"):
            self._write(f"{indent}{line}".rstrip() + "\n")

    def highlighted(self, stored: str, spans: Sequence[tuple[int, int]], width: int | None = None) -> str:
        """A snippet as one safe line of at most `width` cells, the spans painted."""
        pieces: list[tuple[str, bool]] = []
        position = 0
        for start, end in spans:
            pieces += [(stored[position:start], False), (stored[start:end], True)]
            position = end
        pieces.append((stored[position:], False))
        left = width
        shown: list[str] = []
        for piece, found in pieces:
            # Blanks at the edges belong to the words beside them, and `safe` strips them.
            core = self.safe(piece)
            words = f"{' ' * piece[:1].isspace()}{core}{' ' * (piece[-1:].isspace() and bool(core))}"
            if left is not None:
                words = text.fit(words, left)
                left -= text.cell_width(words)
            shown.append(self.paint(words, "bold", "yellow") if found else words)
            if left == 0:
                break
        return "".join(shown).strip()

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str | None]], notes: Sequence[str] = ()) -> None:
        """Rows of stored text as data: aligned and cut to the terminal, or whole and divided by tabs for a pipe.

        A note is safe text that stands below its row. The last column is never cut; a terminal too narrow for it
        beside the flexible column gets it below the row too.
        """
        cells = [[self.safe(cell) for cell in row] for row in rows]
        if self.is_terminal:
            for line in self._aligned(columns, cells, notes):
                self.line(line)
            return
        for place, row in enumerate(cells):
            self.line("\t".join((*row, notes[place]) if notes else row))

    def _aligned(self, columns: Sequence[Column], cells: list[list[str]], notes: Sequence[str]) -> Iterator[str]:
        cells = [[text.steady(cell) for cell in row] for row in cells]
        kept, widths = self._layout(columns, cells)
        stacked = kept[-1] != len(columns) - 1
        yield self._aligned_row(columns, kept, widths, [column.name for column in columns], heading=True)
        for place, row in enumerate(cells):
            yield self._aligned_row(columns, kept, widths, row)
            if stacked:
                yield self.paint(f"{NOTE_INDENT}{row[-1]}", *_styles(columns[-1]))
            if notes:
                yield f"{NOTE_INDENT}{notes[place]}"

    def _layout(self, columns: Sequence[Column], cells: list[list[str]]) -> tuple[list[int], list[int]]:
        """Which columns are shown, and how wide each column is."""
        widths = [
            max(text.cell_width(value) for value in (column.name, *(row[place] for row in cells)))
            for place, column in enumerate(columns)
        ]
        kept = list(range(len(columns)))
        flexible = next((place for place, column in enumerate(columns) if column.flexible), None)

        def room() -> int:
            fixed = sum(widths[place] for place in kept if place != flexible)
            return self.width - fixed - len(GAP) * (len(kept) - 1)

        wanted = 0 if flexible is None else widths[flexible]
        while room() < min(ROOMY, wanted) and any(columns[place].spare for place in kept):
            kept.remove(max(kept, key=lambda place: columns[place].spare))
        if room() < min(TIGHT, wanted) and len(kept) > 1:
            kept.remove(len(columns) - 1)
        if flexible is not None:
            widths[flexible] = max(1, min(widths[flexible], room()))
        return kept, widths

    def _aligned_row(
        self, columns: Sequence[Column], kept: list[int], widths: list[int], row: Sequence[str], heading: bool = False
    ) -> str:
        parts = []
        for place in kept:
            column = columns[place]
            last = place == kept[-1] and not column.flexible and not column.right
            value = row[place] if last else text.pad(row[place], widths[place], right=column.right)
            parts.append(self.paint(value, *(("dim",) if heading else _styles(column))))
        return GAP.join(parts).rstrip()

    def json(self, record: Mapping[str, object]) -> None:
        """One JSON object, in ASCII: whatever a terminal could misread is escaped."""
        self._write(_dumps(record) + "\n")

    def json_with(self, record: Mapping[str, object], name: str, items: Iterable[Mapping[str, object]]) -> None:
        """One JSON object whose last key `name` is a list too long to be held in memory."""
        iterator = iter(items)
        first = next(iterator, None)  # What can fail at once fails before anything is written.
        self._json_begun = True
        self._write(f'{_dumps(record)[:-1]}, "{name}": [')
        if first is not None:
            self._write(_dumps(first))
        for item in iterator:
            self._write(f",\n{_dumps(item)}")
        self._write("]}\n")

    def talk(self, words: str) -> None:
        """One line for the person, on standard error, after the data written so far. Nobody listening is no failure."""
        self.flush()
        self._say(f"{text.one_line(words)}\n")

    def passing(self, words: str) -> None:
        """A line on standard error that the next one replaces, for a person at a terminal; no words take it away."""
        if _is_terminal(self._stderr) and not self.as_json and self._environ.get("TERM", "") not in ("", "dumb"):
            self._say(f"\r\x1b[K{text.one_line(words)}")

    def prompt(self, words: str) -> None:
        """A question without a line break, on the terminal if the data goes to one, else on standard error."""
        if self.is_terminal:
            self._write(words)
            self.flush()
        else:
            self.flush()
            self._say(words)

    def end_prompt(self) -> None:
        """Leaves the line of a question that nobody answered."""
        self.prompt("\n")

    def error(self, error: errors.SessionsError) -> None:
        """What went wrong: a JSON object on standard output if JSON was asked for, else one line and the hint."""
        if self.as_json and not self._json_begun and self._stdout is not None:
            try:
                self.json({"error": _error_record(error)})
                self.flush()
                return
            except errors.Refused:
                # The output itself is what failed; that leaves the words below.
                pass
        self.talk(f"{PROGRAM}: {error.message}")
        if isinstance(error, errors.BadQuery) and error.query:
            self._point_at(error.query, error.start, error.stop)
        if isinstance(error, errors.AmbiguousSession):
            for candidate in error.candidates[:CANDIDATES]:
                self._say(f"  {text.one_line(candidate.id)}  {text.one_line(candidate.title)}".rstrip() + "\n")
            if more := error.candidates[CANDIDATES:]:
                self._say(f"  … and {len(more):,} more\n")
        if error.hint:
            self._say(f"  {text.one_line(error.hint)}\n")

    def _point_at(self, query: str, start: int, stop: int) -> None:
        """The query on a line, and carets below the place; a query too long for a line shows what is around it."""
        # Character by character, since blanks at the edges of a piece belong to it.
        parts = (query[:start], query[start:stop], query[stop:])
        before, place, after = ("".join(map(_plain_character, part)) for part in parts)
        lead = "…" if len(before) > POINTED else ""
        before = lead + before[len(before) - POINTED if lead else 0 :]
        place = place[:POINTED]
        self._say(f"  {before}{place}{after[:POINTED]}\n")
        self._say(f"  {' ' * text.cell_width(before)}{'^' * max(1, text.cell_width(place))}\n")

    def trace(self, trace: str) -> None:
        """A traceback, for whoever asked for one."""
        self._say(f"{text.clean(trace)}\n")

    def flush(self) -> None:
        """Hands everything written to the reader."""
        if self._stdout is not None:
            try:
                self._stdout.flush()
            except OSError as error:
                raise self._lost(error) from error

    def _write(self, data: str) -> None:
        if self._stdout is None:
            raise BrokenPipeError
        data = self._encodable(data)
        try:
            # In pieces that a pipe takes whole or not at all: an unbuffered stream says nothing of a half-written one.
            for start in range(0, len(data), PIECE):
                self._stdout.write(data[start : start + PIECE])
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: OSError) -> Exception:
        """Stop writing data, also what is still buffered when the interpreter ends; what to raise for it."""
        try:
            descriptor = self._stdout.fileno() if self._stdout else -1
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
        except (OSError, ValueError):
            # No descriptor lies behind the stream, so nothing is buffered in it.
            pass
        self._stdout = None
        if isinstance(error, BrokenPipeError):
            return error
        return errors.Refused(f"The output could not be written: {error.strerror or error}.")

    def _say(self, words: str) -> None:
        if self._stderr is None:
            return
        try:
            self._stderr.write(_encodable(words, self._stderr))
            self._stderr.flush()
        except OSError:
            # There is nobody left to tell.
            self._stderr = None

    def _encodable(self, words: str) -> str:
        return _encodable(words, self._stdout)


def command_line(words: Sequence[str]) -> str:
    """Words as one line to paste into a shell."""
    return shlex.join(words)


def _styles(column: Column) -> tuple[Style, ...]:
    return (column.style,) if column.style else ()


def _dumps(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=True, allow_nan=False)


def _error_record(error: errors.SessionsError) -> dict[str, object]:
    record: dict[str, object] = {
        "code": int(exit_code_for(error)),
        "kind": kind_of(error),
        "message": error.message,
        "hint": error.hint,
    }
    if isinstance(error, errors.BadQuery):
        record |= {"query": error.query, "start": error.start, "stop": error.stop, "suggestion": error.suggestion}
    if isinstance(error, errors.AmbiguousSession):
        record["candidates"] = [_candidate_record(candidate) for candidate in error.candidates]
    return record


def _candidate_record(candidate: Conversation) -> dict[str, object]:
    return {"id": candidate.id, "root_id": candidate.root.id, "title": candidate.title, "source": candidate.tip.source}


def _plain_character(character: str) -> str:
    """A character that takes a place of its own on a line, or a blank."""
    return text.one_line(character) or " "


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _welcomes_colors(environ: Mapping[str, str]) -> bool:
    """The rule of no-color.org, and terminals that say they can do nothing."""
    if environ.get("NO_COLOR"):
        return False
    return environ.get("TERM", "") not in ("", "dumb") or "WT_SESSION" in environ


def _encodable(words: str, stream: TextIO | None) -> str:
    """The words with everything the stream's encoding lacks replaced, lines and dots by their ASCII likes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        words.encode(encoding)
    except UnicodeEncodeError:
        return words.translate(ASCII).encode(encoding, "replace").decode(encoding)
    return words

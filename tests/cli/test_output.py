"""What may reach a terminal, a pipe and a script, and how."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_sessions import errors, text
from hermes_sessions.cli.output import CANDIDATES, Column, Output
from hermes_sessions.model import Conversation, Session

HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\u202edrow\u2028next\x00\x7f\ud800[bold]z"
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(columns: int = 80, environ: Mapping[str, str] | None = None) -> tuple[Output, Terminal]:
    stream = Terminal()
    settings = {"COLUMNS": str(columns), "TERM": "xterm", **(environ or {})}
    return Output(stream, io.StringIO(), environ=settings), stream


def on_pipe(encoding: str = "utf-8", *, as_json: bool = False) -> tuple[Output, io.BytesIO, io.BytesIO]:
    data, talk = io.BytesIO(), io.BytesIO()
    output = Output(
        io.TextIOWrapper(data, encoding, write_through=True),
        io.TextIOWrapper(talk, encoding, write_through=True),
        environ={"TERM": "xterm"},
        as_json=as_json,
    )
    return output, data, talk


COLUMNS = (
    Column("Title", flexible=True),
    Column("Msgs", right=True, spare=2),
    Column("Source", spare=3),
    Column("ID"),
)


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_the_id_starts_in_the_same_cell_of_every_row(columns: int) -> None:
    titles = [
        "整理论文和更新README #4",
        "한국어 제목입니다",
        "ASCII",
        "❤️ plan",
        "👨‍👩‍👧‍👦" * 60,
        "e\u0301" * 200,
        "🇩🇪" * 30,
    ]
    output, stream = on_terminal(columns, {"NO_COLOR": "1"})
    output.table(COLUMNS, [[title, "1,204", "telegram", "20261130_155228_d512d9"] for title in titles])
    _, *rows = stream.getvalue().splitlines()
    assert len(rows) == len(titles)
    starts = {text.cell_width(row[: row.index("20261130_155228_d512d9")]) for row in rows}
    assert len(starts) == 1
    assert all(text.cell_width(row) <= columns for row in rows)


def test_what_is_least_needed_goes_first_when_room_runs_out() -> None:
    row = ["t" * 50, "12", "telegram", "20261130_155228_d512d9"]
    shown = {}
    for columns in (80, 56, 50, 30):
        output, stream = on_terminal(columns, {"NO_COLOR": "1"})
        output.table(COLUMNS, [row])
        shown[columns] = stream.getvalue()
    assert "telegram" in shown[80]
    assert "telegram" not in shown[56] and "12" in shown[56]
    assert "12" not in shown[50].replace(row[3], "")
    assert shown[30].splitlines()[-1].strip() == row[3]


def test_a_pipe_gets_whole_titles_and_ids_divided_by_tabs() -> None:
    output, data, _ = on_pipe()
    title = "long " * 50 + "\tand\nwide"
    output.table(COLUMNS, [[title, "12", "cli", "id"]])
    assert data.getvalue().decode().splitlines() == ["\t".join(["long " * 50 + "and wide", "12", "cli", "id"])]


def test_nothing_stored_acts_on_the_terminal() -> None:
    output, stream = on_terminal()
    output.table(COLUMNS, [[HOSTILE, HOSTILE, HOSTILE, HOSTILE]])
    output.block(HOSTILE)
    output.line(output.safe(HOSTILE))
    output.line(output.highlighted(HOSTILE, [(0, 3), (5, 20)]))
    output.talk(HOSTILE)
    shown = stream.getvalue().replace("\x1b[2m", "").replace("\x1b[1;33m", "").replace("\x1b[0m", "")
    assert not [control for control in CONTROLS if control in shown and control != "\n"]
    assert not [mark for mark in "\u202e\u2028\ud800" if mark in shown]
    assert "[bold]" in shown


def test_json_escapes_whatever_a_terminal_could_misread() -> None:
    output, data, _ = on_pipe()
    output.json({"title": HOSTILE})
    raw = data.getvalue()
    assert raw.isascii() and raw.endswith(b"\n")
    assert not [byte for byte in raw[:-1] if byte < 0x20 or byte == 0x7F]
    assert json.loads(raw) == {"title": HOSTILE}


def test_json_knows_no_nan() -> None:
    output, _, _ = on_pipe()
    with pytest.raises(ValueError):
        output.json({"amount": float("nan")})


@pytest.mark.parametrize("items", [0, 1, 3])
def test_a_long_list_is_one_object_too(items: int) -> None:
    output, data, _ = on_pipe()
    output.json_with({"a": 1}, "messages", ({"id": number} for number in range(items)))
    assert json.loads(data.getvalue()) == {"a": 1, "messages": [{"id": number} for number in range(items)]}


def test_what_fails_at_once_fails_before_the_object_begins() -> None:
    output, data, _ = on_pipe(as_json=True)

    def broken() -> object:
        raise errors.StoreBusy("Locked.")
        yield

    with pytest.raises(errors.StoreBusy) as caught:
        output.json_with({"a": 1}, "messages", broken())  # type: ignore[arg-type]
    output.error(caught.value)
    assert json.loads(data.getvalue())["error"]["code"] == 7


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "koi8-r"])
def test_what_the_encoding_lacks_is_replaced(encoding: str) -> None:
    output, data, talk = on_pipe(encoding)
    output.table(COLUMNS, [["✓ 中 ❤️ é", "1", "cli", "id"]])
    output.line("──")
    output.error(errors.SessionNotFound("No session “中”.", "→ list"))
    assert b"id" in data.getvalue() and b"No session" in talk.getvalue()
    assert encoding == "koi8-r" or data.getvalue().splitlines()[-1] == b"--"


def test_colours_need_a_terminal_that_takes_them_or_a_person_who_insists() -> None:
    def colored(choice: str, environ: Mapping[str, str], stream: io.StringIO) -> bool:
        return Output(stream, None, environ=environ, color=choice).color  # type: ignore[arg-type]

    terminal, pipe = Terminal(), io.StringIO()
    assert colored("auto", {"TERM": "xterm"}, terminal)
    assert not colored("auto", {"TERM": "xterm", "NO_COLOR": "1"}, terminal)
    assert colored("auto", {"TERM": "xterm", "NO_COLOR": ""}, terminal)
    assert not colored("auto", {"TERM": "dumb"}, terminal)
    assert not colored("auto", {}, terminal)
    assert not colored("auto", {"TERM": "xterm"}, pipe)
    assert not colored("never", {"TERM": "xterm"}, terminal)
    assert colored("always", {"NO_COLOR": "1"}, pipe)


def test_an_error_is_a_line_and_a_hint() -> None:
    output, data, talk = on_pipe()
    output.error(errors.StoreMissing("No history at /x.", "Try --demo."))
    assert data.getvalue() == b""
    assert talk.getvalue().decode() == "hermes-sessions: No history at /x.\n  Try --demo.\n"


def test_of_very_many_candidates_the_newest_are_named() -> None:
    row = Session("s", "cli", None, None, None, None, None, None, None, None, None, None, False, False, None, True)
    many = [Conversation((row._replace(id=f"s{number}"),)) for number in range(1, 20_001)]
    output, _, talk = on_pipe()
    output.error(errors.AmbiguousSession("'s' fits 20000 sessions.", many, "Name one."))
    lines = talk.getvalue().decode().splitlines()
    assert lines[1] == "  s1" and lines[CANDIDATES] == f"  s{CANDIDATES}"
    assert lines[CANDIDATES + 1 :] == [f"  … and {20_000 - CANDIDATES:,} more", "  Name one."]


def test_a_full_disk_is_said_where_it_can_be_said() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    talk = io.StringIO()
    with Path("/dev/full").open("w") as full:
        output = Output(full, talk, as_json=True)
        output.json({"a": 1})
        with pytest.raises(errors.Refused) as caught:
            output.flush()
        output.error(caught.value)
    assert talk.getvalue().startswith("hermes-sessions: The output could not be written")


def test_a_stream_that_was_never_there_is_a_reader_who_went_away() -> None:
    with pytest.raises(BrokenPipeError):
        Output(None, None).line("data")
    Output(None, None).talk("words nobody hears")


@pytest.mark.parametrize(
    ("snippet", "spans", "shown"),
    [
        ("find the word here", [(9, 13)], "find the *word* here"),
        ("word", [(0, 4)], "*word*"),
        ("two\nlines of\ttext", [(4, 9)], "two *lines* of text"),
        ("", [], ""),
    ],
)
def test_a_match_is_painted_where_it_stands(snippet: str, spans: list[tuple[int, int]], shown: str) -> None:
    output, _ = on_terminal()
    painted = output.highlighted(snippet, spans).replace("\x1b[1;33m", "*").replace("\x1b[0m", "*")
    assert painted == shown

"""The numbered list: the same answers from a person at a terminal, from a pipe, and from nobody."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hermes_sessions.cli.picker import COMMANDS
from tests.builders import HermesFile
from tests.cli.conftest import Ended, Run, finish, start

Answered = Callable[..., Ended]


@pytest.fixture
def answered(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answered:
    """A run of the plain list whose standard input is a file with these lines."""

    def answered(*lines: str | bytes, words: tuple[str, ...] = ()) -> Ended:
        answers = tmp_path / "answers"
        answers.write_bytes(
            b"".join(line + b"\n" if isinstance(line, bytes) else f"{line}\n".encode() for line in lines)
        )
        with answers.open() as stdin, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            return run("browse", "--plain", *words)

    return answered


def numbered(out: str) -> dict[str, str]:
    """The ids by number."""
    rows = [line.split("\t") for line in out.splitlines() if line.count("\t") >= 7]
    return {row[0]: row[7] for row in rows}


@pytest.fixture
def many(home: Path) -> Path:
    """Fifty sessions, the newest first: s-49 … s-00."""
    path = home / ".hermes" / "state.db"
    with HermesFile(path) as file:
        for number in range(50):
            file.talk(file.session(f"s-{number:02}", title=f"Title {number}"), f"question {number}", "the answer")
    return path


def test_nobody_to_answer_gets_just_the_list(many: Path) -> None:
    ended = finish(start("browse"))
    assert ended.code == 0
    assert numbered(ended.out) == {str(place): f"s-{50 - place:02}" for place in range(1, 21)}
    assert "\x1b" not in ended.out + ended.err and "quit" not in ended.out + ended.err
    assert f"Store: {many}" in ended.err and "20 of 50 sessions" in ended.err


def test_a_number_picks_and_the_id_is_all_of_standard_output(many: Path, answered: Answered) -> None:
    ended = answered("7", words=("--pick",))
    assert (ended.code, ended.out) == (0, "s-43\n")
    assert "Title 43" in ended.err


def test_more_goes_on_counting(many: Path, answered: Answered) -> None:
    ended = answered("m", "m", "m", "45", words=("--pick",))
    assert ended.out == "s-05\n"
    assert "There are no more." in ended.err


def test_a_search_numbers_what_it_found(many: Path, answered: Answered) -> None:
    ended = answered("/question 7", "1", words=("--pick",))
    assert ended.out == "s-07\n"
    assert "user: question 7" in ended.err
    ended = answered("/nowhere", "1", words=("--pick",))
    assert "Nothing matches “nowhere”." in ended.err and ended.out == "s-49\n"


def test_a_query_on_the_command_line_is_the_first_search(many: Path, answered: Answered) -> None:
    assert answered("1", words=("--pick", "question 12")).out == "s-12\n"
    assert list(numbered(answered(words=("question 12",)).out).values()) == ["s-12"]


def test_reading_shows_the_talk(many: Path, answered: Answered) -> None:
    ended = answered("v 3", "v3", "q")
    assert ended.code == 0
    assert ended.out.count("question 47") == 2 and ended.out.count("the answer") == 2


def test_reading_a_found_session_opens_at_the_hit(home: Path, answered: Answered) -> None:
    with HermesFile(home / ".hermes" / "state.db") as file:
        file.talk(file.session("long"), *(f"message {number}" for number in range(200)))
        file.talk(file.session("other"), "needle")
    ended = answered("/message 20", "v 1", "q")
    assert "message 20\n" in ended.out and "<──" in ended.out and "message 199\n" not in ended.out
    assert "hermes-sessions show long" in ended.err


def test_reading_goes_on_and_back_and_says_where_it_ends(home: Path, answered: Answered) -> None:
    with HermesFile(home / ".hermes" / "state.db") as file:
        file.talk(file.session("long"), *(f"message {number}." for number in range(1, 101)))
    ended = answered("n", "v 1 50", "b", "b", "n", "n", "n", "v 1 101", "q")
    talk = [line for line in ended.err.splitlines() if "quit: " in line]
    assert [line.partition("quit: ")[2] for line in talk] == [
        "Nothing is being read; v N reads row N.",
        "messages 30 to 69 of 100",
        "messages 1 to 29 of 100",
        "This is its beginning.",
        "messages 30 to 69 of 100",
        "messages 70 to 100 of 100",
        "This is its end.",
        "There is no message 101; it has 100.",
        "",
    ]
    assert "── user" in ended.out and "message 50." in ended.out


def test_the_questions_of_a_session_are_listed_with_their_numbers(home: Path, answered: Answered) -> None:
    with HermesFile(home / ".hermes" / "state.db") as file:
        file.talk(file.session("long"), "first\nquestion", "an answer", "second question", "another")
    ended = answered("t 1", "q")
    rows = [line.split("\t") for line in ended.out.splitlines() if "question" in line][-2:]
    assert [(row[0], row[2]) for row in rows] == [("1", "first question"), ("3", "second question")]
    assert "2 of 4 messages" in ended.err


def test_the_family_of_a_session_becomes_the_rows(home: Path, answered: Answered) -> None:
    with HermesFile(home / ".hermes" / "state.db") as file:
        file.talk(file.session("trunk", title="The trunk"), "a question", "an answer")
        delegate = file.session("helper", source="subagent", parent="trunk")
        file.talk(delegate, "a task", "a result")
        file.talk(file.session("other", title="Another"), "another question", "another answer")
    ended = answered("s title", "l 2", "2", words=("--pick",))
    listed = ended.err[: ended.err.index("The family of trunk; / lists all sessions again.")]
    rows = [line.split("\t")[7:] for line in listed.splitlines()[-2:]]
    assert rows == [["trunk", ""], ["helper", "started by trunk"]]
    assert ended.out == "helper\n"


def test_rows_are_sorted_and_turned_round(many: Path, answered: Answered) -> None:
    assert answered("s title", "1", words=("--pick",)).out == "s-00\n"
    assert answered("s title", "s title", "1", words=("--pick",)).out == "s-09\n"
    assert answered("s active", "1", words=("--pick",)).out == "s-00\n"
    assert "'s shoe' is none of these. ? lists the commands." in answered("s shoe", "q").err


def test_hidden_sessions_are_listed_when_they_are_asked_for(home: Path, answered: Answered) -> None:
    with HermesFile(home / ".hermes" / "state.db") as file:
        file.talk(file.session("shown"), "hello")
        file.session("void")
    ended = answered("a", "a", "q")
    assert ended.err.count("1 of 2 sessions · 1 empty (a)") == 2 and "2 of 2 sessions" in ended.err


def test_what_was_found_has_two_orders(many: Path, answered: Answered) -> None:
    ended = answered("o", "/question 7", "o", "o", "q")
    assert "That orders what was found; s KEY sorts the sessions." in ended.err
    assert ended.err.count("newest first (o: the best)") == 2 and ended.err.count("the best first") == 1


def test_how_to_go_on_is_said(many: Path, answered: Answered) -> None:
    ended = answered("i 2", "q")
    assert "s-48\n" in ended.out and "hermes --resume s-48" in ended.out


def test_cost_is_summed_by_any_key(many: Path, answered: Answered) -> None:
    ended = answered("c source", "c shoe", "q")
    assert any(line.startswith(("Source\t", "cli\t")) for line in ended.out.splitlines())
    assert "'c shoe' is none of these." in ended.err


def test_all_commands_are_listed(many: Path, answered: Answered) -> None:
    ended = answered("?", "q")
    for keys, _ in COMMANDS:
        assert any(line.startswith(f"{keys} ") for line in ended.out.splitlines())


def test_cost_is_that_of_what_is_listed(many: Path, answered: Answered) -> None:
    ended = answered("/question 12", "c", "q")
    total = next(line for line in ended.out.splitlines() if line.startswith("Total"))
    assert total.split("\t")[4] == "1"


def test_what_means_nothing_is_said_and_asked_again(many: Path, answered: Answered) -> None:
    ended = answered("99", "0", "nonsense", "v", "", "9" * 40, "1", words=("--pick",))
    assert ended.out == "s-49\n"
    assert "There is no row 99; the rows are 1 to 20." in ended.err
    assert "'nonsense' is none of these." in ended.err


@pytest.mark.parametrize("lines", [(), ("q",), ("/question",)])
def test_an_end_is_quiet(many: Path, answered: Answered, lines: tuple[str, ...]) -> None:
    ended = answered(*lines)
    assert ended.code == 0 and "Traceback" not in ended.err


def test_bytes_that_are_no_text_are_answered(many: Path, answered: Answered) -> None:
    ended = answered(b"/\xff\xfe\x00", b"\x80", "2", words=("--pick",))
    assert (ended.code, ended.out) == (0, "s-48\n")


def typed(keys: bytes, *words: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """A run on a terminal of its own into which a person types once the prompt is there; all that was drawn."""
    ours, theirs = pty.openpty()
    process = start("browse", *words, stdin=theirs, stdout=theirs, stderr=theirs, environ=environ)
    os.close(theirs)
    drawn = b""
    while b"quit: " not in drawn:
        drawn += os.read(ours, 65_536)
    os.write(ours, keys)
    try:
        while piece := os.read(ours, 65_536):
            drawn += piece
    except OSError:
        # The other end of a terminal that nobody has open any more.
        pass
    os.close(ours)
    return process.wait(60), drawn.decode()


def test_a_person_at_a_dumb_terminal_is_asked(many: Path) -> None:
    code, drawn = typed(b"/question 31\nv 1\nq\n", environ={"TERM": "dumb", "COLUMNS": "100"})
    assert code == 0 and "\x1b" not in drawn
    assert "TERM is 'dumb'" in drawn
    assert drawn.count("quit: ") == 3
    assert "user: question 31" in drawn and "── user" in drawn
    rows = [line for line in drawn.splitlines() if line.endswith((" s-49", " s-48"))]
    assert len({line.index("s-4") for line in rows}) == 1


def test_a_person_who_closes_the_input_leaves(many: Path) -> None:
    code, drawn = typed(b"\x04", "--plain", environ={"TERM": "xterm", "NO_COLOR": "1"})
    assert code == 0 and "\x1b" not in drawn and drawn.endswith("\n")

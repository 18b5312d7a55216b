"""Each line of a recap."""

from __future__ import annotations

import json

import pytest

from hermes_sessions.services.recap import recap_of
from hermes_sessions.storage import open_store
from tests.builders import SUMMARY, HermesFile


def lines(file: HermesFile, session: str, home: str | None = "/home/me") -> list[str]:
    store = open_store(file.path)
    try:
        return list(recap_of(store, store.sessions.catalog().by_session[session], home).lines())
    finally:
        store.close()


def test_a_recap_reads_as_that_of_hermes(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s", title="Login redirect loop #2", cwd="/src/app")
    hermes_file.talk(session, "The login loops.", "I look at the cookies.", "Good. Make the flag depend on it.")
    hermes_file.tool_call(session, "patch", {"path": "/src/app/src/auth/cookies.py"}, "ok")
    hermes_file.message(session, "assistant", "Done, and\n`tests/test_cookies.py` covers it.")
    assert lines(hermes_file, session) == [
        "Session recap — Login redirect loop #2",
        "  Recent: 2 user turns / 3 assistant replies, 1 tool result",
        "  Tools used: patch×1",
        "  Files touched: src/auth/cookies.py",
        "  Last ask: Good. Make the flag depend on it.",
        "  Last reply: Done, and `tests/test_cookies.py` covers it.",
    ]


def test_one_of_each_is_told_in_the_singular(hermes_file: HermesFile) -> None:
    session = hermes_file.session("20260528_120000_abcdef")
    hermes_file.talk(session, "one", "two")
    assert lines(hermes_file, session)[:2] == [
        "Session recap — 20260528",
        "  Recent: 1 user turn / 1 assistant reply, 0 tool results",
    ]


def test_a_long_conversation_says_how_much_there_is_in_all(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s", title="Long")
    for turn in range(30):
        hermes_file.talk(session, f"ask {turn}")
        hermes_file.tool_call(session, "terminal", {"command": "ls"}, "ok")
        hermes_file.message(session, "assistant", f"reply {turn}")
    assert lines(hermes_file, session)[1:] == [
        "  Recent: 6 user turns / 14 assistant replies (of 30/60 total), 30 tool results",
        "  Tools used: terminal×7",
        "  Last ask: ask 29",
        "  Last reply: reply 29",
    ]


def test_the_five_most_used_tools_and_the_five_latest_files_are_named(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s", cwd="/src")
    for number in range(7):
        hermes_file.tool_call(session, "write_file", {"path": f"/src/{number}.py"}, "ok")
    hermes_file.tool_call(session, "write_file", {"path": "/src/lib/../3.py"}, "ok")
    for tool in ("zeta", "alpha", "beta", "gamma", "delta", "alpha"):
        hermes_file.tool_call(session, tool, {}, "ok")
    said = lines(hermes_file, session)
    assert said[2] == "  Tools used: write_file×8, alpha×2, beta×1, delta×1, gamma×1 (+1 more)"
    assert said[3] == "  Files touched: 3.py, 6.py, 5.py, 4.py, 2.py (+2 more)"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/src/app/a.py", "a.py"),
        ("b.py", "b.py"),
        ("./lib/b.py", "lib/b.py"),
        ("/home/me/notes.md", "~/notes.md"),
        ("~/notes.md", "~/notes.md"),
        ("/src/application/c.py", "/src/application/c.py"),
        ("/etc/\x1b[31mhosts", "/etc/hosts"),
    ],
)
def test_a_path_is_told_from_the_directory_or_from_home(hermes_file: HermesFile, path: str, shown: str) -> None:
    session = hermes_file.session("s", cwd="/src/app")
    hermes_file.tool_call(session, "read_file", {"path": path}, "ok")
    hermes_file.tool_call(session, "skill_view", {"file_path": path}, "ok")
    assert f"  Files touched: {shown}" in lines(hermes_file, session)


@pytest.mark.parametrize("arguments", ["no JSON", "[]", '{"path": 7}', '{"path": ""}', "[" * 100_000])
def test_arguments_that_name_no_path_are_no_obstacle(hermes_file: HermesFile, arguments: str) -> None:
    session = hermes_file.session("s")
    hermes_file.tool_call(session, "patch", arguments, "ok")
    assert lines(hermes_file, session)[2:] == ["  Tools used: patch×1"]


def test_long_texts_are_cut_to_one_line_and_hostile_ones_are_clean(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s")
    hermes_file.talk(session, "ask\n" * 100, "\x1b]0;evil\x07reply \x1b[2J" + "y" * 300)
    *_, ask, reply = lines(hermes_file, session)
    assert ask == "  Last ask: " + ("ask " * 100)[:139] + "…"
    assert reply == "  Last reply: reply " + "y" * 193 + "…"


def test_what_a_compaction_wrote_was_asked_by_nobody(hermes_file: HermesFile) -> None:
    *_, tip = hermes_file.chain(2)
    said = lines(hermes_file, tip)
    assert said[1] == "  Recent: 3 user turns / 2 assistant replies, 0 tool results"
    assert said[2:] == ["  Last ask: question 2", "  Last reply: answer 2"]
    hermes_file.end(tip, "compression")
    last = hermes_file.session("last", parent=tip)
    hermes_file.message(last, "user", SUMMARY)
    assert lines(hermes_file, last)[2:] == ["  Last ask: question 2", "  Last reply: answer 2"]


def test_what_was_taken_back_is_not_told(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s")
    *_, undone = hermes_file.talk(session, "kept", "answer", "undone")
    hermes_file.rewind(session, undone)
    assert lines(hermes_file, session)[1:] == [
        "  Recent: 1 user turn / 1 assistant reply, 0 tool results",
        "  Last ask: kept",
        "  Last reply: answer",
    ]


def test_images_are_named(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s")
    hermes_file.message(
        session, "user", [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": "x.png"}]
    )
    assert lines(hermes_file, session)[2] == "  Last ask: look [image: x.png]"


def test_no_messages_are_nothing_to_recap(hermes_file: HermesFile) -> None:
    session = hermes_file.session("abcdefghijk")
    assert lines(hermes_file, session) == [
        "Session recap — abcdefgh",
        "  (nothing to recap — no messages yet)",
    ]


def test_messages_that_say_nothing_are_told_as_that(hermes_file: HermesFile) -> None:
    session = hermes_file.session("s")
    hermes_file.message(session, "tool", json.dumps({"output": "x"}))
    assert lines(hermes_file, session)[1:] == [
        "  Recent: 0 user turns / 0 assistant replies, 1 tool result",
        "  (no assistant activity yet in this window)",
    ]

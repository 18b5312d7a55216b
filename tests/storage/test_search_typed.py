"""Whatever a person types is answered: nothing is a syntax error, and nothing is lost by its characters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_sessions.model import SearchOrder, SearchResult
from hermes_sessions.storage import Store, coverage, open_store
from hermes_sessions.storage.finding import NOT_AS_WORDS
from tests.builders import HermesFile

EVERYDAY = (
    *(
        "C++",
        "#2",
        "100%",
        "c#",
        ".NET",
        "std::vector<int>",
        "a && b || !c",
        "x = y",
        "$HOME",
        "~/.ssh/id_rsa",
        "@media",
    ),
    *(
        "https://x.y/z?q=1&r=%20#frag",
        "foo@bar.org",
        "C:\\Users\\me",
        "\\\\server\\share",
        "/usr/lib/x-1.so",
        "../..",
        "*.py",
    ),
    *(
        "chat-send",
        "--error-on-warnings",
        "-v",
        "- [ ] todo",
        "don't",
        "`ls -la`",
        "'quoted'",
        "“so”",
        "(a OR b)",
        "a, b; c",
    ),
    *(
        "NEAR",
        "NEAR(a b)",
        "AND",
        "OR",
        "NOT",
        "a AND b",
        "NOT a",
        "a NEAR/2 b",
        "content : a",
        "{content} : a",
        "^a",
        "a*b",
    ),
    *(
        "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\nKeyError: 'a'",
        "at f (/srv/x.js:10:5)",
    ),
    *(
        "^\\s*(\\w+)=.*$",
        "[a-z]{2,}",
        "(?<=x)y",
        "SELECT * FROM t WHERE a = 'b';",
        '{"a": [1, null]}',
        "<div class='x'>",
        "%s %d",
    ),
    *(
        "😀",
        "👨‍👩‍👧‍👦",
        "🇩🇪",
        "❤️",
        "—",
        "…",
        "½",
        "ﬁ",
        "İ",
        "ß",
        "数据",
        "한국어",
        "ไทย",
        "שלום",
        "\u202eabc",
        "e\u0301",
        "\ufeffa",
    ),
    *(
        "12:30",
        "2026-11-30",
        "1,234.56",
        "0x1F",
        "v1.2.3-rc.1",
        "+49 30 1234",
        "192.168.0.1",
        "::1",
        "550e8400-e29b-41d4",
    ),
)

typed = st.one_of(
    st.text(max_size=30),
    st.text(alphabet='"*-:()^{}+\\% ab数é\x00\n', max_size=20),
    st.lists(st.sampled_from(EVERYDAY), max_size=4).map(" ".join),
)


@pytest.fixture(params=(6, 22, 31), scope="module", ids=lambda version: f"v{version}")
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store in which each everyday text was said, and called a tool with."""
    path: Path = tmp_path_factory.mktemp("typed") / "state.db"
    with HermesFile(path, request.param) as file:
        for number, text in enumerate(EVERYDAY):
            file.message(file.session(f"s{number}"), "user", f"see {text} there")
            file.tool_call(f"s{number}", "shell", {"command": text}, {"output": text, "exit_code": 0})
        store = open_store(path)
        yield store
        store.close()


def answers(store: Store, text: str) -> Iterator[SearchResult]:
    catalog = store.sessions.catalog()
    orders: tuple[SearchOrder, ...] = ("recent", "relevance")
    for order in orders:
        yield store.search.run(text, catalog, order=order, limit=0)
        yield from store.search.stream(text, catalog, order=order)


@settings(max_examples=60)
@given(text=typed)
def test_no_text_is_an_error(store: Store, text: str) -> None:
    for result in answers(store, text):
        said = result.notice if result.complete else result.notice.removeprefix(NOT_AS_WORDS)
        assert not said or result.order == "relevance", "an index did not understand what it was asked"


def test_every_everyday_text_is_found_as_a_phrase(store: Store) -> None:
    catalog = store.sessions.catalog()
    for number, text in enumerate(EVERYDAY):
        phrase = '"' + text.replace('"', '""') + '"'
        found = store.search.run(phrase, catalog, limit=0)
        assert f"s{number}" in [hits.conversation.id for hits in found.conversations], text


PASTES = {
    "everyday": " ".join(EVERYDAY) * 15,
    "one word": "x" * 10_000,
    "one Chinese run": "数" * 1_000,
    "other words each": " ".join(f"word{number}" for number in range(1_500)),
    "other runs each": " ".join(f"数{number}据" for number in range(1_500)),
    "any of very many": " OR ".join(f"word{number}" for number in range(1_500)),
    "none of very many": "see " + " ".join(f"-word{number}" for number in range(1_500)),
    "quotes": '"' * 999,
    "lines": "a\n" * 300,
    "a long phrase": '"' + " ".join(f"word{number}" for number in range(1_500)) + '"',
}


@pytest.mark.parametrize("paste", PASTES)
def test_a_long_paste_is_answered(store: Store, monkeypatch: pytest.MonkeyPatch, paste: str) -> None:
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)
    for result in answers(store, PASTES[paste]):
        said = result.notice if result.complete else result.notice.removeprefix(NOT_AS_WORDS)
        assert not said or result.order == "relevance", "an index did not understand what it was asked"

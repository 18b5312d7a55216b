"""What a person typed, as a query."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.conditions import CHOICES, KEYS, Condition
from hermes_sessions.storage.query import MOST_PROBLEMS, Begun, SearchQuery, Term, begun_at, near_keys, parse, quoted
from tests.builders import NOW

DAY = 86_400.0

SIGNS = st.sampled_from(
    ["-", '"', '""', "*", ":", ",", " ", "  ", "OR", " OR ", ">", "<", "=", "..", "//", "\n", "\x00", "\ud800", "数"]
)
PIECES = st.lists(
    st.one_of(
        SIGNS, st.sampled_from([f"{key}:" for key in KEYS]), st.sampled_from(["2d", "1k", "arch", "x"]), st.text()
    )
).map("".join)


def texts(query: str) -> list[list[str]]:
    return [[term.text for term in clause] for clause in parse(query, NOW).clauses]


def condition(query: str, *, typing: bool = False) -> Condition:
    (found,) = parse(query, NOW, typing=typing).conditions
    return found


def test_words_and_phrases_must_all_be_there() -> None:
    assert texts('docker "a b" now') == [["docker"], ["a b"], ["now"]]
    assert texts("again again ") == [["again"]]


def test_an_open_quote_runs_to_the_end() -> None:
    assert texts('say "a b') == [["say"], ["a b"]]


def test_a_quote_within_a_phrase_is_written_twice() -> None:
    assert texts('"say ""hi"" now" x') == [['say "hi" now'], ["x"]]
    assert texts('5"x12') == [['5"x12']]


@pytest.mark.parametrize(("query", "prefix"), [("dock", True), ("dock ", False), ('"dock"', False), ("a dock", True)])
def test_the_word_still_being_typed_is_a_prefix(query: str, prefix: bool) -> None:
    assert parse(query).words[-1].prefix is prefix


@pytest.mark.parametrize("query", ["", "   ", '"', '""', '" "', "\x00"])
def test_nothing_typed_asks_for_nothing(query: str) -> None:
    assert parse(query) == SearchQuery(query)


@pytest.mark.parametrize(
    "text", ["chat-send", "C++", "mm/slub.c", "#2", "100%", "content:parser", "数据", "한국어", "sp_new", "😀"]
)
def test_what_a_tokenizer_cannot_see_is_searched_as_it_is_written(text: str) -> None:
    assert parse(text).words == (Term(text, "literal", prefix=True),)


def test_a_star_makes_the_beginning_of_a_word() -> None:
    assert parse("doc* x ").clauses == ((Term("doc", "word", True),), (Term("x", "word"),))
    assert parse('"import o"* ').words == (Term("import o", "word", True),)
    assert texts("**bold** * 2** ") == [["**bold**"], ["*"], ["2**"]]


def test_or_stands_between_words() -> None:
    assert texts('docker OR podman OR "a b" fails') == [["docker", "podman", "a b"], ["fails"]]
    assert texts("docker or podman") == [["docker"], ["or"], ["podman"]]


@pytest.mark.parametrize("query", ["OR", "OR a", "a OR", "a OR OR b", "OR OR OR"])
def test_an_or_with_nothing_to_join_is_text(query: str) -> None:
    assert [term.text for term in parse(query).words] == list(dict.fromkeys(query.split())) or "OR OR" in query
    assert "OR" in [term.text for term in parse(query).words]
    assert parse(query).problems == ()


def test_or_joins_values_of_one_key_and_nothing_else() -> None:
    joined = condition("source:cli OR source:telegram OR source:cron")
    assert (joined.values, joined.start, joined.stop) == (("cli", "telegram", "cron"), 0, 44)
    for query in ("source:cli OR docker", "docker OR -podman", "cost:>1 OR cost:<2", "source:a OR model:b"):
        (problem,) = parse(query, NOW).problems
        assert (problem.start, problem.stop) == (0, len(query))
    assert [problem.start for problem in parse("is:shiny OR is:live", NOW).problems] == [3]


def test_a_minus_leaves_out() -> None:
    query = parse('docker -compose -"a b" -pre* ')
    assert query.clauses == ((Term("docker", "word"),),)
    assert query.excluded == (Term("compose", "word"), Term("a b", "word"), Term("pre", "word", True))


def test_what_is_left_out_is_a_whole_word_even_while_it_is_typed() -> None:
    assert parse("a -doc").excluded == (Term("doc", "word"),)
    assert parse('a -"doc').excluded == (Term("doc", "word"),)


@pytest.mark.parametrize("text", ["--flag", "->", "-=", "- x", "x - y", "a-b"])
def test_other_dashes_are_text(text: str) -> None:
    query = parse(text + " ")
    assert query.excluded == ()
    assert [term.text for term in query.words] == text.split()


@pytest.mark.parametrize(
    "text",
    [
        *("http://x", "C:\\dir", "foo::bar", "12:30", "error:foo", "std:string", "user://x", "branch::y", "Model:x"),
        *("TODO:", "model:", "key:", ":x", "source:"),
    ],
)
def test_what_merely_looks_like_a_key_is_text(text: str) -> None:
    query = parse(text + " ", NOW)
    assert [term.text for term in query.words] == [text]
    assert not query.conditions and not query.problems


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("source:cli", ("cli",)),
        ("source:cli,telegram,", ("cli", "telegram")),
        ('title:"two words"', ("two words",)),
        ('title:"a, b",c', ("a, b", "c")),
        ('title:"say ""hi"""', ('say "hi"',)),
        ("cwd:C:\\dir", ("C:\\dir",)),
        ("model:a:b", ("a:b",)),
        ("is:LIVE,archived", ("live", "archived")),
        ("has:images", ("images",)),
        ("role:user", ("user",)),
    ],
)
def test_a_key_has_one_of_its_values(word: str, values: tuple[str, ...]) -> None:
    for minus in ("", "-"):
        found = condition(f"x {minus}{word} y")
        assert (found.values, found.negated) == (values, bool(minus))
        assert (found.start, found.stop) == (2, 2 + len(minus) + len(word))


@pytest.mark.parametrize(
    ("word", "operator", "number"),
    [
        ("cost:>1", ">", 1),
        ("cost:$3", "=", 3),
        ("tokens:>=100k", ">=", 100_000),
        ("messages:<1,204", "<", 1_204),
        ("tools:=5", "=", 5),
        ("tokens:<=2.5M", "<=", 2_500_000),
        ("before:2d", "<", NOW - 2 * DAY),
        ("after:2d", ">=", NOW - 2 * DAY),
        ("older:2d", "<", NOW - 2 * DAY),
        ("older:<2d", ">=", NOW - 2 * DAY),
        ("older:>2d", "<", NOW - 2 * DAY),
        ("newer:2d", ">=", NOW - 2 * DAY),
        ("newer:<2d", ">=", NOW - 2 * DAY),
        ("before:1970-01-02T00:00:00Z", "<", DAY),
    ],
)
def test_numbers_and_times_compare(word: str, operator: str, number: float) -> None:
    found = condition(word)
    assert (found.operator, found.number) == (operator, number)


def test_a_range_has_both_ends() -> None:
    found = condition("cost:1..2.5")
    assert [found.compares(cost) for cost in (0.9, 1, 2, 2.5, 2.6)] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("query", "place", "suggestion"),
    [
        ("x is:archive", "archive", "archived"),
        ("is:live,shiny,empty", "shiny", ""),
        ("has:tool ", "tool", "tools"),
        ("is:ar ", "ar", "archived"),
        ("cost:5..1", "5..1", ""),
        ("role:asistant x", "asistant", "assistant"),
        ("cost:much", "much", ""),
        ("cost:>", ">", ""),
        ("cost:1..", "1..", ""),
        ("older:>soon", ">soon", ""),
        ("before:<2d", "<2d", ""),
        ('title:""', '""', ""),
        ("has:,", ",", ""),
    ],
)
def test_a_bad_value_is_said_where_it_stands(query: str, place: str, suggestion: str) -> None:
    (problem,) = parse(query, NOW).problems
    assert query[problem.start : problem.stop] == place
    assert problem.message.endswith(".")
    assert problem.suggestion == suggestion


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("x IS:error", ["is:error"]),
        ("sorce:cli Model:opus", ["source:cli", "model:opus"]),
        ("is:error http://x C:\\dir a::b TODO: std:string note:x 12:30", []),
        ('"sorce:cli" -sorce:"a b"', ['source:"a']),
    ],
)
def test_a_word_that_is_almost_a_condition_is_known(query: str, meant: list[str]) -> None:
    assert [problem.suggestion for problem in near_keys(query)] == meant
    assert parse(query, NOW).problems == ()


@given(st.one_of(st.text(), PIECES))
def test_what_almost_is_a_condition_would_be_one(text: str) -> None:
    for start, stop, message, suggestion in near_keys(text):
        assert 0 <= start < stop <= len(text) and message.endswith(".")
        assert suggestion.partition(":")[0] in KEYS


def test_the_rest_of_the_query_is_answered() -> None:
    query = parse("docker is:shiny,live cost:much ", NOW)
    assert texts("docker is:shiny,live cost:much ") == [["docker"]]
    assert [found.values for found in query.conditions] == [("live",)]
    assert len(query.problems) == 2


@pytest.mark.parametrize(
    "text",
    [
        *("-", "model:", "-model:", "is:arch", "is:", "role:", "cost:>", "cost:", "cost:1..", "older:>"),
        *("before:2026-0", "before:yest", 'title:"', "title:,", "has:images,cos"),
    ],
)
def test_what_is_still_being_typed_is_no_problem_and_asks_for_nothing_yet(text: str) -> None:
    query = parse(text, NOW, typing=True)
    assert query.problems == ()
    assert query.words == query.excluded == ()
    assert [found.values for found in query.conditions] == [("images",)] * text.startswith("has")
    finished = parse(text + " ", NOW, typing=True)
    assert finished == parse(text + " ", NOW)
    assert finished.problems or finished.words or finished.excluded


def test_an_or_waits_for_its_other_word_while_it_is_typed() -> None:
    for text in ("docker OR", "docker OR "):
        assert [term.text for term in parse(text, NOW, typing=True).words] == ["docker"]
    assert [term.text for term in parse("OR", NOW, typing=True).words] == ["OR"]


@pytest.mark.parametrize("text", ["is:shiny", "cost:x", "before:soon", "role:human"])
def test_what_cannot_become_right_is_said_at_once(text: str) -> None:
    assert len(parse(text, NOW, typing=True).problems) == 1


def test_the_last_value_may_be_the_beginning_of_one_while_it_is_typed() -> None:
    assert condition("source:tel", typing=True).unfinished
    assert not condition("source:tel ", typing=True).unfinished
    assert not condition("source:tel").unfinished
    assert not condition('source:"tel"', typing=True).unfinished


def test_conditions_are_of_messages_or_of_conversations() -> None:
    query = parse("role:user tool:x has:images is:rewound source:cli has:cost has:cost,images is:live,rewound ", NOW)
    assert [found.key for found in query.of_messages] == ["role", "tool", "has", "is"]
    assert [found.key for found in query.of_conversations] == ["source", "has", "has", "is"]


def test_a_list_that_hides_something_knows_that_it_is_asked_for() -> None:
    query = parse("is:archived,live -is:empty", NOW)
    assert [query.asks_for(state) for state in ("archived", "live", "empty", "subagent")] == [True, True, False, False]
    assert not query.empty and parse("is:nonsense", NOW).empty


def test_a_word_is_looked_for_composed_and_decomposed() -> None:
    assert parse("café ").words[0].forms == ("café", "cafe\u0301")
    assert '("café" OR "cafe\u0301" OR' in parse("café ").words[0].words_match


def test_sharp_s_and_its_capitals_are_one_letter() -> None:
    assert parse("Straße").words[0].forms == ("Straße", "Strasse")
    assert "STRAßE" in parse("STRASSE").words[0].forms


def test_half_a_character_is_no_error() -> None:
    assert parse("a\ud800").words[0].text == "a?"


@given(st.one_of(st.text(), PIECES), st.booleans())
def test_every_text_is_a_query(text: str, typing: bool) -> None:
    query = parse(text, NOW, typing=typing)
    assert query.text == text
    assert all(term.text and term.text == term.text.strip() for term in (*query.words, *query.excluded))
    assert all(query.clauses)
    for start, stop in [(at.start, at.stop) for at in query.problems] + [
        (at.start, at.stop) for at in query.conditions
    ]:
        assert 0 <= start < stop <= len(text)
    assert all(problem.message for problem in query.problems)
    assert all(set(found.values) <= set(CHOICES[found.key]) for found in query.conditions if found.key in CHOICES)


@given(st.one_of(st.text(), PIECES))
def test_any_text_in_quotes_is_found_as_a_phrase(text: str) -> None:
    meant = text.replace("\x00", " ").encode("utf-8", "replace").decode().strip()
    assert texts(quoted(text)) == ([[meant]] if meant else [])


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_any_value_can_be_written_in_quotes(value: str) -> None:
    query = parse(f"title:{quoted(value)} ", NOW)
    assert [found.values for found in query.conditions] == ([(value.strip(),)] if value.strip() else [])


@given(st.one_of(st.text(), PIECES))
def test_what_comes_before_the_last_word_does_not_depend_on_typing(text: str) -> None:
    assert parse(text + " x ", NOW, typing=True) == parse(text + " x ", NOW)


@given(st.one_of(st.text(), PIECES))
def test_no_text_is_a_syntax_error_of_the_index(query: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5 (content)")
    for term in parse(query).words:
        connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (term.words_match,)).fetchall()
    connection.close()


@pytest.mark.parametrize(
    "text", ["x ", '"', "a", 'a:"', "-", "title:,", 'is:"', "cost:1", "before:1d", "a OR ", '"a', "is:x,y "]
)
def test_a_paste_of_100_kilobytes_is_one_query(text: str) -> None:
    """A parser that for each letter looked at all others again would not be done in a minute."""
    start, piece = text[:-1], text[-1]
    for paste in (text * (100_000 // len(text)), start + piece * 100_000):
        query = parse(paste, NOW)
        assert len(query.words) <= 4 and len(query.problems) <= 20_000


def test_few_of_many_problems_are_told() -> None:
    assert len(parse("is:" + "x," * 1_000, NOW).problems) == MOST_PROBLEMS


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("", Begun(0, "")),
        ("docker ", Begun(7, "")),
        ("docker mod", Begun(7, "mod")),
        ("-mod", Begun(1, "mod")),
        ("model:", Begun(6, "", "model")),
        ("x model:op", Begun(8, "op", "model")),
        ("source:cli,te", Begun(11, "te", "source", ("cli",))),
        ("source:cli,", Begun(11, "", "source", ("cli",))),
        ('title:"two w', Begun(6, "two w", "title")),
        ("cost:>", Begun(5, ">", "cost")),
        ("http:", Begun(0, "http:")),
        ('"model:', None),
    ],
)
def test_what_is_begun_can_be_completed(text: str, begun: Begun | None) -> None:
    assert begun_at(text, len(text)) == begun
    assert begun_at(text + " later", len(text)) == begun


@given(st.one_of(st.text(), PIECES), st.integers(0, 100))
def test_what_is_begun_lies_before_the_cursor(text: str, cursor: int) -> None:
    begun = begun_at(text, min(cursor, len(text)))
    assert begun is None or 0 <= begun.start <= cursor

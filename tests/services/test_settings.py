"""The file of settings: read with a default for whatever is wrong, which is named with its line, key and remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.services.settings import (
    ABOUT,
    REMEMBERED,
    Binding,
    Config,
    Settings,
    printed,
    read_config,
    toml,
    why_not,
)

BINDINGS = [Binding("list.sort", "f2", "s", "Sessions: Sort."), Binding("quit", "", "q", "Everywhere: Leave.")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def read(file: Path, text: str | bytes) -> Config:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(file)


def problem(config: Config) -> str:
    """The only problem, without the path."""
    [words] = config.problems
    assert words.startswith(f"{config.path}")
    return words.removeprefix(f"{config.path}")


def test_every_setting_is_explained_and_its_default_makes_sense() -> None:
    assert ABOUT.keys() == Settings._field_defaults.keys()
    assert [name for name, value in Settings()._asdict().items() if why_not(name, value)] == []
    assert set(REMEMBERED) <= ABOUT.keys()


def test_no_file_is_no_problem_unless_it_was_named(file: Path) -> None:
    assert read_config(file).problems == []
    assert read_config(file).settings == Settings()
    assert problem(read_config(file, named=True)) == ": there is no such file."


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    assert problem(read_config(tmp_path)) == ": it cannot be read: Is a directory."


def test_what_makes_sense_counts_though_the_rest_does_not(file: Path) -> None:
    config = read(file, 'sort = "cost"\nsrot = "cost"\nmouse = false\nwrap = "yes"\n')
    assert config.settings == Settings(sort="cost", mouse=False)
    assert config.given == {"sort", "mouse"}
    assert len(config.problems) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('\n\nsrot = "cost"', ", line 3: srot: there is no such setting. Did you mean sort?"),
        (
            "qqq = 1",
            ", line 1: qqq: there is no such setting. hermes-sessions browse --print-config shows all.",
        ),
        ('mouse = "yes"', ', line 1: mouse: it must be true or false, without quotes, not "yes".'),
        ("theme = 3", ", line 1: theme: it must be a text in quotes, not 3."),
        ("sort = ['cost']", ", line 1: sort: it must be a text in quotes, not a list."),
        ("wrap = 2026-01-01", ", line 1: wrap: it must be true or false, without quotes, not a time."),
        ("zoom = 1", ", line 1: zoom: it must be true or false, without quotes, not 1."),
        ("list_width = true", ", line 1: list_width: it must be a whole number, without quotes, not true."),
        ("list_width = 90", ", line 1: list_width: it must be from 25 to 75, not 90."),
        (
            'tools = "ful"',
            ', line 1: tools: "ful" is none of "off", "short", "full". Did you mean "full"?',
        ),
        (
            '[ui]\ntheme = "nord"',
            ", line 1: ui: there is no such setting. Settings stand above the first table.",
        ),
        (
            '[keys]\nsort = true\n"list.up" = "up"',
            ", line 2: keys.sort: this is a setting, not a key: it stands above the table [keys].",
        ),
        (
            '[keys]\n"list.up" = ["up"]',
            ', line 2: keys.list.up: it must be the names of keys, such as "s,f2", not a list.',
        ),
        ('keys = "s"', ', line 1: keys: it must be a table, [keys], not "s".'),
    ],
)
def test_a_problem_names_line_and_key_and_what_would_be_right(file: Path, text: str, words: str) -> None:
    assert problem(read(file, text)) == words


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('sort = "cost"\ntheme = \n', 2),
        ('theme = "x\n', 1),
        ('sort = "cost"\nsort = "title"\n', 3),
        ("a = 1\n[keys\n", 2),
        (b'sort = "cost"\n# \xff\n', 2),
        ('[keys]\nsearch = "/"\nsearch.up = "up"\n', 4),
    ],
)
def test_of_what_is_no_toml_nothing_counts_and_the_line_is_named(file: Path, text: str | bytes, line: int) -> None:
    config = read(file, text)
    assert config.settings == Settings()
    assert problem(config).startswith(f", line {line}: ") or problem(config).startswith(f", line {line - 1}: ")


def test_a_mark_of_byte_order_does_not_matter(file: Path) -> None:
    assert read(file, b'\xef\xbb\xbfsort = "cost"').settings.sort == "cost"


@pytest.mark.parametrize(
    "text",
    [
        '[keys]\n"list.sort" = " s , f2"',
        '[keys]\nlist.sort = "s,f2,"',
        '[keys.list]\nsort = "s,f2"',
        'keys = {list = {sort = "s,f2"}}',
    ],
)
def test_keys_are_bound_in_any_way_that_toml_knows(file: Path, text: str) -> None:
    config = read(file, text)
    assert config.problems == []
    assert config.keys == {"list.sort": "s,f2"}


def test_no_key_is_said_with_nothing(file: Path) -> None:
    assert read(file, '[keys]\n"list.sort" = ""').keys == {"list.sort": ""}


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ('[keys]\n"list.sort" = "x"', "keys.list.sort", 2),
        ('[keys]\nlist.up = "x"\nlist.sort = "y"', "keys.list.sort", 3),
        ('[keys.list]\n\nsort = "y"', "keys.list.sort", 3),
        ("[keys]\n'list.sort' = 'x'", "keys.list.sort", 2),
    ],
)
def test_a_key_is_found_where_it_stands(file: Path, text: str, name: str, line: int) -> None:
    config = read(file, text)
    config.complain(name, "no.")
    assert problem(config) == f", line {line}: {name}: no."


def test_what_the_file_says_wins_over_what_is_remembered(file: Path) -> None:
    config = read(file, 'sort = "cost"')
    begun = config.begun({"sort": "title", "tools": "full", "wrap": False})
    assert begun == Settings(sort="cost", tools="full", wrap=False)


def test_what_is_remembered_is_checked_and_what_nobody_chose_on_the_screen_is_not_taken(file: Path) -> None:
    begun = read(file, "").begun({"sort": "moon", "wrap": 1, "mouse": False, "theme": None, "other": "x"})
    assert begun == Settings()


def test_what_is_printed_brings_the_same_about(file: Path) -> None:
    config = read(file, 'theme = "nord"')
    settings = config.settings._replace(sort="title", editor='vi "a b"')
    again = read(file, printed(config, settings, BINDINGS))
    assert again.problems == []
    assert again.settings == settings
    assert again.keys == {"list.sort": "f2", "quit": ""}


def test_what_is_printed_explains_every_setting_and_key(file: Path) -> None:
    words = printed(read(file, ""), Settings(), BINDINGS)
    for about in ABOUT.values():
        assert about.meaning in words
    assert '"list.sort" = "f2"  # Sessions: Sort. Default: "s"\n' in words
    assert '"quit" = ""  # Everywhere: Leave. Default: "q"\n' in words


def test_a_file_that_is_not_there_is_said_to_be(file: Path) -> None:
    assert "There is no such file" in printed(read_config(file), Settings(), [])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_written_so_that_it_is_read_again_and_harms_no_terminal(text: str) -> None:
    written = toml(text)
    assert tomllib.loads(f"a = {written}")["a"] == text
    assert written.isprintable()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_file_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    config = read(file, text)
    assert config.settings == Settings() or not config.problems

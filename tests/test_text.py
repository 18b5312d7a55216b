"""Stored text is harmless once cleaned, and is cut, padded and wrapped between clusters only."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import split_graphemes

from hermes_sessions.text import cell_width, clean, fit, one_line, pad, steady, wrap

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇩🇪"
ACCENT = "e\u0301"

SEQUENCES = ("\x1b", "\x1b[", "\x1b[31m", "\x1b]0;", "\x1b\\", "\x07", "\x9b", "\x9c")
CONTROLS = ("\t", "\n", "\r", "\r\n", "\x00", "\x85", "\u2028", "\u202e", "\u2066", "\ud800", "\udfff", "\ufeff")
SIGNS = ("❤️", "👍🏽", "1️⃣", "🇩", "\u0301", "\u200d", "\ufe0f", "\u200b", FAMILY, FLAG, ACCENT)
WORDS = (" ", "  ", "a", "xyz", "über", "日本語", "실시간", "का", "—", "│")
PIECES = st.sampled_from((*SEQUENCES, *CONTROLS, *SIGNS, *WORDS)) | st.characters(exclude_categories=())
HOSTILE = st.lists(PIECES, max_size=30).map("".join)
LINES = HOSTILE.map(clean)
LINE = HOSTILE.map(one_line)
WIDTH = st.integers(-1, 12)

TERMINAL_BIDI = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


def acts_on_a_terminal(char: str) -> bool:
    """By Unicode's own properties, not by our table."""
    return char != "\n" and (
        unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(char) in TERMINAL_BIDI
        or char in "\u061c\u200e\u200f\ufeff"
    )


def cluster_ends(text: str) -> set[int]:
    """Where `text` may be cut: Rich's borders, but for those inside a flag.

    What joiners at the very start join, Rich measures in one way and splits in another, so there it may be anywhere.
    """
    ends = set(range(len(text) - len(text.lstrip("\u200d")) + 1))
    flag_open = False
    for start, end, _cells in split_graphemes(text)[0]:
        letter = "🇦" <= text[start] <= "🇿"
        if letter and flag_open:
            ends.discard(start)
        flag_open = letter and not flag_open and end - start == 1
        ends.add(end)
    return ends


@given(HOSTILE)
def test_nothing_that_acts_on_a_terminal_survives(text: str) -> None:
    assert not [char for char in clean(text) if acts_on_a_terminal(char)]
    clean(text).encode()


@given(HOSTILE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once) is once


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf")) | st.just("\n")))
def test_safe_text_comes_back_as_it_is(text: str) -> None:
    assert clean(text) is text


@pytest.mark.parametrize(
    "stored, shown",
    [
        ("\x1b[31mRed\x1b[0m", "Red"),
        ("\x1b[38;2;10;20;30;48;5;1mRed\x1b[m", "Red"),
        ("\x9b31mRed\x9b0m", "Red"),
        ("\x1b[2J\x1b[?1049l\x1b[1;1Hgone", "gone"),
        ("\x1b]0;evil\x07 ok", " ok"),
        ("\x1b]0;evil\x1b\\ ok", " ok"),
        ("\x9d0;evil\x9c ok", " ok"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1b]8;;http://x.y/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$q\x1b\\x", "x"),
        ("\x90q#0\x9cx", "x"),
        ("\x1b_payload\x1b\\x", "x"),
        ("\x1b^secret\x1b\\x", "x"),
        ("\x1bXstring\x1b\\x", "x"),
        ("\x1b(B\x1b7\x1bcx\x1bM", "x"),
        ("array[0] [Note] [red]x[/]", "array[0] [Note] [red]x[/]"),
    ],
)
def test_complete_sequences_go_as_a_whole(stored: str, shown: str) -> None:
    assert clean(stored) == shown


@pytest.mark.parametrize(
    "stored, shown",
    [
        ("\x1b]0;never ends", "␛]0;never ends"),
        ("\x1bPnever ends", "␛Pnever ends"),
        ("\x9dnever ends", "\ufffdnever ends"),
        ("\x1b]0;ends on\nthe next line\x07", "␛]0;ends on\nthe next line\ufffd"),
        ("\x1b[31", "␛[31"),
        ("\x1b[3\n1m", "␛[3\n1m"),
        ("\x1b\x1b[31m[31mx", "␛[31mx"),
        ("end\x1b", "end␛"),
    ],
)
def test_a_sequence_that_never_ends_hides_nothing(stored: str, shown: str) -> None:
    assert clean(stored) == shown


def test_a_very_long_sequence_is_shown_rather_than_hidden() -> None:
    body = "x" * 100_000
    assert clean(f"\x1b]0;{body}\x07") == f"␛]0;{body}\ufffd"


def test_tabs_returns_and_controls_of_a_log_become_plain_lines() -> None:
    assert (
        clean("col1\tcol2\n실시간\t값\r\nover\rwrite\n\x1b[31mred\x1b[0m\x08\x07\x00")
        == "col1    col2\n실시간  값\nover\nwrite\nred\ufffd\ufffd\ufffd"
    )


@given(st.lists(st.sampled_from(["a", "bcd", "日", "é", "\n"])).map("\t".join))
def test_what_follows_a_tab_stands_at_a_stop_of_four_cells(text: str) -> None:
    for line, cleaned in zip(text.split("\n"), clean(text).split("\n"), strict=True):
        column = 0
        for piece in line.split("\t")[:-1]:
            column += cell_width(piece)
            column += 4 - column % 4
        last = line.split("\t")[-1]
        assert cell_width(cleaned) == column + cell_width(last)
        assert cleaned.endswith(last)


@given(HOSTILE)
def test_one_line_is_one_line_without_blanks_at_the_ends_or_in_a_row(text: str) -> None:
    line = one_line(text)
    assert "\n" not in line
    assert line == " ".join(line.split())
    assert one_line(line) == line


def test_one_line_of_nothing_is_empty() -> None:
    assert one_line(None) == ""
    assert one_line(" \t\r\n\u3000 ") == ""
    assert one_line("two\n\n  words\t") == "two words"


@given(LINE)
def test_steady_text_holds_no_sign_of_disputed_width(text: str) -> None:
    kept = steady(text)
    assert kept == "".join(
        char for char in text if char not in "\ufe0f\u20e3" and not "\U0001f3fb" <= char <= "\U0001f3ff"
    )


@pytest.mark.parametrize(
    "text, cells",
    [("abc", 3), ("日本", 4), (ACCENT, 1), (FAMILY, 2), (FLAG, 2), ("❤️", 2), ("\u200b", 0), ("각", 2), ("…", 1)],
)
def test_widths_are_those_textual_draws_by(text: str, cells: int) -> None:
    assert cell_width(text) == cells


@given(LINE, WIDTH)
@example("a" + FAMILY, 2)
@example("a" + FLAG, 2)
@example("ab\u200d", 2)
@example("\u200dab", 1)
def test_fitted_text_is_never_wider_and_never_cuts_a_cluster(text: str, width: int) -> None:
    fitted = fit(text, width)
    assert cell_width(fitted) <= max(width, 0)
    if width < 1:
        assert fitted == ""
    elif cell_width(text) <= width:
        assert fitted == text.rstrip("\u200d")
    else:
        assert fitted.endswith("…")
        kept = fitted.removesuffix("…")
        assert text.startswith(kept)
        assert len(kept) in cluster_ends(text)


@pytest.mark.parametrize(
    "text, width, fitted",
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        (FLAG + FLAG, 3, FLAG + "…"),
        (FLAG + FLAG, 2, "…"),
        (ACCENT * 3, 2, ACCENT + "…"),
    ],
)
def test_fit_keeps_as_many_clusters_as_there_is_room_for(text: str, width: int, fitted: str) -> None:
    assert fit(text, width) == fitted


@given(LINE, WIDTH, st.booleans())
def test_padded_text_fills_exactly_its_cells(text: str, width: int, right: bool) -> None:
    padded = pad(text, width, right)
    assert cell_width(padded) == max(width, 0)
    assert (padded.endswith if right else padded.startswith)(fit(text, width))


@given(LINES, WIDTH)
@example("日本 語", 4)
@example(FLAG * 3, 3)
@example("\u200d" + FAMILY, 1)
@example("\u200b ab日", 3)
def test_wrapped_lines_fit_unless_a_single_cluster_does_not(text: str, width: int) -> None:
    for start, end in wrap(text, width):
        line = text[start:end]
        if cell_width(line) > max(width, 1):
            assert not cluster_ends(line) - {0, len(line)}


@given(LINES, WIDTH)
def test_wrapping_loses_only_one_blank_and_the_newline_at_a_break_and_cuts_no_cluster(text: str, width: int) -> None:
    spans = wrap(text, width)
    assert spans[0][0] == 0
    ends = set()
    for offset, line in zip(line_offsets(text), text.split("\n"), strict=True):
        ends |= {offset + end for end in cluster_ends(line)}
    for (start, end), (following, _end) in pairwise(spans):
        assert start <= end
        assert text[end:following] in ("", " ", "\n", " \n")
        assert {end, following} <= ends
    assert text[spans[-1][1] :] in ("", " ")


def line_offsets(text: str) -> list[int]:
    return [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]


@given(st.text(st.sampled_from("xxxyé—日、 \n"), min_size=10), st.integers(1, 6))
def test_lines_of_plain_and_of_combined_characters_break_at_the_same_places(text: str, width: int) -> None:
    marked = text.replace("x", "x\u0301")
    lines = [text[start:end] for start, end in wrap(text, width)]
    assert [marked[start:end].replace("\u0301", "") for start, end in wrap(marked, width)] == lines


def test_every_character_wraps_by_its_own_width() -> None:
    for code in range(0x20, 0x20000):
        char = chr(code)
        if not acts_on_a_terminal(char) and char != "\u200d":
            lines = [char * (end - start) for start, end in wrap(char * 5, 2)]
            cells = cell_width(char)
            assert len(lines) == {0: 1, 1: 3, 2: 5}[cells] or char == " " or "🇦" <= char <= "🇿", hex(code)


@pytest.mark.parametrize(
    "text, width, lines",
    [
        ("", 5, [""]),
        ("a\n\nb\n", 5, ["a", "", "b", ""]),
        ("hello wide world", 10, ["hello wide", "world"]),
        ("hello wide world", 11, ["hello wide", "world"]),
        ("hello wide world", 5, ["hello", "wide", "world"]),
        ("hello ", 5, ["hello"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("        indented_code()", 10, ["        in", "dented_cod", "e()"]),
        ("see 日本語のテキスト", 8, ["see 日本", "語のテキ", "スト"]),
        ("naïve café\u0301 words", 10, ["naïve café\u0301", "words"]),
        (f"{ACCENT * 4} {ACCENT * 4}", 4, [ACCENT * 4, ACCENT * 4]),
        ("a日b", 2, ["a", "日", "b"]),
        (FLAG * 3, 4, [FLAG * 2, FLAG]),
        (FAMILY * 2, 3, [FAMILY, FAMILY]),
        ("日本", 1, ["日", "本"]),
        ("ab", 0, ["a", "b"]),
    ],
)
def test_lines_break_at_blanks_then_after_wide_characters_then_anywhere(
    text: str, width: int, lines: list[str]
) -> None:
    assert [text[start:end] for start, end in wrap(text, width)] == lines

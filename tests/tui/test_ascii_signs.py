"""ASCII in place of every sign of ours, cell for cell."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.color import Color

import hermes_sessions.tui
from hermes_sessions.text import cell_width
from hermes_sessions.tui.ascii_signs import SIGNS, AsciiSigns

MODULES = sorted(Path(hermes_sessions.tui.__file__).parent.glob("*.py"))


def signs(path: Path) -> Iterator[str]:
    """The characters in the texts of a module, but for those of docstrings and those that join others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            yield from (char for char in node.value if unicodedata.category(char) not in ("Mn", "Cf"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_sign_that_is_drawn_has_one(path: Path) -> None:
    assert sorted({sign for sign in signs(path) if not sign.isascii() and ord(sign) not in SIGNS}) == []


def test_they_are_ascii_and_as_wide() -> None:
    for code, instead in SIGNS.items():
        assert isinstance(instead, str) and instead.isascii()
        assert cell_width(instead) == cell_width(chr(code)), chr(code)


def test_what_people_wrote_stays() -> None:
    [segment] = AsciiSigns().apply([Segment("│ 京都 … naïve ✓")], Color(0, 0, 0))
    assert segment.text == "| 京都 ~ naïve +"

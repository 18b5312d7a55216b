"""The house keeps its shape: small files of one noun each, and nothing loaded that is not needed.

Which floor may import which is checked by import-linter, from the contracts in `pyproject.toml`.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hermes_sessions
from hermes_sessions.errors import SessionsError

PACKAGE = Path(hermes_sessions.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
SAYS_NOTHING = {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
NOT_CALLED = ("_", "action_", "on_", "watch_")


def by_path(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def classes(path: Path) -> Iterator[ast.ClassDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def public_methods(node: ast.ClassDef) -> set[str]:
    """What a caller may call; handlers that Textual finds by their names are not counted."""
    return {
        item.name
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith(NOT_CALLED)
    }


def error_classes(root: type[SessionsError] = SessionsError) -> Iterator[type[SessionsError]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


@pytest.mark.parametrize("path", MODULES, ids=by_path)
def test_a_file_has_at_most_400_lines_and_a_class_at_most_20_public_methods(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert {node.name: len(public_methods(node)) for node in classes(path) if len(public_methods(node)) > 20} == {}


@pytest.mark.parametrize("path", MODULES, ids=by_path)
def test_a_module_says_what_it_owns_and_is_named_for_it(path: Path) -> None:
    assert not SAYS_NOTHING & set(path.relative_to(PACKAGE).with_suffix("").parts)
    source = path.read_text(encoding="utf-8")
    assert not source.strip() or ast.get_docstring(ast.parse(source))


@pytest.mark.parametrize("error", list(error_classes()), ids=lambda error: error.__name__)
def test_every_error_says_what_it_means(error: type[SessionsError]) -> None:
    assert error.__dict__.get("__doc__")


def test_the_command_line_loads_no_screen() -> None:
    code = """
import contextlib, json, sys
from hermes_sessions.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
    main(["--version"])
print(json.dumps(sorted(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert hermes_sessions.__version__ in run.stderr
    loaded = json.loads(run.stdout)
    assert "hermes_sessions.cli" in loaded
    assert not {"textual", "rich.console", "platformdirs"} & set(loaded)

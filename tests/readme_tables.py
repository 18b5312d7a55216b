"""The README's tables as the code has them. `python -m tests.readme_tables` writes them into README.md."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.parser import build_parser
from hermes_sessions.tui.keys import KEYS, PANES

README = Path(__file__).parent.parent / "README.md"


def keys_table() -> str:
    """Every key, pane by pane."""
    lines = ["| Where | Key | |", "|---|---|---|"]
    for pane, name in PANES:
        for key in KEYS:
            if key.pane == pane:
                labels = " ".join(f"`{label}`" for label in key.labels)
                lines.append(f"| {name} | {labels} | {key.help} |")
                name = ""
    return "\n".join(lines)


def block(name: str) -> str:
    """What the README has between the comments `<!-- name… -->` and `<!-- /name -->`."""
    found = re.search(rf"<!-- {name}.*?-->\n(.*?)<!-- /{name} -->", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"README.md has no block {name}"
    return found[1].strip()


def command_names() -> list[str]:
    """The commands of the parser, in its order."""
    (commands,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return list(commands.choices)


def exit_codes() -> list[int]:
    """The numbers a command may end with."""
    return [code.value for code in ExitCode]


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    written = re.sub(
        r"(<!-- keys.*?-->\n).*?(<!-- /keys -->)", lambda at: at[1] + keys_table() + "\n" + at[2], text, flags=re.DOTALL
    )
    README.write_text(written, encoding="utf-8")

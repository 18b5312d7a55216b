"""The conversations of the sample history: what a developer and her household do with an agent in three months.

Scripts in text files, in the form that `script` reads, and one long conversation that `flaky` puts together. When they
happen and how they get into a store is told by `services.demo`.
"""

from __future__ import annotations

from pathlib import Path

from hermes_sessions.services.demo_history import flaky, script
from hermes_sessions.services.demo_history.script import Talk


def talks() -> list[Talk]:
    """Every talk, in no order of time."""
    files = sorted(Path(__file__).parent.glob("*.txt"))
    texts = [flaky.script(), *(file.read_text(encoding="utf-8") for file in files)]
    return [talk for text in texts for talk in script.read(text)]

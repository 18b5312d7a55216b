"""Small files of our own that remember something. Losing one is no loss: a file that cannot be read is an empty one,
and one that cannot be written stays as it is. Only its owner can read it."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path


def read_json(path: Path) -> object:
    """Return what is in a file, or None when it is not there or is no JSON."""
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value


def write_json(path: Path, value: object) -> None:
    """Put `value` in place of what is in a file, in one step."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(  # which is made for its owner alone
            "w", encoding="utf-8", errors="replace", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as aside:
            try:
                json.dump(value, aside, ensure_ascii=False, indent=0)
                aside.flush()
                Path(aside.name).replace(path)
            except OSError:
                Path(aside.name).unlink(missing_ok=True)

"""Numbers in words, as the doctor's findings have them."""

from __future__ import annotations


def amount(size: int) -> str:
    """Bytes as a person reads them: 4.2 GB, 61 kB, 300 bytes."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 10 * unit else 0}f} {name}"
    return f"{size} bytes"


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun: 1 session, 20,000 sessions."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def some(names: list[str], limit: int = 3) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"

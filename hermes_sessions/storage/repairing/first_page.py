"""The first page of a file, made again from the others: what is a database, and what is where in it.

In the header are a few numbers that are the same in every store, or can be read off the other pages. The catalogue of
a store is mostly on pages of its own, to which the first one only leads. Writes to the copy.
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.storage.repairing.damage import read_everything
from hermes_sessions.storage.repairing.leaves import LEAF, Pages, StoredRow, Text, opened
from hermes_sessions.storage.repairing.watch import look

MAGIC = b"SQLite format 3\0"
FRACTIONS = b"\x40\x20\x20"
"""What is in every database (https://sqlite.org/fileformat2.html#the_database_header)."""

LOG_MAGIC = (0x377F0682, 0x377F0683)
SIZES = [1 << power for power in range(9, 17)]

WINDOW = 1 << 16
MOST_WINDOWS = 64
"""Parts of the file that are looked at to find out how large its pages are."""

MOST_LEAVES = 200
"""Pages that are looked at to find out whether rows go to their ends."""

WRITABLE = (b"\1\1", b"\2\2")
KINDS = (b"table", b"index", b"view", b"trigger")
KIND_LENGTHS = {4, 5, 7}
NEEDED = {(b"table", b"sessions"), (b"table", b"messages")}


class CatalogueRow(NamedTuple):
    """A row of the catalogue as it lies on its page."""

    kind: bytes
    name: bytes
    table: bytes
    root: int
    sql: bytes | None


def mend_header(copy: Path) -> None:
    """Have a copy begin as a database, where that was lost.

    Raises StoreDamaged for what is no database at all.
    """
    log = Path(f"{copy}-wal")
    logged = _logged_size(log)
    with copy.open("r+b") as file:
        if logged and file.seek(0, 2) < logged:
            # SQLite deletes a log beside a file of no page.
            file.truncate(logged)
        if file.seek(0, 2) < SIZES[0]:
            raise StoreDamaged("it is too short for a SQLite database.")
        with mmap.mmap(file.fileno(), 0) as content:
            header = bytearray(content[:100])
            size = logged or page_size(content)
            if not size:
                raise StoreDamaged("it holds no page of a SQLite database.")
            known = header[18:20] in WRITABLE and header[21:24] == FRACTIONS
            if not known:
                header[18:100] = bytes(82)
                header[18:24] = WRITABLE[_holds_something(log)] + b"\0" + FRACTIONS
            header[:18] = MAGIC + (size % 65_536 or 1).to_bytes(2)
            # Text of a catalogue in UTF-16 has a zero in each of its characters.
            encodings = range(1, 2) if content.find(b"CREATE ") >= 0 else range(1, 4)
            for place, values in ((44, range(1, 5)), (56, encodings)):
                if int.from_bytes(header[place : place + 4]) not in values:
                    header[place : place + 4] = values[-1 if place == 44 else 0].to_bytes(4)
            content[:100] = bytes(header)
            _mend_reserved(content)
            if not known or int.from_bytes(header[32:36]) > len(content) // size:
                content[32:40] = _free_list(Pages(content))


def mend_catalogue(copy: Path) -> None:
    """Have the catalogue of a copy, whose log is merged, list what its pages still say that it listed."""
    listed, whole = _listed(copy)
    if whole and listed.keys() >= NEEDED:
        return
    with opened(copy) as pages:
        free = pages.free()
        roots = {row.root for row in listed.values() if row.root}
        rows = (row for row in _rows(pages, free) if (row.kind, row.name) not in listed)
        found = [row for row in rows if row.root not in roots]
        there = listed.keys() | {(row.kind, row.name) for row in found}
        if not there >= NEEDED:
            # Somebody deleted the entries, and nothing of what they are about.
            roots |= {row.root for row in found}
            found += [
                row
                for row in _rows(pages, set(range(1, pages.count + 1)) - free)
                if (row.kind, row.name) not in there and row.root not in free | roots
            ]
    if found:
        _write_catalogue(copy, {(row.kind, row.name): row for row in reversed(found)} | listed)


def _logged_size(log: Path) -> int | None:
    """How large pages are by what the log says."""
    if not _holds_something(log):
        return None
    with log.open("rb") as file:
        magic, _, size = struct.unpack(">III", file.read(12).ljust(12, b"\0"))
    return size if magic in LOG_MAGIC and size in SIZES else None


def _holds_something(log: Path) -> bool:
    return log.exists() and log.stat().st_size > 0


def page_size(content: bytes | mmap.mmap) -> int | None:
    """How many bytes a page of a file has, of which these are whole parts; None when there is no page in them.

    It is what the header says, unless more pages make sense at another size.
    """
    length = len(content)
    step = max(1, length // WINDOW // MOST_WINDOWS) * WINDOW
    fitting = Counter(
        size
        for start in range(0, length, step)
        for size in SIZES
        for at in range(start, min(start + WINDOW, length - size + 1), size)
        if _is_page(content, at, size)
    )
    said = int.from_bytes(content[16:18])
    said = 65_536 if said == 1 else said
    most = max(fitting.values(), default=0)
    if said in SIZES and fitting[said] == most and (most or content[:16] == MAGIC):
        return said
    return min((size for size, count in fitting.items() if count == most), default=None)


def _is_page(content: bytes | mmap.mmap, at: int, size: int) -> bool:
    """Whether a page of a tree begins here, and has something on it."""
    if content[at] not in (2, 5, 10, 13):
        return False
    free, cells, start, fragments = struct.unpack(">HHHB", content[at + 1 : at + 8])
    pointers = at + (8 if content[at] > 5 else 12)
    if not cells or free >= size or fragments > 60 or pointers + 2 * cells > at + (start or size):
        return False
    return all(start <= cell < size for cell in struct.unpack(f">{cells}H", content[pointers : pointers + 2 * cells]))


def _mend_reserved(content: mmap.mmap) -> None:
    """No bytes of a page are set aside when there are rows in them. Hermes never has any set aside."""
    pages = Pages(content)
    leaves = (number for number, _ in zip(pages.leaves(), range(MOST_LEAVES), strict=False))
    if content[20] and any(pages.usable < pages.last_byte(number) <= pages.size for number in leaves):
        content[20] = 0


def _free_list(pages: Pages) -> bytes:
    """The two numbers of the header about free pages, when they are lost: the longest list of those that are there."""
    trunks = {}
    for number in range(2, pages.count + 1):
        look()
        # Trees begin with another byte, and an empty page says nothing.
        if pages.kind(number) == 0 and (listed := pages.trunk(number)) and any(listed):
            trunks[number] = listed
    longest: tuple[int, int] = (0, 0)
    for first in trunks.keys() - {listed[0] for listed in trunks.values()}:
        trunk, count, seen = first, 0, set[int]()
        while trunk in trunks and trunk not in seen:
            seen.add(trunk)
            count += len(trunks[trunk])
            trunk = trunks[trunk][0]
        longest = max(longest, (count, first))
    return struct.pack(">II", longest[1], longest[0])


def _listed(copy: Path) -> tuple[dict[tuple[bytes, bytes], CatalogueRow], bool]:
    """What SQLite finds in the catalogue, as far as it can be read from its two ends, and whether these meet."""
    sql = (
        "SELECT rowid, CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), rootpage, CAST(sql AS BLOB)"
        " FROM sqlite_schema ORDER BY rowid"
    )
    rows: dict[int, CatalogueRow] = {}
    whole = False
    with closing(apsw.Connection(str(copy))) as connection:
        for order in ("ASC", "DESC"):
            with suppress(apsw.Error):
                read_everything(connection)
                for rowid, *row in connection.execute(f"{sql} {order}"):
                    rows[int(str(rowid))] = CatalogueRow(*row)
                whole = True
    listed = {(row.kind, row.name): row for _, row in sorted(rows.items(), reverse=True) if row.kind in KINDS}
    return listed, whole


def _rows(pages: Pages, without: set[int]) -> Iterator[CatalogueRow]:
    for number in pages.leaves():
        # Only the beginnings of rows are read where they are others: of large files that is most of them.
        if number not in without and any(_is_short(lengths) for lengths in pages.lengths(number)):
            for stored in pages.rows(number):
                if row := _as_catalogue(stored):
                    yield row


def _is_short(lengths: tuple[int | None, ...]) -> bool:
    return len(lengths) == 5 and lengths[0] in KIND_LENGTHS


def _as_catalogue(stored: StoredRow) -> CatalogueRow | None:
    if len(stored.values) != 5 or stored.values[0] not in KINDS:
        return None
    kind, name, table, root, sql = stored.values
    if not (isinstance(kind, Text) and isinstance(name, Text) and isinstance(table, Text)):
        return None
    if not (sql is None and kind == b"index") and not (isinstance(sql, Text) and sql[:7].upper() == b"CREATE "):
        return None
    begins = root if isinstance(root, int) else 0
    return CatalogueRow(bytes(kind), bytes(name), bytes(table), begins, None if sql is None else bytes(sql))


def _write_catalogue(copy: Path, rows: dict[tuple[bytes, bytes], CatalogueRow]) -> None:
    """Have the first page hold nothing, and these rows written by SQLite, on new pages at the end of the file."""
    with copy.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        kept = content[:100]
        pages = Pages(content)
        header = bytearray(kept)
        header[18:20] = WRITABLE[0]
        header[24:28] = header[92:96] = (1).to_bytes(4)
        header[28:40] = struct.pack(">III", pages.count, 0, 0)
        header[52:56] = bytes(4)
        empty = bytes([LEAF]) + struct.pack(">HHHB", 0, 0, pages.usable % 65_536, 0)
        content[: pages.size] = bytes(header) + empty + bytes(pages.size - 108)
    with closing(apsw.Connection(str(copy))) as connection:
        read_everything(connection)
        connection.pragma("journal_mode", "off")
        connection.execute("BEGIN")
        for row in rows.values():
            connection.execute(
                "INSERT INTO sqlite_schema"
                " VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, CAST(? AS TEXT))",
                row,
            )
        connection.execute("COMMIT")
    with copy.open("r+b") as file:
        for place in (slice(18, 20), slice(32, 40)):
            file.seek(place.start)
            file.write(kept[place])

"""Rows read from the pages themselves, for tables whose tree does not lead to them any more.

Only pages that hold rows now are read: what was deleted stays deleted. To which table a row belongs is for `salvage`
to find out, from an index. The format is https://sqlite.org/fileformat2.html, sections 1.5 to 2.1.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEAF = 0x0D
"""The first byte of a page with rows of a table."""

LARGEST = 1 << 30
LENGTHS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
"""Bytes of a value by its serial type; from 12 on blobs and texts say their length themselves."""

Value = None | int | float | bytes


class Text(bytes):
    """The bytes of a text, as they are stored."""


class StoredRow(NamedTuple):
    """A row as it lies on its page: an INTEGER PRIMARY KEY is None in it, and columns added later may be missing."""

    rowid: int
    values: tuple[Value, ...]


def stored_rows(copy: Path) -> Iterator[StoredRow]:
    """All rows on leaf pages of tables in a copy whose log is merged, but for those of free pages.

    Rows that make no sense are left out.
    """
    with copy.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        pages = _Pages(content)
        free = pages.free()
        for number in range(1, pages.count + 1):
            if number not in free and pages.kind(number) == LEAF:
                yield from pages.rows(number)


class _Pages:
    """The pages of a file."""

    def __init__(self, content: mmap.mmap) -> None:
        size = int.from_bytes(content[16:18])
        self._size = 65_536 if size == 1 else size or 4_096
        self._usable = self._size - content[20]
        self._content = content
        self.count = len(content) // self._size

    def kind(self, number: int) -> int:
        return self._page(number)[100 if number == 1 else 0]

    def free(self) -> set[int]:
        """Pages that hold nothing any more, as far as the list of them can be followed."""
        free: set[int] = set()
        trunk = int.from_bytes(self._content[32:36])
        while 1 < trunk <= self.count and trunk not in free:
            page = self._page(trunk)
            count = min(int.from_bytes(page[4:8]), self._size // 4 - 2)
            free |= {trunk, *struct.unpack(f">{count}I", page[8 : 8 + 4 * count])}
            trunk = int.from_bytes(page[:4])
        return free

    def rows(self, number: int) -> Iterator[StoredRow]:
        page = self._page(number)
        start = 100 if number == 1 else 0
        for cell in range(int.from_bytes(page[start + 3 : start + 5])):
            place = start + 8 + 2 * cell
            try:
                yield self._row(page, int.from_bytes(page[place : place + 2]))
            except (ValueError, IndexError, KeyError, struct.error):
                continue

    def _row(self, page: bytes, at: int) -> StoredRow:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        if not 0 < length < LARGEST:
            raise ValueError("no row is so long")
        return StoredRow(rowid, _values(self._payload(page, at, length)))

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """The whole of a row: what is on its own page, and what is on a chain of others."""
        most = self._usable - 35
        if length <= most:
            local = length
        else:
            least = (self._usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (self._usable - 4)
            local = local if local <= most else least
        payload = bytearray(page[at : at + local])
        following = int.from_bytes(page[at + local : at + local + 4]) if local < length else 0
        seen: set[int] = set()
        while len(payload) < length:
            if not 1 < following <= self.count or following in seen:
                raise ValueError("the chain ends too early")
            seen.add(following)
            overflow = self._page(following)
            payload += overflow[4 : min(self._usable, 4 + length - len(payload))]
            following = int.from_bytes(overflow[:4])
        if len(payload) != length:
            raise ValueError("the row goes past its page")
        return bytes(payload)

    def _page(self, number: int) -> bytes:
        return self._content[(number - 1) * self._size : number * self._size]


def _values(record: bytes) -> tuple[Value, ...]:
    header, at = _varint(record, 0)
    if not at <= header <= len(record):
        raise ValueError("no record begins so")
    values: list[Value] = []
    place = header
    while at < header:
        kind, at = _varint(record, at)
        length = (kind - 12) // 2 if kind >= 12 else LENGTHS[kind]
        raw = record[place : place + length]
        if len(raw) != length:
            raise ValueError("the record is cut off")
        values.append(_value(kind, raw))
        place += length
    return tuple(values)


def _value(kind: int, raw: bytes) -> Value:
    if kind >= 12:
        return Text(raw) if kind % 2 else raw
    if kind == 7:
        return float(struct.unpack(">d", raw)[0])
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind]
    return int.from_bytes(raw, signed=True)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of at most nine bytes, seven bits in each but the last, and where the next thing begins."""
    value = 0
    for step in range(9):
        byte = content[at + step]
        value = value << 8 | byte if step == 8 else value << 7 | byte & 127
        if byte < 0x80 or step == 8:
            break
    return value - (1 << 64) if value >= 1 << 63 else value, at + step + 1

"""The pages of a file read by themselves, for rows that no tree leads to any more.

Pages on the list of free ones hold nothing: what was deleted stays deleted. To which table a row belongs is for
`strays` to find out. The format is https://sqlite.org/fileformat2.html, sections 1.5 to 2.1.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hermes_sessions.storage.repairing.watch import look

LEAF = 0x0D
"""The first byte of a page with rows of a table."""

INNER = 0x05
"""The first byte of a page that leads to others of a table."""

LARGEST = 1 << 30
LET_GO = 10_000
"""Pages after which those that were looked at are let go of."""

LENGTHS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
"""Bytes of a value by its serial type; from 12 on blobs and texts say their length themselves."""

Value = None | int | float | bytes


class Text(bytes):
    """The bytes of a text, as they are stored."""


class StoredRow(NamedTuple):
    """A row as it lies on its page: an INTEGER PRIMARY KEY is None in it, and columns added later may be missing."""

    rowid: int
    values: tuple[Value, ...]


@contextmanager
def opened(copy: Path) -> Iterator[Pages]:
    """The pages of a copy whose log is merged, and whose header says how large they are."""
    with copy.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield Pages(content)


def stored_rows(copy: Path) -> Iterator[StoredRow]:
    """All rows on leaf pages of tables, but for those of free pages."""
    with opened(copy) as pages:
        free = pages.free()
        for number in pages.leaves():
            if number not in free:
                yield from pages.rows(number)


class Pages:
    """The pages of a file; the first has the number 1. What makes no sense is left out."""

    def __init__(self, content: mmap.mmap) -> None:
        size = int.from_bytes(content[16:18])
        self.size = 65_536 if size == 1 else size
        self.usable = self.size - content[20]
        self.count = len(content) // self.size
        self._content = content
        self._seen = 0

    def kind(self, number: int) -> int:
        return self._content[(number - 1) * self.size + (100 if number == 1 else 0)]

    def leaves(self) -> Iterator[int]:
        """The pages with rows of tables, free ones among them."""
        for number in range(1, self.count + 1):
            self._breathe()
            if self.kind(number) == LEAF:
                yield number

    def tree(self, root: int) -> set[int]:
        """The pages of a table, as far as they can be followed from its root."""
        found: set[int] = set()
        ahead = [root]
        while ahead:
            number = ahead.pop()
            self._breathe()
            if 0 < number <= self.count and number not in found and self.kind(number) in (LEAF, INNER):
                found.add(number)
                ahead += self._children(number)
        return found

    def free(self) -> set[int]:
        """Pages that hold nothing any more, as far as the list of them can be followed."""
        free: set[int] = set()
        trunk = int.from_bytes(self._content[32:36])
        while 1 < trunk <= self.count and trunk not in free and (listed := self.trunk(trunk)) is not None:
            free |= {trunk, *listed[1:]}
            trunk = listed[0]
        return free

    def trunk(self, number: int) -> tuple[int, ...] | None:
        """A page of the list of free pages: the number of the next one, and those that it lists; None for no such."""
        page = self._page(number)
        following, count = struct.unpack(">II", page[:8])
        if following > self.count or count > self.usable // 4 - 2:
            return None
        listed = struct.unpack(f">{count}I", page[8 : 8 + 4 * count])
        if len(set(listed)) < count or not all(1 < other <= self.count for other in listed):
            return None
        return (following, *listed)

    def rows(self, number: int) -> Iterator[StoredRow]:
        page = self._page(number)
        for at in self._cells(page, number, 8):
            try:
                yield self._row(page, at)
            except (ValueError, IndexError, KeyError, struct.error):
                continue

    def lengths(self, number: int) -> Iterator[tuple[int | None, ...]]:
        """Of the first and the last row of a page, how long the text in each column is; None for what is no text."""
        page = self._page(number)
        cells = list(self._cells(page, number, 8))
        for at in {*cells[:1], *cells[-1:]}:
            with suppress(IndexError):
                _, at = _varint(page, at)
                _, at = _varint(page, at)
                begins = at
                header, at = _varint(page, at)
                kinds = []
                while at < min(begins + header, len(page)):
                    kind, at = _varint(page, at)
                    kinds.append((kind - 13) // 2 if kind > 12 and kind % 2 else None)
                yield tuple(kinds)

    def last_byte(self, number: int) -> int:
        """Where the rows of a page end."""
        page = self._page(number)
        ends = [0]
        for cell in self._cells(page, number, 8):
            try:
                length, at = _varint(page, cell)
                _, at = _varint(page, at)
            except IndexError:
                continue
            local = self._local(length)
            ends.append(at + local + (4 if local < length else 0))
        return max(ends)

    def _breathe(self) -> None:
        """Let others know how far it is, and let go of pages that were looked at: they would all count as memory."""
        look()
        self._seen += 1
        if self._seen % LET_GO == 0 and hasattr(mmap, "MADV_DONTNEED"):
            self._content.madvise(mmap.MADV_DONTNEED)

    def _children(self, number: int) -> list[int]:
        if self.kind(number) == LEAF:
            return []
        page = self._page(number)
        start = 100 if number == 1 else 0
        cells = (int.from_bytes(page[at : at + 4]) for at in self._cells(page, number, 12))
        return [int.from_bytes(page[start + 8 : start + 12]), *cells]

    def _cells(self, page: bytes, number: int, header: int) -> Iterator[int]:
        """Where the cells of a page begin."""
        start = 100 if number == 1 else 0
        count = min(int.from_bytes(page[start + 3 : start + 5]), (self.size - start - header) // 2)
        return iter(struct.unpack_from(f">{count}H", page, start + header))

    def _row(self, page: bytes, at: int) -> StoredRow:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        return StoredRow(rowid, _values(self._payload(page, at, length)))

    def _local(self, length: int) -> int:
        """How much of a row is on its own page."""
        most = self.usable - 35
        if length <= most:
            return length
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (self.usable - 4)
        return local if local <= most else least

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """The whole of a row: what is on its own page, and what is on a chain of others.

        Where this cannot be followed, the length may be wrong that says so: the rest of the page then.
        """
        rest = page[at : self.usable]
        if not 0 < length < LARGEST:
            return rest
        local = self._local(length)
        payload = bytearray(page[at : at + local])
        following = int.from_bytes(page[at + local : at + local + 4]) if local < length else 0
        seen: set[int] = set()
        while len(payload) < length:
            if not 1 < following <= self.count or following in seen:
                return rest
            seen.add(following)
            overflow = self._page(following)
            payload += overflow[4 : min(self.usable, 4 + length - len(payload))]
            following = int.from_bytes(overflow[:4])
        return bytes(payload)

    def _page(self, number: int) -> bytes:
        return self._content[(number - 1) * self.size : number * self.size]


def _values(record: bytes) -> tuple[Value, ...]:
    """The values of a row, up to the first that is not all there."""
    header, at = _varint(record, 0)
    if not at <= header <= len(record):
        raise ValueError("no record begins so")
    values: list[Value] = []
    place = header
    while at < header:
        kind, at = _varint(record, at)
        length = (kind - 12) // 2 if kind >= 12 else LENGTHS.get(kind, LARGEST)
        raw = record[place : place + length]
        if len(raw) != length:
            break
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

"""The size of a picture in pixels, told from the first bytes of its file. Nothing is decoded. Pure."""

from __future__ import annotations

import base64
import binascii
import struct

HEADER_BYTES = 64 * 1024
"""What is looked at: photographs have their thumbnails before their size."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG's markers of a frame, which has the size."""


def picture_size(data: str) -> tuple[int, int] | None:
    """Return width and height of a picture in base64; None for what is no PNG, JPEG, GIF, WebP or BMP."""
    try:
        start = base64.b64decode(data[: HEADER_BYTES // 3 * 4])
    except (binascii.Error, ValueError):
        return None
    try:
        return _size(start)
    except (struct.error, IndexError):
        return None


def _size(start: bytes) -> tuple[int, int] | None:
    size: tuple[int, ...] | None = None
    if start.startswith(b"\x89PNG\r\n\x1a\n") and start[12:16] == b"IHDR":
        size = struct.unpack_from(">II", start, 16)
    elif start.startswith((b"GIF87a", b"GIF89a")):
        size = struct.unpack_from("<HH", start, 6)
    elif start.startswith(b"BM"):
        width, height = struct.unpack_from("<ii", start, 18)
        size = width, abs(height)
    elif start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        size = _webp(start)
    elif start.startswith(b"\xff\xd8"):
        size = _jpeg(start)
    if size is None or not (0 < size[0] < 1 << 24 and 0 < size[1] < 1 << 24):
        return None
    return size[0], size[1]


def _webp(start: bytes) -> tuple[int, ...] | None:
    match start[12:16]:
        case b"VP8 ":
            return tuple(side & 0x3FFF for side in struct.unpack_from("<HH", start, 26))
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", start, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(start[24:27], "little") + 1, int.from_bytes(start[27:30], "little") + 1
    return None


def _jpeg(start: bytes) -> tuple[int, ...] | None:
    place = 2
    while start[place] == 0xFF:
        marker = start[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", start, place + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", start, place + 2)
            place += 2 + max(2, length)
    return None

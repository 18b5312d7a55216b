"""How large a picture is, is told from its first bytes."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.storage.content import decode_text
from hermes_sessions.storage.image_header import picture_size

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06" + b"x" * 99
GIF = b"GIF89a" + struct.pack("<HH", 320, 200)
BMP = b"BM" + b"x" * 16 + struct.pack("<ii", 64, -48)
APPENDIX = b"\xff\xe1" + struct.pack(">H", 30_002) + b"\xff" * 30_000
JPEG = b"\xff\xd8\xff" + APPENDIX + b"\xff\xc2" + struct.pack(">HBHH", 11, 8, 1080, 1920) + b"x" * 9
LOSSY = b"RIFF....WEBPVP8 " + b"x" * 10 + struct.pack("<HH", 550, 368 | 1 << 14)
LOSSLESS = b"RIFF....WEBPVP8L....\x2f" + struct.pack("<I", 385 | 394 << 14 | 1 << 28)
EXTENDED = b"RIFF....WEBPVP8X" + b"x" * 8 + (399).to_bytes(3, "little") + (299).to_bytes(3, "little")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("data", "size"),
    [
        *((PNG, (640, 480)), (GIF, (320, 200)), (BMP, (64, 48)), (JPEG, (1920, 1080))),
        *((LOSSY, (550, 368)), (LOSSLESS, (386, 395)), (EXTENDED, (400, 300))),
        *((b"no picture", None), (b"", None), (PNG[:18], None), (b"\xff\xd8\xff", None), (JPEG[:5000], None)),
    ],
)
def test_the_size_is_in_the_header(data: bytes, size: tuple[int, int] | None) -> None:
    assert picture_size(encoded(data)) == size


@given(
    st.sampled_from([PNG, GIF, BMP, JPEG[:400], LOSSY, LOSSLESS, EXTENDED]), st.integers(0, 40), st.binary(max_size=9)
)
def test_no_damage_is_a_fault(data: bytes, place: int, damage: bytes) -> None:
    size = picture_size(encoded(data[:place] + damage + data[place:]))
    assert size is None or min(size) > 0


@given(st.text(max_size=50))
def test_what_is_no_base64_has_no_size(data: str) -> None:
    assert picture_size(data) is None


def part(**fields: object) -> str:
    import json

    return decode_text("\0json:" + json.dumps([fields]))


def test_a_picture_is_named_with_type_size_and_bytes() -> None:
    url = f"data:image/png;base64,{encoded(PNG)}"
    assert part(type="image_url", image_url={"url": url}) == f"[image: image/png, 640x480, {len(PNG)} bytes]"
    assert part(type="image_url", image_url={"url": "https://a.b/c.png"}) == "[image: https://a.b/c.png]"
    source = {"type": "base64", "media_type": "image/gif", "data": encoded(GIF)}
    assert part(type="image", source=source) == f"[image: image/gif, 320x200, {len(GIF)} bytes]"


def test_other_parts_are_named_with_what_they_tell() -> None:
    audio = {"data": encoded(b"x" * 300), "format": "wav"}
    assert part(type="input_audio", input_audio=audio) == "[input_audio: wav, 300 bytes]"
    file = {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{encoded(b'x' * 3000)}"}
    assert part(type="file", file=file) == "[file: plan.pdf, 3,000 bytes]"
    assert part(type="video") == "[video]"

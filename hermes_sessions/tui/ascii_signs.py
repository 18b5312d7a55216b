"""Signs of ours for terminals that show ASCII alone: one cell for one cell, so that nothing moves."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

SIGNS = str.maketrans(
    {
        **dict.fromkeys("─━═╌┄┈―—–−╴╶╸╺", "-"),
        **dict.fromkeys("│┃║┆┊▏▎▍▌▐▕╎", "|"),
        **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛╔╗╚╝╞╪╡╟╢┠┨┝┥┿╋┫┣", "+"),
        **dict.fromkeys("█▉▊▋▇▆", "#"),
        **dict.fromkeys("▅▄▀", "="),
        **dict.fromkeys("▃▂", "-"),
        **dict.fromkeys("▁▔", "_"),
        **dict.fromkeys("░▒▓", ":"),
        **dict.fromkeys("❯›»▸▶→↳↱⤷", ">"),
        **dict.fromkeys("‹«◂◀←", "<"),
        **dict.fromkeys("↑▲▴", "^"),
        **dict.fromkeys("↓▼▾", "v"),
        **dict.fromkeys("·•∙", "-"),
        **dict.fromkeys("“”„″", '"'),
        **dict.fromkeys("‘’‚′", "'"),
        "…": "~",
        "⚙": "*",
        "✻": "*",
        "≡": "=",
        "�": "?",
        "␛": "^",
        "🔎": "> ",
        "✓": "+",
        "✔": "+",
        "✗": "x",
        "✘": "x",
        "×": "x",
        "◐": "%",
        "○": "o",
        "●": "*",
        "■": "#",
        "▣": "#",
        "□": ".",
        "≈": "~",
        "≤": "<",
        "≥": ">",
        "\u00a0": " ",
    }
)
"""By the sign that stands in a line. What people and agents wrote is left as it is, but for these."""


class AsciiSigns(LineFilter):
    """Puts ASCII in place of the signs, in every line that is drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(SIGNS), segment.style, segment.control)
            for segment in segments
        ]

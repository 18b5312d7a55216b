"""Makes the pictures of this directory from the sample history: `python screenshots/make.py [NAME ...]`.

Each is an SVG (for comparing) and a PNG (for looking at). The PNG needs Chromium, which places every glyph where a
terminal would, and the fonts Fira Code, Noto Sans CJK and Noto Color Emoji. The clock stands still: a picture changes
only when the program or the sample does.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual.pilot import Pilot

from hermes_sessions.errors import CommandMissing
from hermes_sessions.services.demo import HOME, write_demo
from hermes_sessions.services.history import History
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.setting import Setting

HERE = Path(__file__).parent
NOW = 1_780_000_000.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Picture:
    """A state of the screen: its size, what is in the search line at the start, and the keys that lead to it."""

    name: str
    size: tuple[int, int] = (120, 36)
    query: str = ""
    keys: Sequence[str] = ()
    theme: str = "hermes-dark"


PICTURES = (
    Picture("browse"),
    Picture("search", query="double click"),
    Picture("read", query="GCRA", keys=("enter", "z", "g")),
    Picture("diff", query="TestBurstThenSteady", keys=("enter", "z", "t", "t")),
    Picture("chinese", query="索引", keys=("enter",)),
    Picture("cost", keys=("c",)),
    Picture("help", keys=("?",)),
    Picture("narrow", size=(60, 24)),
    Picture("light", theme="hermes-light"),
)


def main() -> int:
    """Make the pictures that were named, or all."""
    parser = argparse.ArgumentParser(description="Makes the pictures of this directory from the sample history.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which pictures (default: all)")
    wanted = parser.parse_args().names
    if unknown := set(wanted) - {picture.name for picture in PICTURES}:
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    os.environ["TZ"] = "UTC"
    time.tzset()
    to_png = png_maker()
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        store = Path(home) / ".hermes" / "state.db"
        write_demo(store, NOW)
        for picture in PICTURES:
            if not wanted or picture.name in wanted:
                svg = HERE / f"{picture.name}.svg"
                svg.write_text(asyncio.run(draw(picture, store)), encoding="utf-8")
                to_png(svg)
                print(svg)
    return 0


async def draw(picture: Picture, store: Path) -> str:
    """The screen as SVG, once nothing on it waits for an answer."""

    def no_resume(_conversation: object) -> Any:
        raise CommandMissing("A made-up session cannot be resumed.")

    with History(store, lambda: NOW) as history:
        setting = Setting(picture.query, directory=f"{HOME}/src/storefront", clock=lambda: NOW, stopwatch=lambda: 0.0)
        app = BrowserApp(history, setting, resume=no_resume, theme=picture.theme, environ={})
        async with app.run_test(size=picture.size) as pilot:
            await settle(pilot)
            for key in picture.keys:
                await pilot.press(key)
                await settle(pilot)
            return as_on_a_terminal(app.export_screenshot(title="hermes-sessions"))


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until the screen has stayed the same for a fifth of a second: searches answer from threads of their own."""
    same, last = 0, ""
    while same < 4:
        await pilot.pause(0.05)
        drawn = pilot.app.export_screenshot()
        same = same + 1 if drawn == last else 0
        last = drawn


def as_on_a_terminal(svg: str) -> str:
    """Wide characters in two cells, where Rich's export gives every character one; no ligatures; nothing fetched."""

    def widen(found: re.Match[str]) -> str:
        before, length, after, escaped = found.groups()
        text = html.unescape(escaped)
        return f'{before}textLength="{float(length) / len(text) * cell_len(text):g}"{after}>{escaped}</text>'

    svg = re.sub(r'(<text [^>]*?)textLength="([\d.]+)"([^>]*)>([^<]*)</text>', widen, svg)
    svg = re.sub(r',\s*url\("https:[^)]*\)[^,;]*', "", svg)
    return svg.replace("<style>", "<style>\n    text { font-variant-ligatures: none; }", 1)


def png_maker() -> Callable[[Path], None]:
    """What turns an SVG into a PNG beside it; without Chromium it only says so."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("No Chromium here: SVG only.", file=sys.stderr)
        return lambda svg: None

    def make(svg: Path) -> None:
        width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text(encoding="utf-8"))[0]
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--default-background-color=00000000"]
        command += [f"--window-size={float(width):.0f},{float(height):.0f}", f"--screenshot={svg.with_suffix('.png')}"]
        subprocess.run([*command, svg.as_uri()], check=True, capture_output=True)

    return make


if __name__ == "__main__":
    sys.exit(main())

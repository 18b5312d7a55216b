"""Makes the pictures of this directory from the sample history: `python screenshots/make.py [NAME ...]`.

With `--check` nothing is written: it names the pictures that the program would draw otherwise now, and fails.

Each is an SVG (for comparing) and a PNG (for looking at). The PNG needs Chromium, which places every glyph where a
terminal would, and the fonts Fira Code, Noto Sans CJK and Noto Color Emoji. The clock stands still: a picture changes
only when the program or the sample does.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import io
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.pilot import Pilot

from hermes_sessions.cli.output import Output
from hermes_sessions.cli.picker import Picker
from hermes_sessions.errors import CommandMissing
from hermes_sessions.model import Conversation
from hermes_sessions.services.demo import HOME, write_demo
from hermes_sessions.services.history import History
from hermes_sessions.services.resuming import ResumePlan
from hermes_sessions.storage.store import open_store
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.setting import Setting

HERE = Path(__file__).parent
NOW = 1_780_000_000.0
COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
WIDE = "[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uff60]+"
"""Scripts of two cells a sign."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Picture:
    """A state of the screen: its size, what is in the search line at the start, and the keys that lead to it."""

    name: str
    size: tuple[int, int] = (120, 36)
    query: str = ""
    keys: Sequence[str] = ()
    theme: str = "hermes-dark"
    damaged: bool = False
    """Whether the file is damaged."""


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
    Picture("repair", keys=("i",), damaged=True),
)
PLAIN = "plain"
"""The name of the plain list's picture, and what is typed into it."""
TYPED = ("/double click", "i 1", "q")
PLAIN_COLUMNS = 100


def main() -> int:
    """Make the pictures that were named, or all."""
    parser = argparse.ArgumentParser(description="Makes the pictures of this directory from the sample history.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which pictures (default: all)")
    parser.add_argument("--check", action="store_true", help="only say which are not what would be drawn now")
    options = parser.parse_args()
    names = options.names or [*(picture.name for picture in PICTURES), PLAIN]
    if unknown := set(names) - {*(picture.name for picture in PICTURES), PLAIN}:
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    os.environ["TZ"] = "UTC"
    time.tzset()
    drawn = draw_all(names)
    if options.check:
        old = [name for name, svg in drawn.items() if not is_current(name, svg)]
        print(f"Not what would be drawn now: {', '.join(old)}" if old else "All are current.")
        return int(bool(old))
    to_png = png_maker()
    for name, text in drawn.items():
        svg = HERE / f"{name}.svg"
        svg.write_text(text, encoding="utf-8")
        to_png(svg)
        print(svg)
    return 0


def is_current(name: str, svg: str) -> bool:
    """Whether a picture is there and is this one."""
    path = HERE / f"{name}.svg"
    return path.exists() and path.read_text(encoding="utf-8") == svg and path.with_suffix(".png").exists()


def draw_all(names: Sequence[str]) -> dict[str, str]:
    """The SVG of each of these pictures."""
    drawn: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        store = Path(home) / ".hermes" / "state.db"
        write_demo(store, NOW)
        for picture in PICTURES:
            if picture.name in names:
                drawn[picture.name] = asyncio.run(draw(picture, damaged(store) if picture.damaged else store))
        if PLAIN in names:
            drawn[PLAIN] = draw_plain(store)
    return drawn


def damaged(store: Path) -> Path:
    """A copy in whose catalogue a table is not described any more, as a crash may leave it."""
    path = store.with_name("damaged.db")
    shutil.copy(store, path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA writable_schema = 1")
        file.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE' WHERE name = 'compression_locks'")
    return path


class Paper(io.StringIO):
    """Text that is written as for a terminal."""

    def isatty(self) -> bool:
        return True


def draw_plain(store: Path) -> str:
    """The plain list as SVG: what it says, and what is typed."""
    said, typed = Paper(), iter(TYPED)

    def read_line() -> str:
        line = next(typed) + "\n"
        said.write(line)
        return line

    def plan(conversation: Conversation) -> ResumePlan:
        return ResumePlan(("hermes", "--resume", conversation.id), conversation.tip.cwd, {})

    with closing(open_store(store)) as opened:
        output = Output(said, said, environ={"COLUMNS": str(PLAIN_COLUMNS)}, color="never")
        Picker(opened, output, read_line, clock=lambda: NOW, action="resume", asks=True, resume=plan).run()
    lines = Text(said.getvalue())
    lines.highlight_regex(WIDE, Style(meta={"wide": True}))  # runs of their own, to be placed by themselves
    console = Console(record=True, width=PLAIN_COLUMNS, file=io.StringIO())
    console.print(lines)
    return as_on_a_terminal(console.export_svg(title="hermes-sessions browse --plain", unique_id="plain"))


def no_resume(_conversation: object) -> Any:
    """A session of the sample cannot be resumed."""
    raise CommandMissing("A made-up session cannot be resumed.")


async def draw(picture: Picture, store: Path) -> str:
    """The screen as SVG, once nothing on it waits for an answer."""
    with History(store, lambda: NOW) as history:
        history.ready()
        history.notices = tuple(words.replace(str(Path.home()), HOME) for words in history.notices)
        setting = Setting(picture.query, directory=f"{HOME}/src/storefront", clock=lambda: NOW, stopwatch=lambda: 0.0)
        app = BrowserApp(history, setting, resume=no_resume, theme=picture.theme, environ=COLOURS)
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

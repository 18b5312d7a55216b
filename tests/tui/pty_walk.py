"""A random walk at a real terminal: `python -m tests.tui.pty_walk STORE --seeds 1 2 3 --steps 1000`.

`walk` looks at what is on the screen; here it is what a terminal gets, from whatever a keyboard and a mouse can send,
to an end of any kind.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import struct
import sys
import tempfile
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.tui.pty_screen import Screen

ON_AND_OFF = [(b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?1000h", b"\x1b[?1000l"), (b"\x1b[?25l", b"\x1b[?25h")]

LETTERS = [bytes([code]) for code in range(0x20, 0x7F) if chr(code) not in "qR"]
CONTROLS = [bytes([code]) for code in range(1, 0x20) if chr(code + 0x40) not in "CZQ\\"] + [b"\x7f"]
SEQUENCES = [
    *(b"\x1b[%c" % char for char in b"ABCDHFZ"),
    *(b"\x1b[%d~" % number for number in (1, 3, 4, 5, 6, 15)),
    *(
        b"\x1bOP",
        b"\x1b",
        b"\x1b\x1b",
        b"\x1b[I",
        b"\x1b[O",
        b"\x1b[1;2D",
        b"\x1b[?2026;2$y",
        b"\x1b]11;rgb:ffff/ffff/ffff\x07",
    ),
]
TEXTS = ["docker", "source:cli ", "漢字", "👨‍👩‍👧", "e\u0301", "-no ", '"', "[/]"]
NONSENSE = [b"\xff\xfe", b"\xc3", b"\x1b[", b"\x1b[<", b"\x1b[200~", b"\x1b[999;999H"]
ENDINGS: dict[bytes | signal.Signals, int] = {
    b"\x03": 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGQUIT: 131,
    signal.SIGINT: 130,
}


def pty_walk(store: Path, seed: int, steps: int) -> None:
    """Walk and end. Raises AssertionError with what was sent if anything but the sessions was seen, or stays."""
    random, sent = Random(seed), list[object]()
    screen = Screen(str(store), VISUAL="true")
    try:
        screen.wait_for(b"quit")
        for _ in range(steps):
            sent.append(_anything(screen, random))
            screen._read()
        ending = random.choice(list(ENDINGS))
        sent.append(ending)
        _end(screen, ending)
        try:
            code = screen.end()
        except AssertionError:
            code = None
        story = f"seed {seed}: ended with {code}: {sent[-40:]} {screen.output[-2000:]!r}"
        assert code == ENDINGS[ending] or b"LEFT" in screen.output, story  # or somebody found the way out
        assert is_restored(screen), f"not restored, {story}"
        for fault in (b"Traceback", b"FAULT"):
            assert fault not in screen.output, story
    finally:
        screen.close()


def _end(screen: Screen, ending: bytes | signal.Signals) -> None:
    if isinstance(ending, signal.Signals):
        os.kill(screen.pid, ending)
        return
    # Behind what may have begun a sequence or a pasted text; the first time it may copy what is selected.
    for keys in (b"\x1b[201~\x1b", b"\x1b", ending, ending):
        with suppress(OSError):
            screen.send(keys)
        screen.settle()


def is_restored(screen: Screen) -> bool:
    """Whether the terminal is as it was before the program."""
    attributes = termios.tcgetattr(screen.fd)
    return attributes[:4] == screen.before[:4] and all(
        screen.output.rfind(off) > screen.output.rfind(on) for on, off in ON_AND_OFF
    )


def _anything(screen: Screen, random: Random) -> object:
    """Send something, and return what."""
    chance = random.random()
    if chance < 0.06:
        rows, columns = random.randint(1, 60), random.randint(1, 200)
        fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(screen.pid, signal.SIGWINCH)
        return (columns, rows)
    if chance < 0.2:
        x, y = random.randint(1, 120), random.randint(1, 40)
        button = random.choice((0, 0, 32, 64, 65))
        keys = b"\x1b[<%d;%d;%d%c" % (button, x, y, random.choice(b"Mm"))
    elif chance < 0.3:
        keys = random.choice(TEXTS).encode()
        keys = random.choice((keys, b"\x1b[200~" + keys + b"\r\n" + keys + b"\x1b[201~"))
    elif chance < 0.34:
        keys = random.choice(NONSENSE)
    else:
        keys = random.choice(random.choice((LETTERS, CONTROLS, SEQUENCES)))
    screen.send(keys)
    return keys


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk over a store with each seed. Returns how many walks met a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.tui.pty_walk", description="Walks at a real terminal.")
    parser.add_argument("store", type=Path)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args(arguments)
    store, faults = options.store.absolute(), 0
    os.environ["PYTHONPATH"] = str(Path.cwd())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_STATE_HOME"] = os.environ["HOME"] = folder
        for seed in options.seeds:
            try:
                pty_walk(store, seed, options.steps)
            except AssertionError as error:
                faults += 1
                print(error, flush=True)
            else:
                print(f"{store.name} seed {seed}: well ({options.steps} steps)", flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main())

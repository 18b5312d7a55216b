"""An early pytest plugin (`-p tests.clean_env`): takes out of the environment what would decide a test.

Textual reads its variables once, when it is first imported, and its pytest plugin imports it before any
`conftest.py` is read; Rich chooses its width table by `UNICODE_VERSION`. Both happen after this module.
"""

from __future__ import annotations

import os
import time

NAMES = {
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "JUPYTER_COLUMNS",
    "JUPYTER_LINES",
    "LINES",
    "NO_COLOR",
    "STY",
    "SUDO_USER",
    "TMUX",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "UNICODE_VERSION",
}
PREFIXES = ("HERMES_", "TEXTUAL_")

for name in list(os.environ):
    if name in NAMES or name.startswith(PREFIXES):
        del os.environ[name]

os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

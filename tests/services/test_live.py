"""Which sessions are in use, by the store and by the leases beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

from hermes_sessions.services.live import leases_of, live_sessions
from hermes_sessions.storage import open_store
from hermes_sessions.storage.lease_registry import Registry
from hermes_sessions.storage.leases import Leases
from tests.builders import NOW, HermesFile


def test_without_a_file_there_are_no_leases(tmp_path: Path) -> None:
    before = list(tmp_path.iterdir())
    assert leases_of(tmp_path) == Registry()
    assert list(tmp_path.iterdir()) == before


def test_every_sign_of_life_counts(hermes_file: HermesFile) -> None:
    for id in ("leased by Hermes", "leased by us", "compressing", "talking", "idle"):
        hermes_file.session(id)
    hermes_file.message("talking", t=NOW - 5)
    hermes_file.insert("compression_locks", session_id="compressing", holder="x", acquired_at=NOW, expires_at=NOW + 300)
    runtime = hermes_file.path.parent / "runtime"
    runtime.mkdir()
    lease = {"session_id": "leased by Hermes", "pid": os.getpid(), "process_start_time": psutil.Process().create_time()}
    (runtime / "active_sessions.json").write_text(json.dumps({"entries": [lease]}), encoding="utf-8")
    store = open_store(hermes_file.path)
    with Leases(runtime).hold("leased by us", "cli"):
        assert live_sessions(store, NOW) == {"leased by Hermes", "leased by us", "compressing", "talking"}
    assert live_sessions(store, NOW) == {"leased by Hermes", "compressing", "talking"}
    store.close()


def test_psutil_is_imported_only_for_a_lease() -> None:
    code = "import sys, pathlib, hermes_sessions.services.live as live; live.leases_of(pathlib.Path('/nowhere'));"
    subprocess.run([sys.executable, "-c", f"{code} assert 'psutil' not in sys.modules"], check=True)

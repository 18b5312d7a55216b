"""`python -m tests.benchmarks.proofs [--hermes PYTHON]`: what the suite proves of writers, many times over."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.storage.writing.test_killed_writers import prove_killed_writers
from tests.storage.writing.test_many_writers import MEBIBYTE, prove_many_writers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hermes", metavar="PYTHON", help="a Python that has hermes-agent installed: it appends, too")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--appends", type=int, default=500, help="by each of them")
    parser.add_argument("--rounds", type=int, default=100, help="of killing, in either journal mode")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        print(prove_many_writers(path, arguments.processes, arguments.appends, MEBIBYTE, arguments.hermes), flush=True)
    for journal in ("wal", "delete"):
        with TemporaryDirectory() as folder:
            print(prove_killed_writers(Path(folder) / "state.db", arguments.rounds, journal), flush=True)


if __name__ == "__main__":
    main()

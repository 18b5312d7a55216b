"""`python -m hermes_sessions` is the `hermes-sessions` command."""

import sys

from hermes_sessions.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""hermes-sessions: a terminal browser for Hermes Agent's session history, on its own storage core."""

__version__ = "0.1.0"

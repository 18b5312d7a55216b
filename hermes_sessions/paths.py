"""Where the history file lies, by Hermes' own rules for its home and its profiles.

Reads a directory and the one-line file `active_profile` at most, opens no history and creates nothing. Whether there
is a store at the path is found out by opening it.

Every profile is a complete home with a `state.db` of its own; `default` is the root itself. The rules are those of
`hermes_constants` and of `hermes_cli.main._apply_profile_override` in release 0.19.0.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_sessions.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_NAME = "state.db"
DEFAULT_PROFILE = "default"

CONFIG_VARIABLE = "HERMES_SESSIONS_CONFIG"

_PROFILES = "profiles"
_PROFILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RESERVED_NAMES = frozenset({"hermes", "test", "tmp", "root", "sudo"})


def store_path(
    db: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
    profile: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """Return the absolute path of the history to use; it need not exist.

    A file named by `db` wins; else `home` names a Hermes home, or with `profile` the home whose profile is meant;
    else the environment decides. Raises UsageError for an impossible profile name.
    """
    if db is not None:
        return _absolute(db)
    if home is None:
        return hermes_home(environ, profile) / STORE_NAME
    named = _absolute(home)
    if profile is None:
        return named / STORE_NAME
    return _profile_home(_root_of(named, environ), profile, environ) / STORE_NAME


def state_directory() -> Path:
    """Return where this program keeps what it remembers between runs, never in Hermes' home; it need not exist."""
    from platformdirs import user_state_path

    return user_state_path("hermes-sessions", appauthor=False)


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file that a person may have written settings into: the one that HERMES_SESSIONS_CONFIG names, else
    `config.toml` in the platform's folder for them."""
    if named := environ.get(CONFIG_VARIABLE, "").strip():
        return _absolute(named)
    from platformdirs import user_config_path

    return user_config_path("hermes-sessions", appauthor=False) / "config.toml"


def hermes_home(environ: Mapping[str, str] = os.environ, profile: str | None = None) -> Path:
    """Return the home Hermes' command line would use, absolute; it need not exist.

    An explicit `profile` comes first, then a HERMES_HOME that is a profile's home, then the profile chosen by
    `hermes profile use`, then HERMES_HOME as it is, then the platform's default. Raises UsageError for an
    impossible profile name, given or chosen.
    """
    home = _environment_home(environ)
    root = _root_of(home, environ)
    if profile is None and home.parent.name == _PROFILES:
        return home
    if profile is None:
        profile = _chosen_profile(root)
    return home if profile is None else _profile_home(root, profile, environ)


def hermes_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the home that holds the profiles: HERMES_HOME, the root it is a profile of, or the default home."""
    return _root_of(_environment_home(environ), environ)


def profiles(root: Path) -> list[str]:
    """Return the names of all profiles under `root`, sorted, `default` (the root itself) first."""
    try:
        names = [entry.name for entry in (root / _PROFILES).iterdir() if entry.is_dir()]
    except OSError:
        names = []
    return [DEFAULT_PROFILE, *sorted(name for name in names if _is_profile_name(name))]


def _is_profile_name(name: str) -> bool:
    return _PROFILE_NAME.fullmatch(name) is not None and name != DEFAULT_PROFILE and name not in _RESERVED_NAMES


def _default_home(environ: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA", "").strip()
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "hermes"
    return Path(environ.get("HOME") or Path.home()) / ".hermes"


def _environment_home(environ: Mapping[str, str]) -> Path:
    named = environ.get("HERMES_HOME", "").strip()
    return _absolute(named) if named else _default_home(environ)


def _absolute(path: str | os.PathLike[str]) -> Path:
    """Hermes takes a leading `~` in HERMES_HOME for a directory of that name, so such a directory comes first."""
    absolute = Path(path).absolute()
    if str(path).startswith("~") and not absolute.exists():
        with suppress(RuntimeError):  # there is no such user
            return Path(path).expanduser().absolute()
    return absolute


def _root_of(home: Path, environ: Mapping[str, str]) -> Path:
    default = _default_home(environ)
    if Path(os.path.realpath(home)).is_relative_to(os.path.realpath(default)):  # `resolve` fails on a ring of links
        return default
    return home.parent.parent if home.parent.name == _PROFILES else home


def _chosen_profile(root: Path) -> str | None:
    """The profile that `hermes profile use` wrote down; None if there is none, or the file cannot be read."""
    try:
        return (root / "active_profile").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _profile_home(root: Path, profile: str, environ: Mapping[str, str]) -> Path:
    name = profile.strip().lower()
    if name == DEFAULT_PROFILE:
        return root
    if not _is_profile_name(name):
        raise UsageError(
            f"{profile!r} is no profile name.",
            "Profiles under this home: " + ", ".join(profiles(root)) + ".",
        )
    home = root / _PROFILES / name
    return home if _is_directory(home) else _profile_home_before_sudo(name, environ) or home


def _profile_home_before_sudo(name: str, environ: Mapping[str, str]) -> Path | None:
    """The profile of the user who became root by `sudo`, if there is one of that name."""
    user = environ.get("SUDO_USER", "").strip()
    if not user or user == "root" or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    try:
        home = Path(f"~{user}").expanduser() / ".hermes" / _PROFILES / name
    except RuntimeError:  # there is no such user
        return None
    return home if _is_directory(home) else None


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # one of its parents may not be looked into
        return False

"""The configuration made ready for the full screen: read, checked against what there is, merged with what is kept."""

from __future__ import annotations

from pathlib import Path

from hermes_sessions.errors import UsageError
from hermes_sessions.services.settings import Config, Settings, did_you_mean, printed, read_config, toml
from hermes_sessions.services.state import State
from hermes_sessions.tui.abilities import AUTO
from hermes_sessions.tui.keys import KEYS, Key


def configured(path: Path, *, named: bool = False) -> tuple[Config, tuple[Key, ...]]:
    """Return what a file configures and the keys that it leaves; the config's problems are all there are."""
    config = read_config(path, named=named)
    keys = KEYS
    if config.keys:
        from hermes_sessions.tui.keymap import bound

        keys = bound(config)
    for name in ("theme", "theme_dark", "theme_light"):
        if name in config.given and (wrong := why_no_theme(getattr(config.settings, name), auto=name == "theme")):
            config.complain(name, wrong)
            config.settings = config.settings._replace(**{name: type(config.settings)._field_defaults[name]})
            config.given -= {name}
    return config, keys


def begun(config: Config, state: State) -> Settings:
    """Return the settings to begin with. A theme that is remembered, but gone, is none."""
    remembered = dict(state.values())
    name = remembered.get("theme")
    if isinstance(name, str) and why_no_theme(name) is not None:
        del remembered["theme"]
    return config.begun(remembered)


def why_no_theme(name: str, *, auto: bool = True) -> str | None:
    """Return what is wrong with the name of a theme, or None."""
    from textual.theme import BUILTIN_THEMES

    from hermes_sessions.tui.themes import THEMES

    names = [*([AUTO] if auto else []), *(theme.name for theme in THEMES), *BUILTIN_THEMES]
    if name in names:
        return None
    return f"there is no theme {toml(name)}.{did_you_mean(name, names, toml) or ' There are: ' + ', '.join(names)}"


def checked_theme(name: str | None) -> str | None:
    """Return a theme that the command line names. Raises UsageError when there is none of that name."""
    if name is not None and (wrong := why_no_theme(name)) is not None:
        raise UsageError(f"--theme: {wrong}")
    return name


def print_config(path: Path, state: State, *, named: bool = False) -> tuple[str, list[str]]:
    """Return the configuration in effect as a file, and the problems of the one that is there."""
    from hermes_sessions.tui.keymap import bindings_of

    config, keys = configured(path, named=named)
    return printed(config, begun(config, state), bindings_of(keys)), config.problems

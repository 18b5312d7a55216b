"""The keys as a person has bound them: the table of `tui.keys` with other keys in it, as far as they make sense."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from hermes_sessions.services.settings import KEYS as SECTION
from hermes_sessions.services.settings import Binding, Config, did_you_mean, toml
from hermes_sessions.tui.keys import KEYS, PANES, Key

OFF = "off"
"""Stands for no key in Textual's keymaps, which take nothing for unchanged: no key is called that."""

_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_ALL = {key.value for key in Keys}
_NAMED = {name for name in _ALL if name.isalnum()} - {"return"}
_LONG_NAMES = {short: long for long, short in KEY_NAME_REPLACEMENTS.items()}
_OTHER_NAMES = {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "del": "delete"}


def bound(config: Config) -> tuple[Key, ...]:
    """Return the table of keys as the file wants it, and complain there of what makes no sense."""
    by_id = {key.id: key for key in KEYS}
    changes: dict[str, str] = {}
    for id, words in config.keys.items():
        names = list(dict.fromkeys(_short(name) for name in words.split(",") if name))
        if id not in by_id:
            config.complain(f"{SECTION}.{id}", f"there is no such command.{did_you_mean(id, by_id, toml)}")
        elif wrong := next(filter(None, (_why_not(by_id[id], name) for name in names)), None):
            config.complain(f"{SECTION}.{id}", wrong)
        else:
            changes[id] = ",".join(names)
    keys = tuple(key._replace(keys=changes.get(key.id, key.keys)) for key in KEYS)
    while clash := _clash(keys, changes):
        id, words = clash
        config.complain(f"{SECTION}.{id}", words)
        del changes[id]
        keys = tuple(key._replace(keys=changes.get(key.id, key.keys)) for key in KEYS)
    return keys


def keymap(keys: tuple[Key, ...]) -> Mapping[str, str]:
    """Return what Textual must know of keys that are not those of the table."""
    return {key.id: key.keys or OFF for key, usual in zip(keys, KEYS, strict=True) if key.keys != usual.keys}


def bindings_of(keys: tuple[Key, ...]) -> list[Binding]:
    """Return every command and its keys, for a configuration to be printed."""
    panes = dict(PANES)
    return [
        Binding(key.id, key.keys, usual.keys, f"{panes[key.pane]}: {key.help}")
        for key, usual in zip(keys, KEYS, strict=True)
    ]


def _why_not(key: Key, name: str) -> str | None:
    """What is wrong with binding a command to the key `name`, or None."""
    if not _exists(name):
        meant = _meant(name)
        advice = f" Did you mean {toml(meant)}?" if _exists(meant) else did_you_mean(meant, _NAMED, toml)
        return f"there is no key {toml(name)}.{advice}"
    if (len(name) == 1 or name == "space") and (key.pane == "search" or key.id == "interrupt"):
        return f"{toml(name)} is text in the search line; take a key that writes nothing, such as f2 or ctrl+t."
    return None


def _short(name: str) -> str:
    """The character that a key writes, where Textual has a long name for it: `question_mark` is `?`."""
    char = key_to_character(_LONG_NAMES.get(name, name)) if len(name) > 1 else None
    return char if char is not None and char.isprintable() and char not in ", " else name


def _exists(name: str) -> bool:
    if len(name) == 1:
        return name.isprintable() and name not in ", "
    if "+" in name and name in _ALL:
        return True
    *modifiers, last = name.split("+")
    if len(set(modifiers)) < len(modifiers) or not set(modifiers) <= set(_MODIFIERS):
        return False
    if len(last) == 1:
        return last.isalnum() and not last.isupper()
    return last in _NAMED or _short(last) != last or last == "comma"


def _meant(name: str) -> str:
    """How Textual would write a key that was written in another way: `Ctrl+S`, `C-s`, `^s`, `ctrl+S`, `esc`."""
    *held, last = name.replace("^", "ctrl+").replace("-", "+").split("+")
    parts = [{"c": "ctrl", "m": "alt", "s": "shift"}.get(part.lower(), part.lower()) for part in held] + [last]
    if len(parts[-1]) == 1 and name[0].islower() and parts[-1].isupper():
        parts.insert(-1, "shift")
    return "+".join(_OTHER_NAMES.get(part.lower(), part.lower()) for part in parts)


def _clash(keys: tuple[Key, ...], changes: dict[str, str]) -> tuple[str, str] | None:
    """The last change that binds a key which another command of its pane has, and words for it."""
    owners = Counter((key.pane, name) for key in keys for name in key.keys.split(",") if name)
    by_id = {key.id: key for key in keys}
    for id in reversed(changes):
        own = by_id[id]
        for name in own.keys.split(","):
            if name and owners[own.pane, name] > 1:
                others = [key.id for key in keys if key.pane == own.pane and name in key.keys.split(",")]
                other = next((other for other in others if other != id), id)
                return id, f"{toml(name)} is the key of {toml(other)} in the same pane; bind that to another key, too."
    return None

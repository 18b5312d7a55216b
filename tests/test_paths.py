"""The history that is read is the one Hermes itself would use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hermes_sessions.errors import UsageError
from hermes_sessions.paths import hermes_home, hermes_root, profiles, store_path


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A home directory with a Hermes home, a profile `work` and nothing chosen."""
    (tmp_path / "user" / ".hermes" / "profiles" / "work").mkdir(parents=True)
    return tmp_path / "user"


def choose(root: Path, text: str | bytes) -> None:
    (root / "active_profile").write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("value", [None, "", "   "])
def test_without_a_named_home_it_is_the_dot_directory(user: Path, value: str | None) -> None:
    environ = {"HOME": str(user)} if value is None else {"HOME": str(user), "HERMES_HOME": value}
    assert store_path(environ=environ) == user / ".hermes" / "state.db"


def test_a_named_home_is_trimmed_and_may_end_in_a_slash(user: Path, tmp_path: Path) -> None:
    environ = {"HOME": str(user), "HERMES_HOME": f"  {tmp_path}/elsewhere/ "}
    assert store_path(environ=environ) == tmp_path / "elsewhere" / "state.db"


def test_a_relative_home_is_made_absolute(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"HOME": str(user), "HERMES_HOME": "elsewhere"}
    assert store_path(environ=environ) == tmp_path / "elsewhere" / "state.db"


def test_a_tilde_is_the_home_directory_unless_there_is_a_directory_of_that_name(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("HERMES_HOME", "~/elsewhere")
    assert store_path(environ=os.environ) == user / "elsewhere" / "state.db"
    (tmp_path / "~" / "elsewhere").mkdir(parents=True)
    assert store_path(environ=os.environ) == tmp_path / "~" / "elsewhere" / "state.db"


def test_a_tilde_before_nobody_stays_as_it_is(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_path(db="~no-such-user/x.db", environ={"HOME": str(user)}) == tmp_path / "~no-such-user" / "x.db"


def test_a_home_that_is_a_file_is_named_all_the_same(user: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environ = {"HOME": str(user), "HERMES_HOME": str(tmp_path / "file")}
    assert store_path(environ=environ) == tmp_path / "file" / "state.db"


def test_on_windows_it_is_under_the_local_application_data(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("HOME", str(user))
    assert hermes_home({"LOCALAPPDATA": f" {tmp_path}/local "}) == tmp_path / "local" / "hermes"
    assert hermes_home({"LOCALAPPDATA": " "}) == user / "AppData" / "Local" / "hermes"


def test_a_named_profile_has_a_home_of_its_own(user: Path) -> None:
    environ = {"HOME": str(user)}
    assert hermes_home(environ, "work") == user / ".hermes" / "profiles" / "work"
    assert hermes_home(environ, " Work ") == user / ".hermes" / "profiles" / "work"
    assert hermes_home(environ, "gone") == user / ".hermes" / "profiles" / "gone"
    assert hermes_home(environ, "Default") == user / ".hermes"


@pytest.mark.parametrize("name", ["", " ", "../x", "a/b", "-x", "_x", "a.b", "ü", "a" * 65, "root", "hermes", "sudo"])
def test_an_impossible_profile_name_is_refused_with_the_names_there_are(user: Path, name: str) -> None:
    with pytest.raises(UsageError) as raised:
        hermes_home({"HOME": str(user)}, name)
    assert "default, work" in raised.value.hint


def test_the_longest_name_is_allowed(user: Path) -> None:
    assert hermes_home({"HOME": str(user)}, "a" * 64).name == "a" * 64


@pytest.mark.parametrize("text", ["work", " work \n", "WORK\n"])
def test_the_chosen_profile_is_used(user: Path, text: str) -> None:
    choose(user / ".hermes", text)
    assert hermes_home({"HOME": str(user)}) == user / ".hermes" / "profiles" / "work"


@pytest.mark.parametrize("text", ["", "\n", "default\n", b"\xff\xfe"])
def test_no_choice_and_an_unreadable_one_mean_the_root(user: Path, text: str | bytes) -> None:
    choose(user / ".hermes", text)
    assert hermes_home({"HOME": str(user)}) == user / ".hermes"


def test_a_choice_that_is_no_profile_name_is_refused_rather_than_ignored(user: Path) -> None:
    choose(user / ".hermes", "../../etc")
    with pytest.raises(UsageError, match="etc"):
        hermes_home({"HOME": str(user)})
    assert hermes_home({"HOME": str(user)}, "default") == user / ".hermes"


def test_a_home_from_the_environment_that_is_a_root_still_follows_the_choice(user: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    choose(root, "work")
    environ = {"HOME": str(user), "HERMES_HOME": str(root)}
    assert hermes_home(environ) == root / "profiles" / "work"
    choose(user / ".hermes", "work")
    environ = {"HOME": str(user), "HERMES_HOME": str(user / ".hermes")}
    assert hermes_home(environ) == user / ".hermes" / "profiles" / "work"


def test_a_home_that_is_a_ring_of_links_is_named_all_the_same(user: Path, tmp_path: Path) -> None:
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    environ = {"HOME": str(user), "HERMES_HOME": str(tmp_path / "ring")}
    assert hermes_home(environ) == tmp_path / "ring"
    assert hermes_home(environ, "work") == tmp_path / "ring" / "profiles" / "work"


def test_a_home_from_the_environment_that_is_a_profile_wins_over_the_choice(user: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "profiles").mkdir(parents=True)
    choose(root, "other")
    environ = {"HOME": str(user), "HERMES_HOME": str(root / "profiles" / "coder") + "/"}
    assert hermes_home(environ) == root / "profiles" / "coder"
    assert hermes_home(environ, "work") == root / "profiles" / "work"
    assert hermes_home(environ, "default") == root
    assert hermes_root(environ) == root


def test_anything_under_the_default_home_has_the_default_home_as_its_root(user: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(user / ".hermes")
    for home in (user / ".hermes", user / ".hermes" / "profiles" / "work", user / ".hermes" / "deep" / "er"):
        assert hermes_root({"HOME": str(user), "HERMES_HOME": str(home)}) == user / ".hermes"
    linked = {"HOME": str(user), "HERMES_HOME": str(tmp_path / "link")}
    assert hermes_root(linked) == user / ".hermes"
    assert hermes_home(linked) == tmp_path / "link"


def test_a_file_on_the_command_line_wins_over_everything(user: Path, tmp_path: Path) -> None:
    environ = {"HOME": str(user), "HERMES_HOME": str(tmp_path)}
    assert store_path(tmp_path / "x.db", tmp_path / "h", "work", environ) == tmp_path / "x.db"


def test_a_home_on_the_command_line_is_taken_as_it_is(user: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    choose(root, "work")
    environ = {"HOME": str(user), "HERMES_HOME": "/nowhere"}
    assert store_path(home=root, environ=environ) == root / "state.db"
    assert store_path(home=root, profile="work", environ=environ) == root / "profiles" / "work" / "state.db"
    assert store_path(home=root, profile="default", environ=environ) == root / "state.db"
    coder = root / "profiles" / "coder"
    assert store_path(home=coder, environ=environ) == coder / "state.db"
    assert store_path(home=coder, profile="work", environ=environ) == root / "profiles" / "work" / "state.db"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no sudo here")
def test_under_sudo_a_profile_root_lacks_is_looked_for_with_the_user_who_called(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entry(name: str) -> SimpleNamespace:
        if name != "ann":
            raise KeyError(name)
        return SimpleNamespace(pw_dir=str(user))

    monkeypatch.setattr("pwd.getpwnam", entry)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    environ = {"HOME": str(tmp_path / "root"), "SUDO_USER": "ann"}
    roots_own = tmp_path / "root" / ".hermes" / "profiles"
    assert hermes_home(environ, "work") == user / ".hermes" / "profiles" / "work"
    assert hermes_home(environ, "gone") == roots_own / "gone"
    assert hermes_home(environ) == tmp_path / "root" / ".hermes"
    assert hermes_home({**environ, "SUDO_USER": "bob"}, "work") == roots_own / "work"
    assert hermes_home({**environ, "SUDO_USER": "root"}, "work") == roots_own / "work"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert hermes_home(environ, "work") == roots_own / "work"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (roots_own / "work").mkdir(parents=True)
    assert hermes_home(environ, "work") == roots_own / "work"


def test_profiles_are_the_directories_with_a_possible_name(user: Path) -> None:
    root = user / ".hermes"
    for name in ("alpha", "Upper", "with.dot", "tmp", "default"):
        (root / "profiles" / name).mkdir()
    (root / "profiles" / "file").touch()
    assert profiles(root) == ["default", "alpha", "work"]
    assert profiles(user / "nowhere") == ["default"]


def test_looking_creates_nothing(home: Path) -> None:
    environ = {"HOME": str(home), "HERMES_HOME": str(home / "new")}
    store_path(environ=environ)
    store_path(profile="work", environ=environ)
    profiles(hermes_root(environ))
    assert list(home.iterdir()) == []


def test_importing_paths_needs_the_standard_library_alone() -> None:
    code = "import sys, hermes_sessions.paths; sys.exit(bool({'platformdirs', 'rich', 'textual'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

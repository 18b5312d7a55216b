"""How to go on with a conversation in Hermes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.errors import CommandMissing
from hermes_sessions.model import Conversation
from hermes_sessions.services.resuming import ResumePlan, resume_command
from hermes_sessions.storage import open_store
from tests.builders import HermesFile


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    """An environment whose `hermes` prints its directory, its home and its arguments, each on a line."""
    command = tmp_path / "bin" / "hermes"
    command.parent.mkdir()
    command.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "print(os.getcwd(), os.environ.get('HERMES_HOME'), *sys.argv[1:], sep='\\n')\n"
    )
    command.chmod(0o755)
    return {"PATH": f"{command.parent}:/usr/bin:/bin"}


def conversation(file: HermesFile, id: str) -> Conversation:
    store = open_store(file.path)
    found = store.sessions.catalog().by_session[id]
    store.close()
    return found


def start(plan: ResumePlan) -> list[str]:
    run = subprocess.run(plan.argv, cwd=plan.cwd, env=dict(plan.environ), capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def paste(plan: ResumePlan, environ: Mapping[str, str]) -> list[str]:
    run = subprocess.run(
        ["/bin/sh", "-c", plan.as_shell()], env=dict(environ), capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()


def test_the_tip_is_resumed_in_its_directory_and_home(
    hermes_file: HermesFile, environ: Mapping[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "my work; $(touch x)"
    work.mkdir()
    hermes_file.chain(3, cwd=str(work))
    plan = resume_command(conversation(hermes_file, "chain-1"), hermes_file.path, environ)
    expected = [str(work), str(hermes_file.path.parent), "--resume", "chain-3"]
    assert start(plan) == expected
    assert paste(plan, environ) == expected
    assert list(tmp_path.glob("**/x")) == []


@pytest.mark.parametrize("id", ["with space", "a'b\"c$d`e", "ünïcode", "semi;colon&", "x=y", "*"])
def test_an_id_is_one_word_whatever_is_in_it(hermes_file: HermesFile, environ: Mapping[str, str], id: str) -> None:
    hermes_file.session(id)
    plan = resume_command(conversation(hermes_file, id), hermes_file.path, environ)
    assert start(plan)[2:] == paste(plan, environ)[2:] == ["--resume", id]


@pytest.mark.parametrize("id", ["--help", "-c", "--resume=other", "-"])
def test_an_id_is_never_an_option(hermes_file: HermesFile, environ: Mapping[str, str], id: str) -> None:
    hermes_file.session(id)
    plan = resume_command(conversation(hermes_file, id), hermes_file.path, environ)
    assert start(plan)[2:] == paste(plan, environ)[2:] == [f"--resume={id}"]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), st.text())
def test_the_line_to_copy_holds_the_same_words(id: str, home: str) -> None:
    plan = ResumePlan(("/bin/hermes", "--resume", id), "/", {"HERMES_HOME": home})
    assert shlex.split(plan.as_shell()) == ["cd", "/", "&&", f"HERMES_HOME={home}", "hermes", "--resume", id]


def test_an_empty_session_and_a_chain_without_continuation_resume_as_themselves(
    hermes_file: HermesFile, environ: Mapping[str, str]
) -> None:
    hermes_file.session("empty")
    hermes_file.session("stuck", end_reason="compression")
    hermes_file.talk("stuck", "hello")
    for id in ("empty", "stuck"):
        plan = resume_command(conversation(hermes_file, id), hermes_file.path, environ)
        assert plan.argv[1:] == ("--resume", id)
        assert plan.cwd is None


def test_the_nearest_directory_of_the_chain_counts(
    hermes_file: HermesFile, environ: Mapping[str, str], tmp_path: Path
) -> None:
    hermes_file.chain(2)
    hermes_file.sql("UPDATE sessions SET cwd = ? WHERE id = 'chain-1'", (str(tmp_path),))
    assert resume_command(conversation(hermes_file, "chain-2"), hermes_file.path, environ).cwd == str(tmp_path)


@pytest.mark.parametrize("cwd", ["relative/path", "C:\\work", "~", "", None])
def test_what_is_no_absolute_path_is_no_directory(
    hermes_file: HermesFile, environ: Mapping[str, str], cwd: str | None
) -> None:
    hermes_file.session("a", cwd=cwd)
    assert resume_command(conversation(hermes_file, "a"), hermes_file.path, environ).cwd is None


@pytest.mark.parametrize("cwd", ["/tmp/gone for good", "/with\0nul"])
def test_a_directory_that_is_gone_is_said_and_can_be_done_without(
    hermes_file: HermesFile, environ: Mapping[str, str], cwd: str
) -> None:
    hermes_file.session("a", cwd=cwd)
    lost = conversation(hermes_file, "a")
    with pytest.raises(CommandMissing) as caught:
        resume_command(lost, hermes_file.path, environ)
    assert cwd in caught.value.message
    plan = resume_command(lost, hermes_file.path, environ, anywhere=True)
    assert plan.cwd is None
    assert caught.value.hint == plan.as_shell() == f"HERMES_HOME={hermes_file.path.parent} hermes --resume a"


def test_without_hermes_the_command_to_copy_is_said(hermes_file: HermesFile, tmp_path: Path) -> None:
    hermes_file.session("a b", cwd=str(tmp_path))
    for environ in ({"PATH": str(tmp_path)}, {"PATH": ""}):
        with pytest.raises(CommandMissing, match="PATH") as caught:
            resume_command(conversation(hermes_file, "a b"), hermes_file.path, environ)
        assert caught.value.hint == f"cd {tmp_path} && HERMES_HOME={hermes_file.path.parent} hermes --resume 'a b'"


def test_a_hermes_from_a_relative_path_is_found_from_any_directory(
    hermes_file: HermesFile, environ: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hermes_file.session("a", cwd="/")
    plan = resume_command(conversation(hermes_file, "a"), hermes_file.path, {"PATH": "bin"})
    assert plan.argv[0] == str(tmp_path / "bin" / "hermes")
    assert start(plan)[0] == "/"


def test_a_profile_chosen_for_good_does_not_lead_out_of_the_root(
    hermes_file: HermesFile, environ: Mapping[str, str]
) -> None:
    """`hermes` with HERMES_HOME set to a root still goes to the profile that `active_profile` names."""
    hermes_file.session("a")
    here = conversation(hermes_file, "a")
    for chosen, words in (("work\n", ("--profile", "default")), ("default", ()), ("\n", ())):
        (hermes_file.path.parent / "active_profile").write_text(chosen)
        assert resume_command(here, hermes_file.path, environ).argv[1:] == (*words, "--resume", "a")


def test_a_profile_is_a_home_of_its_own(tmp_path: Path, environ: Mapping[str, str]) -> None:
    path = tmp_path / "root" / "profiles" / "work" / "state.db"
    with HermesFile(path) as file:
        file.session("a")
        plan = resume_command(conversation(file, "a"), path, environ)
    assert start(plan)[1:] == [str(path.parent), "--resume", "a"]


def test_a_store_of_another_name_is_in_no_home(tmp_path: Path, environ: Mapping[str, str]) -> None:
    with HermesFile(tmp_path / "copy.db") as file:
        file.session("a")
        plan = resume_command(conversation(file, "a"), file.path, environ)
    assert "HERMES_HOME" not in plan.environ
    assert plan.as_shell() == "hermes --resume a"

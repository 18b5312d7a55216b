"""Every error ends in the code that scripts were promised."""

from __future__ import annotations

import pytest

from hermes_sessions import errors
from hermes_sessions.cli.exit_codes import CODES, exit_code_for, kind_of


def _below(kind: type[errors.SessionsError]) -> list[type[errors.SessionsError]]:
    return [found for child in kind.__subclasses__() for found in (child, *_below(child))]


def _made(kind: type[errors.SessionsError]) -> errors.SessionsError:
    if kind is errors.Interrupted:
        return errors.Interrupted()
    if issubclass(kind, errors.AmbiguousSession):
        return kind("Several fit.", ())
    return kind("It went wrong.")


PROMISED = {
    errors.UsageError: 2,
    errors.BadFilter: 2,
    errors.BadQuery: 2,
    errors.NotFound: 3,
    errors.StoreMissing: 3,
    errors.SessionNotFound: 3,
    errors.AmbiguousSession: 3,
    errors.CommandMissing: 3,
    errors.LeaseLost: 3,
    errors.Refused: 4,
    errors.StoreUnreadable: 4,
    errors.ReadOnlyStore: 4,
    errors.FileExists: 4,
    errors.TitleTaken: 4,
    errors.SessionLive: 4,
    errors.StoreReplaced: 4,
    errors.LimitReached: 4,
    errors.StoreDamaged: 5,
    errors.IndexUnusable: 5,
    errors.StoreBusy: 7,
    errors.Interrupted: 130,
}


@pytest.mark.parametrize("kind", PROMISED)
def test_each_error_has_its_promised_code(kind: type[errors.SessionsError]) -> None:
    assert exit_code_for(_made(kind)) == PROMISED[kind]


def test_every_error_of_the_tree_is_promised_a_code() -> None:
    own = {kind for kind in _below(errors.SessionsError) if kind.__module__ == errors.__name__}
    assert own == set(PROMISED)
    assert all(any(issubclass(kind, mapped) for mapped in CODES) for kind in own)


def test_what_nobody_foresaw_is_our_own_fault() -> None:
    assert exit_code_for(KeyError("x")) == 70
    assert exit_code_for(errors.SessionsError("x")) == 70


def test_a_stopped_and_a_deserted_program_say_so_as_shells_do() -> None:
    assert exit_code_for(KeyboardInterrupt()) == 128 + 2
    assert exit_code_for(BrokenPipeError()) == 128 + 13


def test_kinds_are_the_names_of_the_classes() -> None:
    assert kind_of(errors.SessionNotFound("x")) == "session_not_found"
    assert kind_of(errors.SessionsError("x")) == kind_of(KeyError("x")) == "our_fault"

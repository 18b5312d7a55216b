"""The screen as files: named by the time, never over something that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_sessions.errors import Refused
from hermes_sessions.tui.screen_files import save_screen
from tests.builders import NOW


def test_a_picture_and_the_text_stand_beside_each_other(tmp_path: Path) -> None:
    picture, text = save_screen("<svg>", ["a  ", "", "b ", "  "], NOW, [tmp_path])
    assert picture.read_text() == "<svg>"
    assert text.read_text() == "a\n\nb\n"
    assert picture.with_suffix("") == text.with_suffix("")
    assert picture.name.startswith("hermes-sessions-20")
    assert picture.is_absolute()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    first = save_screen("1", ["1"], NOW, [tmp_path])
    first[1].unlink()
    first[1].symlink_to("nowhere")
    second = save_screen("2", ["2"], NOW, [tmp_path])
    third = save_screen("3", ["3"], NOW, [tmp_path])
    assert len({*first, *second, *third}) == 6
    assert first[0].read_text() == "1"
    assert not first[1].exists()
    assert third[1].read_text() == "3\n"


def test_a_directory_that_takes_nothing_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    picture, _ = save_screen("<svg>", [], NOW, [tmp_path / "file" / "below", tmp_path / "new" / "screens"])
    assert picture.parent == tmp_path / "new" / "screens"


def test_without_any_directory_it_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="could not be saved") as refused:
        save_screen("<svg>", [], NOW, [tmp_path / "file"])
    assert str(tmp_path / "file") in refused.value.hint


def test_half_of_it_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full_at_the_text(path: Path, *arguments: str, **options: str) -> object:
        if path.suffix == ".txt":
            raise OSError(28, "No space left on device")
        return opened(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full_at_the_text)
    with pytest.raises(Refused):
        save_screen("<svg>", [], NOW, [tmp_path / "to"])
    assert list((tmp_path / "to").iterdir()) == []

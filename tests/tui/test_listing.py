"""What is listed, and the words in the frame that must add up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import (
    Catalog,
    Conversation,
    ConversationHits,
    Kind,
    SearchHit,
    SearchResult,
    Session,
    Snippet,
)
from hermes_sessions.text import cell_width
from hermes_sessions.tui.list_frame import count_words, frame_title, nothing_words
from hermes_sessions.tui.listing import Listed, Listing


def conversation(
    id: str, *, kind: Kind = "conversation", archived: bool = False, empty: bool = False, cwd: str | None = None
) -> Conversation:
    session = Session(
        id=id,
        source="cli",
        title=None,
        model=None,
        cwd=cwd,
        parent_id=None,
        branched_from=None,
        delegated_from=None,
        reset_from=None,
        started_at=0.0,
        ended_at=None,
        end_reason=None,
        archived=archived,
        hidden=False,
        last_message_at=0.0,
        has_messages=not empty,
    )
    return Conversation((session,), kind=kind)


CATALOG = Catalog(
    (
        conversation("a", cwd="/src/app"),
        conversation("b", archived=True),
        conversation("c", empty=True),
        conversation("d", kind="subagent"),
        conversation("e", kind="subagent", archived=True),
        conversation("f", cwd="/src/app/web"),
        conversation("g", cwd="/src/application"),
    )
)


def ids(listed: Listed) -> str:
    return "".join(item.id for item in listed.conversations)


@pytest.mark.parametrize(
    ("listing", "shown"),
    [
        (Listing(), "afg"),
        (Listing(archived=True), "abfg"),
        (Listing(minor=True), "acdfg"),
        (Listing(archived=True, minor=True), "abcdefg"),
        (Listing(directory="/src/app"), "af"),
        (Listing(directory="/"), "afg"),
        (Listing(directory="/nowhere"), ""),
        (Listing(reverse=True), "afg"),
    ],
)
def test_what_is_listed_and_what_is_not_add_up(listing: Listing, shown: str) -> None:
    listed = listing.of(CATALOG)
    assert ids(listed) == shown
    assert len(shown) + listed.archived + listed.empty + listed.subagent + listed.elsewhere == listed.total == 7


HIT = SearchHit(1, "s", "user", None, "content", Snippet("x", ((0, 1),)))


def test_a_search_asks_the_whole_store_in_its_own_order() -> None:
    found = tuple(ConversationHits(CATALOG.conversations[place], 1, (HIT,)) for place in (4, 1, 0))
    listed = Listing(sort="title").of(CATALOG, SearchResult("x", "recent", found, complete=True))
    assert ids(listed) == "eba"
    assert listed.query == "x"
    assert listed.filtered


@pytest.mark.parametrize(
    ("listing", "asked_for", "shown"),
    [
        (Listing(), (), "af"),
        (Listing(archived=True), (), "abf"),
        (Listing(), ("archived",), "abf"),
        (Listing(minor=True), (), "acdf"),
        (Listing(), ("subagent", "empty"), "acdf"),
    ],
)
def test_what_only_fits_conditions_is_hidden_like_any_other(
    listing: Listing, asked_for: tuple[str, ...], shown: str
) -> None:
    fitting = tuple(ConversationHits(CATALOG.conversations[place], 0, ()) for place in (0, 1, 2, 3, 5))
    listed = listing.of(CATALOG, SearchResult("x", "recent", fitting, complete=True, asked_for=asked_for))
    assert ids(listed) == shown
    assert len(shown) + listed.archived + listed.empty + listed.subagent == 5
    assert listed.hits == {}


def test_a_directory_is_the_same_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    catalog = Catalog((conversation("a", cwd=str(tmp_path / "link")), conversation("b", cwd="bad\x00path")))
    assert ids(Listing(directory=str(tmp_path / "real")).of(catalog)) == "a"


FULL = Listed(conversations=tuple(CATALOG.conversations), total=1250, archived=31, empty=12, subagent=3)


@pytest.mark.parametrize(
    ("room", "words"),
    [
        (80, "7 of 1,250 · 31 archived (A) · 12 empty · 3 subagent (E)"),
        (52, "7 of 1,250 · 31 archived · 12 empty · 3 subagent"),
        (40, "7 of 1,250 · 46 hidden (A E)"),
        (24, "7 of 1,250 · 46 hidden"),
        (12, "7 of 1,250"),
    ],
)
def test_the_sum_is_said_in_the_room_there_is(room: int, words: str) -> None:
    assert count_words(FULL, whole=True, more=False, room=room) == words


def test_the_sum_names_the_keys_as_they_are_bound() -> None:
    listed = FULL._replace(elsewhere=5)
    keys = {"list.archived": "F6", "list.directory": "h"}
    words = count_words(listed, whole=True, more=False, room=90, keys=keys)
    assert words == "7 of 1,250 · 5 elsewhere (h) · 31 archived (F6) · 12 empty · 3 subagent"
    assert count_words(listed, whole=True, more=False, room=50, keys=keys).endswith("46 hidden (F6)")


def test_nothing_found_names_the_key_that_leads_back_if_there_is_one() -> None:
    result = SearchResult("zzz", "recent", (), True)
    assert nothing_words(CATALOG, result, "", {"back": "F9"})[1] == "F9 shows all sessions."
    assert nothing_words(CATALOG, result, "", {})[1] == ""


def test_a_part_is_not_taken_for_the_whole() -> None:
    assert "reading the others" in count_words(FULL, whole=False, more=False, room=60)
    assert count_words(FULL, whole=True, more=True, room=10).startswith("7+ of")


@given(room=st.integers(1, 120), total=st.integers(0, 10**7), elsewhere=st.integers(0, 10**6))
def test_the_frame_never_overflows(room: int, total: int, elsewhere: int) -> None:
    listed = Listed(total=total, archived=total // 3, empty=total // 7, elsewhere=elsewhere)
    assert cell_width(count_words(listed, whole=True, more=False, room=room)) <= room
    for path in (Path("/home/x/.hermes/state.db"), Path("/漢" * 60)):
        assert cell_width(frame_title(Listing(), listed, path, room)) <= room


@pytest.mark.parametrize(
    ("listing", "arrow"),
    [(Listing(), "↓"), (Listing(reverse=True), "↑"), (Listing(sort="title"), "↑"), (Listing(sort="cost"), "↓")],
)
def test_the_frame_says_the_order(listing: Listing, arrow: str) -> None:
    assert arrow in frame_title(listing, FULL, Path("/x"), 60)


@pytest.mark.parametrize(
    ("listing", "room", "words"),
    [
        (Listing(group="day"), 60, "Sessions by last active ↓, by day · "),
        (Listing(sort="cost", group="directory"), 60, "Sessions by cost ↓, by directory · "),
        (Listing(sort="cost", group="day"), 60, "Sessions by cost ↓, no days in this order"),
        (Listing(directory="/src/app"), 60, "Sessions in /src/app by last active ↓ · "),
        (Listing(directory="/src/application/of/some/depth"), 40, "Sessions here by last active ↓"),
        (Listing(directory="/x", group="day"), 30, "Sessions here by last active ↓"),
    ],
)
def test_the_frame_says_groups_and_scope(listing: Listing, room: int, words: str) -> None:
    assert frame_title(listing, FULL, Path("/x/state.db"), room).startswith(words)


def test_the_frame_says_the_scope_of_a_search() -> None:
    found = FULL._replace(query="x")
    assert frame_title(Listing(directory="/src"), found, Path("/x"), 60).startswith("Found in /src · ")
    assert frame_title(Listing(directory="/src" * 9), found, Path("/x"), 20) == "Found here"


def test_marks_are_counted_as_long_as_there_is_room() -> None:
    for room in (80, 52, 40):
        assert count_words(FULL, whole=True, more=False, room=room, marked=3).startswith("3 marked · 7 of")


@pytest.mark.parametrize(
    ("sort", "groups"),
    [
        ("active", ["day", "directory", ""]),
        ("started", ["day", "directory", ""]),
        ("title", ["directory", "", "directory"]),
    ],
)
def test_groups_go_round_without_those_an_order_has_not(sort: str, groups: list[str]) -> None:
    listing, seen = Listing(sort=sort), []
    for _ in range(3):
        listing = listing._replace(group=listing.next_group)
        seen.append(listing.grouped_by)
    assert seen == groups


def test_the_home_directory_is_said_in_short(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    title: Callable[[Path], str] = lambda path: frame_title(Listing(), FULL, path, 80)  # noqa: E731
    assert title(home / ".hermes" / "state.db").endswith(str(Path("~") / ".hermes" / "state.db"))
    assert title(Path("/other/state.db")).endswith(str(Path("/other/state.db")))

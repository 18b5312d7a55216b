"""The list alone: marks, folds, groups and orders, and a cursor that stays with its conversation."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import cast

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.model import (
    Catalog,
    Conversation,
    ConversationHits,
    SearchHit,
    SearchResult,
    SessionFacts,
    Snippet,
)
from hermes_sessions.services.history import History
from hermes_sessions.text import cell_width
from hermes_sessions.tui.list_rows import Heading
from hermes_sessions.tui.listing import Listing
from hermes_sessions.tui.session_list import SessionList
from tests.builders import NOW
from tests.tui.conversations import Archive, ListApp, conversation, settled

DAY = 86_400.0
CATALOG = Catalog(
    (
        conversation("boss", title="Boss", delegates=["one", "two"], last_message_at=NOW, cwd="/src"),
        conversation("two", kind="subagent", started_at=2.0, last_message_at=NOW - 1),
        conversation("one", kind="subagent", started_at=1.0, last_message_at=NOW - 2, delegates=["deep"]),
        conversation("deep", kind="subagent", last_message_at=NOW - 3),
        conversation("b", title="Beta", last_message_at=NOW - DAY, cwd="/other"),
        conversation("c", title="Gamma", last_message_at=NOW - DAY - 5, cwd="/src"),
        conversation("d", title="Alpha", last_message_at=NOW - 9 * DAY),
    )
)


async def press(pilot: Pilot[None], *keys: str) -> SessionList:
    await pilot.press(*keys)
    await settled(pilot)
    return cast(ListApp, pilot.app).sessions


def shown(sessions: SessionList) -> list[str]:
    """Ids from top to bottom, headings in brackets."""
    rows = sessions.rows
    found = []
    for index in range(len(rows)):
        row, item = rows[index], rows.conversation(index)
        found.append(f"[{row.words}]" if isinstance(row, Heading) else item.id if item else "")
    return found


def here(sessions: SessionList) -> str | None:
    return None if sessions.conversation is None else sessions.conversation.id


async def test_marks_are_turned_ranged_and_cleared() -> None:
    app = ListApp(CATALOG)
    async with app.run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        assert not sessions.check_action("mark_range", ())
        await press(pilot, "space")
        assert here(sessions) == "b"
        await press(pilot, "j", "v")
        assert [item.id for item in sessions.marked] == ["boss", "b", "c"]
        assert app.lines[0].startswith("✓▌Boss")
        assert (app.summed[-1].words, app.summed[-1].summed) == ("3 marked", sessions.marked)
        await press(pilot, "k", "space")
        assert [item.id for item in sessions.marked] == ["boss", "c"]
        sessions.clear_marks()
        await settled(pilot)
        assert sessions.marked == ()
        assert app.summed[-1].summed is None


async def test_the_terminals_own_cursor_is_at_the_row() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "down", "down", "down")
        assert pilot.app.cursor_position == sessions.content_region.offset + Offset(0, 3)


async def test_marks_outlive_orders_searches_and_compressions() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "space", "space", "s", "n")
        sessions.show(CATALOG, SearchResult("x", "recent", (hits(CATALOG.by_session["d"]),), complete=True))
        await settled(pilot)
        assert [item.id for item in sessions.marked] == ["boss", "b"]
        goes_on = conversation("b", "b2", title="Beta", last_message_at=NOW)
        sessions.show(Catalog((goes_on, *CATALOG.conversations[:4])))
        await settled(pilot)
        assert [item.id for item in sessions.marked] == ["boss", "b2"]


def hits(item: Conversation) -> ConversationHits:
    hit = SearchHit(1, item.id, "user", None, "content", Snippet("x", ((0, 1),)))
    return ConversationHits(item, 1, (hit,))


async def test_subagents_are_unfolded_and_folded() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        app = cast(ListApp, pilot.app)
        assert app.lines[0].split()[:3] == ["✓", "Boss", "▸2"]
        assert sessions.check_action("unfold", ())
        assert not sessions.check_action("fold", ())
        await press(pilot, "right")
        assert shown(sessions)[:3] == ["boss", "one", "two"]
        assert here(sessions) == "boss"
        assert "▾2" in app.lines[0]
        await press(pilot, "right", "right")
        assert shown(sessions)[:4] == ["boss", "one", "deep", "two"]
        assert here(sessions) == "one"
        await press(pilot, "right")
        assert here(sessions) == "deep"
        assert not sessions.check_action("unfold", ())
        await press(pilot, "left")
        assert here(sessions) == "one"
        await press(pilot, "left", "left")
        assert here(sessions) == "boss"
        await press(pilot, "left")
        assert shown(sessions) == ["boss", "b", "c", "d"]
        await press(pilot, "j")
        assert not sessions.check_action("unfold", ())


async def test_subagents_below_the_last_line_are_scrolled_into_sight() -> None:
    many = [conversation(f"x{number}", last_message_at=NOW - number) for number in range(8)]
    boss = conversation("boss", delegates=["one", "two"], last_message_at=NOW - 9)
    helpers = [conversation(id, kind="subagent") for id in ("one", "two")]
    async with ListApp(Catalog((*many, boss, *helpers))).run_test(size=(60, 8)) as pilot:
        await press(pilot, "end", "right")
        lines = cast(ListApp, pilot.app).lines
        assert "▾2" in lines[-3]
        assert "↳" in lines[-1]


async def test_what_is_unfolded_is_not_listed_twice() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "right", "E")
        assert sorted(shown(sessions)) == sorted(item.id for item in CATALOG)
        assert shown(sessions)[:3] == ["boss", "one", "two"]


async def test_a_subagent_that_was_found_stays_reachable() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        found = tuple(hits(CATALOG.by_session[id]) for id in ("deep", "boss"))
        sessions.show(CATALOG, SearchResult("x", "recent", found, complete=True), restart=True)
        await settled(pilot)
        assert shown(sessions) == ["deep", "boss"]
        assert sessions.rows.height == 2
        await press(pilot, "j", "right", "j", "right")
        assert shown(sessions) == ["boss", "one", "deep", "two"]
        assert "you    x" in "\n".join(cast(ListApp, pilot.app).lines)


async def test_groups_by_day_by_directory_and_none() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "j", "b")
        app = cast(ListApp, pilot.app)
        assert shown(sessions) == ["[Today]", "boss", "[Yesterday]", "b", "c", "[Tue 2026-05-19]", "d"]
        assert here(sessions) == "b"
        assert app.lines[2] == "Yesterday  2 · $0.30"
        await press(pilot, "k")
        assert here(sessions) == "boss"
        assert sessions.at_top
        await press(pilot, "k", "j", "b")
        assert shown(sessions) == ["[/src]", "boss", "c", "[/other]", "b", "[No directory]", "d"]
        assert here(sessions) == "b"
        await press(pilot, "b")
        assert shown(sessions) == ["boss", "b", "c", "d"]


async def test_days_stand_together_only_where_time_decides() -> None:
    async with ListApp(CATALOG, Listing(group="day")).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        assert "[Today]" in shown(sessions)
        await press(pilot, "s", "n")
        assert shown(sessions) == ["d", "b", "boss", "c"]
        assert sessions.listing.group == "day"
        await press(pilot, "b")
        assert shown(sessions)[0] == "[No directory]"
        await press(pilot, "b")
        assert not sessions.listing.grouped_by


async def test_the_sort_menu_has_a_key_for_every_order_and_turns_the_same_round() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "s", "n")
        assert (sessions.listing.sort, sessions.listing.reverse) == ("title", False)
        assert shown(sessions) == ["d", "b", "boss", "c"]
        await press(pilot, "s", "n")
        assert sessions.listing.reverse
        await press(pilot, "S")
        assert not sessions.listing.reverse
        await press(pilot, "s", "escape")
        assert sessions.listing.sort == "title"
        await press(pilot, "s", "down", "enter")
        assert sessions.listing.sort == "source"


class Damaged(Archive):
    """Numbers that cannot be read."""

    async def facts(self, conversations: Iterable[Conversation]) -> Mapping[str, SessionFacts]:
        raise StoreDamaged("It is damaged.")


async def test_an_order_that_cannot_be_had_is_not_said() -> None:
    app = ListApp(CATALOG)
    async with app.run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "s", "n")
        sessions.overviews._history = cast(History, Damaged())
        await press(pilot, "s", "c")
        assert sessions.listing.sort == "title"
        assert [event.error.message for event in app.failed] == ["It is damaged."]
        assert shown(sessions) == ["d", "b", "boss", "c"]


async def test_two_lines_are_what_began_it_where_and_by_which_model() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot, "j", "D")
        assert here(sessions) == "b"
        lines = cast(ListApp, pilot.app).lines
        assert lines[1].split() == ["hello", "/src", "·", "main"]
        assert sessions.virtual_size.height == 8
        await press(pilot, "D")
        assert sessions.virtual_size.height == 4


@pytest.mark.parametrize(
    ("sort", "words"), [("active", "now 23 $2.30"), ("started", "18 Apr 23 $2.30"), ("tokens", "now 23.0K $2.30")]
)
async def test_what_decides_the_order_is_what_is_shown(sort: str, words: str) -> None:
    item = conversation("x", title="x", started_at=NOW - 40 * DAY, last_message_at=NOW)
    async with ListApp(Catalog((item,)), Listing(sort=sort)).run_test(size=(80, 20)) as pilot:
        await press(pilot)
        assert words in " ".join(cast(ListApp, pilot.app).lines[0].split())


async def test_text_is_selected_by_what_is_seen() -> None:
    async with ListApp(CATALOG).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        await pilot.mouse_down(sessions, offset=(3, 1))
        await pilot.hover(sessions, offset=(6, 2))
        await pilot.mouse_up(sessions, offset=(6, 2))
        await pilot.pause()
        selected = (pilot.app.screen.get_selected_text() or "").split("\n")
        assert selected[0].startswith("Boss")
        assert len(selected) == 2
        assert "✓ Beta".startswith(selected[1])
        assert here(sessions) == "boss"
        await press(pilot, "b")
        assert not pilot.app.screen.get_selected_text()


async def test_revealing_shows_whatever_hides_it() -> None:
    archived = conversation("z", archived=True, last_message_at=NOW - 50 * DAY)
    catalog = Catalog((*CATALOG.conversations, archived))
    async with ListApp(catalog, Listing(directory="/src")).run_test(size=(80, 20)) as pilot:
        sessions = await press(pilot)
        for id in ("deep", "z", "d"):
            sessions.reveal(catalog.by_session[id], "nothing")
            await settled(pilot)
            assert here(sessions) == id
        assert not sessions.listing.minor


KEYS = (
    *("up", "down", "pageup", "pagedown", "home", "end", "ctrl+d", "ctrl+u", "space", "v", "right", "right", "left"),
    *("S", "b", "D", "A", "E", "."),
)
SIZES = [(120, 30), (80, 24), (50, 12), (24, 5), (3, 3), (80, 24)]


class World:
    """A catalogue that changes as stores do: conversations come, go, go on and take part of others along."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.items = [self.make(f"n{number}") for number in range(30)]
        self.count = 30

    def make(self, id: str) -> Conversation:
        chance = self.chance
        return conversation(
            id,
            title=chance.choice([None, f"Title {id}", "漢字 のタイトル", "👨‍👩‍👧 family", "e\u0301\u200d", "مرحبا"]),
            kind=chance.choice(["conversation", "conversation", "subagent"]),
            delegates=chance.sample([f"n{number}" for number in range(40)], chance.randint(0, 3)),
            last_message_at=chance.choice([None, NOW - chance.random() * 20 * DAY]),
            cwd=chance.choice([None, "/src", "/src/app", "/other"]),
            archived=chance.random() < 0.1,
            has_messages=chance.random() < 0.9,
        )

    def change(self) -> None:
        chance, items = self.chance, self.items
        match chance.randrange(4):
            case 0:
                items.insert(0, self.make(f"n{self.count}"))
                self.count += 1
            case 1 if len(items) > 3:
                items.pop(chance.randrange(len(items)))
            case 2 if items:
                place = chance.randrange(len(items))
                before = items[place]
                tip = before.tip._replace(id=f"{before.id}+", last_message_at=NOW)
                items[place] = before._replace(sessions=(*before.sessions, tip))
            case _:
                items[:] = [self.make(f"n{number}") for number in range(chance.randint(0, self.count))]
        items.sort(key=lambda item: -(item.last_active_at or 0))

    @property
    def catalog(self) -> Catalog:
        return Catalog(tuple(self.items))

    def result(self) -> SearchResult | None:
        if self.chance.random() < 0.6:
            return None
        found = self.chance.sample(self.items, min(len(self.items), 9))
        return SearchResult("x", "recent", tuple(map(hits, found)), complete=True)


def check(sessions: SessionList) -> None:
    rows, count = sessions.rows, len(sessions.rows)
    assert sessions.virtual_size.height == rows.lines
    assert 0 <= sessions.cursor < max(1, count)
    shown_ids = [item.id for item in rows.conversations(0, count)]
    assert len(shown_ids) == len(set(shown_ids))
    assert set(shown_ids) >= {item.id for item in sessions.listed.conversations}
    assert (sessions.conversation is None) == (count == 0)
    height, width = sessions.scrollable_content_region.height, sessions.scrollable_content_region.width
    if height >= rows.height and count:
        top, first = rows.top(sessions.cursor), sessions.scroll_offset.y
        assert first <= top
        assert top + rows.height <= first + height
    for line in range(height):
        assert sessions.render_line(line).cell_length == width
        assert cell_width(sessions.render_line(line).text) == width


@pytest.mark.parametrize("seed", range(6))
async def test_a_random_walk_never_loses_the_place(seed: int) -> None:
    chance = random.Random(seed)
    world = World(chance)
    app = ListApp(world.catalog)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        sessions = app.sessions
        for _ in range(100):
            before = sessions.conversation
            match chance.randrange(10):
                case 0:
                    world.change()
                    sessions.show(world.catalog, world.result())
                case 1:
                    await pilot.resize_terminal(*chance.choice(SIZES))
                case 2:
                    sort = chance.choice(["active", "started", "messages", "cost", "tokens", "title", "source"])
                    sessions._list_anew(sessions.listing._replace(sort=sort))
                case _:
                    for key in chance.choices(KEYS, k=4):
                        app.simulate_key(key)
                    before = None
            await settled(pilot)
            check(sessions)
            if before is not None and sessions.rows.find(before, sessions.catalog) is not None:
                assert here(sessions) == sessions.catalog.by_session[before.id].id

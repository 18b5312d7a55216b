"""The screen keeps up with a store that an agent is writing, without a key, and moves nothing under the person."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_sessions.errors import StoreBusy
from hermes_sessions.model import Catalog
from hermes_sessions.services.history import History
from tests.builders import NOW, HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, lines, press, settle, text, until

WIDE = (120, 36)
SOON = 0.01


@pytest.fixture
def store(hermes_file: HermesFile) -> HermesFile:
    for number in range(60):
        hermes_file.talk(hermes_file.session(f"s{number:02}", title=f"Talk {number:02}"), f"words {number}", "answer")
    return hermes_file


async def test_a_new_session_appears_on_top(store: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        store.talk(store.session("new", title="Just begun"), "hello")
        await until(pilot, lambda: "Just begun" in lines(pilot)[2])
        assert "61 of 61" in text(pilot)
        sessions = browser(pilot).sessions
        assert sessions.conversation is not None
        assert sessions.conversation.id == "s59"


async def test_cursor_and_scroll_stay_with_their_session(store: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "pagedown", "pagedown", "up")
        sessions = browser(pilot).sessions
        before, row = sessions.conversation, sessions.cursor - sessions.scroll_offset.y
        assert sessions.scroll_offset.y > 0
        store.talk(store.session("new", title="Just begun"), "hello")
        await until(pilot, lambda: sessions.listed.total == 61)
        assert sessions.conversation == before
        assert sessions.cursor - sessions.scroll_offset.y == row


async def test_a_new_message_of_the_open_session_appears(store: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        store.message("s59", "user", "one thing more", t=NOW)
        await until(pilot, lambda: "one thing more" in text(pilot))
        await until(pilot, lambda: "3 messages" in text(pilot))


async def test_a_session_that_goes_on_in_another_stays_under_the_cursor(
    store: HermesFile, open_browser: OpenBrowser
) -> None:
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down")
        store.end("s57", "compression")
        store.talk(store.session("s57b", parent="s57", started_at=NOW - 5), "it goes on")
        sessions = browser(pilot).sessions
        await until(pilot, lambda: sessions.conversation is not None and sessions.conversation.id == "s57b")
        assert sessions.cursor == 0
        await until(pilot, lambda: "it goes on" in text(pilot))


async def test_what_is_found_is_found_again_in_what_was_added(store: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(store.path, "words", poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert len(browser(pilot).sessions.listed.conversations) == 60
        store.talk(store.session("new"), "more words")
        await until(pilot, lambda: len(browser(pilot).sessions.listed.conversations) == 61)


async def test_a_store_that_is_slow_to_read_is_followed_by_its_newest_part(
    store: HermesFile, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_sessions.services.history.RECENT_CONVERSATIONS", 5)
    watch = [0.0]

    class SlowHistory(History):
        async def catalog(self) -> Catalog:
            watch[0] += 1.0  # the time stands still but for the reading of the whole
            return await super().catalog()

    app = open_browser(store.path, poll_seconds=SOON, kind=SlowHistory, stopwatch=lambda: watch[0])
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: browser(pilot).sessions.listed.total == 60)
        store.talk(store.session("new", title="Just begun"), "hello")
        await until(pilot, lambda: browser(pilot).sessions.listed.total == 61)
        assert watch == [1.0]


async def test_following_stays_at_the_end(store: HermesFile, open_browser: OpenBrowser) -> None:
    long = store.session("long", title="A long one", started_at=NOW - 60)
    store.talk(long, *(f"line {number}" for number in range(100)))
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "g")
        await until(pilot, lambda: "line 0" in text(pilot))
        await press(pilot, "F")
        await until(pilot, lambda: "line 99" in text(pilot))
        assert "following" in lines(pilot)[-2]
        store.message(long, "user", "the very last")
        await until(pilot, lambda: "the very last" in text(pilot))
        await press(pilot, "F")
        assert "following" not in lines(pilot)[-2]


async def test_without_polling_f5_reads_again(store: HermesFile, open_browser: OpenBrowser) -> None:
    async with open_browser(store.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        store.talk(store.session("new", title="Just begun"), "hello")
        await press(pilot, "f5")
        await until(pilot, lambda: "Just begun" in lines(pilot)[2])


async def test_a_store_that_is_busy_for_a_while_is_said_and_tried_again(
    store: HermesFile, open_browser: OpenBrowser
) -> None:
    class BusyHistory(History):
        busy: Iterator[int] = iter((1, 2))

        async def changed(self) -> bool:
            if next(self.busy, None):
                raise StoreBusy("The store stayed locked by another program.")
            return await super().changed()

    async with open_browser(store.path, poll_seconds=SOON, kind=BusyHistory).run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "stayed locked" in lines(pilot)[0])
        store.talk(store.session("new", title="Just begun"), "hello")
        await until(pilot, lambda: "Just begun" in lines(pilot)[2])


async def test_a_deleted_session_leaves_the_list_and_the_cursor_finds_a_neighbour(
    store: HermesFile, open_browser: OpenBrowser
) -> None:
    async with open_browser(store.path, poll_seconds=SOON).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        store.sql("DELETE FROM messages WHERE session_id = 's58'")
        store.sql("DELETE FROM sessions WHERE id = 's58'")
        sessions = browser(pilot).sessions
        await until(pilot, lambda: sessions.listed.total == 59)
        assert sessions.conversation is not None
        assert sessions.conversation.id == "s57"
        await settle(pilot)
        assert browser(pilot).messages.view.conversation == sessions.conversation

"""Find inside a conversation: what is counted, where it goes, and what makes it worthless."""

from __future__ import annotations

import asyncio

from tests.tui.talks import Library, ViewApp, message, prose, settled


async def test_find_goes_to_the_first_place_counts_all_and_goes_round() -> None:
    library = Library(prose(400))
    library.messages[10] = message(11, "tool", "Needle in a result")
    library.messages[350] = message(351, "assistant", "a needle, another NEEDLE")
    app = ViewApp(library, at=200)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.hits.find("needle")
        await pilot.pause()
        assert "a needle, another NEEDLE" in app.shown
        assert (app.reached[-1].position, app.reached[-1].total, app.reached[-1].complete) == (2, 3, True)
        walk = []
        for step in (1, 1, -1):
            await app.view.hits.next(step)
            await pilot.pause()
            walk.append((app.reached[-1].position, app.reached[-1].wrapped))
        assert walk == [(3, False), (1, True), (3, True)]
        await app.view.hits.next(1)
        assert "┃   Needle in a result" in app.lines
        assert set(library.asked) == set(range(1, 401))


async def test_find_says_when_there_is_nothing_and_blank_text_ends_it() -> None:
    app = ViewApp(Library(prose(20)))
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.lines
        await app.view.hits.find("not there")
        await pilot.pause()
        assert (app.reached[-1].total, app.reached[-1].complete) == (0, True)
        await app.view.hits.find("")
        assert len(app.reached) == 1
        assert app.lines == before


async def test_without_a_find_the_next_hit_is_the_next_word_of_the_search() -> None:
    app = ViewApp(Library(prose(100)), at=40, words=["message 4"])
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.hits.next()
        await pilot.pause()
        assert app.view.current_message is not None
        assert app.view.current_message.id == 41
        assert app.view.hits.finder.total == 11


async def test_a_newer_find_makes_the_older_one_worthless() -> None:
    library = Library(prose(300))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        library.hold()
        first = asyncio.create_task(app.view.hits.find("message 7"))
        second = asyncio.create_task(app.view.hits.find("message 299"))
        await pilot.pause()
        library.release()
        await asyncio.gather(first, second)
        await pilot.pause()
        assert {event.total for event in app.reached} == {1}


async def test_what_is_found_is_counted_in_what_comes_later() -> None:
    library = Library(prose(100))
    app = ViewApp(library)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.hits.find("message 10")
        await pilot.pause()
        assert app.reached[-1].total == 2
        library.messages = prose(110)
        app.view.extend(library.stubs)
        await settled(pilot)
        assert app.reached[-1].total == 11


async def test_the_place_of_the_search_it_was_opened_at_has_its_number_once_all_are_counted() -> None:
    app = ViewApp(Library(prose(100)), at=40, words=["message 4"])
    async with app.run_test(size=(80, 24)) as pilot:
        await app.view.hits.count_words()
        await pilot.pause()
        assert (app.reached[-1].position, app.reached[-1].total) == (2, 11)
        walk = []
        for _ in range(11):
            await app.view.hits.next()
            await pilot.pause()
            walk.append((app.reached[-1].position, app.reached[-1].wrapped, app.reached[-1].ended))
        assert walk[:9] == [(number, False, False) for number in range(3, 12)]
        assert walk[9:] == [(1, True, False), (1, True, True)]


async def test_who_came_back_to_a_conversation_goes_past_its_last_place_at_once() -> None:
    app = ViewApp(Library(prose(50)), at=49, words=["message 4"])
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.hits.finder.come_back()
        await app.view.hits.count_words()
        await app.view.hits.next()
        await pilot.pause()
        assert app.reached[-1].ended

"""The search line: everything typed is text and is answered, and no answer to an earlier text is ever drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.geometry import Offset

from hermes_sessions.errors import BadQuery, SessionsError
from hermes_sessions.model import Catalog, ConversationHits, SearchHit, SearchOrder, SearchResult, Snippet
from hermes_sessions.services.history import SEARCH_LIMIT, Deliver, History
from hermes_sessions.services.past_searches import PastSearches
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import at_once, browser, focus, lines, press, settle, text, type_text, until

WIDE, NARROW = (120, 36), (80, 24)


class HeldHistory(History):
    """A history whose searches are answered by the test. As in the real one, only the newest can deliver."""

    asked: tuple[str, Catalog, Deliver] | None = None
    limits: tuple[int, ...] = ()

    def search(
        self,
        text: str,
        catalog: Catalog,
        deliver: Deliver,
        limit: int = SEARCH_LIMIT,
        order: SearchOrder = "recent",
    ) -> None:
        self.asked = (text, catalog, deliver)
        self.limits += (limit,)

    def cancel_search(self) -> None:
        self.asked = None

    def answer(self, *ids: str, complete: bool = True, finished: bool = True) -> None:
        """Deliver hits in these conversations to the question that is asked."""
        assert self.asked is not None
        query, catalog, deliver = self.asked
        found = tuple(
            ConversationHits(
                catalog.by_session[id],
                1,
                (SearchHit(None, id, "user", None, "content", Snippet(f"… {query} …", ((2, 2 + len(query)),))),),
            )
            for id in ids
        )
        deliver(SearchResult(query, "recent", found, complete), finished)

    def fail(self, error: SessionsError) -> None:
        """Deliver an error to the question that is asked."""
        assert self.asked is not None
        self.asked[2](error, True)


@pytest.fixture
def store(hermes_file: HermesFile) -> Path:
    for number in range(40):
        hermes_file.talk(hermes_file.session(f"s{number:02}", title=f"Talk {number:02}"), f"words {number}", "answer")
    return hermes_file.path


async def test_letters_are_text_and_no_commands(demo: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(demo)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        before = browser(pilot).sessions.listing
        await type_text(pilot, "quit delete /?jk")
        screen = browser(pilot)
        assert screen.search_bar.text == "quit delete /?jk"
        assert app.screen is screen
        assert screen.sessions.listing == before
        assert app.is_running


async def test_what_is_found_is_counted_marked_and_opened_at_the_hit(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"docker")
        screen = browser(pilot)
        assert "4 hits in 2 conversations · 0.0 ms · newest" in lines(pilot)[0]
        assert "2 of 67" in text(pilot)
        await press(pilot, "down", "enter")
        assert focus(pilot) is screen.messages.view
        assert screen.messages.view.conversation == screen.sessions.listed.conversations[1]
        assert screen.messages.has_hits


async def test_arrows_and_pages_move_the_list_while_typing(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", "down", "down", "up")
        screen = browser(pilot)
        assert screen.sessions.cursor == 1
        await press(pilot, "pagedown")
        assert screen.sessions.cursor > 20
        await press(pilot, "pageup")
        assert screen.sessions.cursor == 1
        assert focus(pilot) is screen.search_bar.input


async def test_esc_clears_and_then_leaves(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        everything = screen.sessions.listed.conversations
        await press(pilot, "/", *"docker", "escape")
        assert screen.search_bar.text == ""
        assert focus(pilot) is screen.search_bar.input
        assert screen.sessions.listed.conversations == everything
        await press(pilot, "escape")
        assert focus(pilot) is screen.sessions


async def test_nothing_found_is_said(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"xyzzyx")
        assert "nothing found" in lines(pilot)[0]
        assert "Nothing found." in text(pilot)
        assert "0 of 67" in text(pilot)
        assert not browser(pilot).messages.view.visible
        await press(pilot, "enter", "escape")
        assert browser(pilot).messages.view.visible


async def test_a_query_from_the_command_line_is_asked_at_once(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo, "docker").run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        assert screen.search_bar.text == "docker"
        assert len(screen.sessions.listed.conversations) == 2
        assert focus(pilot) is screen.sessions


async def test_an_answer_to_an_earlier_text_is_never_drawn(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await pilot.press("/", "e")
        early = history.asked
        assert early is not None
        await pilot.press("z")
        history.answer("s07")
        await settle(pilot)
        assert [item.id for item in screen.sessions.listed.conversations] == ["s07"]
        assert "1 hit in 1 conversation" in lines(pilot)[0]
        await pilot.press("escape")
        assert history.asked is None
        await settle(pilot)
        assert len(screen.sessions.listed.conversations) == 40


async def test_quick_typing_against_a_real_search_ends_with_the_answer_to_the_whole_text(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    for number in range(300):
        hermes_file.talk(hermes_file.session(f"e{number}"), "every east elm", "entire earth")
    hermes_file.talk(hermes_file.session("one"), "ask ezekiel", "he knows")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"ezekiel")
        screen = browser(pilot)
        assert screen.sessions.listed.query == "ezekiel"
        assert [item.id for item in screen.sessions.listed.conversations] == ["one"]


async def test_quitting_while_a_search_runs_is_at_once(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", "x", "tab", "q")
    assert app.return_code == 0


async def test_enter_before_the_answer_opens_what_the_answer_brings(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", *"seven", "enter")
        screen = browser(pilot)
        assert focus(pilot) is screen.search_bar.input
        history.answer("s07")
        await settle(pilot)
        assert focus(pilot) is screen.messages.view
        assert screen.messages.view.conversation is not None
        assert screen.messages.view.conversation.id == "s07"


async def test_a_growing_answer_leaves_the_cursor_where_it_is(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", "x")
        history.answer("s30", "s20", complete=False, finished=False)
        await pilot.press("down")
        history.answer("s30", "s25", "s20", complete=False)
        await settle(pilot)
        sessions = browser(pilot).sessions
        assert sessions.conversation is not None
        assert sessions.conversation.id == "s20"
        assert "3+ hits in 3+ conversations" in lines(pilot)[0]


async def test_a_store_that_changes_takes_neither_rows_nor_cursor_away_while_it_is_searched_again(
    store: Path, open_browser: OpenBrowser
) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", "x")
        history.answer(*(f"s{number:02}" for number in range(30)))
        await settle(pilot)
        await pilot.press("tab", "G", "f5")
        await until(pilot, lambda: not browser(pilot)._search._finished)
        sessions = browser(pilot).sessions
        history.answer("s00", "s01", finished=False)
        await pilot.pause()
        assert (len(sessions.listed.conversations), sessions.cursor) == (30, 29)
        history.answer("s31", *(f"s{number:02}" for number in range(30)))
        await settle(pilot)
        assert (len(sessions.listed.conversations), sessions.cursor) == (31, 30)


async def test_coming_near_the_end_asks_for_more(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", "x")
        history.answer(*(f"s{number:02}" for number in range(30)), complete=False)
        await settle(pilot)
        await pilot.press("tab", "G")
        await pilot.pause()
        assert history.limits == (SEARCH_LIMIT, 4 * SEARCH_LIMIT)
        history.answer(*(f"s{number:02}" for number in range(35)))
        await settle(pilot)
        assert len(browser(pilot).sessions.listed.conversations) == 35
        assert browser(pilot).sessions.cursor == 29


async def test_an_error_is_said_and_the_next_answer_takes_its_place(store: Path, open_browser: OpenBrowser) -> None:
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("/", "x")
        history.fail(BadQuery("[/] is no\nquery.", "Type words."))
        await settle(pilot)
        assert "[/] is no query. Type words." in lines(pilot)[0]
        await pilot.press("y")
        history.answer("s01")
        await settle(pilot)
        assert "1 hit in 1 conversation" in lines(pilot)[0]


async def test_a_key_typed_before_the_whole_store_is_known_is_answered_from_the_whole(
    store: Path, open_browser: OpenBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_sessions.services.history.RECENT_CONVERSATIONS", 3)
    async with open_browser(store, "words").run_test(size=WIDE) as pilot:
        await settle(pilot)
        await until(pilot, lambda: len(browser(pilot).sessions.listed.conversations) == 40)


@pytest.mark.parametrize("size", [(40, 12), NARROW, WIDE])
@pytest.mark.parametrize("cluster", ["😀", "漢", "e\u0301", "👨‍👩‍👧", "🇸🇪", "❤️"])
async def test_the_line_is_edited_by_clusters(
    demo: Path, open_browser: OpenBrowser, size: tuple[int, int], cluster: str
) -> None:
    async with open_browser(demo).run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        line = browser(pilot).search_bar.input
        line.post_message(events.Paste(cluster * 60))
        await settle(pilot)
        assert line.value == cluster * 60
        await press(pilot, "backspace")
        assert line.value == cluster * 59
        await press(pilot, "home", "delete")
        assert line.value == cluster * 58
        await press(pilot, "right")
        assert line.cursor_position == len(cluster)
        await press(pilot, "end", "left", "x")
        assert line.value == cluster * 57 + "x" + cluster


async def test_what_is_pasted_becomes_one_safe_line(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        line = browser(pilot).search_bar.input
        line.post_message(events.Paste("two\r\nlines\tand \x1b[31mred\x1b[0m \x00 \u202e\n"))
        await settle(pilot)
        assert line.value == "two lines and red \ufffd \ufffd"


async def test_the_terminals_own_cursor_is_where_one_types_and_where_one_chooses(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"docker")
        line = browser(pilot).search_bar.input
        assert pilot.app.cursor_position == line.region.offset + Offset(6, 0)
        await press(pilot, "left")
        assert pilot.app.cursor_position == line.region.offset + Offset(5, 0)
        await press(pilot, "tab", "down")
        assert pilot.app.cursor_position == browser(pilot).sessions.content_region.offset + Offset(0, 2)


async def test_finding_in_a_conversation_has_a_line_of_its_own(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "/")
        screen = browser(pilot)
        assert focus(pilot) is screen.messages.find_line.input
        await type_text(pilot, "fixture q")
        assert screen.messages.find_line.input.value == "fixture q"
        await press(pilot, "backspace", "backspace", "enter")
        assert focus(pilot) is screen.messages.view
        await until(pilot, lambda: "2 of 7" in text(pilot))
        await press(pilot, "n")
        await until(pilot, lambda: "3 of 7" in text(pilot))
        await press(pilot, "escape")
        assert focus(pilot) is screen.messages.view
        assert not screen.messages.find_line.region
        await press(pilot, "escape")
        assert focus(pilot) is screen.sessions


async def test_blanks_are_no_question(store: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(store).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", "space", "space")
        assert len(browser(pilot).sessions.listed.conversations) == 40
        assert browser(pilot).sessions.listed.query is None


async def test_letters_that_come_with_the_slash_are_typed_and_no_commands(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        listing = browser(pilot).sessions.listing
        at_once(pilot, *"/docker")
        await until(pilot, lambda: browser(pilot).search_bar.text == "docker")
        assert browser(pilot).sessions.listing == listing
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: focus(pilot) is browser(pilot).messages.view)
        at_once(pilot, *"/node")
        await until(pilot, lambda: browser(pilot).messages.find_line.input.value == "node")
        assert browser(pilot).search_bar.text == "docker"


async def test_an_empty_beginning_of_an_answer_is_no_answer(store: Path, open_browser: OpenBrowser) -> None:
    """The newest messages are read before the index is asked; Enter waits for what the index knows."""
    app = open_browser(store, kind=HeldHistory)
    history = app._history
    assert isinstance(history, HeldHistory)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = browser(pilot)
        await pilot.press("/", *"words", "enter")
        history.answer(complete=False, finished=False)
        await pilot.pause()
        assert focus(pilot) is screen.search_bar.input
        assert "Nothing found" not in text(pilot)
        history.answer("s07")
        await until(pilot, lambda: focus(pilot) is screen.messages.view)
        assert screen.messages.conversation is not None
        assert screen.messages.conversation.id == "s07"


async def test_a_hit_in_a_copy_opens_at_what_was_copied(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    """In-place compaction writes the newest messages again; the transcript shows each once, where it was said."""
    hermes_file.talk(hermes_file.session("a"), *(f"step {number}" for number in range(40)), "the needle")
    hermes_file.compact_in_place("a", tail=1)
    hermes_file.talk("a", *(f"later {number}" for number in range(40)))
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"needle", "enter")
        await until(pilot, lambda: focus(pilot) is browser(pilot).messages.view)
        message = browser(pilot).messages.view.current_message
        assert message is not None
        assert message.text == "the needle"


async def test_above_the_list_are_the_earlier_searches(store: Path, open_browser: OpenBrowser) -> None:
    past = PastSearches()
    past.add("words 7")
    past.add("words 1")
    async with open_browser(store, past=past).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", "up")
        screen = browser(pilot)
        assert screen.search_bar.text == "words 1"
        assert screen.sessions.listed.hits
        await press(pilot, "up", "up")
        assert screen.search_bar.text == "words 7"
        await press(pilot, "ctrl+u", "up")
        assert screen.search_bar.text == "words 1"
        await press(pilot, "backspace", "up")  # what was edited is a search of one's own
        assert screen.search_bar.text == "words "
        await press(pilot, "ctrl+u", "up", "up", "down")  # down comes forward again
        assert screen.search_bar.text == "words 1"
        await press(pilot, "down")
        assert screen.search_bar.text == ""
        await press(pilot, "down")  # and then into the list
        assert (screen.search_bar.text, screen.sessions.cursor) == ("", 1)
        await press(pilot, "up", "up")
        assert (screen.search_bar.text, screen.sessions.cursor) == ("words 1", 0)


async def test_tab_goes_through_the_words_that_fit(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"sou", "tab")
        screen = browser(pilot)
        assert screen.search_bar.text == "source:"  # the only one: nothing to choose from
        assert not screen.search_bar.completing
        await press(pilot, "tab")
        assert screen.search_bar.text == "source:cli"
        assert [line[2:].split()[0] for line in lines(pilot)[1:3]] == ["cli", "telegram"]
        await press(pilot, "tab")
        assert screen.search_bar.text == "source:telegram"
        listed = screen.sessions.listed.conversations
        assert listed and {item.tip.source for item in listed} == {"telegram"}
        await press(pilot, "shift+tab")
        assert screen.search_bar.text == "source:cli"
        await press(pilot, "escape")  # the words go, what was chosen stays
        assert not screen.search_bar.completing
        assert screen.search_bar.text == "source:cli"
        await press(pilot, *" xyz", "tab")
        assert focus(pilot) is screen.sessions  # nothing begins like that


@pytest.mark.parametrize(
    ("typed", "meant"), [("is:archvied", "is:archived"), ("docker sorce:cli", "docker source:cli")]
)
async def test_tab_puts_a_mistake_right(demo: Path, open_browser: OpenBrowser, typed: str, meant: str) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, f"{typed} ")
        await press(pilot, "tab")
        screen = browser(pilot)
        assert screen.search_bar.text == f"{meant} " and focus(pilot) is screen.search_bar.input
        await press(pilot, "tab")
        assert focus(pilot) is screen.sessions


async def test_conditions_alone_list_what_fits_and_hide_what_is_hidden_elsewhere(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "source:cli,telegram ")
        screen = browser(pilot)
        shown = len(screen.sessions.listed.conversations)
        hidden = screen.sessions.listed.archived
        minor = screen.sessions.listed.empty + screen.sessions.listed.subagent
        assert hidden and shown
        assert f"{shown + hidden + minor} conversations" in lines(pilot)[0]
        assert not any(item.archived for item in screen.sessions.listed.conversations)
        await press(pilot, "tab", "A")
        assert len(screen.sessions.listed.conversations) == shown + hidden
        await press(pilot, "A", "/")
        await type_text(pilot, "is:archived ")
        assert len(screen.sessions.listed.conversations) == hidden


async def test_a_value_that_makes_no_sense_is_said_and_the_rest_is_answered(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "docker is:archivd ")
        screen = browser(pilot)
        assert screen.sessions.listed.hits
        assert " archivd? Did you mean archived?" in lines(pilot)[0]


async def test_letters_right_after_tab_are_commands_of_the_next_pane(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"docker")
        for key in ("tab", "o"):  # in one breath: nothing is waited for
            pilot.app.post_message(events.Key(key, "o" if key == "o" else "\t"))
        await until(pilot, lambda: focus(pilot) is browser(pilot).sessions)
        await settle(pilot)
        assert browser(pilot).search_bar.text == "docker"
        assert browser(pilot)._search.order == "relevance"


async def test_o_turns_between_newest_and_best(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "o")
        assert browser(pilot)._search.order == "recent"
        await press(pilot, "/", *"docker", "tab")
        assert "newest" in lines(pilot)[0]
        await press(pilot, "o")
        assert "best" in lines(pilot)[0]
        await press(pilot, "o")
        assert "newest" in lines(pilot)[0]


async def test_n_goes_through_all_places_and_on_into_the_next_conversation(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    hermes_file.talk(hermes_file.session("old"), "needle", "hay", "needle again")
    hermes_file.talk(hermes_file.session("new"), "needle one", "hay", "needle two")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        messages = browser(pilot).messages

        async def go(key: str) -> tuple[str, str]:
            await press(pilot, key)
            await until(pilot, lambda: not messages.waiting)
            assert messages.conversation is not None
            return messages.conversation.id, messages._place

        first = messages.conversation
        assert first is not None
        other = "old" if first.id == "new" else "new"
        assert await go("N") == (first.id, "1 of 2")
        assert await go("n") == (first.id, "2 of 2")
        assert await go("n") == (other, "1 of 2")
        assert await go("n") == (other, "2 of 2")
        assert await go("n") == (other, "last hit")
        assert await go("N") == (other, "1 of 2")
        assert (await go("N"))[0] == first.id


async def test_n_past_the_newest_hit_visits_the_others_before_it_leaves(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    hermes_file.talk(hermes_file.session("old"), "needle", "hay", "needle again")
    hermes_file.talk(hermes_file.session("new"), "needle one", "hay", "needle two", "hay", "needle three")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "needle")
        await press(pilot, "enter")
        messages = browser(pilot).messages

        async def go(key: str) -> tuple[str, str]:
            await press(pilot, key)
            await until(pilot, lambda: not messages.waiting)
            assert messages.conversation is not None
            return messages.conversation.id, messages._place

        await until(pilot, lambda: messages._place == "3 of 3")
        assert await go("n") == ("new", "1 of 3 · from the top")
        assert await go("N") == ("new", "3 of 3 · from the end")
        assert await go("n") == ("new", "1 of 3 · from the top")
        assert await go("n") == ("new", "2 of 3")
        assert await go("n") == ("old", "1 of 2")
        await go("N")  # back again, where all has been seen
        await until(pilot, lambda: messages.conversation is not None and messages.conversation.id == "new")
        assert (await go("n"))[0] == "old"


async def test_a_search_is_remembered_when_it_is_let_go(store: Path, open_browser: OpenBrowser) -> None:
    past = PastSearches()
    async with open_browser(store, past=past).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "words 3")
        assert past.before(1) is None
        await press(pilot, "escape")
        assert past.before(1) == "words 3"
        await type_text(pilot, "words 4")
        await press(pilot, "enter")
        assert past.before(1) == "words 4"
        await press(pilot, "escape", "/")
        await type_text(pilot, "5")
        await pilot.app.action_quit()
    assert past.before(1) == "words 45"
    assert past.before(2) == "words 4"


async def test_words_that_stand_far_apart_are_all_marked(hermes_file: HermesFile, open_browser: OpenBrowser) -> None:
    far = "alphaword " + "filler " * 150 + "betaword"
    hermes_file.talk(hermes_file.session("s"), far, "yes")
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "alphaword betaword")
        await press(pilot, "enter")
        messages = browser(pilot).messages
        await press(pilot, "n")
        await until(pilot, lambda: messages._place)
        assert messages._place == "2 of 2"


async def test_a_name_that_is_nowhere_is_said_where_nothing_is_found(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "source:telegra,")
        await until(pilot, lambda: browser(pilot).search_bar._vocabulary)
        await type_text(pilot, "x ")
        assert "Did you mean telegram?" in text(pilot)


async def test_a_misspelt_key_is_said_before_the_words_of_the_store_are_read(
    demo: Path, open_browser: OpenBrowser
) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "sorce:cli")
        assert not browser(pilot).search_bar._vocabulary
        assert "Did you mean source:cli?" in text(pilot)


async def test_letters_right_before_tab_are_completed(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        for key in (*"sou", "tab"):  # in one breath
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else "\t"))
        await until(pilot, lambda: browser(pilot).search_bar.text == "source:")


async def test_enter_opens_also_after_nothing_was_found(demo: Path, open_browser: OpenBrowser) -> None:
    async with open_browser(demo).run_test(size=NARROW) as pilot:
        await settle(pilot)
        await press(pilot, "/", *"zzzz", "ctrl+u", *"docker", "enter")
        await press(pilot, "j")
        assert browser(pilot).search_bar.text == "docker"
        assert focus(pilot) is browser(pilot).messages.view


async def test_a_hit_in_the_title_opens_at_the_first_one_in_the_text(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    hermes_file.talk(hermes_file.session("s", title="gadget"), "hello", "a gadget", *["more"] * 40)
    async with open_browser(hermes_file.path).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "/")
        await type_text(pilot, "gadget")
        await press(pilot, "enter")
        current = browser(pilot).messages.view.current_message
        assert current is not None
        assert current.text == "a gadget"

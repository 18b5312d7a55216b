"""A damaged store is browsed as far as it can be read, and what cannot is counted where a person looks."""

from __future__ import annotations

from tests.builders import HermesFile
from tests.storage.repairing.damages import page_of, pages_of, zero
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import lines, press, settle, text, until

WIDE = (120, 36)


async def test_missing_messages_are_said_in_the_transcript_and_in_the_banner(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    session = hermes_file.session(title="Long talk")
    hermes_file.talk(session, "first words", "long " * 4_000, "last words")
    hermes_file.close()
    for page in pages_of(hermes_file.path, "messages", "overflow"):
        zero(hermes_file.path, page)
    async with open_browser(hermes_file.path, poll_seconds=0.02).run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "… 1 message could not be read here: damaged pages." in text(pilot))
        assert "first words" in text(pilot)
        assert "last words" in text(pilot)
        await until(pilot, lambda: "1 message cannot be read: pages of the file are damaged. Try" in lines(pilot)[1])
        await press(pilot, "i")
        await until(pilot, lambda: "`hermes-sessions repair --db" in text(pilot))


async def test_a_list_of_sessions_that_cannot_be_read_is_not_empty(
    hermes_file: HermesFile, open_browser: OpenBrowser
) -> None:
    for number in range(60):
        hermes_file.talk(hermes_file.session(title=f"Title {number}"), f"hello {number}", "hi")
    hermes_file.close()
    page_of("sessions", "internal", 0, zero)(hermes_file.path)
    async with open_browser(hermes_file.path, poll_seconds=0.02).run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "Title 59" in text(pilot)
        await until(pilot, lambda: "60 sessions cannot be read in full: pages of the file" in lines(pilot)[1])
        await press(pilot, "/", *"hello 7", "enter")
        await until(pilot, lambda: "Title 7" in text(pilot))

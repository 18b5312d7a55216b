"""What stands between messages: days, pauses, compressions, branches, what was undone."""

from __future__ import annotations

from hermes_sessions.model import Conversation, MessageStub, Session
from hermes_sessions.tui.openings import DIVIDERS, Story, divider, openings
from tests.builders import NOW
from tests.tui.talks import CONVERSATION, message, stub_of

NOTHING = Story()


def stubs(*messages: tuple[str, float, dict[str, object]]) -> list[MessageStub]:
    return [
        stub_of(message(number, role, "x", timestamp=None if after is None else NOW + after, **fields))
        for number, (role, after, fields) in enumerate(messages, 1)
    ]


def words(talk: list[MessageStub], story: Story = NOTHING, summary: int | None = None) -> list[str]:
    """The words of all dividers but the first, which is the day."""
    found = [
        divider(opening, talk, index, story, summary).text  # type: ignore[arg-type]
        for index, lines in enumerate(openings(talk, story))
        for opening in lines
        if opening in DIVIDERS
    ]
    return found[1:]


def session(id: str, end_reason: str | None = None, title: str | None = None, started_at: float = NOW) -> Session:
    return CONVERSATION.root._replace(id=id, end_reason=end_reason, title=title, started_at=started_at)


def test_a_long_pause_says_how_long_it_was_and_a_short_one_nothing() -> None:
    assert words(stubs(("user", 0, {}), ("user", 3599, {}), ("user", 3599 + 5400, {}))) == ["1h 30m later"]


def test_days_later_the_day_says_so() -> None:
    (later,) = words(stubs(("user", 0, {}), ("user", 3 * 86_400, {})))
    assert later.endswith(" · 3d later")


def test_messages_without_a_time_have_no_pauses() -> None:
    talk = stubs(("user", 0, {}), ("assistant", 0, {}))
    assert words([talk[0]._replace(timestamp=None), talk[1], talk[0]._replace(timestamp=None)]) == []


def test_a_compression_says_how_long_the_summary_is() -> None:
    talk = stubs(("user", 0, {}), ("user", 1, {"session_id": "t"}))
    story = Story.of(Conversation((session("s", "compression"), session("t"))), None)
    assert words(talk, story) == ["compressed here"]
    assert words(talk, story, 4000) == ["compressed here into a summary of 3.9 KB"]


def test_another_session_that_no_compression_began_is_told() -> None:
    talk = stubs(("user", 0, {}), ("user", 1, {"session_id": "t"}))
    assert words(talk, Story.of(Conversation((session("s", "agent_close"), session("t"))), None)) == [
        "continued in another session"
    ]


def test_what_was_compacted_in_place_ends_with_a_divider_once() -> None:
    talk = stubs(("user", 0, {"compacted": True}), ("user", 1, {}), ("user", 2, {}))
    assert words(talk) == ["compressed here"]


def test_what_was_undone_is_counted_where_it_begins() -> None:
    undone: dict[str, object] = {"rewound": True}
    talk = stubs(("user", 0, {}), ("user", 1, undone), ("assistant", 2, undone), ("user", 3, {}), ("user", 4, undone))
    assert words(talk) == ["2 messages undone", "1 message undone"]


BRANCH = Conversation((session("b", title="Other way"),), branched_from="s")
ORIGIN = Conversation((session("s", title="The first \x1b[31mtry"),))


def test_a_branch_says_where_it_left_its_origin() -> None:
    """What was copied came in one burst; what follows was typed."""
    talk = stubs(("user", 0.01, {}), ("assistant", 0.02, {}), ("user", 20, {}), ("assistant", 27, {}))
    lines = openings(talk, Story.of(BRANCH, ORIGIN))
    assert [index for index, opening in enumerate(lines) if "branched" in opening] == [2]
    assert words(talk, Story.of(BRANCH, ORIGIN)) == ["branched here from The first try"]


def test_copies_that_kept_their_times_are_before_the_fork_too() -> None:
    talk = stubs(("user", -900, {}), ("assistant", -890, {}), ("user", 9, {}))
    assert [
        index for index, opening in enumerate(openings(talk, Story.of(BRANCH, ORIGIN))) if "branched" in opening
    ] == [2]


def test_a_branch_that_copied_nothing_says_so_at_its_start_and_one_without_anything_new_nowhere() -> None:
    story = Story.of(BRANCH, None)
    assert words(stubs(("user", 20, {}))[:1], story) == ["branched from s"]
    assert words(stubs(("user", 0.01, {})), story) == []


def test_lines_that_came_later_are_as_if_all_had_come_at_once() -> None:
    story = Story.of(BRANCH, ORIGIN)
    talk = stubs(("user", 0.01, {}), ("user", 20, {}), ("user", 9000, {}), ("tool", 9001, {}))
    for known in range(5):
        assert openings(talk[:known], story) + openings(talk, story, known) == openings(talk, story)

"""Which sessions are one conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.model import Conversation, Session
from hermes_sessions.storage.lineage import resolve


def a_session(id: str, **fields: object) -> Session:
    values: dict[str, object] = dict.fromkeys(Session._fields)
    values.update(source="cli", archived=False, hidden=False, has_messages=True, started_at=0.0)
    values.update(fields, id=id)
    return Session(**values)  # type: ignore[arg-type]


def chains(*sessions: Session) -> dict[str, tuple[str, ...]]:
    return {item.id: item.segments for item in resolve(sessions)}


def one(conversations: list[Conversation], id: str) -> Conversation:
    return next(item for item in conversations if item.id == id)


def test_a_compressed_chain_is_one_conversation_named_by_its_tip() -> None:
    """The delegate that the root started is folded under it and is no part of the chain."""
    found = resolve(
        [
            a_session("r", end_reason="compression", ended_at=100.0, started_at=10.0),
            a_session("m", parent_id="r", started_at=100.0, end_reason="compression", ended_at=200.0),
            a_session("t", parent_id="m", started_at=200.0, last_message_at=900.0),
            a_session("sub", parent_id="r", started_at=50.0, delegated_from="r", source="subagent"),
        ]
    )
    chain = one(found, "t")
    assert chain.segments == ("r", "m", "t")
    assert chain.kind == "conversation"
    assert chain.delegates == ("sub",)
    assert chain.last_active_at == 900.0
    assert one(found, "sub").kind == "subagent"
    assert len(found) == 2


def test_a_delegate_begun_before_the_compression_is_never_the_continuation() -> None:
    """Up to 0.16 it carries no marker, so only the time tells (#79193)."""
    assert chains(
        a_session("r", end_reason="compression", ended_at=1000.0),
        a_session("d", parent_id="r", started_at=60.0, delegated_from="r"),
        a_session("old", parent_id="r", started_at=65.0),
        a_session("tl", parent_id="r", source="tool", started_at=1000.0),
        a_session("k", parent_id="r", started_at=1000.0),
    ) == {"k": ("r", "k"), "d": ("d",), "old": ("old",), "tl": ("tl",)}


def test_a_continuation_may_seem_a_moment_older_than_its_parents_end() -> None:
    assert chains(
        a_session("r", end_reason="compression", ended_at=100.0), a_session("k", parent_id="r", started_at=99.0)
    ) == {"k": ("r", "k")}


def test_a_marker_that_names_another_session_is_inherited_and_makes_no_fork() -> None:
    """Compression copies model_config, markers and all, into the continuation."""
    found = resolve(
        [
            a_session("p"),
            a_session("b", parent_id="p", branched_from="p", end_reason="compression", ended_at=10.0),
            a_session("b2", parent_id="b", branched_from="p", started_at=10.0),
        ]
    )
    assert one(found, "b2").segments == ("b", "b2")
    assert one(found, "b2").branched_from == "p"


def test_a_branch_of_a_compressed_session_does_not_continue_it() -> None:
    """Closed for compression, but never continued (#80337)."""
    found = resolve(
        [
            a_session("a", end_reason="compression", ended_at=100.0),
            a_session("b", parent_id="a", branched_from="a", started_at=150.0),
        ]
    )
    assert {item.id: item.branched_from for item in found} == {"a": None, "b": "a"}


def test_a_branch_keeps_its_own_entry_however_its_parent_ended() -> None:
    """#20856: the parent was reopened and closed with another reason; #39471: it was live all the time."""
    found = resolve(
        [
            a_session("p", end_reason="tui_shutdown", ended_at=500.0),
            a_session("br", parent_id="p", started_at=100.0, branched_from="p"),
            a_session("br2", parent_id="p", started_at=100.0, title="My own title"),
        ]
    )
    assert {item.id: (item.kind, item.branched_from) for item in found} == {
        "p": ("conversation", None),
        "br": ("conversation", "p"),
        "br2": ("conversation", "p"),
    }


def test_an_unmarked_branch_is_known_by_its_parents_end() -> None:
    found = resolve(
        [a_session("p", end_reason="branched", ended_at=100.0), a_session("c", parent_id="p", started_at=100.0)]
    )
    assert one(found, "c").branched_from == "p"


def test_a_session_after_a_reset_is_a_conversation_of_its_own() -> None:
    found = resolve(
        [a_session("p", end_reason="session_reset", ended_at=100.0), a_session("c", parent_id="p", started_at=101.0)]
    )
    assert {item.id: (item.kind, item.branched_from) for item in found} == {
        "p": ("conversation", None),
        "c": ("conversation", None),
    }


def test_the_rival_of_a_continuation_is_not_lost() -> None:
    """Two sessions go on from one; the one used last continues it, the other is a fork."""
    found = resolve(
        [
            a_session("r", end_reason="compression", ended_at=100.0),
            a_session("x", parent_id="r", started_at=100.0, last_message_at=500.0),
            a_session("y", parent_id="r", started_at=101.0, last_message_at=200.0),
        ]
    )
    assert one(found, "x").segments == ("r", "x")
    assert one(found, "y").branched_from == "r"


@pytest.mark.parametrize("source", ["tool", "subagent", "kanban", "oneshot"])
def test_sessions_made_by_machines_are_marked_as_such(source: str) -> None:
    assert resolve([a_session("a", source=source)])[0].kind == "subagent"


def test_a_row_is_not_hidden_merely_because_its_parent_is_gone() -> None:
    assert resolve([a_session("a", parent_id="gone")])[0].kind == "conversation"


def test_a_delegate_whose_parent_is_gone_is_still_a_delegate() -> None:
    assert resolve([a_session("a", delegated_from="__orphaned__")])[0].kind == "subagent"


def test_archived_is_what_the_tip_is() -> None:
    """Archiving the root does not hide a chain that goes on (#55588)."""
    found = resolve(
        [
            a_session("r", end_reason="compression", ended_at=100.0, archived=True),
            a_session("t", parent_id="r", started_at=100.0),
        ]
    )
    assert not one(found, "t").archived


def test_a_cycle_hides_nothing_and_ends() -> None:
    """#49148: parent links may form a ring."""
    found = chains(
        a_session("a", parent_id="b", end_reason="compression", ended_at=1.0, started_at=5.0),
        a_session("b", parent_id="a", end_reason="compression", ended_at=1.0, started_at=4.0),
        a_session("self", parent_id="self", end_reason="compression"),
    )
    assert found == {"a": ("b", "a"), "self": ("self",)}


def test_newest_activity_comes_first_and_equal_times_are_ordered_by_id() -> None:
    """A session without messages counts from its start."""
    found = resolve(
        [
            a_session("cron", started_at=900.0, last_message_at=950.0),
            a_session("old", started_at=1.0, last_message_at=1000.0),
            a_session("empty2", started_at=500.0, has_messages=False),
            a_session("empty1", started_at=500.0, has_messages=False),
        ]
    )
    assert [item.id for item in found] == ["old", "cron", "empty1", "empty2"]


ids = st.sampled_from("abcdefgh")
maybe_id = st.none() | ids
times = st.none() | st.floats(0, 1000)


@given(
    st.dictionaries(
        ids,
        st.fixed_dictionaries(
            {
                "parent_id": maybe_id,
                "branched_from": maybe_id,
                "delegated_from": maybe_id,
                "reset_from": st.none() | ids,
                "end_reason": st.sampled_from([None, "compression", "branched", "session_reset"]),
                "source": st.sampled_from(["cli", "tool"]),
                "title": st.sampled_from([None, "named"]),
                "started_at": times,
                "ended_at": times,
                "last_message_at": times,
            }
        ),
    )
)
def test_every_session_is_in_exactly_one_conversation(rows: dict[str, dict[str, object]]) -> None:
    found = resolve([a_session(id, **fields) for id, fields in rows.items()])
    placed = [id for item in found for id in item.segments]
    assert sorted(placed) == sorted(rows)
    tips = {item.id for item in found}
    delegates: list[str] = [id for item in found for id in item.delegates]
    assert set(delegates) <= tips
    assert len(delegates) == len(set(delegates))

"""Which conversations are old enough to go, why others stay, and that a plan is carried out as it is or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_sessions.storage.pruning import PrunePlan, PruneRules
from hermes_sessions.storage.writing import removal
from hermes_sessions.storage.writing.removed import Removed
from tests.storage.writing.written import Clock, Written

DAY = 86_400.0


@pytest.fixture(params=[16, 22, 31], ids=lambda version: f"v{version}")
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Written]:
    written = Written(tmp_path / "state.db", Clock(), request.param)
    yield written
    written.close()


@pytest.fixture
def newest(tmp_path: Path) -> Iterator[Written]:
    written = Written(tmp_path / "state.db", Clock(), 31)
    yield written
    written.close()


def old(written: Written, *session_ids: str) -> None:
    """Conversations of a hundred days ago that have ended."""
    written.clock.later(-100 * DAY)
    for session_id in session_ids:
        written.begin(session_id, f"text of {session_id}", "answer")
        written.sessions.end(session_id, "cli_close")
    written.clock.later(100 * DAY)


def plan(written: Written, **rules: object) -> PrunePlan:
    before = written.clock.now - 90 * DAY
    return written.removal.plan_prune(PruneRules(before, **rules))  # type: ignore[arg-type]


def named(plan: PrunePlan) -> list[str]:
    return [item.id for item in plan.items]


def test_the_last_activity_counts_and_not_the_start(written: Written) -> None:
    old(written, "a", "b")
    written.talk("a", "used again today")
    assert named(plan(written)) == ["b"]


def test_a_plan_says_what_would_go_and_how_much_that_is(written: Written) -> None:
    old(written, "a", "b")
    planned = plan(written)
    assert [(item.id, item.sessions, item.messages) for item in planned.items] == [("a", ("a",), 2), ("b", ("b",), 2)]
    assert planned.items[0].bytes == len("text of a" + "answer")
    assert (planned.sessions, planned.messages, planned.bytes) == (2, 4, 30)
    assert written.ids() == {"a", "b"}


def test_a_chain_goes_as_a_whole_or_stays(written: Written) -> None:
    for root, tip in (("a", "a2"), ("b", "b2")):
        written.clock.later(-100 * DAY)
        written.begin(root, "one", "1")
        written.lineage.compress(root, tip)
        written.talk(tip, "two", "2")
        written.lineage.delegate(tip, f"{root}-worker")
        written.sessions.end(tip, "cli_close")
        written.clock.later(100 * DAY)
    written.talk("b2", "today")
    planned = plan(written)
    assert [(item.id, item.sessions) for item in planned.items] == [("a2", ("a", "a2", "a-worker"))]
    written.removal.prune(planned)
    assert written.ids() == {"b", "b2", "b-worker"}


def test_a_worker_is_not_old_while_its_conversation_is_in_use_nor_the_other_way_round(written: Written) -> None:
    old(written, "boss")
    written.clock.later(-99 * DAY)
    written.lineage.delegate("boss", "worker")
    written.talk("worker", "task")
    written.sessions.end("worker", "agent_close")
    written.clock.later(99 * DAY)
    written.talk("boss", "today")
    assert named(plan(written)) == []
    old(written, "idle boss")
    written.lineage.delegate("idle boss", "busy worker")
    written.talk("busy worker", "task")
    assert named(plan(written)) == []


def test_a_worker_whose_conversation_is_gone_goes_by_its_own_age(written: Written) -> None:
    written.clock.later(-100 * DAY)
    written.sessions.create("left over", source="subagent", model_config={"_delegate_from": "gone"})
    written.sessions.end("left over", "agent_close")
    written.clock.later(100 * DAY)
    assert named(plan(written)) == ["left over"]


def test_what_is_spared_is_told_with_the_reason(written: Written) -> None:
    old(written, "old", "archived", "locked")
    written.clock.later(-100 * DAY)
    written.begin("open", "hello")
    written.clock.later(100 * DAY)
    written.sessions.archive("archived")
    written.lineage.locks.acquire("locked")
    planned = plan(written)
    assert named(planned) == ["old"]
    assert planned.spared == {"archived": ("archived",), "open": ("open",), "live": ("locked",)}
    assert named(plan(written, open=True, archived=True)) == ["old", "archived", "open"]


def test_what_is_pinned_or_was_touched_by_hermes_itself_stays(newest: Written) -> None:
    old(newest, "old", "pinned", "touched")
    newest.database.execute("UPDATE sessions SET pinned = 1 WHERE id = 'pinned'")
    newest.database.execute("UPDATE sessions SET last_activity_at = ? WHERE id = 'touched'", (newest.clock.now,))
    planned = plan(newest)
    assert named(planned) == ["old"]
    assert planned.spared == {"pinned": ("pinned",)}
    assert named(plan(newest, pinned=True)) == ["old", "pinned"]


def test_what_has_no_sensible_time_stays(written: Written) -> None:
    old(written, "odd")
    written.database.execute("UPDATE messages SET timestamp = -5")
    written.database.execute("UPDATE sessions SET started_at = 'long ago'")
    planned = plan(written, open=True)
    assert named(planned) == []
    assert planned.spared == {"undated": ("odd",)}


def test_a_further_condition_narrows_the_plan(written: Written) -> None:
    old(written, "a", "b")
    assert named(plan(written, fits=lambda conversation: conversation.id == "b")) == ["b"]


def test_pruning_deletes_what_the_plan_says_and_can_be_undone(written: Written) -> None:
    old(written, "a", "b", "c")
    written.begin("new", "today")
    before = written.content()
    kept: list[Removed] = []
    seen: list[tuple[int, int]] = []
    pruned = written.removal.prune(
        plan(written), keep=kept.append, progress=lambda done, whole: seen.append((done, whole))
    )
    assert pruned.sessions == ("a", "b", "c")
    assert pruned.changed == ()
    assert seen == [(3, 3)]
    assert written.ids() == {"new"}
    for removed in reversed(kept):
        written.removal.restore(removed)
    assert written.content() == before


def test_what_changed_since_the_plan_stays(written: Written) -> None:
    old(written, "used", "archived", "continued", "helped", "gone", "old")
    planned = plan(written)
    written.talk("used", "today")
    written.sessions.archive("archived")
    written.sessions.reopen("continued")
    written.lineage.compress("continued", "next")
    written.lineage.delegate("helped", "worker")
    written.clock.later(3_600)
    written.removal.delete("gone")
    pruned = written.removal.prune(planned)
    assert pruned.sessions == ("old",)
    assert set(pruned.changed) == {"used", "archived", "continued", "helped", "gone"}
    assert written.ids() == {"used", "archived", "continued", "next", "helped", "worker"}


def test_a_prune_goes_in_steps_and_what_was_done_before_it_stopped_stays_done(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "STEP_MESSAGES", 4)
    old(written, "a", "b", "c", "d", "e")

    def stop(done: int, whole: int) -> None:
        assert whole == 5
        if done == 4:
            raise KeyboardInterrupt

    kept: list[Removed] = []
    with pytest.raises(KeyboardInterrupt):
        written.removal.prune(plan(written), keep=kept.append, progress=stop)
    assert [removed.sessions for removed in kept] == [("a", "b"), ("c", "d")]
    assert written.ids() == {"e"}


def test_a_conversation_larger_than_a_step_is_one(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "STEP_MESSAGES", 1)
    old(written, "a", "b")
    assert written.removal.prune(plan(written)).sessions == ("a", "b")


def test_a_branch_of_what_is_pruned_stays(written: Written) -> None:
    old(written, "a")
    written.lineage.branch("a", "b")
    written.talk("b", "today")
    written.removal.prune(plan(written))
    assert written.ids() == {"b"}
    assert written.session("b", "parent_session_id") == (None,)

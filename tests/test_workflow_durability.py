"""A killed workflow goes on from its journal to the same end; workspace and journal agree (SPEC 0.9, 3.7)."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from players import Dying, Killed, story
from workflow_players import (
    ABC,
    FREE,
    GOOD,
    Played,
    Script,
    Shelf,
    Write,
    honest,
    plan,
    play,
    says,
    todo,
    writes,
)  # fmt: skip

from looper.budget import Budget, Price, total
from looper.errors import ReplayMismatch
from looper.journal import Journal, read
from looper.loops.workflow.answers import AddedTest, Review, Verified

PARTS = plan(todo("p", "t/a.py::ok"), todo("q", "t/b.py::ok", after=["p"]))
FRESH = plan(todo("x", "t/b.py::ok"), todo("y", "t/c.py::ok", after=["x"]), todo("z", after=["y"]))
GAP = plan(todo("g"))
CODE: dict[str, list[Any]] = GOOD | {
    "a": [[writes("a.py", "nofit"), writes("a.py", "no 1")], writes("a.py", "no 2")],
    "p": [[Write(look_at=["b.py"]), Write(needs_clarification="which word?")], writes("a.py")],
    "q": [writes("b.py", "no 1"), writes("b.py", "no 2")],
    "x": [writes("b.py")], "y": [writes("c.py")], "z": [writes("z.py")], "g": [writes("g.py")],
}  # fmt: skip


def adds(context: dict[str, Any]) -> Any:
    """The tester of the last task adds a test."""
    word = honest(context)
    new = context["planned"].key == "g" and not word.add
    return word.model_copy(update={"add": [AddedTest(name="test_g.py", text="g.py: ok")] if new else []})


def story_of_it_all() -> Script:
    """A refused plan, a replan, a question, a pivot, a task without checks, and a gap at the end."""
    gap = Verified(score=60, gaps=["no help text"])
    return Script(
        plans=[plan(todo("a")), ABC, PARTS, FRESH, GAP], code=CODE, reviews=[Review(score=100)],
        diagnoses=[says("REPLAN"), says("CLARIFY", question="Which?", choices=["this", "that"]), says("PIVOT")],
        answers={"clarify.1": "2"}, by={
            "verify": lambda context: gap if len(context["tasks"]) < 9 else None,
            "test": adds,
        },
    )  # fmt: skip


def whole(**more: Any) -> Played:
    return play(story_of_it_all(), max_fix_cycles=1, **more)


def test_the_story_has_everything_in_it() -> None:
    run = whole()
    assert run.end == ("completed", "verified")
    assert [verdict for _, verdict in run.rulings] == ["REPLAN", "CLARIFY", "PIVOT"]
    assert [context["why"] for context in run.troupe.heard("tasks")] == ["goal", "goal", "replan", "pivot", "gaps"]
    assert {"review_work", "clarify"} <= set(run.steps)
    assert run.task.messages == ["1.1 do p", "4 do x", "5 do y", "6 do z", "7 do g"]
    assert (run.states["1"], run.states["1.1"], run.states["1.2"]) == ("blocked", "completed", "blocked")
    assert any(event.step == "add_tests" for event in run.journal.events)


def killed(path: Path, at: int, **more: Any) -> Played:
    """The run killed before its n-th line, and the rest of it in another process."""
    dying = Dying(path, at=at, after=False)
    with pytest.raises(Killed):
        whole(journal=dying, **more)
    dying.close()
    return whole(journal=Journal(path, sync=False), **more)


def test_killed_before_every_line_it_comes_to_the_same_end_and_pays_no_step_twice(tmp_path: Path) -> None:
    expected = whole()
    lines = story(expected.journal.events)
    for at in range(1, len(lines) + 1):
        path = tmp_path / f"{at}.jsonl"
        run = killed(path, at)
        assert run.outcome == expected.outcome, at
        assert story(run.journal.events) == lines, at
        known = {event.key for event in expected.journal.events[: at - 1]}
        assert not known & {one.key for one in run.troupe.asked}, at
        assert len({event.key for event in run.journal.events}) == len(lines), at
        assert run.task.stood == expected.task.stood, "the workspace is put at every commit again"
        made = [commit for commit, *_ in run.task.commits]
        assert made == [commit for commit, *_ in expected.task.commits][len(expected.task.commits) - len(made) :], at
        run.journal.close()


def test_a_whole_journal_is_enough(tmp_path: Path) -> None:
    first = whole(journal=Journal(tmp_path / "j.jsonl", sync=False))
    first.journal.close()
    journal = Journal(tmp_path / "j.jsonl", sync=False)
    again = whole(journal=journal)
    assert again.outcome == first.outcome
    assert (again.troupe.asked, again.task.commits) == ([], [])
    assert again.task.stood == first.task.stood
    assert len(journal.events) == len(first.journal.events)
    journal.close()


def test_a_pause_and_an_answer_leave_the_journal_of_a_run_that_was_answered_at_once(tmp_path: Path) -> None:
    silent = story_of_it_all()
    silent.answers = {}
    path, task = tmp_path / "j.jsonl", Shelf()
    first = play(silent, task, Journal(path, sync=False), max_fix_cycles=1)
    assert first.end == ("paused", "clarify")
    first.journal.close()
    second = whole(journal=Journal(path, sync=False), task=task)
    expected = whole()
    assert second.outcome == expected.outcome
    assert story(second.journal.events) == story(expected.journal.events)
    assert first.steps + second.steps[1:] == expected.steps, "only the question is put again"
    second.journal.close()


def test_another_setting_is_not_taken_for_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with pytest.raises(Killed):
        whole(journal=Dying(path, at=60, after=False))
    other = story_of_it_all()
    with pytest.raises(ReplayMismatch):
        play(other, journal=Journal(path, sync=False), max_fix_cycles=1, max_tasks=7)


PRICED = {step: Price(outer=1.0) for step in ("tasks", "code", "diagnose", "verify")}


@pytest.mark.parametrize("outer", [9.0, 14.0, 21.0])
def test_a_budget_that_runs_out_ends_alike_after_a_kill_at_every_line(tmp_path: Path, outer: float) -> None:
    budget = Budget(inner=None, outer=outer, prices=PRICED)
    expected = whole(budget=budget)
    assert expected.end == ("stopped", "budget_exhausted")
    assert expected.steps[-1] == "verify"
    assert expected.ledger.overall()["outer"] <= outer
    for at in range(1, len(expected.journal.events) + 1, 3):
        run = killed(tmp_path / f"{at}.jsonl", at, budget=budget)
        assert run.outcome == expected.outcome, at
        assert story(run.journal.events) == story(expected.journal.events), at
        assert run.ledger.overall() == pytest.approx(expected.ledger.overall()), at
        run.journal.close()


def test_a_call_that_was_in_flight_is_in_the_ledger_as_lost(tmp_path: Path) -> None:
    expected = whole(metered=True)
    lost = 0
    for at in range(1, len(expected.journal.events) + 1, 3):
        path = tmp_path / f"{at}.jsonl"
        run = killed(path, at, metered=True, budget=FREE)
        assert run.outcome == expected.outcome, at
        steps = [event for event in read(path).events if event.key and event.event not in ("call_started", "call_done")]
        assert max(Counter(event.key for event in steps).values()) == 1
        gone = [call for event in steps for call in event.calls if call.label == "lost"]
        assert len(gone) <= 1
        assert run.ledger.overall() == pytest.approx(total(event.cost for event in steps)), at
        lost += len(gone)
        run.journal.close()
    assert lost > 0

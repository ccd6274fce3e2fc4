"""Document 004's baseline, in which one role decides everything (SPEC 1.1, 1.8)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dial_runs import break_off
from dial_runs import play as launched
from dial_walks import dial
from players import Seating, Slope, Spoken, money, play

from looper.build import instantiate
from looper.errors import InvalidAnswer
from looper.journal import Journal
from looper.loops.baseline import Baseline
from looper.tasks.dial import Dial, Move
from looper.types import Outcome, Question, Reply

CONF = Path(__file__).parents[1] / "conf"


class Actor:
    """Fills the role by a function of the question; costs what a model costs."""

    kind = "model"

    def __init__(self, say: Callable[[Question], Move]):
        self.say, self.asked = say, list[Question]()

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        return Reply(value=self.say(question), by="model:scripted")


def walked(say: Any = None, task: Any = None, loop: Baseline | None = None, **how: Any) -> tuple[Outcome, Any, Journal]:
    journal, actor = Journal(), Actor(say) if say else None
    cast = Seating(actor, ["actor"]) if actor else None
    outcome = play(loop or Baseline(), task or dial(), journal, cast=cast, events=Baseline.events, **how)
    return outcome, actor, journal


def steps(journal: Journal, *names: str) -> list[str]:
    return [event.step for event in journal.events if event.key and (not names or event.step in names)]


def test_each_step_is_one_call_and_the_last_state_is_judged() -> None:
    outcome, _, journal = walked(lambda _: Move(by=2.5))
    turn = ["probe", "gate"]
    assert steps(journal) == [
        "prepare", "observe",
        *turn, "act", "apply", "iteration_advanced",
        *turn, "act", "apply", "iteration_advanced",
        *turn,
    ]  # fmt: skip
    assert (outcome.status, outcome.reason, outcome.artifact) == ("completed", "threshold_reached", "5.0")


def test_a_state_that_is_good_from_the_start_needs_no_call() -> None:
    outcome, _, journal = walked(lambda _: Move(by=1), task=dial(low=-1, high=1))
    assert (outcome.status, outcome.facts["inner_steps"]) == ("completed", 0)
    assert "act" not in steps(journal)


def test_the_call_sees_task_state_signals_and_history() -> None:
    _, actor, _ = walked(lambda _: Move(by=1, why="a little"))
    first, second = (question.context for question in actor.asked[:2])
    assert (first["goal"], first["state"].position, first["signals"][0].name) == (dial().goal, 0.0, "band")
    assert first["history"] == []
    entry = second["history"][0]
    assert "a little" in entry["action"]
    assert entry["result"] == "position 1 reads 1"
    assert entry["feedback"] == pytest.approx(0.2)


def test_the_call_sees_the_latest_steps_only() -> None:
    _, actor, _ = walked(lambda _: Move(by=0.1), loop=Baseline(remembered=3), budget=money(outer=40.0))
    assert [entry["step"] for entry in actor.asked[10].context["history"]] == [8, 9, 10]


def test_a_call_of_a_model_costs_two_and_one_of_a_policy_a_tenth() -> None:
    budget = instantiate(yaml.safe_load((CONF / "budget/default.yaml").read_text()), "budget")
    assert budget.price("act") == {"outer": 2.0}
    assert budget.price("act", by_policy=True) == {"inner": 0.1}
    _, _, journal = walked(lambda _: Move(by=1))
    assert [event.cost for event in journal.events if event.step == "act"][:3] == [{"outer": 2.0}] * 3
    _, _, journal = walked()
    assert {event.cost["inner"] for event in journal.events if event.step == "act"} == {0.1}


def test_the_outer_budget_ends_the_run_after_three_calls() -> None:
    outcome, actor, _ = walked(lambda _: Move(by=1))
    assert len(actor.asked) == 3
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    assert (outcome.artifact, outcome.facts["inner_steps"]) == ("0.0", 3)


def test_at_the_limit_ask_pauses_and_keeps_the_log() -> None:
    outcome, _, _ = walked(lambda _: Move(by=1), budget=money(on_limit="ask"))
    assert (outcome.status, outcome.reason) == ("paused", "confirm")
    assert len(outcome.facts["log"]) == 3


def test_done_without_the_gate_is_told_once_and_ends_the_run_the_second_time() -> None:
    outcome, actor, journal = walked(lambda _: Move(done=True, why="score 1.0, passed"))
    assert len(actor.asked) == 2
    assert "not accepted" in actor.asked[1].context["history"][0]["result"]
    assert (outcome.status, outcome.reason, outcome.passed) == ("stopped", "stagnation", False)
    assert "apply" not in steps(journal)


def test_a_step_between_two_dones_starts_the_count_anew() -> None:
    moves = [Move(done=True), Move(by=1), Move(done=True), Move(by=4)]
    outcome, _, _ = walked(lambda _: moves.pop(0), budget=money(outer=8.0))
    assert outcome.status == "completed"


def test_the_rail_on_steps_holds_and_the_last_state_is_still_judged() -> None:
    outcome, _, _ = walked(lambda _: Move(by=1), loop=Baseline(max_steps=3))
    assert (outcome.status, outcome.reason) == ("stopped", "iteration_limit")
    outcome, _, _ = walked(lambda _: Move(by=2.5), loop=Baseline(max_steps=2))
    assert (outcome.status, outcome.reason) == ("completed", "threshold_reached")


def test_the_best_state_is_returned_not_the_last() -> None:
    outcome, _, _ = walked(task=Slope(scores=(0, 2, 1, 0)), loop=Baseline(max_steps=3))
    assert (outcome.artifact, outcome.score, outcome.reason) == ("state 1", 0.5, "iteration_limit")


def test_an_actor_without_an_answer_fails_the_run_with_what_was_done() -> None:
    def third_fails(question: Question) -> Move:
        if len(question.context["history"]) == 2:
            raise InvalidAnswer("no answer", "phase_error")
        return Move(by=1)

    outcome, _, _ = walked(third_fails)
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert [entry["step"] for entry in outcome.facts["log"]] == [1, 2]


def test_the_log_holds_what_the_comparison_needs() -> None:
    outcome, _, _ = walked(lambda _: Move(by=2.5))
    assert (outcome.facts["inner_steps"], len(outcome.facts["log"])) == (2, 2)
    entry = outcome.facts["log"][1]
    assert (entry["step"], entry["state"], entry["result"]) == (2, "position 2.5 reads 2.5", "position 5 reads 5")
    assert entry["signals"] == {"band": -2.5}
    assert entry["passed"] == {"band": False}
    assert (entry["outer_left"], entry["inner_left"]) == (2.0, pytest.approx(20 - 2 * 0.055))


def test_retries_are_paid_and_labelled() -> None:
    journal = Journal()
    spoken = Spoken(bad=1)
    outcome = play(Baseline(), Dial(), journal, cast=Seating(spoken, ["actor"]), budget=money(outer=9.0))
    acts = [event for event in journal.events if event.step == "act" and event.event == "step_done"]
    assert [[call.label for call in event.calls] for event in acts] == [["answer", "repair"]] * 2
    assert [event.cost["outer"] for event in acts] == [4.0, 4.0]
    assert outcome.reason == "budget_exhausted"


def test_a_killed_run_reports_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    how = {"loop": "baseline", "budget": {"outer": None}}
    whole = launched(tmp_path / "whole", **how)
    break_off(tmp_path / "r", lambda event: event.iteration == 4 and event.step == "act", **how)
    assert launched(tmp_path / "r", **how) == whole
    assert whole.status == "completed"

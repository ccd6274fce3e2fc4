"""The simulated model: what its calls cost, fail and are reserved for, as those of a model (SPEC 0.5)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from looper.agents.cast import Seats
from looper.agents.simulated import Simulated
from looper.budget import Budget, Ledger
from looper.errors import InvalidAnswer
from looper.execution import execute
from looper.journal import Journal
from looper.loops.once import Once
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial, Plan
from looper.tasks.sim.task import Sim
from looper.testing import check_agent, default_budget
from looper.types import Call, Outcome, Question

PRICED: dict[str, Any] = {"tokens": 400, "tokens_in": 1500, "price": {"input": 1.0, "output": 4.0}}
ONE = (1500 * 1.0 + 400 * 4.0) / 1e6


def run(model: dict[str, Any], seed: int = 0, **caps: Any) -> tuple[Outcome, Ledger, Journal]:
    journal, loop = Journal(), Once()
    prices = default_budget().prices
    ledger = Ledger(Budget(**{"prices": prices, "outer": None, **caps}))
    cast = Seats({"name": "simulated", "skill": 1.0, **model}, design=loop)
    outcome = execute(loop, Run(Stage(Sim(judged=0), cast, journal, ledger, seed=seed)))
    return outcome, ledger, journal


def calls(journal: Journal) -> list[Call]:
    return [call for event in journal.events if event.key and event.event != "call_done" for call in event.calls]


def test_tokens_and_usd_of_a_call_reach_the_ledger() -> None:
    _, ledger, journal = run(PRICED)
    assert ledger.overall() == pytest.approx({"inner": 0.05, "outer": 2.0, "calls": 1.0, "tokens": 1900.0, "usd": ONE})
    assert [event.event for event in journal.events].count("call_started") == 1


def test_without_tokens_an_answer_costs_units_alone_as_ever() -> None:
    _, ledger, journal = run({})
    assert ledger.overall() == {"inner": 0.05, "outer": 2.0}
    assert calls(journal) == []


def test_tokens_are_spread_within_what_is_reserved() -> None:
    how = Simulated(**PRICED, spread=0.5)
    made = [call for seed in range(60) for call in calls(run({**PRICED, "spread": 0.5}, seed)[2])]
    worst = how.worst_case()
    assert (worst.calls, worst.tokens) == (1, 2850)
    assert worst.usd == pytest.approx(1.5 * ONE)
    assert all(750 <= call.tokens_in <= 2250 and call.usd <= worst.usd for call in made)
    assert sum(call.tokens_in for call in made) / 60 == pytest.approx(1500, rel=0.1)
    assert len({call.tokens_out for call in made}) > 30


@pytest.mark.parametrize("caps", [{"usd": ONE / 2}, {"tokens": 1899}, {"calls": 0}])
def test_no_call_is_made_that_a_cap_does_not_hold(caps: dict[str, float]) -> None:
    outcome, ledger, journal = run(PRICED, **caps)
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    assert "call_started" not in [event.event for event in journal.events]
    assert not ledger.overall().get("usd")


def test_faults_and_bad_answers_are_tried_again_and_charged_each_with_its_label() -> None:
    model = {**PRICED, "faults": 0.4, "invalid": 0.3, "retries": 20, "repairs": 10}
    made = [call for seed in range(80) for call in calls(run(model, seed)[2])]
    labels = {(call.label, call.ended) for call in made}
    assert {("answer", "ok"), ("retry", "ok"), ("repair", "ok"), ("answer", "server_error")} <= labels
    failed = [call for call in made if call.ended == "server_error"]
    bad = [call for call in made if call.ended == "invalid"]
    assert {call.tokens_in + call.tokens_out for call in failed} == {0}, "what never came back is not billed"
    assert {call.tokens_in for call in bad} == {1500}, "an answer that is none is paid in full"
    assert len(failed) / len(made) == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize(
    ("model", "paid"), [({"faults": 1.0, "retries": 2}, 0.0), ({"invalid": 1.0, "repairs": 1}, 2.0)]
)
def test_without_an_answer_the_run_fails_and_its_calls_are_paid(model: dict[str, Any], paid: float) -> None:
    outcome, ledger, _ = run({**PRICED, **model})
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert "simulated planner gave no answer" in outcome.facts["detail"]
    assert ledger.overall()["calls"] == (3 if "faults" in model else 2)
    assert ledger.overall().get("usd", 0.0) == pytest.approx(paid * ONE)
    assert ledger.overall().get("outer", 0.0) == 2.0 * paid


def test_outside_a_run_it_answers_and_lists_its_calls() -> None:
    question = Question(role="planner", step="plan", key="k", context=dict(Dial().prepare()), returns=Plan, task=Dial())
    assert [call.label for call in Simulated(**PRICED).answer(question).calls] == ["answer"]
    with pytest.raises(InvalidAnswer, match="gave no answer after 1 calls"):
        Simulated(**PRICED, faults=1.0, retries=0).answer(question)


def test_its_dice_belong_to_seed_and_question() -> None:
    first, again, other = (calls(run({**PRICED, "spread": 1.0}, seed)[2])[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@dataclass
class Thrown:
    """A task whose simulated answer is the throw itself."""

    alias: str

    def simulate(self, question: Question, skill: float, dice: Any) -> Plan:
        return Plan(position=dice.random())


def test_tasks_of_one_seed_have_dice_of_their_own() -> None:
    """Else what is lucky on one task is lucky on all, and tasks are no independent clusters (experiments/LOG.md)."""

    def thrown(alias: str, seed: int = 1) -> float:
        asked = Question(role="planner", step="plan", key="k", context={}, returns=Plan, task=Thrown(alias), seed=seed)
        return Simulated(skill=1.0).answer(asked).value.position

    throws = [[thrown(f"task-{number}", seed) for number in range(200)] for seed in (1, 2)]
    assert len({value for row in throws for value in row}) == 400
    assert abs(float(np.corrcoef(*throws)[0, 1])) < 0.2
    assert 0.4 < float(np.mean(throws)) < 0.6
    assert thrown("task-7") == throws[0][7]


def test_the_answer_is_the_same_whatever_it_costs() -> None:
    assert run(PRICED)[0].artifact == run({})[0].artifact == run({**PRICED, "faults": 0.5, "retries": 20})[0].artifact


def test_a_call_takes_its_time_between_intent_and_settlement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed while it waits is to be found in the middle of a call."""
    journal, loop, seen = Journal(), Once(), list[list[str]]()

    def pause(seconds: float) -> None:
        seen.append([event.event for event in journal.events[-1:]])

    monkeypatch.setattr("looper.agents.simulated._pause", pause)
    ledger = Ledger(Budget(prices=default_budget().prices, outer=None))
    cast = Seats({"name": "simulated", "skill": 1.0, "latency": 2.0, **PRICED}, design=loop)
    execute(loop, Run(Stage(Sim(judged=0), cast, journal, ledger, seed=0)))
    assert seen == [["call_started"]]
    assert [call.seconds for call in calls(journal)] == [2.0]


def test_every_attempt_takes_its_time_and_an_answer_without_calls_too(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("looper.agents.simulated._pause", waited.append)
    with pytest.raises(InvalidAnswer):
        Simulated(faults=1.0, retries=2, latency=3.0, tokens=1).answer(
            Question(role="planner", step="plan", key="k", context={}, returns=Plan, task=Dial())
        )
    assert waited == [3.0] * 3
    run({"latency": 1.0})
    assert waited[3:] == [1.0]


def test_latency_is_told_and_not_waited_for() -> None:
    (call,) = calls(run({**PRICED, "latency": 50.0, "sleeps": False})[2])
    assert call.seconds == 50.0


@pytest.mark.parametrize("settings", [{"faults": 0.1}, {"invalid": 0.1}, {"price": {"input": 1, "output": 1}}])
def test_what_only_calls_can_have_needs_tokens(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="an answer without tokens is no call"):
        Simulated(**settings)


def test_it_conforms_with_and_without_tokens() -> None:
    check_agent(Simulated(skill=1.0, **PRICED))
    check_agent(Simulated(skill=1.0))


class Doubtful(Dial):
    """A task where supervisors are half as good as elsewhere."""

    accuracy: ClassVar[dict[str, float]] = {"plan": 0.0}


class Certain(Once):
    """A design that plays its own role."""

    def simulate(self, question: Question, skill: float, dice: Any) -> Plan:
        return Plan(position=skill)


def test_a_task_can_plant_the_accuracy_of_a_designs_own_roles() -> None:
    question = Question(role="planner", step="plan", key="k", context={}, returns=Plan, task=Doubtful())
    assert Simulated(skill=0.5).answer(question, Certain()).value.position == 0.0
    assert Simulated(skill=0.5).answer(question.model_copy(update={"task": Dial()}), Certain()).value.position == 0.5

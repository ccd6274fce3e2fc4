"""The checks for third parties: what ships conforms, and each kind of fault is found."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dial_runs import play as launched
from players import DESIGNS, HiddenDial, Spoken, money

from looper.agents.human import Human
from looper.agents.policy import Policy
from looper.agents.recording import Recording
from looper.agents.simulated import Simulated
from looper.checks.sandbox import Sandbox
from looper.criteria import Evaluation
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.run import Run
from looper.tasks.dial import Brief, Dial, Plan, Setting, Turn
from looper.tasks.repair.kinds import Shipped
from looper.tasks.repair.sources import CORPUS
from looper.testing import Nonconforming, check_agent, check_loop, check_task
from looper.types import Outcome, Question, Reply


def wrong(check: Callable[..., None], *args: Any, **more: Any) -> str:
    with pytest.raises(Nonconforming) as error:
        check(*args, **more)
    return str(error.value)


def test_the_smallest_task_conforms() -> None:
    check_task(Dial())
    check_task(HiddenDial(), hidden=["holdout-canary-7f3a"])


@pytest.mark.parametrize("design", sorted(DESIGNS))
def test_the_designs_conform_on_the_smallest_task(design: str) -> None:
    check_loop(DESIGNS[design], Dial())


@pytest.fixture(scope="module")
def shipped() -> Iterator[Shipped]:
    task = Shipped(name="ships_bells", sandbox=Sandbox(), jobs=1, alternatives=8)
    yield task
    task.close()


def test_a_shipped_program_conforms(shipped: Shipped) -> None:
    calls = {name: told((CORPUS / f"ships_bells/{name}.jsonl").read_text()) for name in ("tests", "hidden")}
    assert len(calls["hidden"] - calls["tests"]) > 3
    check_task(shipped, hidden=sorted(calls["hidden"] - calls["tests"]))
    visible = sorted(calls["tests"])[0]
    assert "where roles can see it" in wrong(check_task, shipped, hidden=[visible]), "the check is not blind"


def told(rows: str) -> set[str]:
    """The calls of test cases as prompts show them."""
    return {f"ships_bells({', '.join(map(repr, json.loads(row)[0]))}) should" for row in rows.splitlines()}


@pytest.mark.parametrize("loop", [Adaptive(), Baseline(max_steps=3)])
def test_the_designs_conform_on_a_shipped_program(loop: Any, shipped: Shipped) -> None:
    check_loop(loop, shipped, kills=3)


def test_agents_that_ship_conform(tmp_path: Path) -> None:
    launched(tmp_path / "r")
    for agent in (Policy(), Simulated(skill=1.0), Recording(path=str(tmp_path / "r")), Human(), Spoken()):
        check_agent(agent)


def test_a_task_without_parts_of_the_interface_is_told_which() -> None:
    assert "lacks goal, criteria, prepare" in wrong(check_task, object())


class Unsteady(Dial):
    def apply(self, state: Setting, action: Turn) -> Setting:
        self.__dict__["n"] = self.__dict__.get("n", 0) + 1
        return self.setting(state.position + action.by + self.__dict__["n"] / 7)


class Boastful(Dial):
    def evaluate(self, state: Setting) -> Evaluation:
        return super().evaluate(state).model_copy(update={"passed": True})


class Garbled(Dial):
    def render(self, state: Setting) -> str:
        return f"{state.position:.0f}"


class Excited(Dial):
    def feedback(self, before: Setting, after: Setting) -> float:
        return 7.0


class Peeking(HiddenDial):
    def observe(self, plan: Plan | None) -> Setting:
        self.holdout("")
        return super().observe(plan)


class Leaking(HiddenDial):
    def prepare(self) -> Brief:
        return super().prepare().model_copy(update={"goal": "reach holdout-canary-7f3a"})


class Mute(Dial):
    def policy(self, step: str) -> Callable[..., Any] | None:
        return (lambda **_: Turn(by=1)) if step == "plan" else super().policy(step)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (Unsteady(), "apply: two calls with the same arguments"),
        (Boastful(), "`passed` does not follow"),
        (Garbled(gain=1.23), "parse: the gate judges"),
        (Excited(), "feedback: 7.0"),
        (Peeking(), "holdout: was measured before the end"),
        (Leaking(), "is where roles can see it"),
        (Mute(), "policy plan: does not answer with Plan"),
    ],
)  # fmt: skip
def test_each_fault_of_a_task_is_found(task: Any, told: str) -> None:
    if isinstance(task, Garbled):  # a gate between whole numbers, so that rounding matters
        object.__setattr__(task, "low", -0.5)
        object.__setattr__(task, "high", 0.0)
        object.__setattr__(task, "setting", lambda position: Setting(position=position + 0.3, reading=position))
    found = wrong(check_task, task, hidden=["holdout-canary-7f3a"])
    assert told in found


class Lucky(Baseline):
    """Says completed whatever the gate says."""

    def run(self, task: Any, run: Run) -> Outcome:
        super().run(task, run)
        return run.outcome("completed", "threshold_reached")


class Forgetful(Baseline):
    """Counts outside its journal."""

    def run(self, task: Any, run: Run) -> Outcome:
        self.__dict__["n"] = self.__dict__.get("n", 0) + 1
        return super().run(task, run).model_copy(update={"facts": {"n": self.__dict__["n"]}})


class Restless(Baseline):
    """Asks a role that it does not declare."""

    def run(self, task: Any, run: Run) -> Outcome:
        run.ask("critic", task.answer("plan"), step="plan", **run.brief)
        return super().run(task, run)


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        (Lucky(max_steps=2), "completed: the gate is not met"),
        (Forgetful(), "replay: a whole journal leads to another outcome"),
        (Restless(), "roles: critic is asked but not declared"),
    ],
)
def test_each_fault_of_a_loop_is_found(loop: Any, told: str) -> None:
    assert told in wrong(check_loop, loop, Dial(), budget=money())


class Wrong:
    kind = "policy"

    def answer(self, question: Question) -> Reply:
        return Reply(value=Turn(by=1))


class Fickle:
    kind = "policy"

    def __init__(self) -> None:
        self.n = 0.0

    def answer(self, question: Question) -> Reply:
        self.n += 1
        return Reply(value=Plan(position=self.n))


class Cheat:
    """Makes calls that nobody pays."""

    kind = "model"

    def answer(self, question: Question) -> Reply:
        with question.attempt("answer", None):
            return Reply(value=Plan(position=0))


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (Wrong(), "the answer is no Plan"),
        (Fickle(), "answered in two ways"),
        (Cheat(), "opened and not settled"),
        (object(), "lacks answer"),
    ],
)
def test_each_fault_of_an_agent_is_found(agent: Any, told: str) -> None:
    assert told in wrong(check_agent, agent)

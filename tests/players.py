"""Doubles that the tests of the kernel share: dying journals, scripted agents, a dial that keeps a holdout."""

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from looper.agents.policy import Policy
from looper.budget import Budget, Ledger, Price
from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.errors import InvalidAnswer
from looper.execution import execute
from looper.journal import Event, Journal
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.parts import Parts
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial, Plan, Replan
from looper.types import Call, Outcome, Question, Reply, Usage

CANARY = "holdout-canary-7f3a"
CLOCK = ("ts", "seconds", "elapsed", "hash")
"""Fields that differ between two runs of the same story."""


def prices() -> dict[str, Price]:
    """The prices of conf/budget/default.yaml."""
    planning = {name: Price(outer=2.0) for name in ("plan", "replan", "evaluate")}
    return planning | {
        "act": Price(outer=2.0, policy=Price(inner=0.1)), "probe": Price(inner=0.05), "decide": Price(inner=0.1),
        "apply": Price(inner=0.005),
    }  # fmt: skip


def money(**caps: Any) -> Budget:
    return Budget(**{"prices": prices(), **caps})


class Truth(BaseModel):
    """What the holdout said."""

    passed: bool
    score: float
    detail: str = CANARY


class HiddenDial(Dial):
    """A dial whose holdout holds a canary, counts its uses, and whose planner has a second idea."""

    measured: ClassVar[list[str]] = []

    def holdout(self, artifact: str) -> Truth:
        self.measured.append(artifact)
        return Truth(passed=True, score=1.0)


class TwoPlanDial(Dial):
    """A dial whose planner begins anew once; the way is too long for one inner account."""

    def policy(self, step: str) -> Callable[..., Any] | None:
        if step == "replan":
            return lambda state, **_: Replan(plan=Plan(position=state.position))
        return super().policy(step)


class Level(BaseModel):
    """A state of `Slope`."""

    at: int


class Push(BaseModel):
    """An action of `Slope`."""

    by: int = 1
    done: bool = False


class Pushed(BaseModel):
    """A decision of `Slope`'s policy."""

    action: Push | None


@dataclass(frozen=True)
class Slope:
    """States 0, 1, 2, ... with a score each: for what a design returns when later states are worse."""

    scores: tuple[int, ...] = (0, 2, 1, 0)
    """Rules passed, of four, in each state; the gate wants all."""
    goal: str = "climb"

    @property
    def criteria(self) -> Criteria:
        rules = [Rule(id=f"a.r{i}") for i in range(4)]
        return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)])

    def prepare(self) -> Level:
        return Level(at=0)

    def answer(self, step: str) -> type[BaseModel]:
        return {"act": Push}[step]

    def observe(self, plan: Plan | None) -> Level:
        return Level(at=0)

    def probes(self) -> list[Any]:
        return []

    def policies(self) -> list[Any]:
        return []

    def apply(self, state: Level, action: Push) -> Level:
        return Level(at=min(state.at + action.by, len(self.scores) - 1))

    def quantity(self, action: Push) -> float:
        return 1.0

    def feedback(self, before: Level, after: Level) -> float:
        return float(self.scores[after.at] - self.scores[before.at]) / 4

    def evaluate(self, state: Level) -> Evaluation:
        return self.criteria.evaluate({f"a.r{i}": Finding(passed=i < self.scores[state.at]) for i in range(4)})

    def describe(self, state: Level) -> str:
        return f"at {state.at}"

    def render(self, state: Level) -> str:
        return f"state {state.at}"

    def parse(self, text: str) -> Level:
        return Level(at=int(text.split()[1]))

    def policy(self, step: str) -> Callable[..., Any] | None:
        return {"act": lambda at, **_: Push()}.get(step)


@dataclass
class Spoken:
    """A policy behind a meter: each answer takes `bad` failing attempts and a good one, all paid."""

    bad: int = 0
    """Failing attempts before the good one, per question."""
    give_up: bool = False
    """Whether no good one comes."""
    tokens: int = 10
    worst: int = 25
    heard: list[str] = field(default_factory=list)
    """`key label` of every attempt that was really made."""
    slow: float = 0.0
    metered: ClassVar[bool] = True
    kind: ClassVar[str] = "model"

    def answer(self, question: Question) -> Reply:
        for number in range(self.bad):
            self._attempt(question, "repair" if number else "answer", "unparsable")
        if self.give_up:
            raise InvalidAnswer(f"{question.key}: no answer", "phase_error", ended="unparsable")
        self._attempt(question, "repair" if self.bad else "answer", "ok")
        value = Policy().answer(question).value
        return Reply(value=value, by="model:scripted", said="spoken")

    def _attempt(self, question: Question, label: str, ended: str) -> None:
        with question.attempt(label, Usage(tokens=self.worst, usd=self.worst / 1000)) as paid:
            self.heard.append(f"{question.key} {label}")
            if self.slow:
                time.sleep(self.slow)
            used = Call(label=label, ended=ended, tokens_in=self.tokens - 2, tokens_out=2, usd=self.tokens / 1000)
            paid.settle(used)


@dataclass
class Seating:
    """A cast: the same agent in the named roles, the task's policies in all others. Keeps all questions."""

    agent_: Any = None
    roles: Sequence[str] = ()
    asked: list[Question] = field(default_factory=list)

    def agent(self, role: str, step: str, task: Any) -> Any:
        return _Listening(self.agent_ if role in self.roles else Policy(), self.asked)


class _Listening:
    def __init__(self, agent: Any, asked: list[Question]):
        self.inner, self.asked = agent, asked
        self.metered, self.kind = getattr(agent, "metered", False), agent.kind

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        return self.inner.answer(question)


class Killed(BaseException):
    """The process is gone; nothing may catch this."""


class Dying(Journal):
    """Dies at its n-th append, before the line is written or just after; stays dead."""

    def __init__(self, path: Path, *, at: int, after: bool):
        self.at, self.after, self.done = at, after, 0
        super().__init__(path, sync=False)

    def append(self, event: Event, *, lazy: bool = False) -> Event:
        self.done += 1
        if self.done < self.at or (self.after and self.done == self.at):
            event = super().append(event, lazy=lazy)
        if self.done >= self.at:
            raise Killed
        return event


def play(
    loop: Any, task: Any, journal: Journal, *, cast: Any = None, budget: Budget | None = None, **stage: Any
) -> Outcome:
    """One process's time with a run, without a folder."""
    return execute(loop, Run(Stage(task, cast or Seating(), journal, Ledger(budget or money()), **stage)))


def story(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events without what a clock says."""
    return [{k: v for k, v in event.model_dump(mode="json").items() if k not in CLOCK} for event in events]


def parts(loop: Any = None, task: Any = None, budget: Budget | None = None, **config: Any) -> Parts:
    """What a configuration builds, for `launch`."""
    return Parts(
        task=task or Dial(), loop=loop or Adaptive(), budget=budget or money(), sandbox=None, tracking=None,
        config={"model": {"name": "offline"}, "seed": 0, "agents": {}, **config},
    )  # fmt: skip


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; its process id. The child never returns."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def shoot(child: int, after: float) -> int:
    """SIGKILL a child after so many seconds; its raw wait status (0 if it was done before)."""
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


DESIGNS: dict[str, Any] = {"baseline": Baseline(), "adaptive": Adaptive()}
DICE = random.Random


def quick_disk(patch: Any) -> None:
    """For tests that are not about power failures: nothing waits for the disk."""
    for name in ("fsync", "fdatasync"):
        patch.setattr(os, name, lambda _file: None)

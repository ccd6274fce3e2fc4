"""Adaptive: a cheap, deterministic probe policy finds the way under a costly planner (document 004, Adaptive Mode).

plan --> observe --> [ probe --> stable? --> decide --> apply --> ladder, adapt ]*      inner account
            ^                      | yes         | budget or ideas used up
            |                      |             +--> replan, if evaluate can still be paid after it
            +----------------------|------------------+     outer account, inner account reset
                                   +--> evaluate --> completed
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt
from pydantic.dataclasses import dataclass

from looper.budget import ControlBudget
from looper.criteria import Evaluation
from looper.errors import BudgetExceeded, Interruption, PhaseError
from looper.loops.log import left, readings
from looper.loops.look import look, steps, work_steps, worked
from looper.run import Run
from looper.tasks.environment import FailureType, ProbePolicy, Task
from looper.types import STRICT, Outcome, Signal

Level = Annotated[float, Field(ge=0, le=3)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ProportionalLadder:
    """How boldly to act: rises with progress, falls without it (document 004, Ladder; SPEC 1.5)."""

    start: Level = 0.0
    """Level at the start, 0..3."""
    gain_up: Annotated[float, Field(ge=0, le=3)] = 0.5
    """Rise per unit of feedback above 0."""
    gain_down: Annotated[float, Field(ge=0, le=3)] = 0.5
    """Fall per unit of feedback below 0."""

    def update(self, level: float, feedback: float) -> float:
        """The level after feedback in [-1, 1]."""
        gain = self.gain_up if feedback >= 0 else self.gain_down
        return min(3.0, max(0.0, level + gain * max(-1.0, min(1.0, feedback))))


class StrategySelector:
    """Which policy is asked: by failure type and ladder range, the cheapest affordable one first (document 004)."""

    def __init__(self, policies: Sequence[ProbePolicy], price: Callable[[str], float] = lambda _step: 0.0):
        self.policies, self.price = policies, price

    def candidates(self, failure: FailureType, level: float) -> list[ProbePolicy]:
        """Policies that know this failure and this ladder range, cheapest first; of equal price in the task's order."""
        able = [p for p in self.policies if failure in p.handles and p.levels[0] <= level <= p.levels[1]]
        return sorted(able, key=lambda policy: self.price(policy.step))


class Entry(BaseModel):
    """One inner step as the result reports it (SPEC 1.8)."""

    step: int
    state: str
    """The state that was probed, in the task's words."""
    policy: str
    failure: str
    signals: dict[str, float]
    passed: dict[str, bool]
    score: float
    feedback: float
    level: float
    inner_left: float | None
    outer_left: float | None
    action: str


class Explored(BaseModel, arbitrary_types_allowed=True):
    """What the inner loop came to."""

    state: Any
    met: bool = False
    """Whether the gate is met in this state, as the last look at it said."""
    why: str
    """stable, exhausted (no policy has anything left), budget_exhausted, iteration_limit or time_limit."""


@dataclasses.dataclass
class Course:
    """What a run has come to so far, over all its plans."""

    log: list[Entry] = dataclasses.field(default_factory=list)
    planner_calls: int = 0
    best: Any = None
    """The state whose artifact is the run's best."""
    visited: set[str] = dataclasses.field(default_factory=set)
    """Keys of all states of all plans: no action leads to one of them again (SPEC 1.4)."""

    def facts(self) -> dict[str, Any]:
        """What the comparison needs, however the run ends (SPEC 1.8)."""
        return {"planner_calls": self.planner_calls, "inner_steps": len(self.log), "log": self.log}

    def latest(self) -> list[dict[str, Any]]:
        """The last ten steps, as the planner sees them."""
        return [entry.model_dump() for entry in self.log[-10:]]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Adaptive:
    """Inner loop under an outer loop, each with its own account."""

    ladder: ProportionalLadder = Field(default_factory=ProportionalLadder)
    """Scales the policy's steps."""
    max_steps: PositiveInt = 50
    """Inner steps per plan at most (SPEC 1.2)."""
    stable_for: PositiveInt = 1
    """Consecutive states whose signals must pass (SPEC 1.7)."""
    max_mistakes: PositiveInt = 3
    """Actions that change nothing, in a row, before the run fails: an error of the policy, not a step (SPEC 1.4)."""
    name: ClassVar[str] = "adaptive"
    roles: ClassVar[dict[str, str]] = {
        "planner": "chooses where to begin, writes the result, begins anew if stuck",
        "policy": "decides each inner step",
    }
    events: ClassVar[dict[str, str]] = {"plan": "plan_created", "replan": "plan_created", "gate": "evaluation_done"}

    def run(self, task: Task, run: Run) -> Outcome:
        run.keep("evaluate", "planner")
        course = Course()
        try:
            return self.follow(task, run, course)
        except Interruption as end:
            end.facts.update(course.facts())
            raise

    def follow(self, task: Task, run: Run, course: Course) -> Outcome:
        """Plans and walks until the run has come to an end of its own."""
        course.planner_calls += 1
        plan: Any = run.ask("planner", task.answer("plan"), step="plan", **run.brief)
        while True:
            found = self.explore(task, run, plan, course)
            if found.met or found.why in ("stable", "time_limit") or not run.affords("replan", "evaluate"):
                return self.close(task, run, found, course)
            course.planner_calls += 1
            again: Any = run.ask(
                "planner", task.answer("replan"), step="replan", **run.brief, state=found.state, why=found.why,
                best=run.best.artifact if run.best else None, history=course.latest(),
            )  # fmt: skip
            if again.plan is None:
                return self.close(task, run, found.model_copy(update={"why": "no_new_plan"}), course)
            plan = again.plan
            ControlBudget(run.ledger).inner.reset()

    def close(self, task: Task, run: Run, found: Explored, course: Course) -> Outcome:
        """Success path, and the orderly end that `on_limit: wrap_up` keeps its reserve for."""
        good = found.met or found.why == "stable"
        if good or run.ledger.budget.on_limit == "wrap_up":
            course.planner_calls += 1
            self.conclude(task, run, found.state if good or course.best is None else course.best, course)
        facts = course.facts()
        if run.best and run.best.evaluation.passed:
            return run.outcome("completed", "stable" if found.why == "stable" else "threshold_reached", **facts)
        why = {"exhausted": "no_new_plan", "stable": "stagnation"}.get(found.why, found.why)
        return run.outcome("stopped", why, **facts)

    def conclude(self, task: Task, run: Run, state: Any, course: Course) -> None:
        answer = run.ask(
            "planner", task.answer("evaluate"), step="evaluate", **run.brief, state=state, history=course.latest()
        )
        final = task.conclude(state, answer)
        run.keep("gate")  # the close is judged even when the run's time is up
        run.consider(task.render(final), run.do("gate", task.evaluate, final), final=True)

    def explore(self, task: Task, run: Run, plan: Any, course: Course) -> Explored:
        """The inner loop: until the signals are stable, or the inner account, the steps or the ideas are used up."""
        walk = Walk(self, task, run, course)
        try:
            walk.begin(run.do("observe", task.observe, plan))
            while True:
                if why := walk.step():
                    return Explored(state=walk.state, met=walk.met, why=why)
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit != "wrap_up" or walk.state is None:
                raise
            return Explored(state=walk.state, met=walk.met, why=end.reason)


class Walk:
    """One walk of the inner loop from a planned state: document 004's orchestrator."""

    def __init__(self, design: Adaptive, task: Task, run: Run, course: Course):
        self.design, self.task, self.whole, self.course = design, task, run, course
        self.control = ControlBudget(run.ledger)
        self.policies = list(task.policies())
        self.selector = StrategySelector(self.policies, self.price)
        self.level = design.ladder.start
        self.state: Any = None
        self.visited: set[str] = set()
        self.earlier: set[str] = set()
        """Visited along earlier plans."""
        self.steps = self.steady = self.mistakes = self.refusals = 0
        self.met, self.fresh = False, True
        self.refused = ""

    def price(self, step: str) -> float:
        """Units that a step costs, of both accounts."""
        return sum(self.whole.ledger.budget.price(step).values())

    def begin(self, state: Any) -> None:
        self.state = state
        self.visited = {self.task.key(state)}
        self.earlier = set(self.course.visited)
        self.course.visited |= self.visited
        self.memories = {policy.name: policy.initialize(state) for policy in self.policies}

    def step(self) -> str | None:
        """One round; why the walk has ended, or None to go on."""
        run = self.whole.scope("iteration")
        if not run.affords(*steps(self.task, self.state)):
            return self.limit(run)
        self.state, signals = look(self.task, run, self.state)
        verdict = self.judge(run)
        if self.fresh:  # a state that a refused action left as it was is not another stable one
            self.steady = self.steady + 1 if self.stable(signals) else 0
        if self.steady >= self.design.stable_for:
            return "stable"
        if self.steps >= self.design.max_steps:
            return "iteration_limit"
        return self.move(run, signals, verdict)

    def judge(self, run: Run) -> Evaluation:
        verdict = run.do("gate", self.task.evaluate, self.state)
        before = self.whole.best
        self.whole.consider(self.task.render(self.state), verdict)
        if self.whole.best is not before:
            self.course.best = self.state
        self.met = verdict.passed
        return verdict

    def stable(self, signals: list[Signal]) -> bool:
        return all(policy.is_stable(self.state, signals) for policy in self.policies)

    def move(self, run: Run, signals: list[Signal], verdict: Evaluation) -> str | None:
        failure = self.task.classify(self.state, signals)
        short = False
        for policy in self.selector.candidates(failure, self.level):
            if not run.affords(policy.step):
                short = True
                continue
            action = self.decide(run, policy, signals)
            if action is None:
                continue
            if not self.pays(run, action):
                return self.limit(run)
            turn = {"policy": policy.name, "failure": failure.value, "score": verdict.score, **readings(signals)}
            self.take(run, action, {**turn, "action": str(action)[:500]})
            return None
        return self.limit(run) if short else "exhausted"

    def pays(self, run: Run, action: Any) -> bool:
        """Whether the action can be paid and the state after it still be tested (SPEC 1.3)."""
        own = ["apply"] * math.ceil(self.task.quantity(action))
        return run.affords(*work_steps(self.task), *own, *steps(self.task, self.state))

    def limit(self, run: Run) -> str:
        return "budget_exhausted" if run.affords() else "time_limit"

    def decide(self, run: Run, policy: ProbePolicy, signals: list[Signal]) -> Any:
        answer: Any = run.ask(
            "policy", self.task.answer("decide"), step=policy.step, **run.brief, policy=policy.name, state=self.state,
            signals=signals, memory=self.memories[policy.name], level=self.level, refused=self.refused,
        )  # fmt: skip
        return answer.action

    def take(self, run: Run, action: Any, turn: dict[str, Any]) -> None:
        before = self.state
        work = worked(self.task, run, before, action)
        after = run.do("apply", self.task.apply, before, work, quantity=self.task.quantity(work))
        key = self.task.key(after)
        self.fresh = key not in self.visited | self.earlier
        if not self.fresh:
            if key in self.visited and not work_steps(self.task):
                # of an earlier plan's states the policy, whose memory is new, knows nothing; a writer's fault is none
                self.mistakes += 1
            self.refuse(run, action, after, turn["policy"])
            return
        feedback = self.task.feedback(before, after)
        self.steps, self.mistakes, self.met, self.refused = self.steps + 1, 0, False, ""
        self.level = self.design.ladder.update(self.level, feedback)
        self.remember(action, after, feedback)
        self.state = after
        self.visited.add(key)
        self.course.visited.add(key)
        self.record(run, {**turn, "state": self.task.describe(before)[:500], "feedback": feedback})

    def remember(self, action: Any, after: Any, feedback: float) -> None:
        self.memories = {
            p.name: p.adapt(self.memories[p.name], self.state, action, after, feedback) for p in self.policies
        }

    def refuse(self, run: Run, action: Any, after: Any, policy: str) -> None:
        """An action that changes nothing or leads back is not a step; the policy is told, and not for ever."""
        self.refusals += 1
        self.refused = (
            f"{str(action)[:500]}: changed nothing, or led back to a visited state ({self.task.describe(after)})"
        )
        run.note("action_refused", policy=policy, action=str(action)[:500], mistakes=self.mistakes)
        if self.mistakes >= self.design.max_mistakes or self.refusals > self.design.max_steps:
            times = f"{self.mistakes} actions in a row" if self.mistakes > 1 else "an action"
            times = times if self.mistakes else f"{self.refusals} actions"
            raise PhaseError(f"policy {policy}: {times} changed nothing or led back to a visited state.")
        self.remember(action, after, -1.0)

    def record(self, run: Run, turn: dict[str, Any]) -> None:
        entry = {"step": len(self.course.log) + 1, "level": self.level, **turn, **left(self.control)}
        self.course.log.append(Entry.model_validate(run.note("iteration_advanced", **entry)))

"""Adaptive: a cheap, deterministic probe policy finds the way under a costly planner (document 004, Adaptive Mode).

plan --> observe --> [ probe --> stable? --> decide --> apply --> ladder, adapt ]*      inner account
            ^                      | yes         | budget or ideas used up
            |                      |             +--> replan, if evaluate can still be paid after it
            +----------------------|------------------+     outer account, inner account reset
                                   +--> evaluate --> completed
"""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt
from pydantic.dataclasses import dataclass

from looper.criteria import Evaluation
from looper.errors import BudgetExceeded, PhaseError
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

    def __init__(self, policies: "list[ProbePolicy]"):
        self.policies = policies

    def candidates(self, failure: FailureType, level: float) -> list[ProbePolicy]:
        """Policies that know this failure and this ladder range, in the task's order (cheapest first)."""
        return [p for p in self.policies if failure in p.handles and p.levels[0] <= level <= p.levels[1]]


class Entry(BaseModel):
    """One inner step as the result reports it (SPEC 1.8)."""

    step: int
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
    why: str
    """stable, exhausted (no policy has anything left), budget_exhausted, iteration_limit or time_limit."""


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
        run.keep("evaluate")
        log: list[Entry] = []
        plans = 1
        plan: Any = run.ask("planner", task.answer("plan"), step="plan", **run.brief)
        while True:
            found = self.explore(task, run, plan, log)
            if found.why == "stable":
                return self.close(task, run, found, log, plans)
            if found.why == "time_limit" or not run.affords("replan", "evaluate"):
                return self.close(task, run, found, log, plans)
            again: Any = run.ask(
                "planner", task.answer("replan"), step="replan", **run.brief,
                state=found.state, why=found.why, history=[entry.model_dump() for entry in log[-10:]],
            )  # fmt: skip
            if again.plan is None:
                return self.close(task, run, found.model_copy(update={"why": "no_new_plan"}), log, plans)
            plan, plans = again.plan, plans + 1
            run.ledger.refill("inner")

    def close(self, task: Task, run: Run, found: Explored, log: list[Entry], plans: int) -> Outcome:
        """Success path, and the orderly end that `on_limit: wrap_up` keeps its reserve for."""
        evaluated = found.why == "stable" or run.ledger.budget.on_limit == "wrap_up"
        if evaluated:
            state = found.state if found.why == "stable" or not run.best else run.do("recall", task.parse, run.best.artifact)
            self.conclude(task, run, found.state if found.why == "stable" else state, log)
        facts = {"planner_calls": plans + evaluated, "inner_steps": len(log), "log": log}
        if found.why == "stable" and run.best and run.best.evaluation.passed:
            return run.outcome("completed", "stable", **facts)
        why = {"exhausted": "no_new_plan", "stable": "stagnation"}.get(found.why, found.why)
        return run.outcome("stopped", why, **facts)

    def conclude(self, task: Task, run: Run, state: Any, log: list[Entry]) -> None:
        history = [entry.model_dump() for entry in log[-10:]]
        answer = run.ask("planner", task.answer("evaluate"), step="evaluate", **run.brief, state=state, history=history)
        final = task.conclude(state, answer)
        run.consider(task.render(final), run.do("gate", task.evaluate, final), final=True)

    def explore(self, task: Task, run: Run, plan: Any, log: list[Entry]) -> Explored:
        """The inner loop: until the signals are stable, or the inner account, the steps or the ideas are used up."""
        walk = Walk(self, task, run, log)
        try:
            walk.begin(run.do("observe", task.observe, plan))
            while True:
                if why := walk.step():
                    return Explored(state=walk.state, why=why)
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit != "wrap_up" or walk.state is None:
                raise
            return Explored(state=walk.state, why=end.reason)


class Walk:
    """One walk of the inner loop from a planned state: document 004's orchestrator."""

    def __init__(self, design: Adaptive, task: Task, run: Run, log: list[Entry]):
        self.design, self.task, self.whole, self.log = design, task, run, log
        self.policies = list(task.policies())
        self.selector = StrategySelector(self.policies)
        self.level = design.ladder.start
        self.state: Any = None
        self.visited: set[str] = set()
        self.steps = self.steady = self.mistakes = 0

    def begin(self, state: Any) -> None:
        self.state = state
        self.visited = {self.task.key(state)}
        self.memories = {policy.name: policy.initialize(state) for policy in self.policies}

    def step(self) -> str | None:
        """One round; why the walk has ended, or None to go on."""
        run = self.whole.scope("iteration")
        if not run.affords(*["probe"] * len(self.task.probes())):
            return self.limit()
        signals = self.probe(run)
        verdict = run.do("gate", self.task.evaluate, self.state)
        self.whole.consider(self.task.render(self.state), verdict)
        self.steady = self.steady + 1 if self.stable(signals) else 0
        if self.steady >= self.design.stable_for:
            return "stable"
        if self.steps >= self.design.max_steps:
            return "iteration_limit"
        return self.move(run, signals, verdict)

    def probe(self, run: Run) -> list[Signal]:
        found = run.each(
            [probe.name for probe in self.task.probes()],
            lambda r, name: r.do("probe", next(p for p in self.task.probes() if p.name == name).test, self.state),
        )
        return list(found.values())

    def stable(self, signals: list[Signal]) -> bool:
        return all(policy.is_stable(self.state, signals) for policy in self.policies)

    def move(self, run: Run, signals: list[Signal], verdict: Evaluation) -> str | None:
        failure = self.task.classify(self.state, signals)
        for policy in self.selector.candidates(failure, self.level):
            if not run.affords(policy.step):
                return self.limit()
            action = self.decide(run, policy, signals)
            if action is None:
                continue
            if not run.affords("apply", quantity=self.task.quantity(action)):
                return self.limit()
            self.take(run, policy, failure, signals, verdict, action)
            return None
        return "exhausted"

    def limit(self) -> str:
        left = self.whole.ledger.seconds_left()
        return "time_limit" if left is not None and left <= 0 else "budget_exhausted"

    def decide(self, run: Run, policy: ProbePolicy, signals: list[Signal]) -> Any:
        answer: Any = run.ask(
            "policy", self.task.answer("decide"), step=policy.step, **run.brief, policy=policy.name, state=self.state,
            signals=signals, memory=self.memories[policy.name], level=self.level,
        )  # fmt: skip
        return answer.action

    def take(
        self, run: Run, policy: ProbePolicy, failure: FailureType, signals: list[Signal], verdict: Evaluation, action: Any
    ) -> None:
        after = run.do("apply", self.task.apply, self.state, action, quantity=self.task.quantity(action))
        feedback = self.task.feedback(self.state, after)
        key = self.task.key(after)
        if key in self.visited:
            self.refuse(run, policy, action, after)
            return
        self.mistakes = 0
        self.steps += 1
        self.level = self.design.ladder.update(self.level, feedback)
        self.remember(action, after, feedback)
        self.state = after
        self.visited.add(key)
        self.record(run, policy, failure, signals, verdict, feedback, action)

    def remember(self, action: Any, after: Any, feedback: float) -> None:
        self.memories = {
            p.name: p.adapt(self.memories[p.name], self.state, action, after, feedback) for p in self.policies
        }

    def refuse(self, run: Run, policy: ProbePolicy, action: Any, after: Any) -> None:
        """An action that changes nothing or leads back is not a step; the policy is told, and not for ever."""
        self.mistakes += 1
        run.note("action_refused", policy=policy.name, action=str(action)[:500], mistakes=self.mistakes)
        if self.mistakes >= self.design.max_mistakes:
            raise PhaseError(
                f"policy {policy.name}: {self.mistakes} actions in a row changed nothing or led back to a visited state."
            )
        self.remember(action, after, -1.0)

    def record(
        self, run: Run, policy: ProbePolicy, failure: FailureType, signals: list[Signal], verdict: Evaluation,
        feedback: float, action: Any,
    ) -> None:  # fmt: skip
        entry = Entry(
            step=len(self.log) + 1, policy=policy.name, failure=failure.value, action=str(action)[:500],
            signals={s.name: s.value for s in signals}, passed={s.name: s.passed for s in signals}, score=verdict.score,
            feedback=feedback, level=self.level, inner_left=finite(run.ledger.left("inner")),
            outer_left=finite(run.ledger.left("outer")),
        )  # fmt: skip
        self.log.append(Entry.model_validate(run.note("iteration_advanced", **entry.model_dump())))


def finite(amount: float) -> float | None:
    """None for an account without a cap."""
    return None if amount == float("inf") else round(amount, 6)

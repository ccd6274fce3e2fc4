"""A short walk through a task that notes what is wrong with it, for `looper.testing`."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from looper.criteria import Evaluation
from looper.tasks.environment import AskedProbe, FailureType, ProbePolicy
from looper.types import Signal

STEPS = 4
"""Steps of the walk on which a task is checked."""


class Nonconforming(AssertionError):
    """What is wrong, a line each."""

    def __init__(self, who: object, problems: Sequence[str]):
        super().__init__("\n".join([f"{type(who).__name__} does not conform:", *(f"- {line}" for line in problems)]))
        self.problems = list(problems)


class Findings:
    """Collects what is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def want(self, holds: object, problem: str) -> bool:
        if not holds and problem not in self.problems:
            self.problems.append(problem)
        return bool(holds)

    def same(self, what: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, which has to be the same twice and to survive JSON."""
        value = make()
        self.want(plain(value) == plain(make()), f"{what}: two calls with the same arguments give different results")
        if isinstance(value, BaseModel):
            back = type(value).model_validate(json.loads(value.model_dump_json()))
            self.want(back == value, f"{what}: {type(value).__name__} does not survive JSON")
        return value

    def close(self, who: object) -> None:
        if self.problems:
            raise Nonconforming(who, self.problems)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(to_jsonable_python(value, serialize_unknown=True), sort_keys=True, default=repr))


class Trial:
    """A short walk through a task by its own policies."""

    def __init__(self, task: Any, found: Findings):
        self.task, self.found = task, found
        self.seen: list[Any] = []

    def walk(self) -> list[Any]:
        """All that a role could have seen."""
        brief = self.found.same("prepare", self.task.prepare)
        self.brief = dict(brief)
        plan = self.role("plan")
        state = self.found.same("observe", lambda: self.task.observe(plan))
        self.seen += [brief, plan]
        memories = {policy.name: policy.initialize(state) for policy in self.policies()}
        for _ in range(STEPS):
            state, signals = self.look(state)
            if (after := self.step(state, signals, memories)) is None:
                break
            state = after
        state, signals = self.look(state)
        self.role("act", state=state, signals=signals, history=[])
        answer = self.role("evaluate", state=state, history=[])
        if answer is not None:
            self.verdict(self.found.same("conclude", lambda: self.task.conclude(state, answer)))
        self.role("replan", state=state, why="exhausted", best=None, history=[])
        return self.seen

    def policies(self) -> list[Any]:
        policies = list(self.task.policies())
        for policy in policies:
            self.found.want(isinstance(policy, ProbePolicy), f"{type(policy).__name__}: is no ProbePolicy")
        return policies

    def look(self, state: Any) -> tuple[Any, list[Signal]]:
        """The state with what its probes found, their signals, and what the gate says."""
        names = [probe.name for probe in self.task.probes()]
        self.found.want(names == list(dict.fromkeys(names)), "probes: two have the same name")
        probes = [probe for probe in self.task.probes() if self.applies(probe, state)]
        signals = [self.found.same(f"probe {p.name}", lambda p=p: self.read(p, state)) for p in probes]
        absorb = getattr(self.task, "absorb", None)
        if absorb:
            state = self.found.same("absorb", lambda: absorb(state, signals))
        self.verdict(state)
        self.artifact(state)
        self.found.want(isinstance(self.task.key(state), str), "key: is no text")
        self.found.want(isinstance(self.task.describe(state), str), "describe: is no text")
        self.seen += [state, signals]
        return state, signals

    def applies(self, probe: Any, state: Any) -> bool:
        """Whether there is anything to read, or to ask of somebody who is there."""
        if isinstance(probe, AskedProbe):
            return probe.question(state) is not None and self.task.policy(probe.step) is not None
        return probe.applies(state) if hasattr(probe, "applies") else True

    def read(self, probe: Any, state: Any) -> Signal:
        """A reading, an asked one by the task's own policy."""
        if isinstance(probe, AskedProbe):
            return probe.reading(state, self.role(probe.step, **(probe.question(state) or {})))
        return probe.test(state)

    def verdict(self, state: Any) -> Evaluation:
        """The gate is computed: from rules of the criteria, and consistent with its own score."""
        verdict = self.found.same("evaluate", lambda: self.task.evaluate(state))
        if self.found.want(isinstance(verdict, Evaluation), "evaluate: gives no Evaluation"):
            known = {rule.id for rule in self.task.criteria.rules}
            self.found.want(set(verdict.failed) <= known, "evaluate: names rules that the criteria do not have")
            self.found.want(0 <= verdict.score <= 1, f"evaluate: the score {verdict.score} is not within 0 and 1")
            met = verdict.score >= verdict.threshold - 1e-9 and not verdict.blockers
            self.found.want(
                verdict.passed == met, "evaluate: `passed` does not follow from score, threshold and blockers"
            )
        return verdict

    def artifact(self, state: Any) -> None:
        text = self.task.render(state)
        if self.found.want(isinstance(text, str), "render: is no text"):
            again = self.task.parse(text)
            self.found.want(self.task.render(again) == text, "parse: what is rendered is not read back as it was")
            verdicts = [plain(self.task.evaluate(s)) for s in (state, again)]
            self.found.want(verdicts[0] == verdicts[1], "parse: the gate judges an artifact otherwise than its state")

    def step(self, state: Any, signals: list[Signal], memories: dict[str, Any]) -> Any:
        """The state after one step of the first policy that has one, or None."""
        failure = self.task.classify(state, signals)
        self.found.want(isinstance(failure, FailureType), f"classify: {failure!r} is no FailureType")
        for policy in self.task.policies():
            memory = memories[policy.name]
            action = self.found.same(
                f"{policy.name}.decide", lambda p=policy, m=memory: p.decide(state, signals, m, 0.0)
            )
            if action is not None:
                return self.taken(state, action, memories)
        return None

    def taken(self, state: Any, action: Any, memories: dict[str, Any]) -> Any:
        if hasattr(self.task, "work"):  # somebody has to make an action of what the policy decided
            action = self.role("write", **self.task.work(state, action))
            if action is None:
                return None
        after = self.found.same("apply", lambda: self.task.apply(state, action))
        feedback = self.found.same("feedback", lambda: self.task.feedback(state, after))
        self.found.want(-1 <= feedback <= 1, f"feedback: {feedback} is not within -1 and 1")
        self.found.want(self.task.quantity(action) >= 0, "quantity: is below 0")
        for policy in self.task.policies():
            adapted = policy.adapt(memories[policy.name], state, action, after, feedback)
            self.found.same(f"{policy.name}.adapt", lambda value=adapted: value)
            memories[policy.name] = adapted
        self.seen.append(action)
        return after

    def role(self, step: str, **context: Any) -> Any:
        """What the task's own policy answers to a kind of question, None where it has none."""
        fn = self.task.policy(step)
        if fn is None:
            return None
        kind = self.task.answer(step)
        answer = self.found.same(f"policy {step}", lambda: fn(**self.brief, **context))
        fits = self.found.want(isinstance(answer, kind), f"policy {step}: does not answer with {kind.__name__}")
        return answer if fits else None

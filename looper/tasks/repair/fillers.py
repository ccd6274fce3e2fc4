"""Deterministic fillers of the roles of a repair: what `model=offline` means here."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from looper.tasks.repair import choose
from looper.tasks.repair.attempts import FREE
from looper.tasks.repair.edits import apply_edit
from looper.tasks.repair.inputs import calls, generated
from looper.tasks.repair.search import Memory, Site, begin, left, pool, size
from looper.tasks.repair.states import Batch, Choice, Coded, Decision, Move, Plan, Program, Replan, Variant
from looper.types import Question, Signal

if TYPE_CHECKING:
    from looper.tasks.repair.task import Repair


class Fillers:
    """The task's own policies by kind of question."""

    def __init__(self, task: "Repair"):
        self.task = task

    def of(self, step: str) -> Callable[..., Any] | None:
        """The function for a kind of question, or None."""
        own: dict[str, Callable[..., Any]] = {
            "plan": lambda **_: Plan(reason="every line that a failing test ran, by spectrum-based suspicion"),
            "replan": self._replan,
            "evaluate": self._choose,
            "decide": self._decide,
            "act": self._act,
            "code": self._code,
        }
        return own.get(step)

    def _replan(self, *, state: Program, **_: Any) -> Replan:
        """Without the limits of the plan, if it had any; else on from where the fixed order stands, if it has more."""
        if state.plan.lines or state.plan.kinds:
            return Replan(plan=Plan(reason="the planned lines and kinds did not hold the fault: everything"))
        if not left(state, self.task.problem.source, self.task.seed):
            return Replan(plan=None)
        stands = begin(state, self.task.problem.source)
        return Replan(plan=Plan(skip=stands, reason=f"on from candidate {stands + 1} of the fixed order"))

    def _decide(
        self, *, policy: str, state: Program, signals: list[Signal], memory: Any, level: float, **_: Any
    ) -> Decision:
        chosen = next(p for p in self.task.policies() if p.name == policy)
        action: Any = chosen.decide(state, signals, memory, level)
        return Decision(action=action)

    def _act(self, *, history: list[dict[str, Any]], **_: Any) -> Move:
        """The one-edit candidates of the faulty program one after the other, in a fixed order that uses no signals."""
        number = history[-1].get("step", 0) if history else 0
        edits = pool(Site(source=self.task.problem.source, seed=self.task.seed))
        if number >= len(edits):
            return Move(done=True, why="all one-edit candidates were tried")
        return Move(find="", replace=apply_edit(self.task.problem.source, edits[number]), why=edits[number].summary)

    def _code(self, *, state: Program, signals: Sequence[Signal], **_: Any) -> Coded:
        """The next candidates of the edit search, as the inner loop of adaptive would try them."""
        failure = self.task.classify(state, signals)
        for policy in self.task.policies():
            if failure in policy.handles and isinstance(batch := policy.decide(state, signals, Memory(), 0.0), Batch):
                return Coded(search=batch)
        return Coded(done=True, why="no candidate is left")

    def _choose(self, *, state: Program, **_: Any) -> Choice:
        if not state.plausible:
            return Choice(text=f"no patch passes all visible tests; the best passes {state.share:.0%}")
        known = len(calls(self.task.problem.tests, self.task.function))
        weighed = choose.weigh(self.task.problem.source, state.plausible, self._values(state.plausible), known)
        best = weighed[0]
        rivals = (
            f"chosen among {len(weighed)} plausible patches" if len(weighed) > 1 else "the only plausible patch found"
        )
        return Choice(candidate=best.index, text=f"{'; '.join(state.plausible[best.index].path)} ({rivals})")

    def _values(self, plausible: Sequence[Variant]) -> list[list[Any]]:
        """Outputs of the faulty program and of the patches on generated inputs; empty where calls are not data."""
        function = self.task.function
        inputs = generated(self.task.problem.tests, function) if function and len(plausible) > 1 else []
        if not inputs:
            return []
        typed = not any(FREE in variant.kinds for variant in plausible)
        sources = [self.task.problem.source, *(variant.source for variant in plausible)]
        return self.task.examiner.values(sources, inputs, function, trusted=typed)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """With probability `skill` what the policy says; else an edit, edits or a plan at random. A simulation."""
        fn = self.of(question.step)
        if dice.random() < skill or question.step not in ("act", "plan", "decide"):
            return fn(**question.context) if fn else self.task.answer(question.step)()
        if question.step == "decide":
            return Decision(action=self._random_batch(question.context["state"], question.context["level"], dice))
        edits = pool(Site(source=self.task.problem.source, seed=self.task.seed))
        if question.step == "plan":
            return Plan(lines=sorted({dice.choice(edits).line for _ in range(3)}), reason="at random")
        edit = dice.choice(edits)
        return Move(replace=apply_edit(self.task.problem.source, edit), why=f"at random: {edit.summary}")

    def _random_batch(self, state: Program, level: float, dice: random.Random) -> Batch:
        """As many edits as the policies would try, of the faulty program or of a variant that came nearer."""
        base = dice.choice([self.task.problem.source, *(variant.source for variant in state.frontier)])
        edits = pool(Site(source=base, seed=self.task.seed))
        return Batch(base=base, edits=dice.sample(list(edits), min(len(edits), size(level))), why="edits at random")

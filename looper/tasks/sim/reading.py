"""How the gate of a simulation is read: a check that measures rules, judges for the others, the policy between them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from looper.criteria import Finding
from looper.tasks.choosing import next_rule
from looper.tasks.environment import FailureType
from looper.tasks.sim.states import Judgement, Piece, Worked, WorkOn
from looper.tasks.sim.truth import meets
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.sim.task import Sim

CHECKS, JUDGE = "checks", "judge-"
"""Names of the signals; a judge's has the rule behind it."""
MOST_TRIES = 4
"""Times that one rule is worked on before the policy gives it up."""


class Measured:
    """All rules that are measured: what the check says is so."""

    name: ClassVar[str] = CHECKS

    def __init__(self, task: "Sim"):
        self.task = task

    def test(self, state: Piece) -> Signal:
        rules = [rule for rule in self.task.active(state) if rule not in self.task.judges]
        found = {rule: meets(self.task.instance, rule, state.parts.get(rule)) for rule in rules}
        data = {rule: Finding(passed=met, note="" if met else f"{rule} is not met") for rule, met in found.items()}
        passed = sum(found.values())
        return Signal(
            name=self.name, passed=passed == len(found), value=passed / max(1, len(found)),
            reason=f"{passed} of {len(found)} rules", data={rule: one.model_dump() for rule, one in data.items()},
        )  # fmt: skip


class Judged:
    """A rule that only a judge can decide, who errs as planted."""

    decides: ClassVar[bool] = True
    role: ClassVar[str] = "judge"
    step: ClassVar[str] = "judge"
    returns: ClassVar[type[Judgement]] = Judgement

    def __init__(self, task: "Sim", rule: str):
        self.task, self.rule, self.name = task, rule, f"{JUDGE}{rule}"

    def question(self, state: Piece) -> dict[str, Any] | None:
        """Nothing where the rule is not active, there is no code, or this very code was judged before."""
        code = state.parts.get(self.rule)
        if code is None or self.rule in state.verdicts or self.rule not in self.task.active(state):
            return None
        return {"rule": self.rule, "code": code}

    def reading(self, state: Piece, answer: Judgement) -> Signal:
        finding = Finding(passed=answer.met, note="" if answer.met else f"{self.rule}: {answer.reason}")
        data = {self.rule: finding.model_dump()}
        return Signal(name=self.name, passed=answer.met, value=float(answer.met), reason=answer.reason, data=data)


class NextRule:
    """Blockers first, then by weight; among equals the one that was worked on least."""

    name: ClassVar[str] = "next_rule"
    handles: ClassVar[frozenset[FailureType]] = frozenset(FailureType)
    levels: ClassVar[tuple[float, float]] = (0.0, 3.0)
    step: ClassVar[str] = "decide"

    def __init__(self, task: "Sim"):
        self.task = task

    def initialize(self, state: Piece) -> Worked:
        return Worked()

    def is_stable(self, state: Piece, signals: Sequence[Signal]) -> bool:
        return self.task.evaluate(state).passed

    def decide(self, state: Piece, signals: Sequence[Signal], memory: Worked, level: float) -> WorkOn | None:
        rule = self.chosen(state, memory)
        return WorkOn(rule=rule) if rule else None

    def chosen(self, state: Piece, memory: Worked) -> str | None:
        """The failed rule to work on; None if all were given up."""
        return next_rule(self.task.criteria, self.task.evaluate(state), memory.tries, MOST_TRIES)

    def adapt(self, memory: Worked, before: Piece, action: object, after: Piece, feedback: float) -> Worked:
        rule = action.rule if isinstance(action, WorkOn) else self.chosen(before, memory)
        return Worked(tries={**memory.tries, rule: memory.tries.get(rule, 0) + 1}) if rule else memory

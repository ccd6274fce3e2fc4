"""The policy of the inner loop on documents: which failed rule the writer works on next."""

from collections.abc import Sequence
from typing import Any, ClassVar

from looper.tasks.document.states import Artifact, Worked, WorkOn
from looper.tasks.environment import FailureType
from looper.types import Signal

MOST_TRIES = 3
"""Times that one rule is worked on before it is given up."""


class NextRule:
    """Blockers first, then by weight; among equals the one that was worked on least."""

    name: ClassVar[str] = "next_rule"
    handles: ClassVar[frozenset[FailureType]] = frozenset(FailureType)
    levels: ClassVar[tuple[float, float]] = (0.0, 3.0)
    step: ClassVar[str] = "decide"

    def __init__(self, task: Any):
        self.task = task

    def initialize(self, state: Artifact) -> Worked:
        return Worked()

    def is_stable(self, state: Artifact, signals: Sequence[Signal]) -> bool:
        return self.task.evaluate(state).passed

    def decide(self, state: Artifact, signals: Sequence[Signal], memory: Worked, level: float) -> WorkOn | None:
        verdict = self.task.evaluate(state)
        weight = {rule.id: rule.weight for rule in self.task.criteria.rules}
        open_rules = [rule for rule in verdict.failed if memory.tries.get(rule, 0) < MOST_TRIES]
        if not open_rules:
            return None
        chosen = min(open_rules, key=lambda r: (r not in verdict.blockers, memory.tries.get(r, 0), -weight[r], r))
        return WorkOn(rule=chosen, note=self.task.notes(state).get(chosen, ""))

    def adapt(self, memory: Worked, before: Artifact, action: WorkOn, after: Artifact, feedback: float) -> Worked:
        return Worked(tries={**memory.tries, action.rule: memory.tries.get(action.rule, 0) + 1})

"""The policy of the inner loop on documents: which failed rule the writer works on next."""

from collections.abc import Sequence
from typing import Any, ClassVar

from looper.tasks.choosing import next_rule
from looper.tasks.document.revising import REFUSED
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
        rule = self.chosen(state, memory)
        if rule is None:
            return None
        return WorkOn(rule=rule, note=self.task.notes(state).get(rule, ""), refused=memory.refused)

    def chosen(self, state: Artifact, memory: Worked) -> str | None:
        """The failed rule to work on, None if all were given up."""
        return next_rule(self.task.criteria, self.task.evaluate(state), memory.tries, MOST_TRIES)

    def adapt(self, memory: Worked, before: Artifact, action: object, after: Artifact, feedback: float) -> Worked:
        """`action` is what the writer made of the decision; which rule it was for follows from the state before it."""
        rule = action.rule if isinstance(action, WorkOn) else self.chosen(before, memory)
        tries = memory.tries if rule is None else {**memory.tries, rule: memory.tries.get(rule, 0) + 1}
        return Worked(tries=tries, refused=after.last if after.last.startswith(REFUSED) else "")

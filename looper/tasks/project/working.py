"""The policy of an inner loop on projects: which failing tests the writer works on next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from looper.tasks.environment import FailureType
from looper.tasks.project import gate
from looper.tasks.project.states import Tree, Worked, WorkOn
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.project.task import Project

MOST_TRIES = 3
"""Times that a group of failing tests is worked on before it is given up."""


class NextTests:
    """The failing tests of one file, the file that was worked on least first."""

    name: ClassVar[str] = "next_tests"
    handles: ClassVar[frozenset[FailureType]] = frozenset(FailureType)
    levels: ClassVar[tuple[float, float]] = (0.0, 3.0)
    step: ClassVar[str] = "decide"

    def __init__(self, task: "Project"):
        self.task = task

    def initialize(self, state: Tree) -> Worked:
        return Worked()

    def is_stable(self, state: Tree, signals: Sequence[Signal]) -> bool:
        return self.task.evaluate(state).passed

    def decide(self, state: Tree, signals: Sequence[Signal], memory: Worked, level: float) -> WorkOn | None:
        groups = {str(group["name"]): group for group in gate.grouped(self.task.results(state))}
        left = [name for name in groups if memory.tries.get(name, 0) < MOST_TRIES]
        if not left:
            return None
        chosen = groups[min(left, key=lambda name: (memory.tries.get(name, 0), name))]
        return WorkOn(tests=chosen["checks"], note=str(chosen["note"]), refused=memory.refused)

    def adapt(self, memory: Worked, before: Tree, action: object, after: Tree, feedback: float) -> Worked:
        """`action` is what the writer made of the decision; what it was about follows from the state before it."""
        about = self.decide(before, (), memory, 0.0)
        name = about.tests[0].partition("::")[0] if about else ""
        tries = {**memory.tries, name: memory.tries.get(name, 0) + 1} if name else memory.tries
        return Worked(tries=tries, refused="" if after.became == "changed" else after.last)

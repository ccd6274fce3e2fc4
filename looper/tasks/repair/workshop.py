"""What the workflow needs of a repair besides what every design gets (looper.loops.workflow.ground)."""

from typing import TYPE_CHECKING, Any, ClassVar

from looper.criteria import Finding
from looper.tasks.repair.states import Plan, Program

if TYPE_CHECKING:
    from looper.tasks.repair.task import Repair


class Workshop:
    """Tests by name, failing ones together, and a search that is not forgotten when an attempt is rolled back."""

    coding: ClassVar[str] = "code"
    """By this step the coder is asked, because the edit search answers it with many candidates."""

    def __init__(self, task: "Repair"):
        self.task = task

    def results(self, state: Program) -> dict[str, Finding]:
        """The visible tests by name."""
        errors = {failure.id: failure.error for failure in state.failures}
        return {test: Finding(passed=ok, note=errors.get(test, "")) for test, ok in state.results.items()}

    def groups(self, state: Program) -> list[dict[str, Any]]:
        """Failing tests, together where they fail with the same error."""
        found: dict[str, list[str]] = {}
        for failure in state.failures:
            found.setdefault(failure.error, []).append(failure.id)
        return [{"name": ", ".join(tests[:3]), "checks": tests, "note": error} for error, tests in found.items()]

    def plan(self, number: int, parts: int) -> Plan:
        """One of so many parts of the search: every so-manieth suspicious line, the most suspicious ones spread."""
        suspicion = self.task.observe(None).suspicion
        lines = sorted((line for line, blame in suspicion.items() if blame), key=lambda at: (-suspicion[at], at))
        return Plan(lines=lines[number::parts], reason=f"part {number + 1} of {parts}")

    def back(self, start: Program, state: Program) -> Program:
        """The program as it was; what was tried on it is not tried again."""
        kept = ("frontier", "plausible", "cursors", "explored", "since", "suspicion")
        return start.model_copy(update={name: getattr(state, name) for name in kept})

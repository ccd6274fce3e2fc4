"""The probe of a project: its tests, all of them, run by code."""

from typing import TYPE_CHECKING

from looper.tasks.project.states import Tree
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.project.task import Project


class SuiteProbe:
    """Runs the whole suite on the workspace; read from its report, one result per test."""

    name = "tests"

    def __init__(self, task: "Project"):
        self.task = task

    def applies(self, state: Tree) -> bool:
        """Tests that were run on these very files need not be run again."""
        return state.report is None

    def test(self, state: Tree) -> Signal:
        known = not state.changed and not state.again  # the brief has run them on the project as given
        report = self.task.first if known else self.task.run(state.changed)
        passed = sum(test.outcome == "passed" for test in report.tests)
        bad = sum(test.outcome in ("failed", "error") for test in report.tests) + len(report.broken)
        value = passed / (passed + bad) if passed + bad else 0.0
        reason = report.problem or f"{passed} of {passed + bad} tests pass"
        return Signal(
            name=self.name, passed=bool(passed) and not bad and not report.problem, value=value, reason=reason,
            data={"report": report.model_dump(mode="json")},
        )  # fmt: skip

"""The probe of code tasks."""

from looper.tasks.code.states import Solution
from looper.types import Signal


class VisibleProbe:
    """Share of the visible checks that pass."""

    name = "visible"

    def test(self, state: Solution) -> Signal:
        passed = sum(finding.passed for finding in state.findings.values())
        whole = bool(state.findings) and passed == len(state.findings)
        reason = f"{passed} of {len(state.findings)} checks pass"
        return Signal(name=self.name, passed=whole, value=state.share(), reason=reason)

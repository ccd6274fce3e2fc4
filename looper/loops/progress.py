"""What evaluations say over time: stops, stagnation, regressions (document 003, SPEC 2.4 and 2.5)."""

from collections.abc import Mapping

from looper.criteria import Criteria, Evaluation


class Progress:
    """Counts what did not get better."""

    def __init__(self, criteria: Criteria, min_gain: float, stagnant_for: int, blocked_for: int):
        self.criteria, self.min_gain = criteria, min_gain
        self.stagnant_for, self.blocked_for = stagnant_for, blocked_for
        self.verdict: Evaluation | None = None
        """The latest evaluation."""
        self.notes: dict[str, str] = {}
        """By rule: what the checks said in the latest evaluation."""
        self.stagnant = self.stuck = 0
        self.regressions: list[str] = []
        """Rules that passed in the iteration before and fail in this one."""
        self._last: dict[str, Evaluation] = {}
        self._passed: set[str] = set()

    @property
    def blocked(self) -> bool:
        """Whether the same blockers stood in the way so often that the run ends."""
        return self.stuck >= self.blocked_for

    def take(self, phase: str, verdict: Evaluation, notes: Mapping[str, str], *, last: bool) -> str | None:
        """Why to stop after this evaluation, the first reason that holds; None to go on."""
        self._compare(phase, verdict)
        self.verdict, self.notes = verdict, {rule: notes[rule] for rule in verdict.failed if rule in notes}
        if last and verdict.passed:
            return "threshold_reached"
        if last and not verdict.blockers:
            return "no_major_issues"
        if not verdict.passed and (self.stagnant >= self.stagnant_for or self.blocked):
            return "stagnation"
        return None

    def _compare(self, phase: str, verdict: Evaluation) -> None:
        before = self._last.get(phase)
        self._regress(phase, verdict)
        self._last[phase] = verdict
        still = before is not None and verdict.score - before.score < self.min_gain
        self.stagnant = self.stagnant + 1 if still and not verdict.blockers else 0
        same = still and before is not None and bool(verdict.blockers) and verdict.blockers == before.blockers
        self.stuck = self.stuck + 1 if same else 0

    def _regress(self, phase: str, verdict: Evaluation) -> None:
        """A change of phase is no new artifact: what got worse on the way to it is not forgotten."""
        entered = self.verdict is not None and self.verdict.phase != phase
        known = self.regressions if entered else []
        self.regressions = [rule for rule in verdict.failed if rule in self._passed or rule in known]
        self._passed = {rule.id for rule in self.criteria.active(phase)} - set(verdict.failed)

    def failures(self) -> list[str]:
        """Failed rules of the latest evaluation with what their checks said, for the next plan."""
        failed = self.verdict.failed if self.verdict else []
        return [f"{rule}: {self.notes[rule]}" if self.notes.get(rule) else rule for rule in failed]

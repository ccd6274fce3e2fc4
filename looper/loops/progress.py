"""What evaluations say over time: stops, stagnation, regressions (document 003, SPEC 2.4 and 2.5)."""

from typing import Any

from looper.criteria import Criteria, Evaluation


class Progress:
    """Counts what did not get better."""

    def __init__(self, criteria: Criteria, min_gain: float, stagnant_for: int, blocked_for: int):
        self.criteria, self.min_gain = criteria, min_gain
        self.stagnant_for, self.blocked_for = stagnant_for, blocked_for
        self.last: dict[str, Evaluation] = {}
        self.stagnant = self.stuck = 0
        self.regressions: list[str] = []
        self._passed: set[str] = set()

    @property
    def blocked(self) -> bool:
        """Whether the same blockers stood in the way so often that the run ends."""
        return self.stuck >= self.blocked_for

    def take(self, phase: str, verdict: Evaluation, *, last: bool) -> str | None:
        """Why to stop after this evaluation, the first reason that holds; None to go on."""
        self._compare(phase, verdict)
        if last and verdict.passed:
            return "threshold_reached"
        if last and not verdict.blockers:
            return "no_major_issues"
        if not verdict.passed and (self.stagnant >= self.stagnant_for or self.blocked):
            return "stagnation"
        return None

    def _compare(self, phase: str, verdict: Evaluation) -> None:
        before = self.last.get(phase)
        passed = {rule.id for rule in self.criteria.active(phase)} - set(verdict.failed)
        self.regressions = [rule for rule in verdict.failed if rule in self._passed]
        self._passed = passed
        self.last[phase] = verdict
        still = before is not None and verdict.score - before.score < self.min_gain
        self.stagnant = self.stagnant + 1 if still and not verdict.blockers else 0
        same = still and before is not None and bool(verdict.blockers) and verdict.blockers == before.blockers
        self.stuck = self.stuck + 1 if same else 0

    def failures(self, state: Any, task: Any) -> list[str]:
        """Failed rules of the latest evaluation with what their checks said, for the next plan."""
        if not self.last:
            return []
        verdict = list(self.last.values())[-1]
        notes = self.notes(state, task)
        return [f"{rule}: {notes[rule]}" if notes.get(rule) else rule for rule in verdict.failed]

    def notes(self, state: Any, task: Any) -> dict[str, str]:
        """What the checks said of each rule, where the task tells."""
        told = getattr(task, "notes", None)
        return dict(told(state)) if told and state is not None else {}

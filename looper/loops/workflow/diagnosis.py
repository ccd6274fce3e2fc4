"""Bounds on the supervisor's verdicts (SPEC 3.4): code has the last word, and both are on record."""

from looper.loops.workflow.answers import Diagnosis, Verdict
from looper.loops.workflow.tree import Ruling

MOST_QUESTIONS = 3
"""Questions to a person about one task."""


class Bounds:
    """What a verdict is measured against."""

    def __init__(self, max_depth: int, max_pivots: int, max_attempts: int, min_attempts: int):
        self.max_depth, self.max_pivots = max_depth, max_pivots
        self.max_attempts, self.min_attempts = max_attempts, min_attempts

    def ruling(self, said: Diagnosis, *, attempts: int, depth: int, pivots: int, asked: int = 0) -> Ruling:
        """The verdict that is acted on.

        `depth` is the replan depth of the branch, `pivots` those of the run, `asked` a person's answers on the task.
        """
        verdict: Verdict = said.verdict
        clamps: list[str] = []

        def clamp(to: Verdict, why: str) -> Verdict:
            clamps.append(f"{verdict} -> {to}: {why}")
            return to

        if verdict == "CLARIFY" and (not said.question.strip() or asked >= MOST_QUESTIONS):
            why = f"{asked} questions were asked already" if said.question.strip() else "no question was given"
            verdict = clamp("RETRY", why)
        if verdict == "IMPOSSIBLE" and attempts < self.min_attempts:
            verdict = clamp("RETRY", f"{attempts} of at least {self.min_attempts} attempts were made")
        if verdict == "RETRY" and attempts >= self.max_attempts:
            verdict = clamp("REPLAN", f"{attempts} attempts were made, {self.max_attempts} are allowed")
        if verdict == "REPLAN" and depth >= self.max_depth:
            verdict = clamp("PIVOT", f"the branch is {depth} levels deep, {self.max_depth} are allowed")
        if verdict == "PIVOT" and pivots >= self.max_pivots:
            verdict = clamp("IMPOSSIBLE", f"{pivots} pivots were made, {self.max_pivots} are allowed")
        return Ruling(verdict=verdict, said=said.verdict, clamps=clamps, reason=said.reason, advice=said.advice)

"""Scores and escalation: computed from evidence, whatever the roles claim (SPEC 0.1, 3.3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from looper.criteria import Finding
from looper.loops.workflow.answers import Tested
from looper.loops.workflow.tree import Attempt, Level

CAP = 69
"""The highest score of work in which code found a violation (SPEC 3.3)."""
FOUL = 49
"""The highest score of work that tried to get past the rules: rejected, and diagnosed."""
FAILING = 50
"""Points that the checks of a task are worth; the other half is that there is a sound change at all."""
LEVELS: tuple[Level, ...] = ("none", "remind", "correct", "refocus", "critical", "abort")


class Found(BaseModel):
    """A violation: something that code found, whatever was said (SPEC 3.3)."""

    name: str
    text: str
    foul: bool = False


class Mark(BaseModel):
    """The score of one change."""

    score: int
    verdict: Literal["approve", "revise", "reject"]
    failed: dict[str, str]
    """Checks of the task that do not pass, with what they said."""
    regressions: list[str]
    """Checks that passed before the attempt and do not now."""
    violations: list[Found]
    remarks: list[str] = []
    """What does not lower the score."""


class Thresholds(BaseModel, frozen=True):
    """Document 001, Verification Scoring."""

    approve: int = 70
    reject: int = 50

    def verdict(self, score: int) -> Literal["approve", "revise", "reject"]:
        if score >= self.approve:
            return "approve"
        return "revise" if score >= self.reject else "reject"

    @property
    def cap(self) -> int:
        """The highest score of work in which code found a violation: below approval, whatever that is set to."""
        return max(0, min(CAP, self.approve - 1))


def marked(
    wanted: Mapping[str, Finding], regressions: Sequence[str], violations: Sequence[Found], thresholds: Thresholds
) -> Mark:
    """The score of a change: half of it for the share of the task's checks that pass, less for what code found."""
    failed = {name: finding.note or "does not pass" for name, finding in wanted.items() if not finding.passed}
    found = list(violations)
    if regressions:
        found.append(Found(name="regressions", text=f"passed before and fails now: {_some(regressions)}"))
    share = 1 - len(failed) / len(wanted) if wanted else 1.0
    score = round(100 - FAILING * (1 - share))
    if failed or found:
        score = min(score, thresholds.cap)
    foul = any(one.foul for one in found)
    if foul:
        score = min(score, FOUL, max(0, thresholds.reject - 1))
    verdict = "reject" if foul else thresholds.verdict(score)
    return Mark(score=score, verdict=verdict, failed=failed, regressions=list(regressions), violations=found)


def lowered(mark: Mark, score: int, problems: Sequence[str], thresholds: Thresholds) -> Mark:
    """The mark with a reviewer's score, where that is lower: a word can close the gate, never open it."""
    if score >= mark.score:
        return mark
    said = [Found(name="reviewed", text=text) for text in problems or ["the reviewer gave no reason"]]
    found = [*mark.violations, *said] if thresholds.verdict(score) != "approve" else mark.violations
    return mark.model_copy(update={"score": score, "verdict": thresholds.verdict(score), "violations": found})


def counted(word: Tested, checks: Mapping[str, Finding], mine: Mapping[str, Finding] | None = None) -> list[Found]:
    """What does not add up in a tester's report (SPEC 3.3); a tester that is blocked has nothing to count.

    `mine` are the checks that the task is about, by default all.
    """
    if word.status == "blocked":
        return []
    passed = sum(finding.passed for finding in checks.values())
    failed = len(checks) - passed
    wrong = [(word.passed, passed, "passed"), (word.failed, failed, "failed")]
    told = [
        f"{said} {what} were reported, {real} did" for said, real, what in wrong if said is not None and said != real
    ]
    found = [Found(name="counts_do_not_add_up", text="; ".join(told))] if told else []
    open_ = sum(not finding.passed for finding in (checks if mine is None else mine).values())
    if word.status == "passed" and open_ and word.failed in (None, 0):
        found.append(Found(name="reported_pass", text=f"the tester reported a pass while {open_} checks fail"))
    return found


def escalation(mark: Mark, earlier: Sequence[Attempt], fouls: int, max_fouls: int) -> Level:
    """How serious it is (document 001, Escalation Levels). `earlier` are the attempts so far, this one included.

    none: approved, nothing found. remind: approved with a remark. correct: a clear mistake. refocus: the same mistake
    again, or no progress in two cycles. critical: a foul. abort: too many fouls in the run.
    """
    if any(one.foul for one in mark.violations):
        return "abort" if fouls >= max_fouls else "critical"
    if mark.verdict == "approve":
        return "remind" if mark.remarks else "none"
    cycles = [cycle for attempt in earlier for cycle in attempt.cycles]
    names = {one.name for one in mark.violations}
    again = bool(cycles) and bool(names & {one["name"] for one in cycles[-1].violations})
    stuck = len(cycles) >= 2 and all(
        cycle.failed.keys() == mark.failed.keys() and cycle.score >= mark.score for cycle in cycles[-2:]
    )
    return "refocus" if again or stuck else "correct"


def at_least(level: Level, wanted: Level) -> bool:
    return LEVELS.index(level) >= LEVELS.index(wanted)


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

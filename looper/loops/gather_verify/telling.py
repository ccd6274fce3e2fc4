"""What is told of an outer loop: to run.json, to comparisons, to later runs."""

from typing import TYPE_CHECKING, Any

from looper.episodes.episode import COSTS
from looper.loops.gather_verify.gathering import name_of
from looper.loops.gather_verify.machine import Phase
from looper.loops.gather_verify.verification import digest
from looper.types import Outcome, Plain

if TYPE_CHECKING:
    from looper.loops.gather_verify.course import Course


def episode(course: "Course", outcome: Outcome) -> dict[str, Any]:
    """What later runs can learn of this one; never its holdout."""
    assert course.gathered is not None
    last, first = course.best(), course.tries[0] if course.tries else None
    open_ = {gap.criterion for gap in last.verdict.gaps} if last else set()
    closed = [gap for gap in (first.verdict.gaps if first else []) if gap.criterion not in open_]
    told = [one for one in course.gathered.answers if one.by != "default"]
    asked = [{"question": one.question, "answer": one.answer, "who": one.by} for one in course.gathered.answers]
    return {
        "run": course.run.stage.journal.run_id or "in-memory",
        "task": name_of(course.given),
        "goal": course.given.goal, "domain": course.gathered.domain,
        "design": course.loop.name, "outer": course.design.own,
        "status": outcome.status, "reason": outcome.reason, "outcome": last.verdict.outcome if last else "",
        "gate_score": outcome.score, "verification": last.verdict.score if last else None,
        "cost": {name: round(units, 6) for name, units in course.run.ledger.overall().items() if name in COSTS},
        "loops": course.machine.loops,
        "failed": [f"{gap.criterion}: {gap.problem}" for gap in (last.verdict.gaps if last else [])],
        "helped": [
            *(f"closed: {gap.criterion}: {gap.problem}" for gap in closed),
            *(f"asked: {one.question} -> {one.answer}" for one in told),
        ],
        "questions": asked,
        "filled_by": fillers(course), "seed": course.run.stage.seed,
    }  # fmt: skip


def fillers(course: "Course") -> str:
    """Who answered, so that a simulation or a recording is never taken for more."""
    return ", ".join(sorted({event.by for event in course.run.stage.journal.steps.values() if event.by})) or "policy"


def told(course: "Course") -> dict[str, Any]:
    """What run.json and people are told of the outer loop."""
    over = course.machine.phase in (Phase.VERIFY, Phase.LEARN, Phase.COMPLETED)
    evidence = [one.model_dump(mode="json") for one in course.tries[-1].evidence] if course.tries and over else []
    return {
        "phase": course.machine.phase.value, "path": [phase.value for phase in course.machine.path],
        "loops": course.machine.loops, "max_loops": course.machine.max_loops, "inner": course.loop.name,
        "gathered": course.gathered.model_dump(mode="json") if course.gathered else None,
        "interviewed": course.interviewed.model_dump(mode="json") if course.interviewed else None,
        "verdicts": [
            {
                **one.verdict.model_dump(mode="json"), "gate": one.evaluation.score, "artifact": digest(one.artifact),
                "before": [each.model_dump(include={"outcome", "score", "why"}) for each in one.before],
            }
            for one in course.tries
        ],
        "evidence": evidence,
        "relaxed": course.aimed.aim.relaxed, "decisions": course.decisions,
    }  # fmt: skip


def facts(course: "Course") -> dict[str, Plain]:
    """What a comparison needs, however the run ends."""
    inner: dict[str, Any] = dict(course.inner[-1].facts) if course.inner else {}
    inner.pop("detail", None)
    complete = course.interviewed.complete if course.interviewed else None
    return {
        **inner, "iterations": sum(int(one.facts.get("iterations") or 0) for one in course.inner),
        "outer": {
            "phase": course.machine.phase.value, "loops": course.machine.loops,
            "domain": course.gathered.domain if course.gathered else None,
            "completeness": complete.score if complete else None,
            "shortfall": complete.missing if course.interviewed and course.interviewed.shortfall and complete else [],
            "verification": [one.verdict.score for one in course.tries],
            "outcome": course.tries[-1].verdict.outcome if course.tries else None,
            "relaxed": course.aimed.aim.relaxed, "decisions": course.decisions,
        },
    }  # fmt: skip

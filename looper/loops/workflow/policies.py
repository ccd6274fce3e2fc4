"""The design's own deterministic fillers: a plan from failing groups, thresholds, a diagnosis by failure signature.

No model is called. What they know is what the roles' prompts would hold.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from looper.loops.workflow.answers import (
    MOST_CHECKS,
    Clarified,
    Diagnosis,
    Group,
    Planned,
    Review,
    TaskPlan,
    Tested,
    Verified,
)  # fmt: skip
from looper.types import Question

MISSING = re.compile(r"No module named '([\w.]+)'|command not found|could not be resolved|Permission denied")
"""Signatures of what no change of the project mends."""


def tasks(
    *, why: str, groups: Sequence[Group], parent: Mapping[str, Any] | None, gaps: Sequence[str], fewest: int, most: int,
    **_: Any,
) -> TaskPlan:  # fmt: skip
    """One task for each group of checks that fail together; a task that failed is split by its checks."""
    groups = [Group.model_validate(group, from_attributes=True) for group in groups]
    if why == "replan" and parent:
        groups = divided(groups, most)
    found = [_mend(number, group) for number, group in enumerate(merged(groups, most), 1)]
    every = sorted({check for group in groups for check in group.checks})[:MOST_CHECKS]
    while len(found) < fewest:
        found.append(_closing(len(found) + 1, every, [task.key for task in found]))
    return TaskPlan(approach="what fails together is mended together", tasks=found)


def merged(groups: Sequence[Group], most: int) -> list[Group]:
    """At most so many groups: the last ones become one."""
    if len(groups) <= most:
        return list(groups)
    rest = groups[most - 1 :]
    checks = [check for group in rest for check in group.checks]
    return [*groups[: most - 1], Group(name="the others", checks=checks, note=rest[0].note)]


def divided(groups: Sequence[Group], most: int) -> list[Group]:
    """Groups of one check each."""
    apart = [Group(name=check, checks=[check], note=group.note) for group in groups for check in group.checks]
    return merged(apart, most)


def _mend(number: int, group: Group) -> Planned:
    return Planned(
        key=f"mend-{number}", title=f"make {group.name} pass"[:500] or "make it pass", description=group.note[:2000],
        criteria=[f"{group.name} passes"[:500]], checks=group.checks[:MOST_CHECKS],
    )  # fmt: skip


def _closing(number: int, checks: Sequence[str], after: Sequence[str]) -> Planned:
    """Fewer groups than tasks are wanted: the rest of the plan is the same checks once more, after all of them."""
    return Planned(
        key=f"whole-{number}", title="everything passes together", criteria=["all checks pass together"],
        checks=list(checks), after=list(after),
    )  # fmt: skip


def review_plan(*, found: Sequence[str], uncovered: Sequence[str], **_: Any) -> Review:
    """Approved unless something that fails is in no task."""
    missed = [f"no task is about {name}"[:500] for name in uncovered[:8]]
    return Review(score=60 if missed else 100, issues=missed)


def review_work(**_: Any) -> Review:
    """Nothing that a test could tell: approved at the threshold, because code found nothing."""
    return Review(score=70)


def test(
    *, checks: Mapping[str, str], regressions: Sequence[str], passed: int, total: int, **_: Any
) -> Tested:  # fmt: skip
    """The results as they are: of the checks of the task, and of what passed before it."""
    if not total:
        return Tested(status="blocked", reason="no check gave a result")
    told = [f"{name}: {said}" for name, said in checks.items() if said != "passed"]
    told += [f"{name}: passed before" for name in regressions]
    problems = [one[:500] for one in told[:8]]
    return Tested(status="failed" if told else "passed", passed=passed, failed=total - passed, problems=problems)


def diagnose(*, attempts: Sequence[Mapping[str, Any]], planned: Any, **_: Any) -> Diagnosis:
    """By the signature of the failure: what ended the last attempt, whether tries get nearer, how many checks fail."""
    last = attempts[-1]
    if last["ended"] == "needs_clarification":
        return Diagnosis(verdict="CLARIFY", reason="the coder cannot decide it", question=last["reason"][:2000])
    if missing := _missing(attempts):
        return Diagnosis(verdict="IMPOSSIBLE", reason=f"needs {missing}, which is not there", blockers=[missing])
    if last["ended"] == "blocked":
        return _again(attempts, "the tests cannot be run", "IMPOSSIBLE")
    if last["ended"] == "gave_up":
        return _again(attempts, "the coder has nothing left to try", "PIVOT")
    if not last["cycles"]:
        return _again(attempts, f"no plan was approved: {last['reason']}"[:2000], "PIVOT")
    failed = [_failed(attempt) for attempt in attempts]
    if any(one["foul"] for cycle in last["cycles"] for one in cycle["violations"]):
        return _again(attempts, "the change was an attempt to get past the rules", "PIVOT")
    if len(failed) < 2 or _nearer(attempts) or failed[-1] != failed[-2]:
        return Diagnosis(verdict="RETRY", reason="the last try failed differently, or came nearer than the one before")
    if len(failed[-1]) > 1:
        return Diagnosis(verdict="REPLAN", reason=f"the same {len(failed[-1])} checks fail again: too large")
    return Diagnosis(verdict="PIVOT", reason="the same check fails in the same way again")


def _again(attempts: Sequence[Mapping[str, Any]], why: str, otherwise: Any) -> Diagnosis:
    """Once more, and then something else."""
    verdict = "RETRY" if len(attempts) < 2 else otherwise
    return Diagnosis(verdict=verdict, reason=why, blockers=[why] if verdict == "IMPOSSIBLE" else [])


def _missing(attempts: Sequence[Mapping[str, Any]]) -> str:
    """What was missing in all of at least two attempts, named by the tests."""
    named: list[set[str]] = []
    for attempt in attempts:
        told = [note for cycle in attempt["cycles"] for note in cycle["failed"].values()]
        named.append({found.group(1) or found.group(0) for note in told if (found := MISSING.search(note))})
    both = set.intersection(*named) if len(named) > 1 else set[str]()
    return ", ".join(sorted(both))


def _failed(attempt: Mapping[str, Any]) -> dict[str, str]:
    return dict(attempt["cycles"][-1]["failed"]) if attempt["cycles"] else {}


def _nearer(attempts: Sequence[Mapping[str, Any]]) -> bool:
    best = [max((cycle["score"] for cycle in attempt["cycles"]), default=0) for attempt in attempts]
    return len(best) > 1 and best[-1] > best[-2]


def verify(*, found: Sequence[Any], failing: Mapping[str, str], **_: Any) -> Verified:
    """The goal is reached if code finds nothing against it."""
    gaps = [f"{name}: {note}"[:500] for name, note in list(failing.items())[:8]]
    return Verified(score=0 if found else 100, gaps=gaps, reason="the whole suite, as run by code")


BY_STEP: dict[str, Callable[..., Any]] = {
    "tasks": tasks, "review_plan": review_plan, "review_work": review_work, "test": test, "diagnose": diagnose,
    "verify": verify,
}  # fmt: skip


def played(question: Question, skill: float, dice: random.Random) -> BaseModel | None:
    """A role of the design played with a given skill; None for questions of the task's own."""
    if question.step == "clarify":
        choices = question.context.get("choices") or ["whatever is usual"]
        return Clarified(text=dice.choice(list(choices)))
    fn = BY_STEP.get(question.step)
    if fn is None:
        return None
    value = fn(**question.context)
    return value if dice.random() < skill else _mistaken(value, dice)


def _mistaken(value: Any, dice: random.Random) -> BaseModel:
    """A plausible mistake: a plan with a task left out, a wrong verdict or score, a report that does not count."""
    if isinstance(value, TaskPlan) and len(value.tasks) > 1:
        gone = dice.randrange(len(value.tasks))
        kept = [task for number, task in enumerate(value.tasks) if number != gone]
        keys = {task.key for task in kept}
        cleared = [task.model_copy(update={"after": [key for key in task.after if key in keys]}) for task in kept]
        return value.model_copy(update={"tasks": cleared})
    if isinstance(value, Diagnosis):
        verdict = dice.choice(["RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE"])
        return value.model_copy(update={"verdict": verdict})
    if isinstance(value, Review | Verified):
        return value.model_copy(update={"score": dice.randrange(101)})
    if isinstance(value, Tested) and value.passed is not None:
        return value.model_copy(update={"passed": value.passed + 1})
    return value

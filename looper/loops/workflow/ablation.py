"""What a workflow is without one of its roles, and what its answers are about, for ablations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from looper.loops.workflow.answers import MOST_CHECKS, Diagnosis, Group, Planned, Review, TaskPlan, Tested, Verified
from looper.types import Question

SPARE = {
    "planner": ("tasks",), "tester": ("test",), "supervisor": ("review_plan", "review_work", "diagnose", "verify"),
}  # fmt: skip
"""Roles that a run could do without, with what they are asked."""
NEEDED = {
    "coder": "without it nothing changes", "user": "it is asked only what nobody else can decide",
}  # fmt: skip
"""The others, and why."""
REDRAWN: dict[str, Sequence[Any]] = {
    "verdict": ("RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE"), "score": range(101), "status": ("passed", "failed"),
    "add": ((),),
}  # fmt: skip
"""Fields that a shuffled answer throws anew. A program of shuffled words would be sabotage: no tests are added."""


def undivided(*, groups: Sequence[Group], fewest: int, **_: Any) -> TaskPlan:
    """The whole goal as one task, again and again up to the fewest that are wanted; those already done cost nothing."""
    every = sorted({check for group in groups for check in group.checks})[:MOST_CHECKS]
    keys = [f"whole-{number}" for number in range(1, fewest + 1)]
    made = [
        Planned(key=key, title="reach the goal", criteria=["the goal is reached"], checks=every, after=keys[:number])
        for number, key in enumerate(keys)
    ]
    return TaskPlan(tasks=made)


def unsaid(*, checks: Mapping[str, str], regressions: Sequence[str], passed: int, total: int, **_: Any) -> Tested:
    """The counts that code has made, and not a word about them: the score is the code's alone."""
    open_ = [name for name, said in checks.items() if said != "passed"]
    return Tested(status="failed" if open_ or regressions else "passed", passed=passed, failed=total - passed)


BY_STEP: dict[str, Callable[..., BaseModel]] = {
    "tasks": undivided, "test": unsaid, "review_plan": lambda **_: Review(score=100),
    "review_work": lambda **_: Review(score=100), "verify": lambda **_: Verified(score=100),
    "diagnose": lambda **_: Diagnosis(verdict="RETRY", reason="nobody was asked why it failed"),
}  # fmt: skip
"""Answers without information: code has the word, and a failed task is tried again up to its bounds."""


def names_in(question: Question, answer: BaseModel) -> list[str]:
    """Checks that an answer is about."""
    context = question.context
    found = [check for group in context.get("groups", ()) for check in group.checks]
    found += [name for key in ("checks", "failing") for name in context.get(key, ())]
    planned = answer.tasks if isinstance(answer, TaskPlan) else []
    return [*found, *(check for task in planned for check in task.checks)]

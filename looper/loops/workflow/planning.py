"""PLANNING and PLAN REVIEW: a plan is sent back with what is wrong with it (document 001, SPEC 3.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from looper.criteria import Finding
from looper.loops.workflow.answers import Group, Planned, Review, TaskPlan
from looper.loops.workflow.ground import Looked, put, resolved, stands_for
from looper.loops.workflow.marks import Found, Thresholds
from looper.loops.workflow.tree import Node, cycle_in
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.workflow import Workflow

Why = Literal["goal", "replan", "pivot", "gaps"]
FEWEST: dict[str, int] = {"replan": 2, "gaps": 1}
"""Tasks that a plan of this kind needs at least; a whole plan needs `min_tasks`."""


@dataclass
class Occasion:
    """Why a plan is wanted, and what its writer has to know."""

    why: Why
    looked: Looked
    groups: Sequence[Group]
    tasks: Sequence[Mapping[str, Any]] = ()
    """The tree so far."""
    parent: Node | None = None
    """The task to break up."""
    gaps: Sequence[str] = ()
    advice: str = ""
    answers: Sequence[Mapping[str, str]] = ()
    """What a person said."""


class Refused(Exception):
    """No plan was approved within its revisions."""

    def __init__(self, score: int, issues: list[str]):
        super().__init__("; ".join(issues))
        self.score = score


def planned(design: "Workflow", run: Run, occasion: Occasion) -> TaskPlan:
    """A plan that code finds nothing wrong with and, where that is wanted, the supervisor approves. Raises Refused."""
    feedback: list[str] = []
    plan: TaskPlan | None = None
    score, issues = 0, list[str]()
    for revision in range(design.max_plan_revisions + 1):
        plan = put(
                run, "planner", TaskPlan, "tasks", why=occasion.why, groups=list(occasion.groups),
            tasks=list(occasion.tasks), parent=_parent(occasion.parent), gaps=list(occasion.gaps),
            advice=occasion.advice, answers=list(occasion.answers), fewest=fewest(design, occasion.why),
            most=design.max_tasks, refused=plan, feedback=feedback, revision=revision,
        )  # fmt: skip
        found = problems(design, plan, occasion.why, occasion.looked.checks)
        score, issues = _reviewed(design, run, plan, occasion, found)
        run.note("plan_reviewed", why=occasion.why, revision=revision, score=score, issues=issues)
        if score >= design.approval:
            return plan
        if score < design.rejection:
            break
        feedback = issues
    raise Refused(score, issues)


def _reviewed(
    design: "Workflow", run: Run, plan: TaskPlan, occasion: Occasion, found: Sequence[Found]
) -> tuple[int, list[str]]:
    """The score of a plan: the supervisor's, capped by what code found; subtasks are reviewed by code alone."""
    told = [f"{one.name}: {one.text}" for one in found]
    ceiling = Thresholds(approve=design.approval).cap if found else 100
    if not design.review_plan or occasion.why in ("replan", "gaps"):
        return ceiling, told
    missed = uncovered(plan, occasion.groups)
    word = put(run, "supervisor", Review, "review_plan", plan=plan, found=told, uncovered=missed, why=occasion.why)
    return min(ceiling, word.score), [*told, *word.issues]


def _parent(node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return node.planned.model_dump() | {"id": node.id, "attempts": [one.model_dump() for one in node.attempts]}


def fewest(design: "Workflow", why: Why) -> int:
    return min(FEWEST.get(why, design.min_tasks), design.max_tasks)


def problems(design: "Workflow", plan: TaskPlan, why: Why, checks: Mapping[str, Finding]) -> list[Found]:
    """What code finds wrong with a plan."""
    found: list[Found] = []
    least = fewest(design, why)
    if not least <= len(plan.tasks) <= design.max_tasks:
        found.append(Found(name="number_of_tasks", text=f"{len(plan.tasks)}, wanted {least} to {design.max_tasks}"))
    keys = [task.key for task in plan.tasks]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        found.append(Found(name="key_used_twice", text=", ".join(twice)))
    for task in plan.tasks:
        found += _of_task(task, keys, checks)
    if circle := cycle_in(plan.tasks) if not found else []:
        found.append(Found(name="dependency_cycle", text=f"{', '.join(circle)} wait for each other"))
    return found


def _of_task(task: Planned, keys: Sequence[str], checks: Mapping[str, Finding]) -> list[Found]:
    strange = [key for key in task.after if key not in keys or key == task.key]
    found = [Found(name="unknown_dependency", text=f"{task.key}: {', '.join(strange)}")] if strange else []
    _, unknown = resolved(task.checks, checks)
    if unknown:
        found.append(Found(name="unknown_check", text=f"{task.key}: {', '.join(unknown)}"))
    return found


def uncovered(plan: TaskPlan, groups: Sequence[Group]) -> list[str]:
    """Failing checks that no task of the plan is about."""
    named = [name for task in plan.tasks for name in task.checks]
    failing = [check for group in groups for check in group.checks]
    return [check for check in failing if not any(stands_for(name, check) for name in named)]

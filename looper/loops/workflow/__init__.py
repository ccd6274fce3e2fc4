"""Workflow: planner, coder, tester, supervisor (document 001).

PLANNING --> PLAN REVIEW --approved--> [ next ready task: CODER --> TESTER --pass--> commit, completed ]*
   ^   ^          | revise (at most 3)        ^                | fail: FIX LOOP (at most 3), then rolled back
   |   +----------+                           |                v
   |                                          |            DIAGNOSIS
   |                                          +-- RETRY, CLARIFY (pauses for a person)
   +------------- REPLAN (subtasks), PIVOT (fresh plan) -------+
   +------------- gaps <-- FINAL VERIFICATION <-- all tasks    +-- IMPOSSIBLE --> failed
                              +--> completed
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from looper.errors import BudgetExceeded, Interruption
from looper.loops.workflow import ablation, policies
from looper.loops.workflow.answers import MOST
from looper.loops.workflow.course import Course
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome, Question

Count = Annotated[int, Field(ge=1, le=MOST)]
Points = Annotated[int, Field(ge=0, le=100)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Workflow:
    """Four roles, a tree of tasks, and a diagnosis instead of a limit. Every limit leads to a diagnosis (SPEC 3.8)."""

    min_tasks: Count = 3
    """Tasks that a whole plan needs at least (document 001: 3-8)."""
    max_tasks: Count = 8
    """Tasks of a plan at most."""
    review_plan: bool = True
    """Whether the supervisor reviews whole plans; code checks them always."""
    max_plan_revisions: NonNegativeInt = 3
    """Revisions of a plan (document 001, maxPlanRevisions)."""
    max_fix_cycles: NonNegativeInt = 3
    """Fixes within one attempt (document 001, maxFixCycles)."""
    max_replan_depth: NonNegativeInt = 3
    """How deep a task is subdivided (document 001, maxReplanDepth)."""
    max_pivots: NonNegativeInt = 3
    """Fresh plans after the first (SPEC 3.4)."""
    min_attempts: PositiveInt = 2
    """Attempts before a task may be called impossible (SPEC 3.4)."""
    max_attempts: PositiveInt = 3
    """Attempts after which a task is not just tried again (SPEC 3.4)."""
    max_verifications: PositiveInt = 4
    """Final verifications; gaps lead to further tasks in between."""
    max_looks: NonNegativeInt = 3
    """Times that a coder may ask for files before one change."""
    max_resends: NonNegativeInt = 2
    """Times that an edit which does not apply is sent back before one change."""
    max_fouls: PositiveInt = 3
    """Attempts to get past the rules, in the whole run, that end it (escalation level abort)."""
    approval: Annotated[int, Field(ge=1, le=100)] = 70
    """Score from which work is approved (document 001)."""
    rejection: Points = 50
    """Score below which work is rejected and diagnosed (document 001)."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, under those of the task."""

    name: ClassVar[str] = "workflow"
    roles: ClassVar[dict[str, str]] = {
        "planner": "breaks the goal into tasks, and failed tasks into subtasks",
        "supervisor": "reviews plans, diagnoses failures, verifies the goal",
        "coder": "makes the change that a task wants",
        "tester": "reads the results of the tests that code has run, adds tests",
        "user": "answers a question that only a person can answer",
    }
    steps: ClassVar[dict[str, tuple[str, ...]]] = {
        "planner": ("tasks",), "supervisor": ("review_plan", "review_work", "diagnose", "verify"),
        "coder": ("code", "act"), "tester": ("test",),
        "user": ("clarify",),
    }  # fmt: skip
    people: ClassVar[tuple[str, ...]] = ("user",)
    """Roles that a person fills unless the configuration says otherwise."""
    events: ClassVar[dict[str, str]] = {"tasks": "plan_created", "gate": "evaluation_done"}

    needed: ClassVar[dict[str, str]] = ablation.NEEDED
    """Roles that cannot be ablated, and why."""
    redrawn: ClassVar[dict[str, Sequence[Any]]] = ablation.REDRAWN

    @model_validator(mode="after")
    def _in_order(self) -> "Workflow":
        pairs = {"min_tasks": "max_tasks", "rejection": "approval"}
        for low, high in pairs.items():
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} is above {high}")
        return self

    def run(self, task: Task, run: Run) -> Outcome:
        run.keep("verify", "supervisor")
        course = Course(self, task, run)
        try:
            return course.go()
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit == "ask":
                end.facts.update(course.facts())
                raise
            return course.wrapped_up(end)
        except Interruption as end:
            end.facts.update(course.facts())
            raise

    def policy(self, step: str) -> Callable[..., Any] | None:
        """A deterministic filler of the design's own, for tasks that bring none."""
        return policies.BY_STEP.get(step)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel | None:
        """The design's roles played: with probability `skill` what the policy says, else a mistake. A simulation."""
        return policies.played(question, skill, dice)

    # Ablation (looper.agents.ablated)

    def spare(self, task: Task) -> Mapping[str, Sequence[str]]:
        """Roles that a run could do without."""
        return ablation.SPARE

    def without(self, step: str) -> Callable[[Question], BaseModel]:
        """An answer that says nothing."""
        return lambda question: ablation.BY_STEP[step](**question.context)

    def oracle(self, step: str, task: Task) -> Callable[[Question, random.Random], BaseModel] | None:
        """What the results of the tests say, to the letter."""
        fn = policies.BY_STEP.get(step)
        return (lambda question, dice: fn(**question.context)) if fn else None

    def names(self, question: Question, answer: BaseModel) -> list[str]:
        """Checks that an answer is about."""
        return ablation.names_in(question, answer)

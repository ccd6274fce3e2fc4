"""What the roles of the workflow answer (document 001, SPEC 3)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from looper.tasks.contracts import Line

Text = Annotated[str, StringConstraints(max_length=2000)]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9\-]{0,39}$")]
Points = Annotated[int, Field(ge=0, le=100)]
Verdict = Literal["RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE", "CLARIFY"]
MOST = 12
"""Tasks that an answer may hold; how many a plan may have is a setting, and code says so by name."""


MOST_CHECKS = 1000
"""Checks that a task may name; whole files of them have names of their own."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Planned(Strict):
    """A task of a plan: small enough for one change, with a way to tell that it is done."""

    key: Key = Field(description="short name, unique in this plan")
    title: Line
    description: Text = Field(default="", description="what to do, and where")
    criteria: list[Line] = Field(min_length=1, max_length=6, description="how to tell that it is done, in words")
    checks: list[Line] = Field(
        default=[],
        max_length=MOST_CHECKS,
        description="known names of tests or rules that must pass once it is done",
    )
    after: list[Key] = Field(default=[], max_length=MOST, description="keys of tasks of this plan that come before it")


class TaskPlan(Strict):
    """The tasks that lead to the goal, in an order that their dependencies allow."""

    approach: Text = Field(default="", description="the strategy, in one or two sentences")
    tasks: list[Planned] = Field(min_length=1, max_length=MOST)

    def __str__(self) -> str:
        return "; ".join(task.title for task in self.tasks)


class Review(Strict):
    """A score from 0 to 100 (70 and more approves, 50 to 69 sends back, less rejects) and what must change.

    Code lowers the score where it finds something wrong; nothing that is said here raises it.
    """

    score: Points
    issues: list[Line] = Field(default=[], max_length=8, description="what is wrong, and what to do about it")


class AddedTest(Strict):
    """A file of tests of the tester's own."""

    name: Annotated[str, StringConstraints(pattern=r"^test_[A-Za-z0-9_]{1,60}\.py$")]
    text: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Tested(Strict):
    """What a tester says of a change after its tests were run; the results themselves are computed by code."""

    status: Literal["passed", "failed", "blocked"] = Field(
        description="blocked: the tests cannot be run at all, whatever the coder does"
    )
    passed: int | None = Field(default=None, ge=0, description="how many tests passed, as the report says")
    failed: int | None = Field(default=None, ge=0, description="how many did not, as the report says")
    problems: list[Line] = Field(default=[], max_length=8, description="what is missing or wrong, with file and line")
    add: list[AddedTest] = Field(default=[], max_length=5, description="further tests, run at once; [] for none")
    reason: Text = ""


class Diagnosis(Strict):
    """Why a task failed and how to go on.

    RETRY: a passing cause. REPLAN: too large or unclear, break it up. PIVOT: the approach is wrong, plan anew.
    IMPOSSIBLE: the goal cannot be reached; name the blockers. CLARIFY: only a person can decide; ask one question.
    """

    verdict: Verdict
    reason: Text = Field(min_length=1)
    advice: Text = Field(default="", description="what the next try should do differently")
    blockers: list[Line] = Field(default=[], max_length=6, description="for IMPOSSIBLE: what stands in the way")
    question: Text = Field(default="", description="for CLARIFY: one question")
    choices: list[Line] = Field(default=[], max_length=6, description="for CLARIFY: the answers to choose from, if any")


class Verified(Strict):
    """Whether the goal is reached, on evidence: a score from 0 to 100 and the gaps that are left."""

    score: Points
    gaps: list[Line] = Field(default=[], max_length=8, description="what is missing, one change each")
    reason: Text = ""


class Clarified(Strict):
    """A person's answer to one question."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class Group(BaseModel):
    """Checks that fail together, most likely for one cause."""

    name: str
    checks: list[str]
    note: str = ""

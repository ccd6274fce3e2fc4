"""What passes between a design and the simulation: artifacts of opaque parts, changes, verdicts."""

from pydantic import BaseModel, Field

from looper.criteria import Finding
from looper.tasks.contracts import Line, Steps


class Piece(BaseModel):
    """An artifact: an opaque code for each rule; whether a code meets its rule only the task can tell."""

    parts: dict[str, str] = {}
    """Code by rule, eight hex digits; a rule without one is not met."""
    phase: str
    """Phase of the gate in which it is judged."""
    findings: dict[str, Finding] = {}
    """By rule: what checks and judges said of these codes."""
    verdicts: dict[str, Finding] = {}
    """By rule: what judges said. A judge is asked once about a code."""
    last: str = ""
    """What the last change led to."""


class Plan(Steps):
    """Steps, a first draft where the design asks nobody else to write it, and whether the plan is of use (planted)."""

    draft: str = Field(default="", description="the whole artifact: a line `rule: code` for each rule")
    useful: bool = True


class NewPlan(BaseModel):
    """Another plan, or none."""

    plan: Plan | None


class Change(BaseModel):
    """New codes for some rules."""

    codes: dict[str, str] = Field(default={}, description="code by rule: eight hex digits")
    why: str = ""
    done: bool = Field(default=False, description="true only if nothing is left to change")

    def __str__(self) -> str:
        return self.why or f"{len(self.codes)} codes written"


class WorkOn(BaseModel):
    """Which failed rule the writer works on next."""

    rule: str

    def __str__(self) -> str:
        return f"work on {self.rule}"


class Decision(BaseModel):
    """The next rule to work on, or nothing."""

    action: WorkOn | None


class Worked(BaseModel):
    """Memory of the policy: how often each rule was worked on."""

    tries: dict[str, int] = {}


class Brief(BaseModel):
    """What every role may see."""

    goal: str
    rules: str
    simulation: str = "This task is artificial: codes stand for the parts of an artifact, and luck for work on them."


class Judgement(BaseModel):
    """A judge's verdict on one rule."""

    met: bool
    reason: Line = "as it appears"


class Handed(BaseModel):
    """The closing words."""

    text: str = ""


class Unprepared(BaseModel):
    """PREPARE has nothing to write here: every rule of a simulation brings its check."""

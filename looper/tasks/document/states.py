"""What the document task passes around: artifacts with findings, revisions, work to do."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from looper.checks.kinds import Check
from looper.criteria import Finding
from looper.tasks.contracts import Line, Steps


class PreparedCheck(BaseModel):
    """A rule's check, written by the preparer."""

    rule: str = Field(description="id of the rule")
    check: Check


class Prepared(BaseModel):
    """PREPARE: a typed check for each rule that has none; a rule may have several."""

    checks: list[PreparedCheck]


class Artifact(BaseModel):
    """The artifact, the phase of the gate it is judged in, and what the checks said of this very text."""

    text: str
    phase: str
    prepared: dict[str, list[Check]] = {}
    """By rule: checks that the preparer wrote."""
    findings: dict[str, Finding] = {}
    """By rule, without the evidence, which the journal has; of this text in this phase."""
    verdicts: dict[str, Finding] = {}
    """By rule: what judges said of this text. A judge is asked once about a text."""
    last: str = ""
    """What the last change led to; `refused...` if it was not made."""


class Replacement(BaseModel):
    """One passage in place of another."""

    find: str = Field(min_length=1, description="a passage that occurs exactly once in the artifact, to the letter")
    replace: str


class Revision(BaseModel):
    """REFINE, or any other change: passages replaced, or the whole text."""

    edits: list[Replacement] = Field(default=[], max_length=50)
    text: str = Field(default="", description="the whole artifact, only where passages will not do")
    why: str = ""
    done: bool = Field(default=False, description="true only if nothing is left to change")

    def __str__(self) -> str:
        what = "the whole text" if self.text else f"{len(self.edits)} passages"
        return self.why or f"{what} changed"


class WorkOn(BaseModel):
    """What the policy of the inner loop decides: which failed rule the writer works on next."""

    rule: str
    note: str = ""
    """What the check said."""
    refused: str = ""
    """Why the writer's last change was not made."""

    def __str__(self) -> str:
        return f"work on {self.rule}"


class Decision(BaseModel):
    """The next rule to work on, or nothing."""

    action: WorkOn | None


class Worked(BaseModel):
    """Memory: how often the writer worked on each rule."""

    tries: dict[str, int] = {}
    refused: str = ""
    """Why the last change was not made, if it was not."""


class Brief(BaseModel):
    """What every role may see."""

    goal: str
    prompt: str
    sources: dict[str, str]
    rules: str
    kind: str
    """Name of the criteria."""


class Handed(BaseModel):
    """The closing words on the artifact."""

    text: str = ""


class NewPlan(BaseModel):
    """Other steps, or none if there is no way on."""

    plan: "Plan | None"


class Plan(Steps):
    """Steps towards the artifact, and the first version of it where the design asks nobody else to write it."""

    draft: str = Field(default="", description="the whole artifact")


class Judgement(BaseModel):
    """A judge's verdict on one rule (SAFETY P13)."""

    model_config = ConfigDict(extra="forbid")

    nonce: str = Field(description="the code that you were given for this question")
    score: Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]
    reason: Line = Field(description="one sentence")

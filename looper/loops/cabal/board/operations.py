"""What a role can ask the board to do: the parts that answers are made of.

Shape and size are checked here; whether it is allowed is the board's to say, with a reason for the author.
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from looper.loops.cabal.board.entities import (
    CollabKind,
    Outcome,
    ProductType,
    RemarkKind,
    Resolved,
    Status,
    Target,
    Verdict,
)


def _single(text: str) -> str:
    if not (text := " ".join(text.split())):
        raise ValueError("it is empty")
    return text


Title = Annotated[str, StringConstraints(min_length=1, max_length=120), AfterValidator(_single)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=400), AfterValidator(_single)]
Loose = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
"""May be empty."""
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]
Ref = Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)]
"""Id of something on the board, or a key that was given in the same answer."""
Criterion = Annotated[str, StringConstraints(strip_whitespace=True, max_length=400)]
Importance = Annotated[int, Field(ge=1, le=10)]


class Operation(BaseModel, extra="forbid"):
    """Part of an answer."""


class NewMember(Operation):
    """An operative with persona and domain."""

    key: Ref = Field(min_length=1, description="a short name of your choice, to name owners of products with")
    name: Title
    persona: Line = Field(description="who this is, in one sentence")
    responsibility: Line = Field(description="what this member answers for")
    area: Line = Field(description="the field of expertise")


class NewProduct(Operation):
    """A product to create."""

    key: Ref = Field(default="", description="a short name of your choice, to name it with in this answer")
    title: Title
    type: ProductType
    owner: Ref = Field(description="id or key of an operative, or chair")
    parent: Ref = Field(default="", description="id or key of the product above; empty at the root")
    done: list[Line] = Field(min_length=1, max_length=10, description="definition of done, as a checklist")


class UpdateProduct(Operation):
    """A change of a product; empty fields stay as they are."""

    product: Ref
    title: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120)] = ""
    owner: Ref = ""
    done: list[Line] = Field(default=[], max_length=10, description="the whole new checklist")


class Reparent(Operation):
    """A product to move in the tree."""

    product: Ref
    parent: Ref = Field(default="", description="id or key of the new product above; empty for the root")


class Mark(Operation):
    """A status that the chair sets."""

    product: Ref
    status: Status = Field(description="pending, blocked or rejected; code sets the others")
    reason: Line


class NewAssignment(Operation):
    """A directive for one operative on one product, for this round."""

    assignee: Ref = Field(description="id of an operative")
    product: Ref
    objective: Line
    done: list[Line] = Field(default=[], max_length=10, description="what has to be true at the end of this round")
    why: Loose = ""
    context: Loose = ""
    attached: list[Ref] = Field(default=[], description="up to 3 products to show to the assignee")
    address: list[Ref] = Field(default=[], description="ids of feedback on the product that has to be addressed")


class FeedbackAnswer(Operation):
    """What the new version does about a piece of feedback."""

    collab: Ref = Field(description="id of the feedback, such as c1")
    outcome: Outcome
    reason: Line


class NewVersion(Operation):
    """The whole new content of a product."""

    product: Ref
    content: Annotated[str, StringConstraints(max_length=200_000)] = Field(
        description="the whole text; cite with [[p:p1]], [[v:p1:2]], [[a:o1]], [[c:c1]]"
    )
    summary: Line = Field(description="what changed, and why")
    answers: list[FeedbackAnswer] = Field(default=[], description="one for each piece of feedback to address")


class NewCollab(Operation):
    """Feedback on a product."""

    product: Ref
    kind: CollabKind = "feedback"
    importance: Importance = Field(description="1-3 style, 4-6 should, 7-8 must, 9-10 blocking")
    text: Text = Field(description="specific and actionable")
    criterion: Criterion = Field(
        default="", description="number of the checklist item, or accuracy, consistency, integration (watchdog)"
    )


class Resolution(Operation):
    """What the owner of a product decides about feedback on it."""

    collab: Ref
    outcome: Resolved
    reason: Line


class NewRemark(Operation):
    """A note that is about no product."""

    target: Target
    agent: Ref = Field(default="", description="id of the member, if the target is agent")
    kind: RemarkKind = "note"
    text: Text


class Finding(Operation):
    """An issue, measured by a criterion."""

    criterion: Criterion = Field(
        default="", description="number of the checklist item, or accuracy, consistency, integration"
    )
    importance: Importance = Field(description="1-3 style, 4-6 should, 7-8 must, 9-10 cannot proceed")
    text: Text = Field(description="what is wrong, where, and what to do")


class CheckedItem(Operation):
    """One checklist item."""

    item: Annotated[int, Field(ge=1)] = Field(description="its number")
    met: bool
    note: Line = Field(description="the evidence")


class NewInspection(Operation):
    """One product, inspected."""

    product: Ref
    checklist: list[CheckedItem] = Field(max_length=20, description="every item of the definition of done, once")
    findings: list[Finding] = Field(default=[], max_length=10)
    verdict: Verdict = Field(description="your recommendation; code computes the verdict from the findings")


class ChangeMember(Operation):
    """Another persona or domain of an operative; empty fields stay as they are."""

    member: Ref
    persona: Loose = ""
    responsibility: Loose = ""
    area: Loose = ""


class Override(Operation):
    """What bootstrap said, said anew; in force from the next round on. Empty fields stay as they are."""

    mission: Loose = ""
    objectives: list[Line] = Field(default=[], max_length=7)
    constraints: list[Line] | None = Field(default=None, max_length=10, description="an empty list lifts them all")
    members: list[ChangeMember] = Field(default=[], max_length=12)


class NewMessage(Operation):
    """A chat message, spoken as a member of the team."""

    member: Ref = Field(description="id of the member who speaks")
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]

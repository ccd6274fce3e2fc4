"""What each role answers in each step (document 002, Output Alternatives; SPEC 0.10): exactly one alternative."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, model_validator

from looper.loops.cabal.board.operations import (
    Line,
    Mark,
    NewAssignment,
    NewCollab,
    NewInspection,
    NewMember,
    NewMessage,
    NewProduct,
    NewRemark,
    NewVersion,
    Operation,
    Override,
    Ref,
    Reparent,
    Resolution,
    Text,
    UpdateProduct,
)

Question = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)]
Remarks = Annotated[list[NewRemark], Field(max_length=10)]
ALTERNATIVES = ("final_output", "halt", "request_context")


class Charter(Operation):
    """The mission and the team for it."""

    mission: Line
    objectives: list[Line] = Field(min_length=1, max_length=7)
    constraints: list[Line] = Field(default=[], max_length=10)
    team: list[NewMember] = Field(min_length=1, max_length=12)
    products: list[NewProduct] = Field(min_length=1, max_length=40)


class Reflected(Operation):
    """Where an operative stands."""

    assessment: Text = Field(description="own products, unresolved feedback, blockers, improvements for the chair")
    resolutions: list[Resolution] = Field(default=[], description="decisions on feedback on your own products")
    collabs: list[NewCollab] = Field(default=[], max_length=10)
    remarks: Remarks = Field(default=[])


class Planned(Operation):
    """The round's work."""

    create: list[NewProduct] = Field(default=[], max_length=20)
    update: list[UpdateProduct] = Field(default=[])
    reparent: list[Reparent] = Field(default=[])
    mark: list[Mark] = Field(default=[])
    assignments: list[NewAssignment] = Field(default=[], description="one per product")
    versions: list[NewVersion] = Field(default=[], description="of your own products only")
    resolutions: list[Resolution] = Field(default=[], description="decisions on feedback on your own products")
    remarks: Remarks = Field(default=[])
    overrides: Override | None = None
    done: bool = Field(default=False, description="whether the mission is accomplished: all deliverables accepted")


class Drafts(Operation):
    """Versions of the assigned products."""

    versions: list[NewVersion]
    collabs: list[NewCollab] = Field(default=[], max_length=10)
    remarks: Remarks = Field(default=[])


class Reviewed(Operation):
    """Feedback on the work of others."""

    collabs: list[NewCollab] = Field(max_length=20)
    remarks: Remarks = Field(default=[])


class Inspected(Operation):
    """Inspections of the new work."""

    inspections: list[NewInspection]
    remarks: Remarks = Field(default=[])


class Told(Operation):
    """The round, told to the user."""

    messages: list[NewMessage] = Field(min_length=3, max_length=8)
    findings: list[Line] = Field(default=[], max_length=8, description="key findings")
    accepted: list[Ref] = Field(default=[], description="ids of products accepted in this round")
    blocked: list[Ref] = Field(default=[], description="ids of products blocked in this round")
    questions: list[Line] = Field(default=[], max_length=8, description="open questions to the user")


class Alternatives(BaseModel, extra="forbid"):
    """Exactly one of the fields is given; an empty one is not given."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "Alternatives":
        names = [name for name in ALTERNATIVES if name in type(self).model_fields]
        given = [name for name in names if self._given(name)]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(names)}; given: {', '.join(given) or 'none'}")
        return self

    def _given(self, name: str) -> bool:
        value: Any = getattr(self, name)
        return value is not None if name == "final_output" else bool(value)


class Bootstrap(Alternatives):
    """Interpret the request: mission, objectives, constraints, team and first products; or halt to ask the user."""

    final_output: Charter | None = None
    halt: Question = Field(default="", description="a question without whose answer nothing can begin")


class Requesting(Alternatives):
    """An answer that may ask for more products first."""

    request_context: list[Ref] = Field(default=[], max_length=5, description="ids of up to 5 products to see in full")


class Reflection(Requesting):
    """Assess your situation before the chair plans; or ask to see more products first."""

    final_output: Reflected | None = None


class Assignments(Requesting):
    """Plan the round and assign work; or halt to ask the user; or ask to see more products first."""

    final_output: Planned | None = None
    halt: Question = Field(default="", description="a question without whose answer the work cannot go on")


class Written(Requesting):
    """Write new versions of the products assigned to you; or ask to see more products first."""

    final_output: Drafts | None = None


class Reviews(Requesting):
    """Review the work of others from your own domain; or ask to see more products first."""

    final_output: Reviewed | None = None


class Inspections(Requesting):
    """Inspect each new version against its definition of done; or ask to see more products first."""

    final_output: Inspected | None = None


class Presentation(Requesting):
    """Tell the user about the round as the team's members would; or ask to see more products first."""

    final_output: Told | None = None


ANSWERS: dict[str, type[Alternatives]] = {
    "bootstrap": Bootstrap, "reflect": Reflection, "plan": Assignments, "write": Written, "review": Reviews,
    "inspect": Inspections, "present": Presentation,
}  # fmt: skip
"""The type of answer by step."""

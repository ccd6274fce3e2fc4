"""What lies on the board of a cabal (SPEC 4.2): plain, frozen data that survives JSON unchanged."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Step = Literal["bootstrap", "reflect", "plan", "write", "review", "inspect", "present"]
Role = Literal["chair", "operative", "watchdog", "envoy"]
ProductType = Literal["content", "decision", "collection", "orchestration"]
Status = Literal["pending", "assigned", "written", "reviewed", "accepted", "blocked", "rejected"]
CollabKind = Literal["feedback", "question", "suggestion", "endorsement", "concern"]
RemarkKind = Literal["note", "question", "suggestion", "blocker"]
Target = Literal["self", "team", "agent", "user"]
Verdict = Literal["approved", "needs_revision", "blocked"]
Outcome = Literal["addressed", "deferred", "rejected"]
Resolved = Literal["accepted", "deferred", "rejected"]
Kind = Literal[
    "created", "changed", "moved", "marked", "assigned", "written", "reviewed", "accepted", "blocked", "reopened"
]

FLAG = 8
"""Importance from which open feedback blocks acceptance (SPEC 4.2)."""


class Entity(BaseModel):
    """A value on the board; a change is a new value."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Member(Entity):
    """Who acts. Ids: `chair`, `watchdog`, `envoy`, `o1`, `o2`, ..."""

    id: str
    role: Role
    key: str = ""
    """The temporary name that the chair gave at bootstrap."""
    name: str = ""
    persona: str = ""
    responsibility: str = ""
    """First half of the domain: what this member answers for."""
    area: str = ""
    """Second half of the domain: the field of expertise."""


class Product(Entity):
    """A node of the product tree."""

    id: str
    title: str
    type: ProductType
    owner: str
    parent: str = ""
    """Id of the product above; empty at the root."""
    done: tuple[str, ...] = ()
    """Definition of done, as a checklist."""
    status: Status = "pending"
    reason: str = ""
    """Why the chair marked it blocked or rejected; empty if the chair did not."""


class Answer(Entity):
    """What the author of a version did about a piece of feedback."""

    collab: str
    outcome: Outcome
    reason: str


class Version(Entity):
    """What a product said from a moment on; never changed."""

    product: str
    number: int = Field(ge=1)
    author: str
    round: int
    content: str
    summary: str
    """What changed, and why."""
    answers: tuple[Answer, ...] = ()


class Collab(Entity):
    """Feedback of one member on one product."""

    id: str
    product: str
    version: int
    """Number of the version it is about; 0 before the first."""
    author: str
    round: int
    step: Step
    kind: CollabKind
    importance: int = Field(ge=1, le=10)
    text: str
    criterion: str = ""
    """What a finding of the watchdog is measured by: the text of a checklist item, or a general criterion."""
    state: Literal["open", "accepted", "deferred", "rejected"] = "open"
    reason: str = ""
    """Why the owner decided so."""
    addressed: int = Field(default=0, ge=0)
    """Number of the version that dealt with it; 0: none yet."""

    @property
    def blocking(self) -> bool:
        """Whether it is a flag. Praise, however important, blocks nothing."""
        return self.importance >= FLAG and self.kind != "endorsement"

    @property
    def stands(self) -> bool:
        """Whether something is left to do: it is open, or accepted and not yet dealt with in a version."""
        return self.state == "open" or (self.state == "accepted" and not self.addressed)


class Remark(Entity):
    """A note that is about no product."""

    id: str
    author: str
    round: int
    step: Step
    target: Target
    agent: str = ""
    """Id of the member it is for, where the target is one agent."""
    kind: RemarkKind
    text: str


class Assignment(Entity):
    """An operative, a product and the chair's directive; for one round."""

    id: str
    round: int
    product: str
    assignee: str
    objective: str
    done: tuple[str, ...] = ()
    """What has to be true at the end of this round."""
    why: str = ""
    context: str = ""
    attached: tuple[str, ...] = ()
    """Products that the assignee is shown."""
    address: tuple[str, ...] = ()
    """Feedback that the chair wants addressed."""


class Check(Entity):
    """One item of a definition of done, inspected."""

    item: str
    met: bool
    note: str


class Inspection(Entity):
    """What the watchdog found in one version."""

    product: str
    version: int
    round: int
    checks: tuple[Check, ...]
    worst: int = Field(ge=0, le=10)
    """Importance of the gravest finding; 0 without any."""
    verdict: Verdict
    """Computed from the findings."""
    said: Verdict
    """The watchdog's own word, which decides nothing."""

"""What the roles of the outer loop answer (document 000; SPEC 5.2 to 5.6)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, model_validator

from looper.checks.kinds import Check, Judge

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Loose = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
"""A line that may be missing: completeness is measured, not demanded (SPEC 5.3)."""
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([-_.][a-z0-9]+)*$", max_length=80)]
Lines = Annotated[list[Line], Field(max_length=12)]
MOST_QUESTIONS = 5
"""Questions to the user at most (SPEC 5.2)."""

Domain = Literal[
    "coding", "correspondence", "research", "document", "social", "creative", "personal", "professional",
    "technical_ops", "data", "general",
]  # fmt: skip
Priority = Literal["P0", "P1", "P2"]
Severity = Literal["must", "should", "nice"]


class Classified(BaseModel):
    """The domain of a task, where its words do not tell."""

    domain: Domain
    reason: Line


class CurrentState(BaseModel):
    """RESEARCH: what is known before anything is done. Only what the material says; what it leaves open is unknown."""

    exists: Lines = Field(default=[], description="what is there already")
    constraints: Lines = Field(default=[], description="what limits the work")
    patterns: Lines = Field(default=[], description="how such work was done before, here or in the episodes shown")
    dependencies: Lines = Field(default=[], description="what the work needs that is not part of it")
    unknowns: Lines = Field(default=[], description="what nobody has said yet and the result depends on")


class Asked(BaseModel):
    """A question to the user."""

    id: Slug = Field(description="short name, words with hyphens")
    question: Line
    why: Loose = Field(default="", description="what depends on the answer")
    priority: Priority = Field(description="P0: work cannot begin without; P1: changes the approach; P2: a detail")
    choices: Annotated[list[Line], Field(max_length=5)] = Field(default=[], description="answers to choose from")
    default: Loose = Field(default="", description="what is assumed if nobody answers; needed for P1 and P2")

    @model_validator(mode="after")
    def _assumed(self) -> "Asked":
        if self.priority != "P0" and not self.default:
            raise ValueError(f"{self.id}: a question of priority {self.priority} needs a default")
        return self


class Analysis(BaseModel):
    """ANALYSIS: the Johari window of the task, and what has to be asked."""

    open: Lines = Field(default=[], description="documented: the task says it")
    blind: Lines = Field(default=[], description="the user knows it and has not said it: to be asked")
    hidden: Lines = Field(default=[], description="you know it and the user may not: to be shared with them")
    unknown: Lines = Field(default=[], description="nobody knows: to be explored in the work")
    questions: list[Asked] = Field(default=[], max_length=12, description="at most 5 are put; the most important first")


class Answered(BaseModel):
    """The user's answer: words, or the number of a choice."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class Way(BaseModel):
    """How a criterion is verified: exactly one of the four."""

    rule: Loose = Field(default="", description="id of a rule of the task that verifies it")
    check: Check | None = Field(default=None, description="a typed check of the artifact's text")
    judge: Loose = Field(default="", description="a question that a reader of the artifact can answer with yes or no")
    person: Loose = Field(default="", description="a question that only the user can answer on the result")

    @property
    def given(self) -> list[str]:
        """Names of the ways that are given."""
        return [name for name in ("rule", "check", "judge", "person") if getattr(self, name)]

    @model_validator(mode="after")
    def _one(self) -> "Way":
        if len(self.given) > 1:
            raise ValueError(f"{' and '.join(self.given)} are given; give one way to verify a criterion")
        if isinstance(self.check, Judge):  # a question for the reader, however it is written
            self.judge, self.check = self.check.question[:500], None
        return self


class Criterion(BaseModel):
    """Something that must be true of the result, or should, or would be nice."""

    id: Slug
    description: Loose = Field(default="", description="what is true of the result, in one sentence")
    severity: Severity = "must"
    verify: Way = Way()
    critical: bool = Field(default=False, description="whether the user has to confirm it on the result")


class AntiCriterion(BaseModel):
    """Something that must not happen. A detector says so when it has."""

    id: Slug
    description: Line
    detect: Way = Field(
        default=Way(),
        description="as of a criterion; `check` and `rule` pass as long as it has not happened, `judge` asks about it",
    )


class Metric(BaseModel):
    """A measure of success."""

    name: Loose = ""
    target: Loose = Field(default="", description="comparison and number, such as `>= 0.9` or `<= 300`")
    unit: Loose = ""
    measure: Literal["", "score", "words", "lines", "characters"] = Field(
        default="", description="how code measures it on the result: gate score, or the length of the artifact"
    )


class IdealState(BaseModel):
    """INTERVIEW: what the result is measured by, before anything is made. Say what is missing with `questions`."""

    objective: Loose = Field(default="", description="what the user wants to have in the end, in one sentence")
    criteria: list[Criterion] = Field(default=[], max_length=40)
    anti_criteria: list[AntiCriterion] = Field(default=[], max_length=12)
    metrics: list[Metric] = Field(default=[], max_length=12)
    exits: Lines = Field(default=[], description="when the work is done, and when it is given up")
    questions: list[Asked] = Field(
        default=[], max_length=MOST_QUESTIONS, description="to the user, on parts that you cannot fill in"
    )

    @model_validator(mode="after")
    def _distinct(self) -> "IdealState":
        ids = [each.id for each in (*self.criteria, *self.anti_criteria)]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"the id {twice[0]} is there twice")
        return self


class Judged(BaseModel):
    """The verdict of a reader on one criterion."""

    id: str
    verdict: Literal["met", "not_met", "unknown"] = Field(description="`unknown` where the artifact does not tell")
    reason: Line = Field(description="why, in one sentence")
    quote: Loose = Field(default="", description="the passage of the artifact that shows it, to the letter")


class Assessment(BaseModel):
    """VERIFY, semantic layer: each criterion with a verdict and its reason. What the artifact claims is no evidence."""

    verdicts: list[Judged] = Field(default=[], max_length=60)


class Confirmed(BaseModel):
    """The user's word on a critical criterion: yes or no."""

    met: bool


class Escalation(BaseModel):
    """What the user decides when the result is not good enough: accept, relax CRITERION, budget UNITS, or stop."""

    decision: Literal["accept", "relax", "budget", "stop"] = Field(
        description="accept as it is; relax a criterion; add budget and another round; stop"
    )
    criterion: str = Field(default="", description="with relax: the id of the criterion that becomes nice to have")
    inner: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.0, description="with budget: units more"
    )
    outer: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.0, description="with budget: units more"
    )
    loops: Annotated[int, Field(ge=1, le=10)] = Field(default=1, description="with budget: rounds more")

    @model_validator(mode="before")
    @classmethod
    def _in_words(cls, data: Any) -> Any:
        """`relax CRITERION` and `budget UNITS` (of the outer account) in one go, as people type them."""
        words = str(data.get("decision", "")).split(maxsplit=1) if isinstance(data, dict) else []
        if len(words) == 2 and words[0] == "relax":
            return {**data, "decision": "relax", "criterion": words[1].strip()}
        if len(words) == 2 and words[0] == "budget":
            return {**data, "decision": "budget", "outer": words[1]}
        return data

"""What the roles of document 003 answer (Phase Contracts), and what a task offers that is written by a role."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, model_validator

from looper.criteria import Evaluation, Rule

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
MOST_ISSUES = 5
"""Issues of a critique at most (document 003, guardrails)."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


class ProposedRule(BaseModel):
    """A rule that was made for the task at hand."""

    id: str = Field(
        pattern=r"^[ab]\.(correctness|completeness|style|performance|security|quality)\.[a-z0-9]+(-[a-z0-9]+)*$",
        description="phase.category.name: a for what must be right first, b for what is stricter",
    )
    description: Line = Field(description="the condition on the artifact, in one sentence")
    severity: Literal["fail", "warn", "info"]
    check: Line = Field(description="how to verify it, in words")


class Proposal(BaseModel):
    """Criteria for a task that has none (document 003, Setup Confirmation: shown before anything is made)."""

    rules: list[ProposedRule] = Field(min_length=3, max_length=20)

    @model_validator(mode="after")
    def _sound(self) -> "Proposal":
        ids = [rule.id for rule in self.rules]
        if len(ids) != len(set(ids)):
            raise ValueError("two rules have the same id")
        if not any(rule.severity == "fail" and rule.id.startswith("a.") for rule in self.rules):
            raise ValueError("phase a needs a rule of severity fail")
        return self


class Steps(BaseModel):
    """PLAN: what to do in this iteration."""

    steps: list[Line] = Field(min_length=1, max_length=5, description="3 to 5 short steps")

    def __str__(self) -> str:
        return "; ".join(self.steps)


class Draft(BaseModel):
    """PRODUCE: the artifact."""

    text: Annotated[str, AfterValidator(_said)] = Field(
        min_length=1, description="the whole artifact, and nothing else"
    )


class Issue(BaseModel):
    """One failed rule and how to mend it."""

    rule: Line = Field(description="id of the failed rule")
    problem: Line = Field(description="what is wrong, and where")
    fix: Line = Field(description="the exact instruction that mends it")
    sections: list[Line] = Field(default=[], description="headings, or names of parts, that have to change")


class Critique(BaseModel):
    """CRITIQUE: failed rules as exact instructions, the most important first."""

    issues: list[Issue] = Field(min_length=1, max_length=MOST_ISSUES)


class Confirmation(BaseModel):
    """A person's word on the setup, before anything is spent (document 003, Setup Confirmation)."""

    decision: Literal["yes", "no", "edit"]
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default={}, description="by phase, to change")
    max_iterations: Annotated[int, Field(ge=1, le=100)] | None = Field(default=None, description="to change")
    leave_out: list[str] = Field(default=[], description="ids of rules to leave out")


class Changes(BaseModel):
    """What a refinement changed, measured on the text."""

    changed: list[str]
    """Headings or parts that were added, removed or altered, in order."""
    unnamed: list[str] = []
    """Those of them that no issue of the critique named."""


class Written(Protocol):
    """A task whose artifact a role writes and whose gate comes in phases, with checks that may have to be prepared."""

    def enter(self, state: Any, phase: str) -> BaseModel:
        """The state in a phase of the gate: its rules and those of the phases before it are active."""
        ...

    def unprepared(self, phase: str) -> Sequence[Rule]:
        """Active rules whose check is given in words only."""
        ...

    def vacuous(self, prepared: Any) -> list[str]:
        """Ids of rules whose prepared checks pass on an empty artifact, and so say nothing."""
        ...

    def equip(self, state: Any, prepared: Any) -> BaseModel:
        """The state with checks that were prepared; rules that still have none are left to a judge."""
        ...

    def changes(self, before: Any, after: Any, critique: Critique) -> Changes:
        """What a refinement changed."""
        ...


def written(task: Any) -> Written | None:
    """The task, if it is one whose artifact a role writes; also where another object stands in for it."""
    return task if all(hasattr(task, name) for name in ("enter", "unprepared", "vacuous", "equip", "changes")) else None


def by_rules(
    *, evaluation: Evaluation, notes: Mapping[str, str], regressions: Sequence[str] = (), **_: Any
) -> Critique:
    """The critique that no model writes: failed rules with what their checks said; blockers first, then regressions."""
    rank = {rule: (rule not in evaluation.blockers, rule not in regressions) for rule in evaluation.failed}
    failed = sorted(evaluation.failed, key=lambda rule: rank[rule])
    return Critique(issues=[_issue(rule, notes, again=rule in regressions) for rule in failed[:MOST_ISSUES]])


def with_regressions(critique: Critique, regressions: Sequence[str], notes: Mapping[str, str]) -> Critique:
    """The critique with an issue for each regression that it does not name (SPEC 2.5)."""
    named = {issue.rule for issue in critique.issues}
    missing = [_issue(rule, notes, again=True) for rule in regressions if rule not in named][:MOST_ISSUES]
    return Critique(issues=[*critique.issues[: MOST_ISSUES - len(missing)], *missing])


def _issue(rule: str, notes: Mapping[str, str], *, again: bool) -> Issue:
    problem = notes.get(rule, "").strip() or "the rule is not met"
    return Issue(rule=rule, problem=f"{'passed before: ' if again else ''}{problem}"[:500], fix=f"meet the rule {rule}")

"""The gate: rules with severities and weights, phases with thresholds, and the score of evidence against them.

The score formula is document 003's: passed weight / active weight; passed = score >= threshold and no failed `fail`
rule.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator
from pydantic.dataclasses import dataclass

from looper.types import STRICT, Plain

Severity = Literal["fail", "warn", "info"]
WEIGHTS: dict[str, float] = {"fail": 2.0, "warn": 1.0, "info": 0.0}
"""Weight by severity where a rule gives none (document 003, Rule Format)."""
SLACK = 1e-9


class Rule(BaseModel, frozen=True, extra="forbid"):
    """One condition on an artifact."""

    id: str
    description: str = ""
    severity: Severity = "fail"
    weight: float = Field(default=-1.0, allow_inf_nan=False)
    """>= 0; if left out it follows from the severity: fail 2, warn 1, info 0."""
    phase: str = "A"
    check: str = ""
    """How to verify it, in words or as a typed check."""

    @model_validator(mode="before")
    @classmethod
    def _weigh(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("weight") is None:
            return {**data, "weight": WEIGHTS.get(data.get("severity", "fail"), 0.0)}
        return data


class Finding(BaseModel):
    """What a check said of one rule, with its evidence."""

    passed: bool
    note: str = ""
    evidence: dict[str, Plain] = {}


class Evaluation(BaseModel):
    """The result of one look at an artifact. All numbers are computed by code from findings (SPEC 0.1)."""

    phase: str
    score: float
    """0 to 1."""
    threshold: float
    passed: bool
    failed: list[str]
    """Ids of all failed rules."""
    blockers: list[str]
    """Ids of failed rules of severity `fail`."""
    warnings: list[str]
    passed_rules: int
    total_rules: int

    @property
    def distance(self) -> float:
        """Distance to success: threshold - score, never below 0 (document 003)."""
        return max(0.0, self.threshold - self.score)

    def better_than(self, other: "Evaluation | None") -> bool:
        """Gate first, then score (SPEC 0.3)."""
        return other is None or (self.passed, self.score) > (other.passed, other.score)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Phase:
    """A stage of the gate; the rules of earlier phases stay active."""

    name: str
    """A, B, ... in order."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Score needed, 0 to 1; document 003: A 0.8, B 0.9."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Criteria:
    """Rules and phases."""

    rules: list[Rule] = Field(default_factory=list)
    """All rules of all phases."""
    phases: list[Phase] = Field(default_factory=lambda: [Phase(name="A")])
    """In the order in which they are reached."""

    def active(self, phase: str) -> list[Rule]:
        """Rules of this phase and of those before it."""
        names = [p.name for p in self.phases]
        upto = set(names[: names.index(phase) + 1])
        return [rule for rule in self.rules if rule.phase in upto]

    def threshold(self, phase: str) -> float:
        return next(p.threshold for p in self.phases if p.name == phase)

    def is_last(self, phase: str) -> bool:
        return self.phases[-1].name == phase

    def evaluate(self, findings: Mapping[str, Finding | bool], phase: str | None = None) -> Evaluation:
        """Score findings by rule id; a rule without a finding has failed."""
        phase = phase or self.phases[-1].name
        rules = self.active(phase)
        passed = {rule.id for rule in rules if _holds(findings.get(rule.id))}
        counted = [rule for rule in rules if rule.severity != "info"]  # document 003: info is tracked only
        weight = sum(rule.weight for rule in counted)
        score = sum(rule.weight for rule in counted if rule.id in passed) / weight if weight else 1.0
        failed = [rule for rule in rules if rule.id not in passed]
        blockers = [rule.id for rule in failed if rule.severity == "fail"]
        return Evaluation(
            phase=phase,
            score=score,
            threshold=self.threshold(phase),
            passed=score >= self.threshold(phase) - SLACK and not blockers,
            failed=[rule.id for rule in failed],
            blockers=blockers,
            warnings=[rule.id for rule in failed if rule.severity != "fail"],
            passed_rules=len(passed),
            total_rules=len(rules),
        )


def _holds(finding: "Finding | bool | None") -> bool:
    return finding.passed if isinstance(finding, Finding) else finding is True

"""The verdict of VERIFY: evidence per criterion, layers of evidence, and the outcome (document 000; SPEC 5.5, 5.6)."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator
from pydantic.dataclasses import dataclass

from looper.criteria import SLACK
from looper.criteria import WEIGHTS as BY_SEVERITY
from looper.loops.gather_verify.answers import Severity
from looper.types import STRICT

Layer = Literal["objective", "heuristic", "semantic", "person"]
Status = Literal["VERIFIED", "GAPS_IDENTIFIED", "CRITICAL_FAILURE"]
Share = Annotated[float, Field(ge=0, le=1)]

SCORED: tuple[Layer, ...] = ("objective", "heuristic", "semantic")
"""Layers with a score; a person's word decides about a criterion instead."""
WEIGHTS = {"must": BY_SEVERITY["fail"], "should": BY_SEVERITY["warn"], "nice": BY_SEVERITY["info"]}
"""Weight of a criterion within a layer: 2, 1, 0 (SPEC 5.4)."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LayerWeights:
    """What each layer adds to the score; the sum is 1 (document 000, Verification Layers)."""

    objective: Share = 0.5
    """Checks run by code: tests, lint, build, schema."""
    heuristic: Share = 0.3
    """Complexity, style, size, pattern rules."""
    semantic: Share = 0.2
    """A judge's opinion on each criterion. With 0 the layer is unknown: every must then needs code or a person."""

    @model_validator(mode="after")
    def _whole(self) -> "LayerWeights":
        shares = (self.objective, self.heuristic, self.semantic)
        if abs(math.fsum(shares) - 1) > SLACK:
            raise ValueError(f"the weights {', '.join(f'{share:g}' for share in shares)} must sum to 1")
        return self


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Thresholds:
    """Scores, 0 to 1, from which an outcome is possible (document 000, Outcomes)."""

    verified: Share = 0.9
    """VERIFIED from here on, if nothing else stands against it."""
    gaps: Share = 0.6
    """GAPS_IDENTIFIED from here on, below it CRITICAL_FAILURE; at most `verified`."""

    @model_validator(mode="after")
    def _ordered(self) -> "Thresholds":
        if self.gaps > self.verified:
            raise ValueError(f"gaps={self.gaps:g} must not be above verified={self.verified:g}")
        return self


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """What one look at one criterion found (issue 7, item 4)."""

    criterion: str
    """Its id; an anti-criterion's, a rule's, or that of a rule of thumb."""
    severity: Severity
    layer: Layer
    met: bool | None
    """Of an anti-criterion: whether it has not happened. None: nobody can tell."""
    check: str = ""
    """What was to be found out, in words."""
    ran: str = ""
    """What did find it out."""
    exit_code: int | None = None
    output_sha256: str = ""
    artifact_sha256: str = ""
    at: str = ""
    """Time, ISO 8601."""
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    note: str = ""
    """Why, for the reader; of what is not met: the problem."""
    anti: bool = False
    ran_by: Literal["code", "judge", "person"]
    """A judge's opinion is none of the other two (SPEC 0.1)."""

    @model_validator(mode="after")
    def _fits(self) -> "Evidence":
        if (self.layer == "person") != (self.ran_by == "person"):
            raise ValueError(f"{self.criterion}: a person's word is the layer `person`, and nothing else is")
        if self.ran_by == "judge" and self.layer != "semantic":
            raise ValueError(f"{self.criterion}: a judge's opinion is the layer `semantic`, not `{self.layer}`")
        return self


class Gap(BaseModel):
    """A criterion that stands open, as the next inner loop reads it."""

    criterion: str
    severity: Severity
    layer: Layer
    problem: str


class Verdict(BaseModel):
    """What all evidence together says of an artifact; every figure is computed by code (SPEC 0.1)."""

    score: float
    """0 to 1; 0 if no layer is known."""
    layers: dict[str, float | None]
    """0 to 1 each; None is unknown."""
    weights: dict[str, float]
    """As used: the weight of unknown layers is with the others."""
    outcome: Status
    hits: list[str]
    """Anti-criteria that have happened."""
    gaps: list[Gap]
    """What is not met, hits included, and what had to be verified and was not; must before should before nice."""
    unverified: list[str]
    """Musts that have not failed and neither code nor a person has verified; anti-criteria that nobody looked at."""
    why: str
    """One sentence for people."""


def verdict(
    evidence: Sequence[Evidence], weights: LayerWeights, thresholds: Thresholds, *, gate_passed: bool
) -> Verdict:
    """Score the layers, then decide (SPEC 5.5, 5.6).

    VERIFIED needs the score, the gate, no failed must, every must verified by somebody, and where a layer is unknown by
    code or a person. An anti-criterion that has happened is a CRITICAL_FAILURE whatever the score.
    """
    layers: dict[str, float | None] = {
        layer: _score(evidence, layer) if getattr(weights, layer) > 0 else None for layer in SCORED
    }
    used = _shared(layers, weights)
    score = math.fsum(used[layer] * (found or 0.0) for layer, found in layers.items())
    by_id = _by_id(evidence)
    hits = [name for name, own in by_id.items() if _failed([one for one in own if one.anti])]
    failed = [name for name, own in by_id.items() if _failed([one for one in own if _must(one)])]
    unverified = [name for name, own in by_id.items() if _unverified(own) and name not in failed]
    unknown = None in layers.values()
    needed = [name for name in unverified if unknown or not any(one.met or one.anti for one in by_id[name])]
    against = _against(gate_passed, failed, needed)
    outcome = _outcome(score, thresholds, hits, against)
    return Verdict(
        score=score, layers=layers, weights=used, outcome=outcome, hits=hits, unverified=unverified,
        gaps=_gaps(evidence, [by_id[name][0] for name in needed]),
        why=_why(outcome, score, thresholds, hits, against),
    )  # fmt: skip


def relaxed(evidence: Sequence[Evidence], criterion: str) -> list[Evidence]:
    """The same evidence with this criterion nice to have. Raises ValueError for an anti-criterion or an unknown id."""
    own = [one for one in evidence if one.criterion == criterion]
    if not own:
        raise ValueError(f"there is no criterion {criterion}")
    if any(one.anti for one in own):
        raise ValueError(f"{criterion} is an anti-criterion, which cannot be relaxed")
    return [one.model_copy(update={"severity": "nice"}) if one.criterion == criterion else one for one in evidence]


def _score(evidence: Sequence[Evidence], layer: Layer) -> float | None:
    """Weight of what is met / weight of what is known."""
    known = [one for one in evidence if one.layer == layer and one.met is not None]
    total = math.fsum(_weight(one) for one in known)
    return math.fsum(_weight(one) for one in known if one.met) / total if total else None


def _weight(one: Evidence) -> float:
    return WEIGHTS["must"] if one.anti else WEIGHTS[one.severity]


def _shared(layers: dict[str, float | None], weights: LayerWeights) -> dict[str, float]:
    known = math.fsum(getattr(weights, layer) for layer, found in layers.items() if found is not None)
    return {layer: 0.0 if found is None else getattr(weights, layer) / known for layer, found in layers.items()}


def _by_id(evidence: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    found: dict[str, list[Evidence]] = {}
    for one in evidence:
        found.setdefault(one.criterion, []).append(one)
    return found


def _must(one: Evidence) -> bool:
    return one.severity == "must" and not one.anti


def _failed(own: Sequence[Evidence]) -> bool:
    """Whether a must has failed, or an anti-criterion has happened: by code or a person, or by a judge where neither of
    them has verified it (SPEC 0.1).
    """
    strong = [one.met for one in own if one.ran_by != "judge"]
    return False in strong or (True not in strong and any(one.met is False for one in own))


def _unverified(own: Sequence[Evidence]) -> bool:
    if any(one.anti for one in own):
        return all(one.met is None for one in own)
    return any(map(_must, own)) and not any(one.met for one in own if one.ran_by != "judge")


def _against(gate_passed: bool, failed: Sequence[str], needed: Sequence[str]) -> list[str]:
    """What keeps a score that is high enough from being VERIFIED."""
    found = [] if gate_passed else ["the gate of the task is not passed"]
    if failed:
        found.append(f"{_listed(failed)} must hold and {_has(failed)} failed")
    if needed:
        found.append(f"nothing that ran has verified {_listed(needed)}")
    return found


def _outcome(score: float, thresholds: Thresholds, hits: Sequence[str], against: Sequence[str]) -> Status:
    if hits:
        return "CRITICAL_FAILURE"
    if score >= thresholds.verified - SLACK and not against:
        return "VERIFIED"
    return "GAPS_IDENTIFIED" if score >= thresholds.gaps - SLACK else "CRITICAL_FAILURE"


def _gaps(evidence: Sequence[Evidence], needed: Sequence[Evidence]) -> list[Gap]:
    found = [_gap(one, one.note or f"not met: {one.check or one.criterion}") for one in evidence if one.met is False]
    found += [_gap(one, f"nothing that ran has verified it: {one.check or one.criterion}") for one in needed]
    return sorted(found, key=lambda gap: list(WEIGHTS).index(gap.severity))


def _gap(one: Evidence, problem: str) -> Gap:
    severity: Severity = "must" if one.anti else one.severity
    return Gap(criterion=one.criterion, severity=severity, layer=one.layer, problem=problem)


def _why(outcome: Status, score: float, thresholds: Thresholds, hits: Sequence[str], against: Sequence[str]) -> str:
    if hits:
        return f"{_listed(hits)} must not happen and {_has(hits)} happened."
    least = thresholds.gaps if outcome == "CRITICAL_FAILURE" else thresholds.verified
    if outcome == "VERIFIED":
        return (
            f"The score {_shown(score)} reaches {least:g}, the gate is passed, and no criterion that must hold failed."
        )
    high = score >= least - SLACK
    told = f"the score {_shown(score)} {'reaches' if high else 'is below'} {least:g}"
    if not against:
        return f"T{told[1:]}."
    return f"T{told[1:]}, {'but' if high else 'and'} {'; '.join(against)}."


def _shown(score: float) -> str:
    """Three digits, cut: a score just below a threshold is never shown as having reached it."""
    return f"{math.floor(score * 1000 + 1e-6) / 1000:g}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"

"""How complete an ideal state is, computed by code (SPEC 5.3), and what has to be asked for."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator
from pydantic.dataclasses import dataclass

from looper.criteria import SLACK
from looper.loops.gather_verify.answers import Criterion, IdealState, Metric, Way
from looper.types import STRICT

ENOUGH = 0.95
"""Completeness from which the inner loop may begin (document 000, Completeness Threshold)."""
LEAST_WORDS = 3
"""Words that make a description, a question or an objective."""

Share = Annotated[float, Field(ge=0, le=1)]
Comparison = Literal["<", "<=", "=", ">=", ">", "!="]


def _check_sum(*shares: float) -> None:
    if abs(math.fsum(shares) - 1) > SLACK:
        raise ValueError(f"the weights {', '.join(f'{share:g}' for share in shares)} must sum to 1")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Weights:
    """What each part of the ideal state adds to its completeness; the sum is 1 (SPEC 5.3)."""

    criteria: Share = 0.25
    """Success criteria: described, and verifiable in a concrete way."""
    metrics: Share = 0.2
    """Metrics: name, target, unit."""
    verification: Share = 0.2
    """Criteria and anti-criteria with any way to verify them."""
    anti_criteria: Share = 0.15
    """What must not happen; two are enough."""
    exits: Share = 0.1
    """Exit conditions; two are enough."""
    intent: Share = 0.1
    """The objective."""

    @model_validator(mode="after")
    def _whole(self) -> "Weights":
        _check_sum(self.criteria, self.metrics, self.verification, self.anti_criteria, self.exits, self.intent)
        return self


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Shares:
    """What counts within the parts, 0 to 1 (SPEC 5.3)."""

    described: Share = 0.5
    """Of a criterion: at least three words."""
    verifiable: Share = 0.5
    """Of a criterion: a known rule, a typed check, or a question of at least three words."""
    name: Share = 0.3
    """Of a metric."""
    target: Share = 0.5
    """Of a metric: a comparison and a number."""
    unit: Share = 0.2
    """Of a metric."""
    anti_criteria: tuple[Share, Share, Share] = (0.5, 0.75, 1.0)
    """The part with none, one, and two or more."""
    exits: tuple[Share, Share, Share] = (0.3, 0.7, 1.0)
    """The part with none, one, and two or more."""

    @model_validator(mode="after")
    def _whole(self) -> "Shares":
        _check_sum(self.described, self.verifiable)
        _check_sum(self.name, self.target, self.unit)
        for steps in (self.anti_criteria, self.exits):
            if list(steps) != sorted(steps) or steps[-1] != 1:
                raise ValueError(f"the shares {steps} must not fall, and end with 1")
        return self


WEIGHTS = Weights()
SHARES = Shares()


class Completeness(BaseModel):
    """The figure, its parts, and what is missing."""

    score: float
    """0 to 1: the weighted sum of the parts."""
    parts: dict[str, float]
    """0 to 1 each: criteria, metrics, verification, anti_criteria, exits, intent."""
    missing: list[str]
    """One sentence for each lack, the one that would add most to the score first."""

    def reaches(self, least: float = ENOUGH) -> bool:
        """Whether the score is at least this, 0 to 1."""
        return self.score >= least - SLACK


class Lack(NamedTuple):
    """Something that is missing."""

    part: str
    share: float
    """Of its part, 0 to 1."""
    text: str


def completeness(
    ideal: IdealState, rules: Collection[str], weights: Weights = WEIGHTS, shares: Shares = SHARES
) -> Completeness:
    """Measure an ideal state; `rules` are the ids of the task's rules that a criterion may name."""
    lacks = [*_criteria(ideal, rules, shares), *_metrics(ideal, shares), *_verification(ideal), *_rest(ideal, shares)]
    by_part = {
        "criteria": weights.criteria, "metrics": weights.metrics, "verification": weights.verification,
        "anti_criteria": weights.anti_criteria, "exits": weights.exits, "intent": weights.intent,
    }  # fmt: skip
    parts = {name: max(0.0, 1 - math.fsum(lack.share for lack in lacks if lack.part == name)) for name in by_part}
    gains = [(round(by_part[lack.part] * lack.share, 12), lack) for lack in lacks]
    ordered = sorted((pair for pair in gains if pair[0] > 0), key=lambda pair: -pair[0])
    return Completeness(
        score=math.fsum(by_part[name] * part for name, part in parts.items()),
        parts=parts,
        missing=[f"{lack.part.replace('_', '-')}: {lack.text}" for _, lack in ordered],
    )


def _criteria(ideal: IdealState, rules: Collection[str], shares: Shares) -> Iterator[Lack]:
    if not ideal.criteria:
        yield Lack("criteria", 1.0, "there is no success criterion")
    for each in ideal.criteria:
        of_one = 1 / len(ideal.criteria)
        if not _told(each.description):
            yield Lack("criteria", shares.described * of_one, _short(each))
        if vague := _vague(each.verify, rules):
            yield Lack("criteria", shares.verifiable * of_one, f'"{each.id}" {vague}')


def _short(criterion: Criterion) -> str:
    found = "is described in fewer than three words" if criterion.description else "has no description"
    return f'"{criterion.id}" {found}'


def _vague(way: Way, rules: Collection[str]) -> str:
    """What a way lacks to be concrete, or nothing."""
    if way.check is not None or (way.rule and way.rule in rules):
        return ""
    if way.rule:
        return f'names the rule "{way.rule}", which the task does not have'
    if question := way.judge or way.person:
        return "" if _told(question) else f'asks "{question}", which is fewer than three words'
    return "has no concrete way to verify it: a rule of the task, a check, or a question to a judge or a person"


def _metrics(ideal: IdealState, shares: Shares) -> Iterator[Lack]:
    if not ideal.metrics:
        yield Lack("metrics", 1.0, "there is no metric")
    for number, each in enumerate(ideal.metrics, 1):
        label = f'"{each.name}"' if each.name else f"number {number}"
        for share, lack in _metric(each, shares):
            yield Lack("metrics", share / len(ideal.metrics), f"{label} {lack}")


def _metric(metric: Metric, shares: Shares) -> Iterator[tuple[float, str]]:
    if not metric.name:
        yield shares.name, "has no name"
    if parse_target(metric.target) is None:
        given = f'has the target "{metric.target}"' if metric.target else "has no target"
        yield shares.target, f"{given}; give a comparison and a number, such as >= 0.9"
    if not metric.unit:
        yield shares.unit, "has no unit"


def _verification(ideal: IdealState) -> Iterator[Lack]:
    ways = [(each.id, each.verify) for each in ideal.criteria] + [
        (each.id, each.detect) for each in ideal.anti_criteria
    ]
    if not ways:
        yield Lack("verification", 1.0, "there is nothing that could be verified")
    for name, way in ways:
        if not way.given:
            yield Lack("verification", 1 / len(ways), f'"{name}" has no way to verify it')


def _rest(ideal: IdealState, shares: Shares) -> Iterator[Lack]:
    yield from _counted("anti_criteria", len(ideal.anti_criteria), shares.anti_criteria, "what must not happen")
    yield from _counted("exits", len(ideal.exits), shares.exits, "when the work is done or given up")
    if not _told(ideal.objective):
        found = "the objective has fewer than three words" if ideal.objective else "there is no objective"
        yield Lack("intent", 1.0, f"{found}; say what is wanted in the end")


def _counted(part: str, count: int, steps: Sequence[float], what: str) -> Iterator[Lack]:
    if count < 2:
        found = "there is only one; give a second" if count else "there is none; give two"
        yield Lack(part, 1 - steps[count], f"{found}: {what}")


def _told(text: str) -> bool:
    """Whether it is at least three words; a word has a letter or a digit."""
    return sum(any(sign.isalnum() for sign in word) for word in text.split()) >= LEAST_WORDS


_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+"
_TARGET = re.compile(rf"(<=|>=|!=|==|[<>=≤≥≠])\s*({_NUMBER})(?![.,]?\d)[^<>=≤≥≠]*")
_SIGNS: dict[str, Comparison] = {
    "<": "<", "<=": "<=", "≤": "<=", "=": "=", "==": "=", ">=": ">=", "≥": ">=", ">": ">", "!=": "!=", "≠": "!=",
}  # fmt: skip


def parse_target(text: str) -> tuple[Comparison, float] | None:
    """Comparison and number of a metric's target, such as `>= 0.9`, `<= 1,000` or `< 5 %`; None for anything else.

    Words may follow. A decimal comma, a range and words alone are no target: code could not compare with them.
    """
    found = _TARGET.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if found is None or not math.isfinite(number := float(found[2].replace(",", ""))):
        return None
    return _SIGNS[found[1]], number

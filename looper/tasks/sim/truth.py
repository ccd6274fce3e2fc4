"""The planted truth: what writers, critics and judges do on average, and what a code stands for.

A code is eight hex digits. A hash of the task's instance, the rule and the code says whether the code meets the rule,
and whether it meets the rule's hidden twin. So the truth is a function of the artifact alone, and no artifact tells it.
"""

import hashlib
import math
import random
import re
from typing import Annotated

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.criteria import Severity
from looper.types import STRICT

Probability = Annotated[float, Field(ge=0, le=1)]
CODE = re.compile(r"[0-9a-f]{8}")
LINE = re.compile(r"^[ \t]*(\S+): ([0-9a-f]{8})[ \t]*$", re.MULTILINE)
"""A line of an artifact: a rule and its code."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Planted:
    """Probabilities of what roles of full skill do; a role of skill s does the good thing s times as often."""

    satisfy: Probability = 0.6
    """That a first draft meets a rule; 0.6: with six rules one draft in twenty meets all."""
    repair: Probability = 0.6
    """That a change mends a failed rule that was named: by a critique, a plan, a policy, or feedback on a board."""
    unnamed: Probability = 0.15
    """That it mends a failed rule that nobody named. The difference to `repair` is what a critique is worth."""
    damage: Probability = 0.03
    """That a change breaks a rule that was met."""
    miss: Probability = 0.1
    """That a critic overlooks a failed rule."""
    wrong: Probability = 0.0
    """That a critic also names a rule that did not fail; the reflex design sends such a critique back once."""
    false_accept: Probability = 0.1
    """That a judge passes a rule that is not met; for rules that are judged."""
    false_reject: Probability = 0.1
    """That a judge fails a rule that is met."""
    planning: Probability = 1.0
    """That a plan is of use, and that a workflow's planner makes no mistake."""
    misled: Probability = 0.5
    """What is left of `satisfy` where a draft follows a plan that is of no use."""
    diagnosis: Probability = 1.0
    """That the workflow's supervisor diagnoses a failure as its evidence says."""
    correlation: Probability = 0.8
    """How closely the hidden twin follows its rule: 1 always, 0 not at all. The phi coefficient if `hidden` is what
    the rule itself has."""
    discover: Probability = 0.5
    """That an interview finds out the hidden twin of a rule, so that a verifier looks for it (outer loop)."""
    hidden: Probability = 0.6
    """That a hidden twin which does not follow its rule is met."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Row:
    """What differs for one rule."""

    rule: Annotated[int, Field(ge=1, le=99)]
    """Its number, from 1."""
    severity: Severity | None = None
    """fail, warn or info."""
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Weight in the score; None: by severity."""
    judged: bool | None = None
    """Whether a judge decides it, in place of a check that measures it."""
    satisfy: Probability | None = None
    """As in `truth`, for this rule."""
    repair: Probability | None = None
    """As in `truth`, for this rule."""
    unnamed: Probability | None = None
    """As in `truth`, for this rule."""
    damage: Probability | None = None
    """As in `truth`, for this rule."""


class Odds(BaseModel, frozen=True):
    """What a role of full skill does about one rule of one instance."""

    satisfy: float
    repair: float
    unnamed: float
    damage: float


def shifted(probability: float, shift: float) -> float:
    """A probability whose log-odds are moved; 0 and 1 stay what they are."""
    if probability in (0.0, 1.0):
        return probability
    return 1 / (1 + math.exp(-(math.log(probability / (1 - probability)) + shift)))


def difficulty(instance: int, spread: float) -> float:
    """How much easier an instance is than the middle one, in log-odds: normal with sd `spread` over instances."""
    return spread * random.Random(f"sim/{instance}").gauss(0.0, 1.0)


def meets(instance: int, rule: str, code: str | None) -> bool:
    """Whether a code meets a rule: half of all codes do."""
    return code is not None and bool(CODE.fullmatch(code)) and _share(instance, rule, code, "rule") < 0.5


def meets_hidden(instance: int, rule: str, code: str | None, planted: Planted) -> bool:
    """Whether a code meets the hidden twin of a rule."""
    if code is None or not CODE.fullmatch(code):
        return False
    if _share(instance, rule, code, "tie") < planted.correlation:
        return meets(instance, rule, code)
    return _share(instance, rule, code, "hidden") < planted.hidden


def code_for(instance: int, rule: str, met: bool, dice: random.Random) -> str:
    """A code that meets a rule, or one that does not."""
    while True:
        code = f"{dice.getrandbits(32):08x}"
        if meets(instance, rule, code) == met:
            return code


def code_for_both(instance: int, rule: str, planted: Planted, dice: random.Random) -> str:
    """A code that meets a rule and its hidden twin; where no code meets both, one that meets the rule."""
    for _try in range(1000):
        code = code_for(instance, rule, True, dice)
        if meets_hidden(instance, rule, code, planted):
            return code
    return code_for(instance, rule, True, dice)


def _share(instance: int, rule: str, code: str, what: str) -> float:
    """A number in [0, 1) that belongs to this code, evenly spread over codes."""
    digest = hashlib.blake2b(f"{what}/{instance}/{rule}/{code}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56

"""Which of several plausible patches to hand over: passing the visible tests is not yet being right.

A quarter of plausible patches overfit. What speaks for a patch is measured, not guessed: how likely its kind of edit
is, how small it is, how many other plausible patches agree with it on inputs that no test has, and whether it runs into
errors there that the faulty program did not have.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from looper.tasks.repair.rank import size
from looper.tasks.repair.states import Variant

PRONE = ("condition.constant", "statement.delete", "return.")
"""Kinds of edit that often fit tests by removing or special-casing behaviour."""

ERROR = "!error"
"""Key of an output that stands for an error (Examiner.values)."""


class Weighed(BaseModel):
    """A plausible patch and what speaks for it."""

    index: int
    weight: float
    reasons: dict[str, float]


def weigh(original: str, plausible: Sequence[Variant], values: Sequence[Sequence[Any]]) -> list[Weighed]:
    """Plausible patches, best first. `values` are their outputs on generated inputs, the original's first, or empty."""
    marks = [json.dumps(list(row), sort_keys=True, default=repr) for row in values[1:]]
    agree = Counter(marks)
    faulty = values[0] if values else []
    weighed = [
        _one(original, variant, index, math.log(agree[marks[index]]) if marks else 0.0,
             _new_errors(faulty, values[index + 1]) if marks else 0.0)
        for index, variant in enumerate(plausible)
    ]  # fmt: skip
    return sorted(weighed, key=lambda w: (-w.weight, w.index))


def _one(original: str, variant: Variant, index: int, agreement: float, errors: float) -> Weighed:
    reasons = {
        "prior": math.log(max(variant.prior, 1e-6)),
        "size": -0.15 * size(original, variant.source),
        "order": -0.3 * math.log1p(index),
        "agreement": 0.5 * agreement,
        "errors": -4.0 * errors,
        "prone": -1.0 * sum(kind.startswith(PRONE) for kind in variant.kinds),
    }
    return Weighed(index=index, weight=sum(reasons.values()), reasons=reasons)


def _new_errors(before: Sequence[Any], after: Sequence[Any]) -> float:
    """Share of inputs on which the patch fails and the faulty program did not."""
    if not before:
        return 0.0
    return sum(_failed(b) < _failed(a) for b, a in zip(before, after, strict=True)) / len(before)


def _failed(value: Any) -> bool:
    return isinstance(value, dict) and ERROR in value
